//! The actors of memory: what turns a host's events into records and a question into an answer.
//!
//! Lives here: the relay (mapping, redaction), the embedder pool, the actor per user, admission and
//! shutdown. Must never live here: what is remembered or how it is ranked (the engine), ONNX (the
//! embedder behind a trait), HTTP or a command line.

mod redact;
mod relay;

pub use redact::{Redacted, Redactor};
pub use relay::{
    Event, EventError, MapOutcome, MappedEvent, Mapper, RelayCounters, Rule, TopicCount,
    TopicTable, TopicTableError,
};
