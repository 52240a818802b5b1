//! Comparisons of memories that were made for a page, so that the next page shows the last result
//! at once while a new one is computed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use reprise_engine::EngineStats;
use reprise_operations::DoubtfulPair;
use reprise_operations::operations::maintenance::Reviewed;
use reprise_types::{UserId, lock};

/// Users whose results are kept at once; a new one replaces the first.
const USERS_MAX: usize = 64;

/// The numbers that change when a memory does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryVersion([u64; 3], Option<DateTime<Utc>>);

impl MemoryVersion {
    pub(crate) fn of(stats: &EngineStats) -> Self {
        let counts = [stats.live, stats.superseded, stats.forgotten].map(u64::from);
        Self(counts, stats.last_ingest)
    }
}

/// What a look at the whole memory file found.
#[derive(Debug, Clone)]
pub(crate) struct FileCheck {
    pub(crate) at: DateTime<Utc>,
    /// A sentence about its damage, if it has any.
    pub(crate) damage: Option<String>,
}

/// The pairs that were found, when, and in which version of the memory.
#[derive(Debug, Clone)]
pub(crate) struct KeptReview {
    pub(crate) at: DateTime<Utc>,
    pub(crate) version: MemoryVersion,
    pub(crate) found: Arc<Reviewed>,
    /// The last look at the file, if there was one.
    pub(crate) file: Option<FileCheck>,
}

impl KeptReview {
    /// Counts the pairs that wait for a decision.
    pub(crate) fn count(&self) -> usize {
        let found = &*self.found;
        let listed = found.contradictions.len() + found.review.len();
        listed + found.contradictions_more + found.review_more
    }
}

#[derive(Debug, Default)]
pub(crate) struct KeptReviews(Mutex<BTreeMap<UserId, KeptReview>>);

impl KeptReviews {
    pub(crate) fn get(&self, user: &UserId) -> Option<KeptReview> {
        lock(&self.0).get(user).cloned()
    }

    pub(crate) fn put(&self, user: &UserId, kept: KeptReview) {
        let mut all = lock(&self.0);
        if all.len() >= USERS_MAX && !all.contains_key(user) {
            all.pop_first();
        }
        all.insert(user.clone(), kept);
    }

    /// Notes what a look at a user's file found.
    pub(crate) fn note_file_check(&self, user: &UserId, check: FileCheck) {
        if let Some(kept) = lock(&self.0).get_mut(user) {
            kept.file = Some(check);
        }
    }

    /// Drops what was found for a user, since something was decided.
    pub(crate) fn remove(&self, user: &UserId) {
        lock(&self.0).remove(user);
    }

    /// Drops a pair that was decided.
    pub(crate) fn remove_pair(&self, user: &UserId, pair: &[String; 2]) {
        if let Some(kept) = lock(&self.0).get_mut(user) {
            let found = Arc::make_mut(&mut kept.found);
            found.contradictions.retain(|one| one.pair != *pair);
            found.review.retain(|one| one.pair != *pair);
        }
    }

    /// Drops every pair of memories that agents no longer see.
    pub(crate) fn remove_memories(&self, user: &UserId, names: &[String]) {
        if let Some(kept) = lock(&self.0).get_mut(user) {
            let found = Arc::make_mut(&mut kept.found);
            let has_all = |one: &DoubtfulPair| !one.pair.iter().any(|name| names.contains(name));
            found.contradictions.retain(has_all);
            found.review.retain(has_all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_was_decided_is_not_kept() {
        let (kept, user) = (KeptReviews::default(), UserId::default());
        let pair = ["a".to_owned(), "b".to_owned()];
        let doubted = DoubtfulPair {
            pair: pair.clone(),
            newest: "b".to_owned(),
            why: String::new(),
            texts: None,
        };
        let found = Reviewed {
            contradictions: vec![doubted],
            ..Reviewed::default()
        };
        let review = KeptReview {
            at: DateTime::UNIX_EPOCH,
            version: MemoryVersion([1, 0, 0], None),
            found: Arc::new(found),
            file: None,
        };
        kept.put(&user, review);
        assert_eq!(kept.get(&user).unwrap().count(), 1);
        kept.remove_pair(&user, &pair);
        assert_eq!(kept.get(&user).unwrap().count(), 0);
        kept.remove(&user);
        assert!(kept.get(&user).is_none());
    }
}
