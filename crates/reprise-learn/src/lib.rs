//! Learning from outcomes: from finished runs to bounded, explained adjustments of a ranking.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_learn::{LearningContext, OutcomeLearning};
//! use reprise_types::{Credit, RecordId, RunBeginning, RunEnding, RunOutcome};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut learning, used) = (OutcomeLearning::new(384), RecordId::from_u128(1));
//! let begin = RunBeginning { run_id: "run-1".to_owned(), query: None, recall_id: None };
//! let end = RunEnding {
//!     run_id: "run-1".to_owned(),
//!     used: vec![used],
//!     credit: Credit::Explicit,
//!     quality: Some(0.9),
//!     fail_kind: None,
//! };
//! let (now, live, vector) = (DateTime::UNIX_EPOCH, |_| true, |_, _: &mut [f32]| false);
//! let context = LearningContext { now, space: None, is_live: &live, write_vector: &vector };
//! // The learner changes when the logged events are applied, now and at every start.
//! for event in learning.plan_outcome(&RunOutcome { begin, end }, context)? {
//!     learning.apply_event(&event, &live);
//! }
//! assert_eq!(learning.learner().record_outcomes(used).map(|outcomes| outcomes.runs), Some(1));
//! # Ok(())
//! # }
//! ```

mod adapter;
mod cow;
mod error;
mod evidence;
mod gate;
mod journal;
mod learner;
mod learning;
mod patterns;
mod quantized;
mod run_tracker;
mod serialized;
mod settings;
mod sona;
mod status;

pub use error::LearnError;
pub use learner::Learner;
pub use learning::{LearningContext, OutcomeLearning};
pub use run_tracker::{OPEN_RUNS_MAX, RECEIPTS_MAX, STALE_AFTER, STEPS_MAX};
pub use settings::LearnSettings;
pub use sona::{SonaFile, SonaState};
pub use status::{AdjustmentExplanation, ExplainedRun, LearningStatus, RunResult};
