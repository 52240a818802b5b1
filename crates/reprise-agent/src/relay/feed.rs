//! The first stage: events from the host, in order, each once.
//!
//! The seam to the host, and the place in its log.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use reprise_types::UserId;
use serde_json::Value;

use super::decode::Event;

/// Events read from the log at a time.
const PAGE: u32 = 512;

/// Binds a source of events to the one user whose memory they become. An event's own `user_id`
/// is never asked: hosts write `system` there.
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

/// A host's events with the place up to which they were looked at.
pub(super) struct Reader {
    feed: Box<dyn EventFeed>,
    /// The last position looked at.
    seen: u64,
}

/// What a batch of live events holds that was not looked at yet.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Live {
    /// New ones, up to the first gap.
    pub(super) fresh: Vec<Value>,
    /// Known by their position.
    pub(super) repeated: u64,
    /// Some are missing: the log has them.
    pub(super) gap: bool,
}

impl Reader {
    pub(super) fn new(source: &FeedSource) -> Self {
        let feed = (source.0)();
        Self { feed, seen: 0 }
    }

    /// The place to read on from.
    pub(super) fn begin(&mut self, seen: u64) {
        self.seen = seen;
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Everything up to `seq` is taken.
    pub(super) fn pass(&mut self, seq: u64) {
        self.seen = seq;
    }

    /// The next events as they happen (see [`EventFeed::next`]).
    pub(super) async fn next(&mut self) -> Option<Vec<Value>> {
        self.feed.next().await
    }

    /// The next page of the log; `None` at its end.
    pub(super) async fn page(&mut self) -> Result<Option<Vec<Value>>, FeedError> {
        let page = self.feed.history(self.seen, PAGE).await?;
        let last = page.iter().filter_map(Event::seq_of).max();
        Ok(last.filter(|last| *last > self.seen).map(|_| page))
    }

    /// Logged events after `since`, at most `limit`, whatever was looked at.
    pub(super) async fn logged(&mut self, since: u64, limit: u32) -> Result<Vec<Value>, FeedError> {
        self.feed.history(since, limit).await
    }

    pub(super) async fn latest(&mut self) -> Result<u64, FeedError> {
        self.feed.latest_seq().await
    }

    /// Sorts live events by what is known of their positions.
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
                // Published without being logged: no position, its id alone tells a repetition.
                None => live.fresh.push(event),
            }
        }
        live
    }
}
