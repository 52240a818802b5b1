//! Errors of requests about runs. After an error nothing is logged or learned.

use reprise_types::{RecallId, RecordId, VectorError};

pub(crate) type LearnResult<T> = Result<T, LearnError>;

/// A refused request, which the caller must correct.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    #[error("a run's id has {got} bytes; give it 1 to {limit}")]
    RunId { got: usize, limit: usize },
    #[error("the quality of run `{run_id}` is {got}; give a number from 0 to 1")]
    Quality { run_id: String, got: f32 },
    #[error("the question of run `{run_id}` cannot be used: {error}")]
    Query { run_id: String, error: VectorError },
    #[error(
        "the question of run `{run_id}` was embedded with {got}, this memory with {expected}; embed \
         it with the same model"
    )]
    OtherSpace {
        run_id: String,
        /// Model and version of the query.
        got: String,
        /// Model and version of the store.
        expected: String,
    },
    #[error("run `{run_id}` has not begun; begin it first, or report its outcome as one")]
    NotBegun { run_id: String },
    #[error("run `{run_id}` is already under way; end it first, or give the new run its own id")]
    AlreadyBegun { run_id: String },
    #[error("run `{run_id}` has already ended; revise it, or give the new run its own id")]
    AlreadyEnded { run_id: String },
    #[error("run `{run_id}` is still under way; end it before it is revised")]
    StillOpen { run_id: String },
    #[error("run `{run_id}` has {limit} steps, the most one run may have; end it")]
    TooManySteps { run_id: String, limit: usize },
    #[error("run `{run_id}` names {got} used records; name at most {limit}")]
    TooManyUsed {
        run_id: String,
        got: usize,
        limit: usize,
    },
    #[error(
        "recall {recall_id} is not known (only the last {limit} are remembered); report the outcome \
         with its question instead"
    )]
    UnknownRecall { recall_id: RecallId, limit: usize },
    #[error("recall {recall_id} did not return record {record}; credit only what it returned")]
    NotRecalled {
        recall_id: RecallId,
        record: RecordId,
    },
    #[error("there is no record {record} in this memory; credit only records it holds")]
    UnknownRecord { record: RecordId },
    #[error("the learning setting {name} is {got}; give a number from 0 to 1")]
    Weight { name: &'static str, got: f32 },
}
