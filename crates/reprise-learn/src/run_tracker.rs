//! Runs in progress and receipts, with which the writer validates requests about runs.
//!
//! They are built from the log, like the learner, but are not part of snapshots.

use std::collections::{BTreeMap, HashMap, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{ChainStep, Embedding, RecallId, RecallReceipt, RecordId};

/// Most runs in progress; one more abandons the longest idle one.
pub const OPEN_RUNS_MAX: usize = 1_024;
pub const STEPS_MAX: usize = 1_024;
pub const RECEIPTS_MAX: usize = 256;
/// Most steps in the reasoning chain of a run, which are the first ones.
const CHAIN_MAX: usize = 8;
/// Most bytes of the action of a step in the chain.
pub(crate) const CHAIN_ACTION_BYTES_MAX: usize = 96;
/// Idle time after which a run is abandoned.
pub const STALE_AFTER: TimeDelta = TimeDelta::hours(24);

/// A run in progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenRun {
    pub(crate) last_event_at: DateTime<Utc>,
    pub(crate) query: Option<Embedding>,
    pub(crate) recall_id: Option<RecallId>,
    pub(crate) steps: usize,
    pub(crate) used: Vec<RecordId>,
    /// The first of its steps, shortened.
    pub(crate) chain: Vec<ChainStep>,
    /// Whether a relay inferred its beginning.
    pub(crate) use_is_inferred: bool,
}

reprise_types::impl_binary_codec! {
    OpenRun { last_event_at, query, recall_id, steps, used, chain, use_is_inferred }
}

impl OpenRun {
    /// Adds a step to the chain.
    pub(crate) fn add_step(&mut self, action: &str, result: Option<RecordId>) {
        add_to_chain(&mut self.chain, action, result);
    }
}

/// Adds a step to a chain. A step that begins as the one before it, such as the report of what was
/// assigned, takes its place, so that the result is kept and not the plumbing.
pub(crate) fn add_to_chain(chain: &mut Vec<ChainStep>, action: &str, result: Option<RecordId>) {
    let action = &action[..action.floor_char_boundary(CHAIN_ACTION_BYTES_MAX)];
    let room = chain.len() < CHAIN_MAX;
    let last = chain.last_mut();
    match last.filter(|last| action.starts_with(last.action.as_str())) {
        Some(last) => {
            action.clone_into(&mut last.action);
            last.result = result.or(last.result);
        }
        None if room => chain.push(ChainStep {
            action: action.to_owned(),
            result,
        }),
        None => {}
    }
}

/// Tracks the runs in progress, the ids of ended runs, and the receipts of recalls.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunTracker {
    pub(crate) open: BTreeMap<String, OpenRun>,
    /// Journal numbers of the ended runs by id.
    pub(crate) ended: HashMap<String, u64>,
    /// The last receipts, oldest first.
    pub(crate) receipts: VecDeque<RecallReceipt>,
}

impl RunTracker {
    pub(crate) fn find_receipt(&self, recall_id: RecallId) -> Option<&RecallReceipt> {
        let mut receipts = self.receipts.iter();
        receipts.find(|receipt| receipt.recall_id == recall_id)
    }

    /// Stores a receipt, and drops the oldest one if there are too many.
    pub(crate) fn store_receipt(&mut self, receipt: RecallReceipt) {
        let mut receipts = self.receipts.iter_mut();
        match receipts.find(|known| known.recall_id == receipt.recall_id) {
            Some(known) => {
                let new = receipt.records.into_iter();
                for record in new {
                    if !known.records.contains(&record) {
                        known.records.push(record);
                    }
                }
                known.query = known.query.take().or(receipt.query);
            }
            None => self.receipts.push_back(receipt),
        }
        if self.receipts.len() > RECEIPTS_MAX {
            self.receipts.pop_front();
        }
    }

    /// Removes a forgotten record everywhere.
    pub(crate) fn remove_record(&mut self, record: RecordId) {
        for run in self.open.values_mut() {
            run.used.retain(|used| *used != record);
            remove_from_chain(&mut run.chain, record);
        }
        for receipt in &mut self.receipts {
            receipt.records.retain(|returned| *returned != record);
        }
    }

    /// Iterates over the runs that are idle for at least `STALE_AFTER` at `now`.
    pub(crate) fn idle_runs(&self, now: DateTime<Utc>) -> impl Iterator<Item = &String> {
        let stale =
            move |run: &OpenRun| now.signed_duration_since(run.last_event_at) >= STALE_AFTER;
        self.open
            .iter()
            .filter(move |(_, run)| stale(run))
            .map(|(run_id, _)| run_id)
    }

    /// Returns the longest idle run if there are already [`OPEN_RUNS_MAX`] runs.
    pub(crate) fn run_to_abandon(&self) -> Option<&String> {
        if self.open.len() < OPEN_RUNS_MAX {
            return None;
        }
        let silent = self.open.iter().min_by_key(|(_, run)| run.last_event_at);
        silent.map(|(run_id, _)| run_id)
    }
}

/// Removes a forgotten record from a chain.
pub(crate) fn remove_from_chain(chain: &mut [ChainStep], record: RecordId) {
    for step in chain {
        step.result = step.result.filter(|result| *result != record);
    }
}
