//! Learning from outcomes: from finished runs to bounded, explained adjustments of a ranking.

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
mod port;
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
