//! Runs under way and receipts: what the writer has to know to accept or refuse what is said of a
//! run.
//!
//! A fold of the log, like the learner, but never published.

use std::collections::{BTreeMap, HashMap, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{Embedding, RecallId, Receipt, RecordId};

/// Runs kept track of at the same time; one more gives up the one silent for longest.
pub const OPEN_RUNS_MAX: usize = 1_024;
pub const STEPS_MAX: usize = 1_024;
pub const RECEIPTS_MAX: usize = 256;
/// A run that says nothing for so long is given up.
pub const STALE_AFTER: TimeDelta = TimeDelta::hours(24);

/// A run that has begun and not ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenRun {
    pub(crate) last: DateTime<Utc>,
    pub(crate) query: Option<Embedding>,
    pub(crate) recall_id: Option<RecallId>,
    pub(crate) steps: usize,
    pub(crate) used: Vec<RecordId>,
}

/// Runs under way, ids of ended ones, receipts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trajectories {
    pub(crate) open: BTreeMap<String, OpenRun>,
    /// Number of each ended run that the journal holds.
    pub(crate) ended: HashMap<String, u64>,
    receipts: BTreeMap<RecallId, Receipt>,
    order: VecDeque<RecallId>,
}

impl Trajectories {
    pub(crate) fn receipt(&self, recall_id: RecallId) -> Option<&Receipt> {
        self.receipts.get(&recall_id)
    }

    /// The receipts, oldest first.
    pub(crate) fn receipts(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Receipt> + ExactSizeIterator<Item = &Receipt> {
        self.order.iter().map(|id| &self.receipts[id])
    }

    /// Remembers a receipt; the oldest makes room.
    pub(crate) fn remember(&mut self, receipt: Receipt) {
        let id = receipt.recall_id;
        if self.receipts.insert(id, receipt).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > RECEIPTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.receipts.remove(&oldest);
        }
    }

    /// Takes a forgotten record out of everything.
    pub(crate) fn strike(&mut self, record: RecordId) {
        for run in self.open.values_mut() {
            run.used.retain(|used| *used != record);
        }
        for receipt in self.receipts.values_mut() {
            receipt.records.retain(|returned| *returned != record);
        }
    }

    /// Runs that have said nothing since `STALE_AFTER` before `now`.
    pub(crate) fn stale(&self, now: DateTime<Utc>) -> impl Iterator<Item = &String> {
        let stale = move |run: &OpenRun| now.signed_duration_since(run.last) >= STALE_AFTER;
        self.open
            .iter()
            .filter(move |(_, run)| stale(run))
            .map(|(run_id, _)| run_id)
    }

    /// The run that has said nothing for longest, where there is no room for one more.
    pub(crate) fn crowded_out(&self) -> Option<&String> {
        if self.open.len() < OPEN_RUNS_MAX {
            return None;
        }
        let silent = self.open.iter().min_by_key(|(_, run)| run.last);
        silent.map(|(run_id, _)| run_id)
    }
}
