//! When a record's time is over.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kind::Retention;
use crate::record::MemoryRecord;
use crate::time::parse_timestamp;

impl MemoryRecord {
    /// When its time is over: what `expires_at` says in its metadata or details, or the end of what
    /// was kept for a while. What is pinned has no end.
    #[must_use]
    pub fn ends_at(&self) -> Option<DateTime<Utc>> {
        match self.retention {
            Retention::Scratch { ttl_seconds } => {
                Some(self.known_at + TimeDelta::seconds(ttl_seconds.into()))
            }
            Retention::Pinned => None,
            Retention::Normal => self.expires_at(),
        }
    }

    /// Whether it had its `expires_at` by then: it answers no more, tended or not. What was kept
    /// for so many days ends with its tending, which leaves out days on which nothing happened.
    #[must_use]
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.retention != Retention::Pinned && self.expires_at().is_some_and(|end| end <= now)
    }

    fn expires_at(&self) -> Option<DateTime<Utc>> {
        let in_details = self.details.as_ref().and_then(|it| it.get("expires_at"));
        let named = [self.metadata.get("expires_at"), in_details]
            .into_iter()
            .flatten();
        let mut named = named.filter_map(|at| parse_timestamp(at.as_str()?).ok());
        named.next()
    }
}
