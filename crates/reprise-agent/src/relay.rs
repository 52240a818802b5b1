//! The event relay: from a host's events to records.
//!
//! It decodes every envelope form, maps events by the topic table (`relay/topics.toml`), extracts
//! texts, splits reports, counts outcomes, and has the actor that writes the records to a memory.

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

pub(crate) use actor::{MemoryEventRelay, RelayMsg};
pub use decode::{EventError, HostEvent};
pub use feed::{EventFeed, FeedError, FeedSource, SourceBinding};
pub use handle::{RelayCounters, RelayHandle, RelayProgress, TopicCount};
pub use map::{EventMapper, MapOutcome, MappedEvent};
pub(crate) use pipeline::MemoryEventRelayArguments;
pub use table::{TopicRule, TopicTable, TopicTableError};

#[cfg(test)]
mod tests;
