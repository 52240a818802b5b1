//! Runs under way and receipts, by which the writer validates requests about runs.
//!
//! Folded from the log, like the learner, but never published.

use std::collections::{BTreeMap, HashMap, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{ChainStep, Embedding, RecallId, Receipt, RecordId};

/// Most runs under way; one more abandons the one idle for longest.
pub const OPEN_RUNS_MAX: usize = 1_024;
pub const STEPS_MAX: usize = 1_024;
pub const RECEIPTS_MAX: usize = 256;
/// Steps of a run that its reasoning chain has, the first ones, and bytes of the action of one.
const CHAIN_MAX: usize = 8;
const CHAIN_ACTION_BYTES_MAX: usize = 96;
/// A run idle for this long is abandoned.
pub const STALE_AFTER: TimeDelta = TimeDelta::hours(24);

/// A run that has begun and not ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenRun {
    pub(crate) last: DateTime<Utc>,
    pub(crate) query: Option<Embedding>,
    pub(crate) recall_id: Option<RecallId>,
    pub(crate) steps: usize,
    pub(crate) used: Vec<RecordId>,
    /// What is kept of its steps.
    pub(crate) chain: Vec<ChainStep>,
    /// A relay heard of its beginning.
    pub(crate) overheard: bool,
}

impl OpenRun {
    /// Adds a step to the chain: of one action several times over the last result counts.
    pub(crate) fn add(&mut self, action: &str, result: Option<RecordId>) {
        let action = &action[..action.floor_char_boundary(CHAIN_ACTION_BYTES_MAX)];
        let room = self.chain.len() < CHAIN_MAX;
        match self.chain.last_mut().filter(|last| last.action == action) {
            Some(last) => last.result = result.or(last.result),
            None if room => self.chain.push(ChainStep {
                action: action.to_owned(),
                result,
            }),
            None => {}
        }
    }
}

/// Runs under way, ids of ended ones, receipts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trajectories {
    pub(crate) open: BTreeMap<String, OpenRun>,
    /// Journal numbers of the ended runs held.
    pub(crate) ended: HashMap<String, u64>,
    /// The last ones, oldest first.
    pub(crate) receipts: VecDeque<Receipt>,
}

impl Trajectories {
    pub(crate) fn receipt(&self, recall_id: RecallId) -> Option<&Receipt> {
        let mut held = self.receipts.iter();
        held.find(|receipt| receipt.recall_id == recall_id)
    }

    /// Stores a receipt, dropping the oldest where full.
    pub(crate) fn remember(&mut self, receipt: Receipt) {
        let mut held = self.receipts.iter_mut();
        match held.find(|held| held.recall_id == receipt.recall_id) {
            Some(held) => *held = receipt,
            None => self.receipts.push_back(receipt),
        }
        if self.receipts.len() > RECEIPTS_MAX {
            self.receipts.pop_front();
        }
    }

    /// Removes a forgotten record everywhere.
    pub(crate) fn strike(&mut self, record: RecordId) {
        for run in self.open.values_mut() {
            run.used.retain(|used| *used != record);
            strike(&mut run.chain, record);
        }
        for receipt in &mut self.receipts {
            receipt.records.retain(|returned| *returned != record);
        }
    }

    /// Runs idle since `STALE_AFTER` before `now`.
    pub(crate) fn stale(&self, now: DateTime<Utc>) -> impl Iterator<Item = &String> {
        let stale = move |run: &OpenRun| now.signed_duration_since(run.last) >= STALE_AFTER;
        self.open
            .iter()
            .filter(move |(_, run)| stale(run))
            .map(|(run_id, _)| run_id)
    }

    /// The run idle for longest, where there is no room for another.
    pub(crate) fn crowded_out(&self) -> Option<&String> {
        if self.open.len() < OPEN_RUNS_MAX {
            return None;
        }
        let silent = self.open.iter().min_by_key(|(_, run)| run.last);
        silent.map(|(run_id, _)| run_id)
    }
}

/// Removes a forgotten record from a chain.
pub(crate) fn strike(chain: &mut [ChainStep], record: RecordId) {
    for step in chain {
        step.result = step.result.filter(|result| *result != record);
    }
}
