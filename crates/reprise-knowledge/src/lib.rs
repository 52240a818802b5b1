//! What to keep from what happened: the source systems' own forms as views over records, and the
//! ways in and out of them.
//!
//! Lives here: typed views over `MemoryRecord.details`, importers. Must never live here: storage,
//! ranking or forgetting of its own, a thread, a clock, a terminal.

mod consolidate;
mod error;
mod exact;
mod import;
mod lesson;
mod lines;
mod naming;
mod observation;
#[cfg(test)]
mod record_for_tests;
mod stamp;
mod sunwell;

pub use consolidate::{Action, Done, Merge, Pair, Plan, actions, carry_out, plan, undo};
pub use error::ImportError;
pub use import::{Found, ImportKind, Item, Joint, Reading, read, recognise};
pub use lesson::Lesson;
pub use lines::Lines;
pub use naming::hex_id;
pub use observation::{Observation, ObservationType, frame_of};
pub use sunwell::{
    Category, Decision, Failure, Intelligence, Learning, LearningQuery, MemoryStats,
    ProjectLearnings, SunwellMemory, SunwellStats,
};
