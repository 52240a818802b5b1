//! The shared data types, limits and traits of Reprise, which every crate may use.
//!
//! `MemoryRecord` and its parts, filters, recall responses, identifiers, limits, and the ports
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
//! // An id is printed as a ULID and parsed from one.
//! let id = RecordId::from_parts(1_771_234_567_890, 42);
//! assert_eq!(id.to_string().parse(), Ok(id));
//! ```

mod access;
mod annotation;
mod bytes;
mod calendar;
mod context;
mod cow;
mod debug_and_panics;
mod embedding;
mod entropy;
mod error;
mod filter;
mod hit_lines;
mod id;
mod json_line;
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
mod section;
mod spoken;
mod time;
mod time_argument;
mod user;
mod write;

pub use access::{ReleaseTarget, WithheldReason};
pub use annotation::{
    Annotation, RecordLink, RelatedRecord, SeenStats, normalize_tag, normalize_tags,
};
pub use bytes::{
    BinaryCodec, ByteReader, ByteWriter, RowCodec, append_signed, append_varint, field_width,
};
pub use calendar::{Calendar, TimeError, TimeSpan, Zone};
pub use context::{ContextBlock, TokenUnit};
pub use cow::{CowVec, PageFetcher, PagedBytes, SECTION_PAGE_BYTES, SmallChunkVec};
pub use debug_and_panics::{lock, panic_message, spawn_or_return};
pub use embedding::{
    Embedding, EmbeddingSpace, REFERENCE_MODEL, UnrelatedCosines, VectorError, check_unit_vector,
    dot, normalize,
};
pub use entropy::{generate_secret, next_splitmix64, sha256_hex, system_entropy};
pub use error::{EmbedError, ErrorKind, HelperError, MemoryError};
pub use filter::MemoryFilter;
pub use hit_lines::{
    HitLine, HitPart, HitStyle, HitView, RecordCaption, describe_state, render_hit,
};
pub use id::{ID_PATTERN, IdError, RecallId, RecordId};
pub use json_line::{
    JsonLine, parse_first_object, parse_json_line, parse_json_object, repair_json,
};
pub use kind::{
    ConfidenceLevel, Credit, Evidence, FailKind, MemoryKind, MemorySource, RecordType, Retention,
    Revision, UnknownName, Visibility,
};
pub use list::{Cursor, CursorError, ListOrder, ListRequest, RecordPage};
pub use ports::{
    Clock, Embedder, LearningEngine, MemoryProvider, NoLearning, QueryExpander, Reranker,
    VectorStore,
};
pub use quote::{
    QuotedMemory, is_invisible, is_unsafe_to_display, map_outside_frames, remove_frame_lines,
    remove_quoted_memory, to_one_line,
};
pub use recall::{
    ContributingRun, DegradedPart, LearnedAdjustment, MatchedIdentifier, OutcomeSummary,
    PublicationOrigin, RankExplanation, RankSignal, RecallRequest, RecallResponse, RecallScope,
    RelevanceVerdict, RetrievedMemory, SearchRoute,
};
pub use record::{
    ContentHash, ExternalId, MemoryRecord, NewRecord, Provenance, RecordBody, json_size,
};
pub use record_type::{RecordByline, is_same_project, list_names_of_project, short_project_name};
pub use restart::RestartBudget;
pub use run::{
    AdapterFit, AdapterWeights, ChainStep, EndedRun, LearningEvent, OutcomePrediction,
    RecallReceipt, RunBeginning, RunEnding, RunOutcome, RunPattern, RunStep,
};
pub use section::{
    LazyValue, LoadJob, SavedPart, SavedSection, SavedSections, SectionKey, SectionPages,
    column_part, encode_row, open_runs, rows_part, run_parts, value_loader,
};
pub use spoken::{EventMention, TimeMention, TimeRelation};
pub use time::{SystemClock, TimestampError, format_minute_utc, parse_timestamp};
pub use user::{UserId, UserIdError};
pub use write::{RejectReason, WriteOutcome};
