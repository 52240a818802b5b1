//! Search over one user's records by vectors, words, neighbours and time. The index is derived: it
//! can always be rebuilt from the log.
//!
//! One [`IndexWriter`] publishes immutable [`IndexSnapshot`]s; readers never wait for it. Documents
//! are addressed by dense ordinals in append order.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_index::{IndexWriter, NewDoc};
//! use reprise_types::{ListOrder, MemoryFilter, MemoryKind, MemorySource, RecordId};
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
//! let latest = snapshot.list_by_time(&all, ListOrder::NewestFirst, None, 10);
//! assert_eq!(latest[0].1, RecordId::from_u128(1));
//! ```

mod bits;
mod cues;
mod docs;
mod error;
mod facets;
mod graph_state;
mod join;
mod lexical;
mod lexicon;
mod live_set;
mod other_model;
mod purge;
mod purge_set;
mod saving;
mod section_kinds;
mod segment;
mod snapshot;
mod spread;
mod terms;
mod vectors;
mod view;
mod words;
mod writer;

pub use docs::{Doc, DocTraits};
pub use error::IndexError;
pub use graph_state::GRAPH_THRESHOLD;
pub use join::find_similar_pairs;
pub use lexical::{LexicalScratch, LexicalSignals, MASK_TERMS, TermSignal};
pub use other_model::OtherModelVectors;
pub use purge::PurgeResult;
pub use section_kinds::{CODES, SECTION_CELLS, SECTION_GRAPH, SIGNS, is_of_log};
pub use snapshot::IndexSnapshot;
pub use spread::Spread;
pub use terms::{
    TextTerm, TextTerms, bm25_parameters, extract_terms, term_bm25, term_idf, term_relative_weight,
};
pub use vectors::{CELLS_THRESHOLD, QueryCodes, SPREAD_SAMPLE, VectorScratch};
pub use view::IndexView;
pub use words::{
    HEAD_TERMS, Language, Query, QueryTerm, find_first_word_with_key, find_ranges_of_words,
};
pub use writer::{IndexWriter, NewDoc};
