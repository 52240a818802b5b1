//! Derived search over one user's records: vectors, words, neighbours, time. Everything can be
//! rebuilt from the log.
//!
//! One [`IndexWriter`] publishes immutable [`IndexSnapshot`]s; readers never wait for it. Documents
//! are addressed by dense ordinals in append order.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_index::{IndexWriter, NewDoc};
//! use reprise_types::{MemoryFilter, MemoryKind, MemorySource, Order, RecordId};
//!
//! let mut writer = IndexWriter::new(2);
//! writer.push(&NewDoc {
//!     id: RecordId::from_u128(1),
//!     timestamp: DateTime::UNIX_EPOCH,
//!     known_at: DateTime::UNIX_EPOCH,
//!     kind: MemoryKind::Finding,
//!     source: MemorySource::UserInput,
//!     session_id: "",
//!     speaker: "",
//!     text: "the auth race is fixed",
//!     is_prompt: false,
//!     exact: &[],
//!     vector: Some(&[0.6, 0.8]),
//! });
//! let snapshot = writer.publish();
//! let all = snapshot.view(&MemoryFilter::default(), None);
//! let latest = snapshot.in_order(&all, Order::NewestFirst, None, 10);
//! assert_eq!(latest[0].1, RecordId::from_u128(1));
//! ```

mod codec;
mod cues;
mod docs;
mod error;
mod facets;
mod growth;
mod join;
mod lexical;
mod lexicon;
mod others;
mod pages;
mod parts;
mod purge;
mod segment;
mod snapshot;
mod terms;
mod vectors;
mod view;
mod words;
mod world;
mod writer;

pub use docs::{Doc, DocTraits};
pub use error::IndexError;
pub use growth::{CELLS_DOCUMENTS, GRAPH_DOCUMENTS, PART_CELLS, PART_GRAPH, PART_HOT_GRAPH};
pub use join::alike_pairs;
pub use lexical::{LexicalScratch, LexicalSignals, MASK_TERMS, SignalSpread, TermSignal};
pub use others::OtherVectors;
pub use pages::{LeftPart, ReadPart};
pub use parts::{IndexCopy, MergedWords, PART_CODES, PART_DOCUMENTS, PART_WORDS};
pub use purge::{PurgeJob, Purged};
pub use snapshot::IndexSnapshot;
pub use terms::{TextTerm, TextTerms, term_norm, term_score, term_share, term_weight, text_terms};
pub use vectors::{QueryCodes, SPREAD, Sample, VectorScratch};
pub use view::View;
pub use words::{HEAD_TERMS, Language, Query, QueryTerm, word_of, word_ranges};
pub use writer::{IndexWriter, NewDoc};
