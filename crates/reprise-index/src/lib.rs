//! Derived search over one user's records: vectors, words, neighbours, time. Everything can be
//! rebuilt from the log.
//!
//! One [`IndexWriter`] publishes immutable [`IndexSnapshot`]s; readers never wait for it. Documents
//! are addressed by dense ordinals in append order.

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
mod segment;
mod snapshot;
mod terms;
mod top;
mod vectors;
mod view;
mod words;
mod world;
mod writer;

pub use docs::{Doc, DocTraits};
pub use error::IndexError;
pub use growth::{GRAPH_DOCUMENTS, PART_CELLS, PART_GRAPH, PART_HOT_GRAPH};
pub use join::alike_pairs;
pub use lexical::{LexicalScratch, LexicalSignals, MASK_TERMS, SignalSpread, TermSignal};
pub use others::OtherVectors;
pub use pages::{LeftPart, ReadPart};
pub use parts::{PART_CODES, PART_DOCUMENTS, PART_WORDS};
pub use snapshot::IndexSnapshot;
pub use terms::{TextTerm, TextTerms, term_norm, term_score, term_share, term_weight, text_terms};
pub use vectors::{QueryCodes, Sample, VectorScratch};
pub use view::View;
pub use words::{HEAD_TERMS, Language, Query, QueryTerm, word_of, word_ranges};
pub use writer::{IndexWriter, NewDoc};
