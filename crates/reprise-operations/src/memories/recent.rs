//! What was asked of the memories of this process lately, and what listeners were told of
//! learnings. It is held in memory alone, and goes with what its user forgets.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::MutexGuard;

use reprise_types::{RecallResponse, RelevanceVerdict};
use tokio::sync::broadcast;

use crate::prelude::*;

/// What is held at once, of all users; the oldest makes room.
const HELD_MAX: usize = 512;
/// Of that, how much a slow listener may lag behind.
const WAITING_MAX: usize = 64;
/// Characters of a question.
const QUERY_CHARS: usize = 200;

/// One change, after it is on disk. It names records; of their content it says what Sunwell's
/// programs are told of learnings, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryChange {
    pub user: UserId,
    /// `inserted`, `updated`, `retagged`, `linked`, `unlinked`, `merged`, `forgotten`,
    /// `consolidated`, `restored`, `learned`, `withdrawn`, `memory_learning` or `memory_loaded`.
    pub what: &'static str,
    pub ids: Vec<RecordId>,
    /// Of `memory_learning` the learning and its fact, of `memory_loaded` what there is.
    #[serde(flatten)]
    pub event: Map<String, Value>,
}

impl MemoryChange {
    /// Whether a view of memory looks otherwise for it.
    pub(crate) fn changes_records(&self) -> bool {
        self.event.is_empty()
    }
}

/// One recall.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRecall {
    pub at: DateTime<Utc>,
    /// The beginning of the question.
    pub query: String,
    /// Its id, which the prompt has that asked.
    pub recall_id: RecallId,
    /// Results that were good enough to be shown.
    pub shown: usize,
    pub verdict: RelevanceVerdict,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

impl PastRecall {
    pub(crate) fn new(
        at: DateTime<Utc>,
        query: &str,
        recall: &RecallResponse,
        elapsed_ms: f64,
    ) -> Self {
        Self {
            at,
            query: query.chars().take(QUERY_CHARS).collect(),
            recall_id: recall.recall_id,
            shown: recall.results.iter().filter(|hit| hit.shown).count(),
            verdict: recall.verdict,
            elapsed_ms,
        }
    }
}

/// What listeners were told of learnings: `memory_learning` or `memory_loaded`, and its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeNotice {
    pub at: DateTime<Utc>,
    pub what: &'static str,
    /// The learning's record.
    pub id: Option<RecordId>,
    pub event: Map<String, Value>,
}

impl ChangeNotice {
    pub(crate) fn of(change: &MemoryChange, at: DateTime<Utc>) -> Option<Self> {
        (!change.event.is_empty()).then(|| Self {
            at,
            what: change.what,
            id: change.ids.first().copied(),
            event: change.event.clone(),
        })
    }
}

/// The newest of something, of all users.
#[derive(Debug)]
pub(crate) struct RecentEntries<T> {
    held: Mutex<VecDeque<(UserId, T)>>,
    noted: broadcast::Sender<UserId>,
}

impl<T> Default for RecentEntries<T> {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            noted: broadcast::Sender::new(WAITING_MAX),
        }
    }
}

impl<T: Clone> RecentEntries<T> {
    fn lock_entries(&self) -> MutexGuard<'_, VecDeque<(UserId, T)>> {
        lock(&self.held)
    }

    /// Subscribes to the users for whom an entry is noted from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<UserId> {
        self.noted.subscribe()
    }

    pub(crate) fn note(&self, user: &UserId, one: T) {
        let mut held = self.lock_entries();
        if held.len() >= HELD_MAX {
            held.pop_front();
        }
        held.push_back((user.clone(), one));
        drop(held);
        // Nobody may be listening.
        let _heard = self.noted.send(user.clone()).is_ok();
    }

    /// Lists a user's entries, newest first.
    pub(crate) fn list_for_user(&self, user: &UserId) -> Vec<T> {
        let held = self.lock_entries();
        let own = held.iter().rev().filter(|(whose, _)| whose == user);
        own.map(|(_, one)| one.clone()).collect()
    }

    /// Drops a user's entries, which may quote records that were forgotten.
    pub(crate) fn forget_user(&self, user: &UserId) {
        self.lock_entries().retain(|(whose, _)| whose != user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_held_and_those_of_whoever_forgets_go() {
        let (recalls, now) = (RecentEntries::default(), DateTime::UNIX_EPOCH);
        let [ada, bob] = ["ada", "bob"].map(|user| user.parse::<UserId>().unwrap());
        let nothing = RecallResponse::empty(RecallId::from_parts(0, 0));
        let asked = |query: &str| PastRecall::new(now, query, &nothing, 1.0);
        recalls.note(&bob, asked("plum"));
        for number in 0..HELD_MAX {
            recalls.note(
                &ada,
                asked(&format!("{number} {}", "x".repeat(QUERY_CHARS))),
            );
        }
        assert!(recalls.list_for_user(&bob).is_empty(), "it made room");
        recalls.note(&bob, asked("pear"));
        let held = recalls.list_for_user(&ada);
        assert_eq!(held.len(), HELD_MAX - 1);
        assert!(held[0].query.starts_with(&format!("{} x", HELD_MAX - 1)));
        assert_eq!(held[0].query.chars().count(), QUERY_CHARS);
        recalls.forget_user(&ada);
        assert!(recalls.list_for_user(&ada).is_empty());
        assert_eq!(recalls.list_for_user(&bob).len(), 1);
    }
}
