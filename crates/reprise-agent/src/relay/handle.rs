//! A handle to a relay, and its progress.

use std::sync::{Arc, Mutex};

use reprise_types::{MemoryError, lock};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::counters::RelayCounters;
use super::feed::{FeedError, SourceBinding};

/// Progress of a relay since its first start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RelayProgress {
    /// The position up to which everything is on disk.
    pub durable_seq: u64,
    pub events: u64,
    /// Repeated events, recognised by their position.
    pub repeated: u64,
    /// Gaps in the live events, filled from the log.
    pub gaps: u64,
    pub inserted: u64,
    /// Duplicate records, recognised by their external id.
    pub duplicates: u64,
    /// Records that the store refused.
    pub rejected: u64,
    /// Of those inserted, the records whose text was cut.
    pub truncated: u64,
    /// Records stored without a vector for now.
    pub unembedded: u64,
    /// Retries of failed steps.
    pub retries: u64,
    pub topics: RelayCounters,
}

/// A request to catch up with the log.
#[derive(Debug)]
pub(super) struct CatchUp(pub(super) oneshot::Sender<Result<RelayProgress, FeedError>>);

/// A handle to a relay; stays valid when the relay is restarted.
#[derive(Debug, Clone)]
pub struct RelayHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    binding: SourceBinding,
    progress: Mutex<RelayProgress>,
    requests: Mutex<Option<mpsc::Sender<CatchUp>>>,
}

impl RelayHandle {
    pub(crate) fn new(binding: SourceBinding) -> Self {
        Self(Arc::new(Shared {
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
            .send(CatchUp(reply))
            .await
            .map_err(|_| unavailable())?;
        let caught_up = answer.await.map_err(|_| unavailable())?;
        caught_up.map_err(|error| MemoryError::Storage {
            message: error.to_string(),
        })
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut RelayProgress)) {
        change(&mut lock(&self.0.progress));
    }

    pub(super) fn connect(&self, requests: Option<mpsc::Sender<CatchUp>>) {
        *lock(&self.0.requests) = requests;
    }
}
