//! Typed knowledge: views over `MemoryRecord.details` in the formats of other systems, importers
//! and exporters of those formats, and the consolidation of a memory.
//!
//! # Examples
//!
//! ```
//! use reprise_knowledge::{ImportItem, ItemContent, read_source, recognise};
//! use reprise_types::Zone;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("CLAUDE.md"), "# Build\n\nPin protoc to 25.\n")?;
//! let (kind, mut texts) = (recognise(folder.path())?, Vec::new());
//! let mut take = |item: ImportItem| {
//!     if let ItemContent::Record(record) = item.content {
//!         texts.push(record.body.text);
//!     }
//!     true
//! };
//! read_source(folder.path(), kind, Zone::default(), &mut take)?;
//! assert!(texts[0].contains("Pin protoc to 25."));
//! # Ok(())
//! # }
//! ```

mod archive;
mod carried;
mod command_exit;
mod consolidate;
mod error;
mod export;
mod git_repository;
mod graph;
mod import;
mod lesson;
mod notes;
mod observation;
mod own_words;
mod pauses;
mod prelude;
mod project;
mod projection;
#[cfg(test)]
mod record_for_tests;
mod referee;
mod reference;
mod repository;
mod requests;
mod restate;
mod still;
mod sunwell;
mod values;

pub use archive::{
    Archive, ArchiveSection, ExternalLink, export_archive, find_withheld_records,
    to_imported_record,
};
pub use command_exit::{
    CommandExit, CommandPurpose, CommandRun, RunScope, classify_command, extract_commit_line,
    extract_failure_lines, find_test_verdict, hook_request_key,
};
pub use consolidate::{
    ConsolidationAction, ConsolidationReport, DayScore, Distillate, KnownMatch, Merge, Plan,
    Planner, RelatedPair, UndoReport, are_related, compute_day_scores, execute_plan,
    find_contradictions, find_known_matches, list_actions, list_open_contradictions,
    name_distinction, plan_consolidation, settles_known, undo_action,
};
pub use error::{ExportError, ImportError};
pub use export::{
    ExportInput, OutgoingRecord, SUCCESSES_MIN, Skill, propose_skills, write_export, write_skills,
};
pub use graph::{Graph, GraphStep, RecordCluster};
pub use import::{
    ImportItem, ImportKind, ItemContent, NotePath, NoteScope, SessionTurn, back_up,
    default_session_locations, find_plain_texts, is_plain_text, read_archive, read_notes_state,
    read_source, recognise, recognise_all,
};
pub use lesson::{ContextFit, LessonDetails, normalize_contexts};
pub use notes::{
    MissingNote, NoteChanges, NoteReplacement, compare_notes, find_deleted_notes, has_written_notes,
};
pub use observation::{
    FramePlan, FrameRules, FrameSummary, Observation, ObservationQuery, ObservationType,
    Observations, build_frame, count_frame_tokens, frame_type, is_observation,
    plan_frame_compaction,
};
pub use own_words::{extract_own_words, says_enough, says_something};
pub use pauses::{append_change, read_changes, read_pauses, save_pauses};
pub use project::{
    HistoryTooLongError, HistoryWalkCache, Project, may_be_committed, name_plain_folder,
};
pub use projection::ProposalReport;
pub use projection::{
    ProjectionKind, ProjectionUpdateReport, compare_projection, find_write_obstacle,
    update_projection,
};
pub use referee::compare_with_stock;
pub use reference::{
    EVIDENCE_FIELD, EvidenceDefinition, TagRelation, evidence_of, guess_evidence,
    meaning_of_confidence, meaning_of_evidence, normalize_evidence,
};
pub use repository::{
    CleanFn, SHARED_FOLDER, SharedLessons, SharedState, TrustedCheckout, read_shared_lessons,
    read_shared_state, read_trusted_checkouts, trusted_list_path, write_shared_lesson,
};
pub use requests::{asks_for_work, asks_to_run, states_besides};
pub use restate::restate_details;
pub use still::annotate_missing_names;
pub use sunwell::{
    LearningCategory, LearningQuery, SCOPES, SOURCE_TYPES, StoreCounts, SunwellDecision,
    SunwellFailure, SunwellLearning, SunwellMemory, SunwellStats, TYPESCRIPT, check_word,
    extract_learnings, extract_withdrawals, fold_umlauts, list_branch_names, may_state_correction,
    states_correction, states_decision, states_rule, states_withdrawal, to_studio,
};
pub use values::{hex_id, parse_yaml};
