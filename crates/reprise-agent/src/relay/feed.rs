//! The first stage of the relay, which reads events from the host, in order, each once.

use std::sync::Arc;

use async_trait::async_trait;
use reprise_types::UserId;
use serde_json::Value;

use super::decode::HostEvent;

const PAGE_EVENTS: u32 = 512;

/// Binds a source of events to one user's memory. An event's own `user_id` is not used, because
/// hosts write `system` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceBinding {
    /// Names the source; the store keeps one cursor per stream.
    pub stream: String,
    pub user: UserId,
}

/// The error of a host that could not read its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the host's event log cannot be read ({message}); the relay tries again")]
pub struct FeedError {
    /// The host's error.
    pub message: String,
}

/// A host's events, in any envelope form that [`super::HostEvent::decode`] knows.
#[async_trait]
pub trait EventFeed: Send + Sync {
    /// Waits for the next live events; `None` once the host has ended. It may lose and repeat
    /// events, because the relay can read the log. An empty batch means that some may have been
    /// missed, as before the first event of every new subscription; the relay then reads the log.
    /// Cancel-safe.
    async fn next(&mut self) -> Option<Vec<Value>>;

    /// Reads logged events after `since_seq`, ascending, at most `limit`; empty at the end.
    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError>;

    /// Returns the position of the newest logged event; 0 for an empty log.
    async fn latest_seq(&mut self) -> Result<u64, FeedError>;
}

/// Creates a feed; called again when a relay is restarted.
#[derive(Clone)]
pub struct FeedSource(pub Arc<dyn Fn() -> Box<dyn EventFeed> + Send + Sync>);

reprise_types::show_fields!(FeedSource {});

/// A feed, with the position up to which it was read.
pub(super) struct FeedReader {
    pub(super) feed: Box<dyn EventFeed>,
    /// The last position read.
    pub(super) last_read: u64,
}

/// A batch of live events, sorted by position.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LiveEvents {
    /// New events up to the first gap.
    pub(super) fresh: Vec<Value>,
    /// Number of events that were read before, by their position.
    pub(super) repeated: u64,
    /// Whether events are missing that must be read from the log.
    pub(super) has_gap: bool,
}

impl FeedReader {
    pub(super) fn new(source: &FeedSource) -> Self {
        let feed = (source.0)();
        Self { feed, last_read: 0 }
    }

    /// Reads the next page of the log; `None` at its end.
    pub(super) async fn read_page(&mut self) -> Result<Option<Vec<Value>>, FeedError> {
        let page = self.feed.history(self.last_read, PAGE_EVENTS).await?;
        let last = page.iter().filter_map(HostEvent::find_seq).max();
        Ok(last.filter(|last| *last > self.last_read).map(|_| page))
    }

    /// Sorts live events into new and repeated ones, by their position, up to the first gap.
    pub(super) fn classify_live(&self, events: Vec<Value>) -> LiveEvents {
        let mut live = LiveEvents::default();
        let mut expected = self.last_read + 1;
        for event in events {
            match HostEvent::find_seq(&event) {
                Some(seq) if seq < expected => live.repeated += 1,
                Some(seq) if seq == expected => {
                    expected += 1;
                    live.fresh.push(event);
                }
                Some(_) => {
                    live.has_gap = true;
                    break;
                }
                // The event was published without being logged. Without a position only its id
                // identifies a repetition.
                None => live.fresh.push(event),
            }
        }
        live
    }
}
