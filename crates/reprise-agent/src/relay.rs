//! From a host's event to the records that memory keeps of it.
//!
//! Lives here: reading every envelope form, the topic table (data: `relay/topics.toml`), text
//! extraction, report splitting, counting. Must never live here: a topic name in code (they are
//! data), a decision that depends on an earlier event, or anything that writes.

mod counters;
mod envelope;
mod mapping;
mod report;
mod table;
mod template;

pub use counters::{RelayCounters, TopicCount};
pub use envelope::{Event, EventError};
pub use mapping::{MapOutcome, MappedEvent, Mapper};
pub use table::{Rule, TopicTable, TopicTableError};

#[cfg(test)]
mod tests;
