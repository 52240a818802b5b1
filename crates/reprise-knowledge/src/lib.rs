//! What to keep from what happened: the source systems' own forms as views over records, and the
//! ways in and out of them.
//!
//! Typed views over `MemoryRecord.details`, importers.

mod archive;
mod consolidate;
mod error;
mod exact;
mod export;
mod import;
mod joint;
mod lesson;
mod lines;
mod naming;
mod observation;
mod project;
#[cfg(test)]
mod record_for_tests;
mod referee;
mod stamp;
mod sunwell;

pub use archive::{Archive, Beside, tell};
pub use consolidate::{
    Action, Distillate, Done, Merge, Pair, Plan, Score, Undone, actions, carry_out, plan,
    plan_while, scores, undo,
};
pub use error::{ExportError, ImportError};
pub use export::{ExportKind, Telling, write_out};
pub use import::{Found, ImportKind, Item, Reading, read, read_archive, recognise, recognise_all};
pub use joint::Joint;
pub use lesson::Lesson;
pub use lines::Lines;
pub use naming::hex_id;
pub use observation::{Observation, ObservationType, frame_of};
pub use project::Project;
pub use referee::compare_stock;
pub use sunwell::{
    Category, Decision, Failure, Intelligence, Learning, LearningQuery, MemoryStats,
    ProjectLearnings, SunwellMemory, SunwellStats,
};
