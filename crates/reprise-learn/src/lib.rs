//! Learning from outcomes: from finished runs to bounded, explained adjustments of a ranking.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_learn::{Learning, Premises};
//! use reprise_types::{Credit, RecordId, RunBeginning, RunEnding, RunOutcome};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut learning, used) = (Learning::new(384), RecordId::from_u128(1));
//! let begin = RunBeginning { run_id: "run-1".to_owned(), query: None, recall_id: None };
//! let end = RunEnding {
//!     run_id: "run-1".to_owned(),
//!     used: vec![used],
//!     credit: Credit::Explicit,
//!     quality: Some(0.9),
//!     fail: None,
//! };
//! let (now, live, vector) = (DateTime::UNIX_EPOCH, |_| true, |_, _: &mut [f32]| false);
//! let premises = Premises { now, space: None, live: &live, vector: &vector };
//! // What is to be logged teaches when it is folded, now and at every start.
//! for event in learning.outcome(&RunOutcome { begin, end }, premises)? {
//!     learning.fold(&event, &live);
//! }
//! assert_eq!(learning.learner().worked(used).map(|worked| worked.runs), Some(1));
//! # Ok(())
//! # }
//! ```

mod adapter;
mod code;
mod cow;
mod error;
mod evidence;
mod gate;
mod journal;
mod learner;
mod learning;
mod part;
mod patterns;
mod settings;
mod shipped;
mod sona;
mod status;
mod trajectories;

pub use error::LearnError;
pub use learner::Learner;
pub use learning::{Learning, Premises};
pub use settings::LearnSettings;
pub use shipped::Shipped;
pub use sona::{SonaFile, SonaState};
pub use status::{Explained, ExplainedRun, LearningStatus, RunWent};
pub use trajectories::{OPEN_RUNS_MAX, RECEIPTS_MAX, STALE_AFTER, STEPS_MAX};
