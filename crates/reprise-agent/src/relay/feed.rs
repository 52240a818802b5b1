//! Where events come from, and who asks how far they have come.
//!
//! Lives here: the seam to the host, the source binding, the relay's address. Must never live here:
//! a bus or a store: those are the host's.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use reprise_types::{MemoryError, UserId};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::carrier::RelayProgress;

/// Binds a source of events to the one user whose memory they become. An event's own `user_id`
/// is never asked: hosts write `system` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceBinding {
    /// Names the source; the store keeps one cursor per stream.
    pub stream: String,
    /// Whose memory.
    pub user: UserId,
}

/// The host could not read its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the host's event log cannot be read ({message}); the relay tries again")]
pub struct FeedError {
    /// The host's words.
    pub message: String,
}

/// A host's events, in any envelope form that [`super::Event::read`] knows.
#[async_trait]
pub trait EventFeed: Send + Sync {
    /// The next events as they happen; `None` once the host has ended. May lose and repeat events:
    /// the log is the truth. An empty batch says that some may have been missed, as before the
    /// first event of every new subscription: the relay then reads the log. Dropping the future
    /// loses nothing.
    async fn next(&mut self) -> Option<Vec<Value>>;

    /// Logged events after `since_seq`, ascending, at most `limit`; empty at the end.
    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError>;

    /// The position of the newest logged event; 0 for an empty log.
    async fn latest_seq(&mut self) -> Result<u64, FeedError>;
}

/// Makes a feed; asked again when a relay is restarted.
#[derive(Clone)]
pub struct FeedSource(pub Arc<dyn Fn() -> Box<dyn EventFeed> + Send + Sync>);

impl fmt::Debug for FeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeedSource")
    }
}

/// What a relay can be asked while it runs.
#[derive(Debug)]
pub(super) struct CatchUp(pub(super) oneshot::Sender<Result<RelayProgress, FeedError>>);

/// A relay's address; stays valid when the relay is restarted.
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

    /// Which source, and whose memory.
    #[must_use]
    pub fn binding(&self) -> &SourceBinding {
        &self.0.binding
    }

    /// What the relay has done so far.
    #[must_use]
    pub fn progress(&self) -> RelayProgress {
        self.0
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until everything that the host has logged by now is on disk in memory.
    pub async fn catch_up(&self) -> Result<RelayProgress, MemoryError> {
        let unavailable = || MemoryError::Unavailable {
            user: self.0.binding.user.to_string(),
        };
        let requests = self
            .0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
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
        change(
            &mut self
                .0
                .progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    pub(super) fn connect(&self, requests: Option<mpsc::Sender<CatchUp>>) {
        *self
            .0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = requests;
    }
}
