//! What was asked of the memories of this process lately, and what listeners were told of
//! learnings. It is held in memory alone, and goes with what its user forgets.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::MutexGuard;

use reprise_types::{Recall, Verdict};
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
pub struct Change {
    pub user: UserId,
    /// `inserted`, `updated`, `retagged`, `linked`, `unlinked`, `merged`, `forgotten`,
    /// `consolidated`, `restored`, `learned`, `withdrawn`, `memory_learning` or `memory_loaded`.
    pub what: &'static str,
    pub ids: Vec<RecordId>,
    /// Of `memory_learning` the learning and its fact, of `memory_loaded` what there is.
    #[serde(flatten)]
    pub event: Map<String, Value>,
}

impl Change {
    /// Whether a view of memory looks otherwise for it.
    pub(super) fn changes_records(&self) -> bool {
        self.event.is_empty()
    }
}

/// One recall.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRecall {
    pub at: DateTime<Utc>,
    /// The beginning of the question.
    pub query: String,
    pub results: usize,
    pub verdict: Verdict,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

impl PastRecall {
    pub(super) fn new(at: DateTime<Utc>, query: &str, recall: &Recall, elapsed_ms: f64) -> Self {
        Self {
            at,
            query: query.chars().take(QUERY_CHARS).collect(),
            results: recall.results.len(),
            verdict: recall.verdict,
            elapsed_ms,
        }
    }
}

/// What listeners were told of learnings: `memory_learning` or `memory_loaded`, and its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub at: DateTime<Utc>,
    pub what: &'static str,
    /// The learning's record.
    pub id: Option<RecordId>,
    pub event: Map<String, Value>,
}

impl Told {
    pub(super) fn of(change: &Change, at: DateTime<Utc>) -> Option<Self> {
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
pub(super) struct Lately<T> {
    held: Mutex<VecDeque<(UserId, T)>>,
    noted: broadcast::Sender<UserId>,
}

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            noted: broadcast::Sender::new(WAITING_MAX),
        }
    }
}

impl<T: Clone> Lately<T> {
    fn held(&self) -> MutexGuard<'_, VecDeque<(UserId, T)>> {
        lock(&self.held)
    }

    /// For whom something is noted from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<UserId> {
        self.noted.subscribe()
    }

    pub(super) fn note(&self, user: &UserId, one: T) {
        let mut held = self.held();
        if held.len() >= HELD_MAX {
            held.pop_front();
        }
        held.push_back((user.clone(), one));
        drop(held);
        // Nobody may be listening.
        let _heard = self.noted.send(user.clone()).is_ok();
    }

    /// A user's, newest first.
    pub(super) fn of(&self, user: &UserId) -> Vec<T> {
        let held = self.held();
        let own = held.iter().rev().filter(|(whose, _)| whose == user);
        own.map(|(_, one)| one.clone()).collect()
    }

    /// It may say what a record said.
    pub(super) fn forget(&self, user: &UserId) {
        self.held().retain(|(whose, _)| whose != user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_held_and_those_of_whoever_forgets_go() {
        let (recalls, now) = (Lately::default(), DateTime::UNIX_EPOCH);
        let [ada, bob] = ["ada", "bob"].map(|user| user.parse::<UserId>().unwrap());
        let nothing = Recall::nothing(RecallId::from_parts(0, 0));
        let asked = |query: &str| PastRecall::new(now, query, &nothing, 1.0);
        recalls.note(&bob, asked("plum"));
        for number in 0..HELD_MAX {
            recalls.note(
                &ada,
                asked(&format!("{number} {}", "x".repeat(QUERY_CHARS))),
            );
        }
        assert!(recalls.of(&bob).is_empty(), "it made room");
        recalls.note(&bob, asked("pear"));
        let held = recalls.of(&ada);
        assert_eq!(held.len(), HELD_MAX - 1);
        assert!(held[0].query.starts_with(&format!("{} x", HELD_MAX - 1)));
        assert_eq!(held[0].query.chars().count(), QUERY_CHARS);
        recalls.forget(&ada);
        assert!(recalls.of(&ada).is_empty());
        assert_eq!(recalls.of(&bob).len(), 1);
    }
}
