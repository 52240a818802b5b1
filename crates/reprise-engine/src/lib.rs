//! The whole memory of one user as one synchronous value: observe, recall, forget, as-of, rebuild,
//! check.
//!
//! What is kept, what is answered, and why. `examples/memory.rs` is a memory in ten lines.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use reprise_engine::{Engine, EngineOptions};
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
//! let recall = snapshot.recall(&asked, None, RecallId::from_parts(0, 1), learner);
//! assert!(recall.results[0].record.text.ends_with("with a mutex"));
//! # Ok(())
//! # }
//! ```

mod alike;
mod annotate;
mod archive;
mod branch;
mod check;
mod checkpoint;
mod compact;
mod context;
mod engine;
mod error;
mod excerpt;
mod forget;
mod identifiers;
mod join;
mod keys;
mod learning;
mod marks;
mod names;
mod naming;
mod narrow;
mod open;
mod others;
mod outcome;
mod prepare;
mod recall;
mod retire;
mod snapshot;
mod state;
mod stats;
mod write;

#[cfg(test)]
mod tests;

pub use alike::AlikeScratch;
pub use archive::{Gone, Said};
pub use branch::{BranchDiff, MergeReport, NotMerged};
pub use check::{CheckReport, Finding};
pub use checkpoint::{CheckpointJob, CheckpointOutcome, CheckpointParts};
pub use compact::{CompactionCopy, CompactionJob, CompactionOutcome};
pub use context::{context_block, context_candidates};
pub use engine::Engine;
pub use error::EngineError;
pub use excerpt::{excerpt, sentences};
pub use forget::{ForgetSelector, Forgotten};
pub use identifiers::{Shape, identifiers};
pub use join::{Conflict, ConflictKind, Joined, join};
pub use learning::ConsolidationJob;
pub use open::{EngineOptions, IndexOrigin, OpenReport, OpenVectors, Parts};
pub use recall::{
    Ablation, Elsewhere, Spread, Testimony, UnknownSignal, Weighed, decide, judged,
    question_vector, subject, with_wordings, without_sensitive,
};
pub use reprise_index::{
    TextTerm, TextTerms, alike_pairs, term_norm, term_score, term_share, term_weight, text_terms,
    word_ranges as matches,
};
pub use reprise_learn::{LearnError, LearnSettings, RECEIPTS_MAX};
pub use reprise_store::CheckpointStep;
pub use retire::{Contradiction, Retired};
pub use snapshot::Snapshot;
pub use stats::{EngineStats, InLanguage, OtherSpace, Space};
pub use write::{LinkEnd, NewLink, Overheard, RunTurn, RunWrite, WriteBatch, Written};
