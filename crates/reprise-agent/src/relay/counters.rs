//! Counters of the relay by topic, so that nothing is dropped silently.

use std::collections::BTreeMap;

use serde::Serialize;

use super::map::MapOutcome;

/// Most topics counted by name, as a host may generate names.
const TOPICS_MAX: usize = 1_000;
/// The topic under which further ones are counted.
const OTHER: &str = "(other)";
/// The topic under which events without a readable envelope are counted.
const UNREADABLE: &str = "(unreadable)";

/// Events by topic and outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RelayCounters {
    topics: BTreeMap<String, TopicCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TopicCount {
    pub mapped: u64,
    pub records: u64,
    /// Events that the table ignores on purpose.
    pub ignored: u64,
    /// Events of a topic that the table does not know.
    pub unknown: u64,
    /// Events that should have been kept and could not be read.
    pub malformed: u64,
    /// Findings and learnings below the gate's thresholds.
    pub gated: u64,
    pub redacted: u64,
}

impl RelayCounters {
    pub fn count(&mut self, outcome: &MapOutcome) {
        match outcome {
            MapOutcome::Mapped(mapped) => {
                let count = self.entry(&mapped.topic);
                count.mapped += 1;
                count.records += mapped.records.len() as u64;
                count.gated += u64::from(mapped.gated);
                count.redacted += u64::from(mapped.redacted);
            }
            MapOutcome::Ignored { topic } => self.entry(topic).ignored += 1,
            MapOutcome::Unknown { topic } => self.entry(topic).unknown += 1,
            MapOutcome::Malformed { topic, .. } => self.entry(topic).malformed += 1,
        }
    }

    /// Counts a value that is not an event.
    pub fn count_unreadable(&mut self) {
        self.entry(UNREADABLE).malformed += 1;
    }

    /// Every topic seen, in alphabetical order.
    pub fn topics(&self) -> impl Iterator<Item = (&str, &TopicCount)> {
        self.topics
            .iter()
            .map(|(name, count)| (name.as_str(), count))
    }

    /// The sum over all topics.
    pub fn total(&self) -> TopicCount {
        self.topics
            .values()
            .fold(TopicCount::default(), |mut sum, count| {
                sum.mapped += count.mapped;
                sum.records += count.records;
                sum.ignored += count.ignored;
                sum.unknown += count.unknown;
                sum.malformed += count.malformed;
                sum.gated += count.gated;
                sum.redacted += count.redacted;
                sum
            })
    }

    fn entry(&mut self, topic: &str) -> &mut TopicCount {
        let known = self.topics.contains_key(topic) || self.topics.len() < TOPICS_MAX;
        let name = if known { topic } else { OTHER };
        self.topics.entry(name.to_owned()).or_default()
    }
}
