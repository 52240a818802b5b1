//! The second and third stage: a batch of events, decoded and mapped.

use reprise_types::NewRecord;
use serde_json::Value;

use super::arguments::MemoryEventRelayArguments;
use super::decode::Event;
use super::map::MapOutcome;
use super::runs::{self, RunSignal};
use crate::ingest::Vectors;

/// What a batch of events becomes, with the position it brings the store to.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    pub(super) records: Vec<NewRecord>,
    pub(super) vectors: Vectors,
    pub(super) cursor: Option<u64>,
    /// What its events say of runs, each with the place of the record that holds the question.
    pub(super) signals: Vec<(RunSignal, usize)>,
}

impl Parcel {
    pub(super) fn of(events: Vec<Value>, arguments: &MemoryEventRelayArguments) -> Self {
        let mut parcel = Self::default();
        for value in events {
            parcel.cursor = Event::seq_of(&value).or(parcel.cursor);
            let place = parcel.records.len();
            let (records, signal) = mapped(value, arguments);
            parcel.records.extend(records);
            parcel.signals.extend(signal.map(|signal| (signal, place)));
        }
        parcel
    }

    /// Whether there is nothing in it but a position.
    pub(super) fn says_nothing(&self) -> bool {
        self.records.is_empty() && self.signals.is_empty()
    }
}

/// What one event becomes; counted, whatever that is.
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
            let signal = approved.map(|run_id| runs::approval(run_id, &event));
            (Vec::new(), signal)
        }
    }
}
