//! What is known of each memory from one plan to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reprise_knowledge::Planner;
use reprise_types::UserId;

/// Memories whose planners are kept in mind; of others the next plan looks through all again.
const PLANNERS_MAX: usize = 32;

/// What is known of each memory from one plan to the next.
#[derive(Debug, Default)]
pub(super) struct Planners(Mutex<BTreeMap<UserId, Arc<Mutex<Planner>>>>);

impl Planners {
    pub(super) fn of(&self, user: &UserId) -> Arc<Mutex<Planner>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= PLANNERS_MAX && !all.contains_key(user) {
            all.pop_first();
        }
        Arc::clone(all.entry(user.clone()).or_default())
    }
}
