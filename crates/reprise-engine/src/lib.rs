//! The whole memory of one user as one synchronous value: it writes, recalls, forgets, answers
//! about the past, rebuilds and checks itself.
//!
//! The crate decides what is stored, what a recall returns and why. `examples/memory.rs` is a
//! memory in ten lines.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use reprise_engine::{Engine, EngineOptions, RecallCall};
//! use reprise_store::RealDisk;
//! use reprise_types::{
//!     Clock, MemoryKind, MemorySource, NewRecord, RecallId, RecallRequest, SystemClock,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (folder, now) = (tempfile::tempdir()?, SystemClock.now());
//! let file = folder.path().join("memory.rvf");
//! let options = EngineOptions::new(384, 1, now);
//! let (mut engine, _) = Engine::open(Arc::new(RealDisk), &file, &options)?;
//! let note = "The auth race is fixed with a mutex";
//! let note = NewRecord::new(note, MemorySource::UserInput, MemoryKind::Finding);
//! engine.observe(vec![note], None, now)?;
//! let snapshot = engine.snapshot();
//! let asked = RecallRequest::new("how was the auth race fixed");
//! let learner = snapshot.learner().as_ref();
//! let call = RecallCall::new(&asked, RecallId::from_parts(0, 1), learner);
//! let recall = snapshot.recall(&call);
//! assert!(recall.results[0].record.text.ends_with("with a mutex"));
//! # Ok(())
//! # }
//! ```

mod copies;
mod engine;
mod error;
mod open;
mod ports;
mod recall;
mod snapshot;
mod state;
mod upkeep;
mod write;

#[cfg(test)]
mod tests;

pub use copies::archive::{ErasedRecord, ExportEntry};
pub use copies::branch::{BranchDiff, MergeReport, NotMerged};
pub use copies::join::{Conflict, ConflictKind, JoinedLog, join_logs};
pub use engine::Engine;
pub use error::EngineError;
pub use open::{EngineOptions, IndexOrigin, OpenReport};
pub use ports::{CosinesOfModel, EnginePorts, OpenVectors};
pub use recall::RecallCall;
pub use reprise_index::{
    Spread, TextTerm, TextTerms, bm25_parameters, extract_terms, find_ranges_of_words as matches,
    find_similar_pairs, term_bm25, term_idf, term_relative_weight,
};
pub use reprise_learn::{LearnError, LearnSettings, RECEIPTS_MAX};
pub use reprise_rank::{
    Ablation, AskedParts, CorpusStats, ExternalHit, IdentifierShape, ScoredHit, UnknownSignal,
    apply_judgements, build_context_block, context_candidate_count, decide_shown, embed_question,
    estimate_tokens, excerpt, identifiers, is_first_settled, judge_relevance,
    merge_question_answers, merge_thing_answers, merge_wordings, order_by_tier,
    put_contradicting_first, question_subject, remove_sensitive, sentence_ranges, split_prompt,
    texts_to_judge,
};
pub use reprise_store::CompactedLog;
pub use snapshot::Snapshot;
pub use snapshot::annotation_index::DISTILLED;
pub use snapshot::similarity::SimilarityScratch;
pub use snapshot::stats::{EngineStats, LanguageCount, OtherSpace, SpaceStats};
pub use upkeep::check::{CheckReport, Finding};
pub use upkeep::checkpoint::CheckpointOutcome;
pub use upkeep::compact::CompactionOutcome;
pub use write::forget::{ForgetSelector, ForgottenRecord};
pub use write::learning::AdapterFitJob;
pub use write::retire::{ActionChanges, Contradiction, Distinction, Retirement};
pub use write::{InferredUse, LinkEnd, NewLink, RunAction, RunWrite, WriteBatch, WriteBatchReport};
