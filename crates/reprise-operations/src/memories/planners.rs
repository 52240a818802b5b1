//! What is known of each memory from one plan to the next.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex as Lock};

use lru::LruCache;
use reprise_knowledge::Planner;
use reprise_types::{UserId, lock};
use tokio::sync::Mutex;

/// Memories whose planners are kept in mind; of others the next plan looks through all again.
const PLANNERS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

/// What is known of each memory from one plan to the next; the least recently used goes first.
#[derive(Debug)]
pub(super) struct Planners(Lock<LruCache<UserId, Arc<Mutex<Planner>>>>);

impl Default for Planners {
    fn default() -> Self {
        Self(Lock::new(LruCache::new(PLANNERS_MAX)))
    }
}

impl Planners {
    pub(super) fn of(&self, user: &UserId) -> Arc<Mutex<Planner>> {
        let mut all = lock(&self.0);
        Arc::clone(all.get_or_insert_ref(user, Arc::default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_lately_is_kept_in_mind() {
        let planners = Planners::default();
        let user = |number: usize| format!("u{number:02}").parse::<UserId>().unwrap();
        let first = planners.of(&user(0));
        for number in 1..40 {
            planners.of(&user(number));
            assert!(Arc::ptr_eq(&first, &planners.of(&user(0))), "{number}");
        }
    }
}
