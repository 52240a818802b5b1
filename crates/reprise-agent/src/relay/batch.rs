//! The second and third stage: a batch of events is decoded and mapped.

use reprise_types::NewRecord;
use serde_json::Value;

use super::arguments::MemoryEventRelayArguments;
use super::decode::Event;
use super::map::MapOutcome;
use super::runs::{self, RunSignal};
use crate::ingest::Vectors;

/// The records and signals of a batch of events, with the position it advances the store to.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) records: Vec<NewRecord>,
    pub(super) vectors: Vectors,
    pub(super) cursor: Option<u64>,
    /// Signals of runs, each with the index of the record that holds the query.
    pub(super) signals: Vec<(RunSignal, usize)>,
}

impl Batch {
    pub(super) fn of(events: Vec<Value>, arguments: &MemoryEventRelayArguments) -> Self {
        let mut batch = Self::default();
        for value in events {
            batch.cursor = Event::seq_of(&value).or(batch.cursor);
            let place = batch.records.len();
            let (records, signal) = mapped(value, arguments);
            batch.records.extend(records);
            batch.signals.extend(signal.map(|signal| (signal, place)));
        }
        batch
    }

    /// Whether it holds nothing but a position.
    pub(super) fn is_cursor_only(&self) -> bool {
        self.records.is_empty() && self.signals.is_empty()
    }
}

/// Maps one event and counts the outcome.
fn mapped(
    value: Value,
    arguments: &MemoryEventRelayArguments,
) -> (Vec<NewRecord>, Option<RunSignal>) {
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
    let outcome = mapper.map(&event);
    handle.change(|progress| progress.topics.count(&outcome));
    match outcome {
        MapOutcome::Mapped(mapped) => {
            let signal = runs::signal(&event, &mapped);
            (mapped.records, signal)
        }
        MapOutcome::Malformed { why, .. } => {
            tracing::warn!(why, "an event holds nothing to remember");
            Default::default()
        }
        MapOutcome::Ignored { .. } | MapOutcome::Unknown { .. } => {
            let approved = mapper.approved_run(&event);
            let signal = approved.map(|run_id| runs::approval(&run_id, &event));
            (Vec::new(), signal)
        }
    }
}
