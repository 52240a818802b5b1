//! The second and third stage: a batch of events is decoded and mapped to what is to be written.

use reprise_engine::{RunWrite, WriteBatch};
use reprise_types::NewRecord;
use serde_json::Value;

use super::arguments::MemoryEventRelayArguments;
use super::decode::Event;
use super::map::MapOutcome;
use super::runs;

/// What a batch of events says, with the position of the last of them.
pub(super) fn of(
    events: Vec<Value>,
    arguments: &MemoryEventRelayArguments,
) -> (WriteBatch, Option<u64>) {
    let (mut batch, mut last) = (WriteBatch::default(), None);
    for value in events {
        last = Event::seq_of(&value).or(last);
        let (records, said) = mapped(value, batch.records.len(), arguments);
        batch.records.extend(records);
        batch.learning.extend(said);
    }
    (batch, last)
}

/// Maps one event, whose first record gets this place, and counts the outcome.
fn mapped(
    value: Value,
    place: usize,
    arguments: &MemoryEventRelayArguments,
) -> (Vec<NewRecord>, Option<RunWrite>) {
    let (handle, mapper) = (&arguments.handle, &arguments.mapper);
    handle.change(|progress| progress.events += 1);
    let event = match Event::read(value) {
        Ok(event) => event,
        Err(error) => {
            tracing::warn!(%error, "an event cannot be read");
            handle.change(|progress| progress.topics.count_unreadable());
            return Default::default();
        }
    };
    let at = event.timestamp.unwrap_or_else(|| arguments.clock.now());
    let outcome = mapper.map(&event);
    handle.change(|progress| progress.topics.count(&outcome));
    match outcome {
        MapOutcome::Mapped(mapped) => {
            let said = runs::said(&event, &mapped, place, at);
            (mapped.records, said)
        }
        MapOutcome::Malformed { why, .. } => {
            tracing::warn!(why, "an event holds nothing to remember");
            Default::default()
        }
        MapOutcome::Ignored { .. } | MapOutcome::Unknown { .. } => {
            let approved = mapper.approved_run(&event);
            (
                Vec::new(),
                approved.map(|run_id| runs::approval(&run_id, at)),
            )
        }
    }
}
