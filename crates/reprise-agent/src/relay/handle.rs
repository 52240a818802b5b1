//! The handle of a relay, and its progress, which is counted by topic too, so that no event is
//! dropped silently.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use reprise_types::{MemoryError, lock};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::feed::{FeedError, SourceBinding};
use super::map::MapOutcome;

/// Most topics that are counted by name, because a host may generate names.
const TOPICS_MAX: usize = 1_000;
/// The topic under which further ones are counted.
const OTHER: &str = "(other)";
/// The topic under which events without a readable envelope are counted.
const UNREADABLE: &str = "(unreadable)";

/// Progress of a relay since its first start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RelayProgress {
    /// Log position up to which everything is on disk.
    pub durable_seq: u64,
    pub events: u64,
    /// Repeated events, which are recognised by their position.
    pub repeated: u64,
    /// Gaps in the live events, which were filled from the log.
    pub gaps: u64,
    pub inserted: u64,
    /// Duplicate records, which are recognised by their external id.
    pub duplicates: u64,
    /// Records that the store refused.
    pub rejected: u64,
    /// Inserted records whose text was cut.
    pub truncated: u64,
    /// Records stored without a vector for now.
    pub unembedded: u64,
    /// Retries of failed steps.
    pub retries: u64,
    pub topics: RelayCounters,
}

/// A request to catch up with the log.
#[derive(Debug)]
pub(super) struct CatchUpRequest(pub(super) oneshot::Sender<Result<RelayProgress, FeedError>>);

/// Handle of a relay; it stays valid when the relay is restarted.
#[derive(Debug, Clone)]
pub struct RelayHandle(Arc<RelayInner>);

#[derive(Debug)]
struct RelayInner {
    binding: SourceBinding,
    progress: Mutex<RelayProgress>,
    requests: Mutex<Option<mpsc::Sender<CatchUpRequest>>>,
}

impl RelayHandle {
    pub(crate) fn new(binding: SourceBinding) -> Self {
        Self(Arc::new(RelayInner {
            binding,
            progress: Mutex::new(RelayProgress::default()),
            requests: Mutex::new(None),
        }))
    }

    pub fn binding(&self) -> &SourceBinding {
        &self.0.binding
    }

    pub fn progress(&self) -> RelayProgress {
        lock(&self.0.progress).clone()
    }

    /// Waits until everything that the host has logged by now is stored.
    pub async fn catch_up(&self) -> Result<RelayProgress, MemoryError> {
        let unavailable = || MemoryError::unavailable(&self.0.binding.user);
        let requests = lock(&self.0.requests).clone();
        let (reply, answer) = oneshot::channel();
        let requests = requests.ok_or_else(unavailable)?;
        requests
            .send(CatchUpRequest(reply))
            .await
            .map_err(|_| unavailable())?;
        let caught_up = answer.await.map_err(|_| unavailable())?;
        caught_up.map_err(|error| MemoryError::Storage {
            message: error.to_string(),
        })
    }

    pub(super) fn update_progress(&self, change: impl FnOnce(&mut RelayProgress)) {
        change(&mut lock(&self.0.progress));
    }

    pub(super) fn set_request_sender(&self, requests: Option<mpsc::Sender<CatchUpRequest>>) {
        *lock(&self.0.requests) = requests;
    }
}

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
    /// Events that should have become records and could not be read.
    pub malformed: u64,
    /// Findings and learnings below the gate's thresholds.
    pub gated: u64,
    pub redacted: u64,
}

impl RelayCounters {
    pub fn count_outcome(&mut self, outcome: &MapOutcome) {
        match outcome {
            MapOutcome::Mapped(mapped) => {
                let count = self.topic_entry(&mapped.topic);
                count.mapped += 1;
                count.records += mapped.records.len() as u64;
                count.gated += u64::from(mapped.gated);
                count.redacted += u64::from(mapped.redacted);
            }
            MapOutcome::Ignored { topic } => self.topic_entry(topic).ignored += 1,
            MapOutcome::Unknown { topic } => self.topic_entry(topic).unknown += 1,
            MapOutcome::Malformed { topic, .. } => self.topic_entry(topic).malformed += 1,
        }
    }

    /// Counts a value that is not an event.
    pub fn count_unreadable(&mut self) {
        self.topic_entry(UNREADABLE).malformed += 1;
    }

    /// Returns the counts of every topic that occurred, in alphabetical order.
    pub fn topics(&self) -> impl Iterator<Item = (&str, &TopicCount)> {
        self.topics
            .iter()
            .map(|(name, count)| (name.as_str(), count))
    }

    /// Returns the sum over all topics.
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

    fn topic_entry(&mut self, topic: &str) -> &mut TopicCount {
        let is_counted_by_name = self.topics.contains_key(topic) || self.topics.len() < TOPICS_MAX;
        let name = if is_counted_by_name { topic } else { OTHER };
        self.topics.entry(name.to_owned()).or_default()
    }
}
