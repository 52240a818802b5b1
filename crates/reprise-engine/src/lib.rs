//! The whole memory of one user as one synchronous value: observe, recall, forget, as-of, rebuild,
//! check.
//!
//! What is kept, what is answered, and why. Its main calls, [`Engine::observe`] and
//! [`Snapshot::recall`], are shown and tested in `examples/memory.rs`.

mod alike;
mod annotate;
mod archive;
mod branch;
mod check;
mod compact;
mod context;
mod contradict;
mod engine;
mod error;
mod excerpt;
mod forget;
mod identifiers;
mod ids;
mod join;
mod keys;
mod late;
mod learning;
mod list;
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
mod traces;
mod write;

#[cfg(test)]
mod tests;

pub use alike::AlikeScratch;
pub use archive::Said;
pub use branch::{BranchDiff, Merged};
pub use check::{CheckReport, Finding};
pub use compact::{CompactionCopy, CompactionJob, CompactionOutcome};
pub use context::{TokenCounter, context_block, context_candidates};
pub use contradict::Contradiction;
pub use engine::Engine;
pub use error::EngineError;
pub use excerpt::{excerpt, matches, sentences};
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
};
pub use reprise_learn::{LearnError, LearnSettings, RECEIPTS_MAX};
pub use retire::Retired;
pub use snapshot::Snapshot;
pub use stats::{EngineStats, InLanguage, OtherSpace, Space};
pub use write::{LinkEnd, NewLink, Overheard, RunTurn, RunWrite, WriteBatch, Written};
