//! From a host's event to the records that memory keeps of it.
//!
//! Lives here: reading every envelope form, the topic table (data: `relay/topics.toml`), text
//! extraction, report splitting, counting, and the actor that carries the records to a memory. Must
//! never live here: a topic name in code (they are data), or a record that depends on an earlier
//! event: a replay must make the same ones.

mod actor;
mod carrier;
mod counters;
mod envelope;
mod feed;
mod mapping;
mod report;
mod runs;
mod table;
mod template;
mod told;

pub(crate) use actor::{MemoryEventRelay, MemoryEventRelayArguments, RelayMsg};
pub use carrier::RelayProgress;
pub use counters::{RelayCounters, TopicCount};
pub use envelope::{Event, EventError};
pub use feed::{EventFeed, FeedError, FeedSource, RelayHandle, SourceBinding};
pub use mapping::{MapOutcome, MappedEvent, Mapper};
pub use table::{Rule, TopicTable, TopicTableError};

#[cfg(test)]
mod tests;
