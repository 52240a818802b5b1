//! Derived search over one user's records: vectors, words, neighbours, time. Rebuilt, never
//! trusted.
//!
//! Lives here: the columns of every document, int8 codes, lexical segments, views (filter and
//! as-of), the raw lexical signals, and the byte form of all of it.
//! Must never live here: a ranking rule, a record's text, file access, a clock, randomness.
//!
//! One [`IndexWriter`] publishes immutable [`IndexSnapshot`]s; readers never wait for it. Documents
//! are addressed by dense ordinals in append order.

mod codec;
mod cow;
mod cues;
mod docs;
mod error;
mod graph;
mod growth;
mod lexical;
mod lexicon;
mod pages;
mod parts;
mod segment;
mod snapshot;
mod top;
mod vectors;
mod view;
mod words;
mod world;
mod writer;

pub use docs::{Doc, DocTraits};
pub use error::IndexError;
pub use growth::GRAPH_DOCUMENTS;
pub use lexical::{LexicalScratch, LexicalSignals, MASK_TERMS, SignalSpread, TermSignal};
pub use pages::{LeftPart, ReadPart};
pub use parts::{PART_CODES, PART_DOCUMENTS, PART_GRAPH, PART_HOT_GRAPH, PART_WORDS};
pub use snapshot::IndexSnapshot;
pub use vectors::{OVERSAMPLE_DEFAULT, QueryCodes, Sample, VectorScratch};
pub use view::View;
pub use words::{HEAD_TERMS, Query, QueryTerm, word_ranges};
pub use writer::{IndexWriter, NewDoc};
