//! What most files of this crate use: one list instead of one in each.

pub(crate) use std::borrow::Cow;
pub(crate) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub(crate) use std::path::PathBuf;
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::{Duration, Instant};

pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use reprise_agent::run_blocking;
pub(crate) use reprise_engine::{Engine, EngineError, Snapshot, WriteBatch};
pub(crate) use reprise_knowledge::{EvidenceDefinition, evidence_of};
pub(crate) use reprise_redact::Redactor;
pub(crate) use reprise_types::limits::{
    IDENTIFIER_BYTES_MAX, PAGE_DEFAULT, PAGE_MAX, TOP_K_DEFAULT,
};
pub(crate) use reprise_types::{
    Calendar, Clock, ConfidenceLevel, Credit, Cursor, Embedding, EmbeddingSpace, Evidence,
    ExternalId, HitLine, HitStyle, HitView, ListRequest, MemoryFilter, MemoryKind, MemoryRecord,
    MemorySource, NewRecord, QuotedMemory, RecallId, RecallRequest, RecallScope, RecordBody,
    RecordByline, RecordCaption, RecordId, RecordType, ReleaseTarget, RetrievedMemory, Revision,
    UserId, WriteOutcome, lock, normalize_tags, render_hit, system_entropy, to_one_line,
};
pub(crate) use schemars::{JsonSchema, Schema, SchemaGenerator};
pub(crate) use serde::de::DeserializeOwned;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use serde_with::skip_serializing_none;
pub(crate) use tracing::Instrument;

pub(crate) use crate::bounds::{
    Bounds, DescribedElsewhere, FixedWord, FreeObject, ItemCount, LimitCount, LineText, LongText,
    NameText, QuestionText, RecordKey, RecordKeys, RedactedLater, SelectorKey, SelectorName,
    SelectorNames, SessionName, StoredSession, TimeText, arguments,
};
pub(crate) use crate::catalogue::{Effect, Method, Operation, Profile, Spec, operation};
pub(crate) use crate::memories::{Memories, Memory, note_records_in_span, operation_span};
pub(crate) use crate::operations::lessons::title_or_beginning;
pub(crate) use crate::operations::records::{RecordNames, find_record_id, no_such_memory_problem};
pub(crate) use crate::operations::sharing::PublishedCopy;
pub(crate) use crate::problem::{Problem, ProblemKind};
pub(crate) use crate::schema_rules;
pub(crate) use crate::wire::{
    ExportLine, Filter, LessonCard, NoArguments, OutcomeLine, PageArguments, RecordFate, cut_page,
    format_count, format_instant, list_page, parse_time,
};
