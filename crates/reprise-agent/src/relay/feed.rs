//! The first stage: reads events from the host, in order, each once.

use std::sync::Arc;

use async_trait::async_trait;
use reprise_types::UserId;
use serde_json::Value;

use super::decode::Event;

const PAGE: u32 = 512;

/// Binds a source of events to one user's memory. An event's own `user_id` is not used: hosts write
/// `system` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceBinding {
    /// Names the source; the store keeps one cursor per stream.
    pub stream: String,
    pub user: UserId,
}

/// The host could not read its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the host's event log cannot be read ({message}); the relay tries again")]
pub struct FeedError {
    /// The host's error.
    pub message: String,
}

/// A host's events, in any envelope form that [`super::Event::read`] knows.
#[async_trait]
pub trait EventFeed: Send + Sync {
    /// The next live events; `None` once the host has ended. May lose and repeat events, as the
    /// relay can read the log. An empty batch means that some may have been missed, as before the
    /// first event of every new subscription: the relay then reads the log. Cancel-safe.
    async fn next(&mut self) -> Option<Vec<Value>>;

    /// Logged events after `since_seq`, ascending, at most `limit`; empty at the end.
    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError>;

    /// The position of the newest logged event; 0 for an empty log.
    async fn latest_seq(&mut self) -> Result<u64, FeedError>;
}

/// Creates a feed; called again when a relay is restarted.
#[derive(Clone)]
pub struct FeedSource(pub Arc<dyn Fn() -> Box<dyn EventFeed> + Send + Sync>);

reprise_types::show_fields!(FeedSource {});

/// A feed with the position up to which it was read.
pub(super) struct Reader {
    pub(super) feed: Box<dyn EventFeed>,
    /// The last position read.
    pub(super) seen: u64,
}

/// A batch of live events, sorted by position.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Live {
    /// New events, up to the first gap.
    pub(super) fresh: Vec<Value>,
    /// Number of events already read, by position.
    pub(super) repeated: u64,
    /// Whether some are missing and must be read from the log.
    pub(super) gap: bool,
}

impl Reader {
    pub(super) fn new(source: &FeedSource) -> Self {
        let feed = (source.0)();
        Self { feed, seen: 0 }
    }

    /// The next page of the log; `None` at its end.
    pub(super) async fn page(&mut self) -> Result<Option<Vec<Value>>, FeedError> {
        let page = self.feed.history(self.seen, PAGE).await?;
        let last = page.iter().filter_map(Event::seq_of).max();
        Ok(last.filter(|last| *last > self.seen).map(|_| page))
    }

    /// Compares live events with the position.
    pub(super) fn sort(&self, events: Vec<Value>) -> Live {
        let mut live = Live::default();
        let mut expected = self.seen + 1;
        for event in events {
            match Event::seq_of(&event) {
                Some(seq) if seq < expected => live.repeated += 1,
                Some(seq) if seq == expected => {
                    expected += 1;
                    live.fresh.push(event);
                }
                Some(_) => {
                    live.gap = true;
                    break;
                }
                // Published without being logged: without a position only its id identifies a
                // repetition.
                None => live.fresh.push(event),
            }
        }
        live
    }
}
