//! What a run of the host tells learning: its trajectory, how it went, and what was said later.
//!
//! The nouns that the log keeps and the learner folds.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::embedding::Embedding;
use crate::id::{RecallId, RecordId};
use crate::kind::{Credit, FailKind, Revision};

/// Which records a recall returned: credit for it may go to these only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub recall_id: RecallId,
    /// When it was answered.
    pub at: DateTime<Utc>,
    /// Its question; `None` where there was no model.
    pub query: Option<Embedding>,
    /// What it returned, best first.
    pub records: Vec<RecordId>,
}

/// What the learner expected of a run before it ended. It is logged with the run, because it cannot
/// be known again once records are forgotten or weights have moved on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Expected {
    /// Quality of past runs with similar questions, 0..1.
    pub baseline: f32,
    /// How much better than that the evidence learner expected it to go.
    pub evidence: f32,
    /// How much better than that the adapter expected it to go.
    pub adapter: f32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// The host's name for it.
    pub run_id: String,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The recall whose answer it worked with.
    pub recall_id: Option<RecallId>,
    /// Its question, where its beginning did not say.
    pub query: Option<Embedding>,
    pub used: Vec<RecordId>,
    /// Who says that it used them.
    pub credit: Credit,
    /// How it went, 0..1.
    pub quality: f32,
    /// Whether the caller gave that quality; one that follows from how the run ended may be revised
    /// by what happens later.
    pub scored: bool,
    /// Why it failed, where it did.
    pub fail_kind: Option<FailKind>,
    /// What was expected of it.
    pub expected: Expected,
}

/// The adapter's weights after a consolidation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AdapterWeights {
    /// Finished runs that they were fitted on or before.
    pub runs: u64,
    /// Down projection, rank times dimensions: what a question is measured along.
    pub down: Vec<f32>,
    /// Up projection, rank times dimensions: what that measure prefers in a record.
    pub up: Vec<f32>,
    /// Fisher information of each number of `up`: how much past runs depend on it.
    pub fisher: Vec<f32>,
}

/// One thing that learning's part of the log says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LearningEvent {
    Recalled(Receipt),
    Begun {
        /// The host's name for it.
        run_id: String,
        /// When.
        at: DateTime<Utc>,
        query: Option<Embedding>,
        /// The recall whose answer it works with.
        recall_id: Option<RecallId>,
    },
    Stepped {
        run_id: String,
        /// When.
        at: DateTime<Utc>,
        /// What it did, in the host's words.
        action: String,
        /// Records it used for that.
        used: Vec<RecordId>,
    },
    Ended(Box<EndedRun>),
    /// Something was learned later about a run that has ended.
    Revised {
        run_id: String,
        /// When.
        at: DateTime<Utc>,
        revision: Revision,
        /// The quality in force from now on, 0..1.
        quality: f32,
    },
    /// A run that nobody ended was given up. It teaches nothing.
    Abandoned {
        run_id: String,
        /// When.
        at: DateTime<Utc>,
    },
    /// The adapter was fitted anew.
    Consolidated(Box<AdapterWeights>),
    /// Learning was switched on or off.
    Switched {
        /// When.
        at: DateTime<Utc>,
        /// Whether adjustments are made from now on.
        on: bool,
    },
    /// Everything learned so far was thrown away.
    Reset {
        /// When.
        at: DateTime<Utc>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunBeginning {
    /// The host's name for it, 1 to 512 bytes.
    pub run_id: String,
    /// Its question; where it is missing and the recall is known, the recall's.
    pub query: Option<Embedding>,
    /// The recall whose answer it works with.
    pub recall_id: Option<RecallId>,
}

/// A run that has begun ends.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnding {
    pub run_id: String,
    /// Records it used, beside those its steps named.
    pub used: Vec<RecordId>,
    /// Who says that it used them.
    pub credit: Credit,
    /// How it went, 0..1; `None` follows from `fail`.
    pub quality: Option<f32>,
    /// Why it failed; `None` where it completed.
    pub fail: Option<FailKind>,
}

/// A run that is reported when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub begin: RunBeginning,
    /// How it went; its run id is not looked at.
    pub end: RunEnding,
}
