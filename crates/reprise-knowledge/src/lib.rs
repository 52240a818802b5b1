//! What to keep from what happened: the source systems' own forms as views over records, and the
//! ways in and out of them.
//!
//! Typed views over `MemoryRecord.details`, importers.
//!
//! # Examples
//!
//! ```
//! use reprise_knowledge::{Found, Item, read, recognise};
//! use reprise_types::Zone;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("CLAUDE.md"), "# Build\n\nPin protoc to 25.\n")?;
//! let (kind, mut texts) = (recognise(folder.path())?, Vec::new());
//! let mut take = |item: Item| {
//!     if let Found::Record(record) = item.found {
//!         texts.push(record.body.text);
//!     }
//!     true
//! };
//! read(folder.path(), kind, Zone::default(), &mut take)?;
//! assert!(texts[0].contains("Pin protoc to 25."));
//! # Ok(())
//! # }
//! ```

mod archive;
mod carried;
mod consolidate;
mod ended;
mod error;
mod export;
mod graph;
mod import;
mod lesson;
mod notes;
mod observation;
mod prelude;
mod project;
mod projection;
#[cfg(test)]
mod record_for_tests;
mod referee;
mod reference;
mod repository;
mod restate;
mod still;
mod sunwell;
mod values;

pub use archive::{Archive, Beside, Joint, held_back, moved, tell};
pub use consolidate::{
    Action, Distillate, Done, Known, Merge, Pair, Plan, Planner, Score, Undone, actions,
    are_related, carry_out, known, plan, scores, undo,
};
pub use ended::{Ended, Ran, committed, failing, ran};
pub use error::{ExportError, ImportError};
pub use export::{Outgoing, Proposed, SUCCESSES, Skill, Telling, skills, write_out, write_skills};
pub use graph::{Cluster, Graph, Step};
pub use import::{
    Found, ImportKind, Item, back_up, is_plain_text, plain_texts, read, read_archive, recognise,
    recognise_all, session_places, state_of_notes,
};
pub use lesson::{Fit, Lesson, normal_contexts};
pub use notes::{Gone, Place, Renewal, Replacement, Scope, deleted, is_written, renew};
pub use observation::{
    FramePlan, FrameRules, FrameSummary, Observation, ObservationQuery, ObservationType,
    Observations, frame_of, frame_tokens, frame_type, is_frame, plan_frames,
};
pub use project::{Project, TooFar, Walks, may_be_committed};
pub use projection::{ProjectionKind, Rebuilt, compare, hindrance, rebuild};
pub use referee::compare_stock;
pub use reference::{
    Definition, EVIDENCE_FIELD, TagRelation, evidence_of, meaning_of_confidence,
    meaning_of_evidence, meant_by, normal_evidence,
};
pub use repository::{
    Clean, SHARED, Shared, SharedState, Trusted, read_shared, share, shared_state, trusted_file,
    trusted_in,
};
pub use restate::restate;
pub use still::with_gone;
pub use sunwell::{
    Category, Decision, Failure, Learning, LearningQuery, SCOPES, SOURCE_TYPES, StoreCounts,
    SunwellMemory, SunwellStats, TYPESCRIPT, branch_names, learnings_of_session, one_of, studio,
};
pub use values::{hex_id, read_yaml};
