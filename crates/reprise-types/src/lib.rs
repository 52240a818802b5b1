//! The shared data types, limits and traits of Reprise, which every crate may use.
//!
//! `MemoryRecord` and its parts, filters, recall answers, identifiers, limits, and the ports
//! (`MemoryProvider`, `Embedder`, `VectorStore`, `LearningEngine`, `Clock`; optional are
//! `QueryExpander` and `Reranker`).
//!
//! # Examples
//!
//! ```
//! use reprise_types::{MemoryKind, MemorySource, NewRecord, RecordId};
//!
//! let mut record = NewRecord::new("tea at five", MemorySource::UserInput, MemoryKind::Finding);
//! record.tags = vec!["habits".to_owned()];
//! assert_eq!(record.text, "tea at five");
//! // An id is printed as a ULID, and read again.
//! let id = RecordId::from_parts(1_771_234_567_890, 42);
//! assert_eq!(id.to_string().parse(), Ok(id));
//! ```

mod annotation;
mod bytes;
mod calendar;
mod context;
mod cow;
mod embedding;
mod entropy;
mod error;
mod filter;
mod id;
mod kind;
pub mod limits;
mod list;
mod ports;
mod quote;
mod recall;
mod record;
mod record_type;
mod restart;
mod run;
mod show;
mod spoken;
mod time;
mod typed;
mod user;
mod way_out;
mod write;

pub use annotation::{Annotation, Link, Related, Seen, normal_tag, normal_tags};
pub use bytes::{ByteReader, ByteWriter, Tail, Wire, put_signed, put_varint};
pub use calendar::{Calendar, Span, TimeError, Zone};
pub use context::{ContextBlock, TokensBy};
pub use cow::{CHUNKED, Chunked, CowVec, Fetch};
pub use embedding::{
    Embedding, EmbeddingSpace, REFERENCE_MODEL, Unrelated, VectorError, check_unit_vector, dot,
    normalize,
};
pub use entropy::{secret, sha256_hex, splitmix, system_entropy};
pub use error::{EmbedError, ErrorKind, HelperError, MemoryError};
pub use filter::MemoryFilter;
pub use id::{ID_PATTERN, IdError, RecallId, RecordId};
pub use kind::{
    ConfidenceLevel, Credit, Evidence, FailKind, MemoryKind, MemorySource, RecordType, Retention,
    Revision, UnknownName, Visibility,
};
pub use list::{Cursor, CursorError, ListRequest, Order, Page};
pub use ports::{
    Clock, Embedder, LearningEngine, MemoryProvider, QueryExpander, Reranker, Unlearned,
    VectorStore,
};
pub use quote::{QuotedMemory, acts, is_hidden, one_line, unframed, without_quoted};
pub use recall::{
    Degraded, LearnedMove, MatchedIdentifier, PublishedBy, RankSignal, Recall, RecallRequest,
    RecallScope, RetrievedMemory, SearchTier, TaughtBy, Verdict, Why, Worked,
};
pub use record::{
    ContentHash, ExternalId, MemoryRecord, NewRecord, Provenance, RecordBody, json_bytes,
};
pub use record_type::About;
pub use restart::RestartBudget;
pub use run::{
    AdapterWeights, ChainStep, Consolidation, EndedRun, Expected, LearningEvent, Receipt,
    RunBeginning, RunEnding, RunOutcome, RunPattern, RunStep,
};
pub use show::{handed_over, lock, panic_words};
pub use spoken::{Event, Side, Spoken};
pub use time::{SystemClock, TimestampError, parse_timestamp, to_the_minute};
pub use user::{UserId, UserIdError};
pub use way_out::{WayOut, Withheld};
pub use write::{RejectReason, WriteOutcome};
