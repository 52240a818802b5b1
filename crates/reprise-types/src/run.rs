//! Runs of a host as learning sees them: beginning, steps, end and later revisions.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::embedding::Embedding;
use crate::id::{RecallId, RecordId};
use crate::kind::{Credit, FailKind, Revision};

/// The records that a recall returned; only these can get credit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecallReceipt {
    pub recall_id: RecallId,
    pub at: DateTime<Utc>,
    /// Its query; `None` without a model.
    pub query: Option<Embedding>,
    /// The returned records, best first.
    pub records: Vec<RecordId>,
}

/// The learner's predictions for a run before it ended. They are logged with the run, as they
/// cannot be recomputed once records are forgotten or weights have changed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct OutcomePrediction {
    /// Quality of past runs with similar queries, 0..1.
    pub baseline: f32,
    /// The evidence learner's prediction, relative to `baseline`.
    pub evidence: f32,
    /// The adapter's prediction, relative to `baseline`.
    pub adapter: f32,
    /// The projection of the used records on each of the adapter's two rows. With the query and the
    /// quality it is all that the adapter's step at the run's end needs.
    #[serde(default, rename = "along")]
    pub adapter_projections: [f32; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// The host's id of the run.
    pub run_id: String,
    pub at: DateTime<Utc>,
    /// The recall that it worked with.
    pub recall_id: Option<RecallId>,
    /// Its query, if its beginning had none.
    pub query: Option<Embedding>,
    pub used: Vec<RecordId>,
    /// How it is known that it used them.
    pub credit: Credit,
    /// Its quality, 0..1.
    pub quality: f32,
    /// Whether the caller gave that quality; otherwise it was derived from how the run ended and
    /// later signals may revise it.
    pub scored: bool,
    /// Why it failed; `None` if it completed.
    pub fail_kind: Option<FailKind>,
    pub expected: OutcomePrediction,
}

/// The adapter's weights after a fit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AdapterWeights {
    /// Number of finished runs at the time of the fit.
    pub runs: u64,
    /// Down projection of the query, rank times dimensions.
    pub down: Vec<f32>,
    /// Up projection, compared with records, rank times dimensions.
    pub up: Vec<f32>,
    /// Fisher information of each number of `up` (for elastic weight consolidation).
    pub fisher: Vec<f32>,
}

/// One step of a reasoning chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainStep {
    /// The action, in the host's words.
    pub action: String,
    /// The record that is its result, whose vector is the result's embedding.
    pub result: Option<RecordId>,
}

/// Similar requests that went well, and the steps by which they were done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPattern {
    /// The run whose query is nearest to the centre.
    pub example_run: String,
    pub runs: usize,
    /// Mean quality of its runs, 0..1.
    pub quality: f32,
    /// The records they used most, most used first.
    pub records: Vec<RecordId>,
    /// The steps of its best run.
    pub chain: Vec<ChainStep>,
    /// The direction of its queries.
    #[serde(skip)]
    pub centre: Vec<i8>,
}

/// What a fit to all runs yields: new adapter weights and patterns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AdapterFit {
    pub weights: AdapterWeights,
    /// The reasoning bank, largest first.
    pub patterns: Vec<RunPattern>,
}

/// A learning event of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LearningEvent {
    Recalled(RecallReceipt),
    Begun {
        /// The host's id of the run.
        run_id: String,
        at: DateTime<Utc>,
        query: Option<Embedding>,
        /// The recall that it works with.
        recall_id: Option<RecallId>,
        /// Whether a relay observed the run: nobody reports which records were used, so that is
        /// inferred.
        #[serde(default, rename = "overheard")]
        use_is_inferred: bool,
    },
    Stepped {
        run_id: String,
        at: DateTime<Utc>,
        /// The action, in the host's words.
        action: String,
        /// Records used for it.
        used: Vec<RecordId>,
        /// The record that is its result.
        #[serde(default)]
        result: Option<RecordId>,
    },
    Ended(Box<EndedRun>),
    /// The quality of an ended run was revised.
    Revised {
        run_id: String,
        at: DateTime<Utc>,
        revision: Revision,
        /// The quality in force from now on, 0..1.
        quality: f32,
    },
    /// The outcome of a run was withdrawn: nothing is learned from it.
    Withdrawn {
        run_id: String,
        at: DateTime<Utc>,
    },
    /// A run that was never ended was abandoned. It teaches nothing.
    Abandoned {
        run_id: String,
        at: DateTime<Utc>,
    },
    /// The adapter was fitted to the runs so far, and the reasoning bank was built from them.
    #[serde(rename = "consolidated")]
    AdapterFitted(Box<AdapterFit>),
    /// Learning was switched on or off.
    Switched {
        at: DateTime<Utc>,
        /// Whether adjustments are made from now on.
        on: bool,
    },
    /// Everything learned so far was discarded.
    Reset {
        at: DateTime<Utc>,
    },
}

crate::impl_tagged_codec! {
    LearningEvent {
        7 => Recalled(receipt),
        8 => Begun { run_id, at, query, recall_id, use_is_inferred },
        9 => Stepped { run_id, at, action, used, result },
        10 => Ended(ended),
        11 => Revised { run_id, at, revision, quality },
        12 => Abandoned { run_id, at },
        13 => AdapterFitted(fit),
        14 => Switched { at, on },
        15 => Reset { at },
        21 => Withdrawn { run_id, at },
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunBeginning {
    /// The host's id of the run, 1 to 512 bytes.
    pub run_id: String,
    /// Its query; if missing, that of its recall.
    pub query: Option<Embedding>,
    /// The recall that it works with.
    pub recall_id: Option<RecallId>,
}

/// A step of a run that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunStep {
    pub run_id: String,
    /// The action, in the host's words.
    pub action: String,
    /// Records used for it.
    pub used: Vec<RecordId>,
    /// The record that is its result, whose vector is the result's embedding.
    pub result: Option<RecordId>,
}

/// The end of a run that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnding {
    pub run_id: String,
    /// Records used, in addition to those of its steps.
    pub used: Vec<RecordId>,
    /// How it is known that it used them.
    pub credit: Credit,
    /// Its quality, 0..1; `None` derives it from `fail`.
    pub quality: Option<f32>,
    /// Why it failed; `None` if it completed.
    pub fail_kind: Option<FailKind>,
}

/// A whole run, which is reported after its end.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub begin: RunBeginning,
    /// Its end; the run id in it is ignored.
    pub end: RunEnding,
}
