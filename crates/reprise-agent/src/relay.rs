//! The event relay: from a host's events to records.
//!
//! Decoding of every envelope form, the topic table (data: `relay/topics.toml`), text extraction,
//! splitting of reports, counters, and the actor that writes the records to a memory.

mod actor;
mod decode;
mod feed;
mod handle;
mod map;
mod pipeline;
mod report;
mod runs;
mod table;
mod template;

pub(crate) use actor::{MemoryEventRelay, MemoryEventRelayArguments, RelayMsg};
pub use decode::{Event, EventError};
pub use feed::{EventFeed, FeedError, FeedSource, SourceBinding};
pub use handle::{RelayCounters, RelayHandle, RelayProgress, TopicCount};
pub use map::{MapOutcome, MappedEvent, Mapper};
pub use table::{Rule, TopicTable, TopicTableError};

#[cfg(test)]
mod tests;
