//! From a host's event to the records that memory keeps of it.
//!
//! Reading every envelope form, the topic table (data: `relay/topics.toml`), text extraction,
//! report splitting, counting, and the actor that carries the records to a memory.

mod actor;
mod arguments;
mod counters;
mod credit;
mod decode;
mod feed;
mod handle;
mod map;
mod parcel;
mod pipeline;
mod report;
mod resume;
mod runs;
mod table;
mod template;
mod write;

pub(crate) use actor::{MemoryEventRelay, RelayMsg};
pub(crate) use arguments::MemoryEventRelayArguments;
pub use counters::{RelayCounters, TopicCount};
pub use decode::{Event, EventError};
pub use feed::{EventFeed, FeedError, FeedSource, SourceBinding};
pub use handle::{RelayHandle, RelayProgress};
pub use map::{MapOutcome, MappedEvent, Mapper};
pub use table::{Rule, TopicTable, TopicTableError};

#[cfg(test)]
mod tests;
