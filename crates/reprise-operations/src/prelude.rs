//! What most files of this crate use: one list instead of one in each.

pub(crate) use std::borrow::Cow;
pub(crate) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub(crate) use std::path::PathBuf;
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::{Duration, Instant};

pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use reprise_agent::lent;
pub(crate) use reprise_engine::{Engine, EngineError, Snapshot, WriteBatch};
pub(crate) use reprise_knowledge::{Definition, evidence_of};
pub(crate) use reprise_redact::Redactor;
pub(crate) use reprise_types::limits::{
    IDENTIFIER_BYTES_MAX, PAGE_DEFAULT, PAGE_MAX, TOP_K_DEFAULT,
};
pub(crate) use reprise_types::{
    About, Calendar, Clock, ConfidenceLevel, Credit, Cursor, Embedding, EmbeddingSpace, Evidence,
    ExternalId, ListRequest, MemoryFilter, MemoryKind, MemoryRecord, MemorySource, NewRecord,
    QuotedMemory, RecallId, RecallRequest, RecallScope, RecordBody, RecordId, RecordType,
    RetrievedMemory, Revision, UserId, WayOut, WriteOutcome, lock, normal_tags, one_line,
    system_entropy,
};
pub(crate) use reprise_workspace::WorkspaceError;
pub(crate) use schemars::{JsonSchema, Schema, SchemaGenerator};
pub(crate) use serde::de::DeserializeOwned;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use serde_with::skip_serializing_none;
pub(crate) use tracing::Instrument;

pub(crate) use crate::asks;
pub(crate) use crate::bounds::Bounds;
pub(crate) use crate::catalogue::{Effect, Method, Operation, Profile, Spec, operation};
pub(crate) use crate::memories::{
    Memories, Memory, Names, Standing, counted, current, missing, resolve, title_of,
};
pub(crate) use crate::problem::{Problem, ProblemKind};
pub(crate) use crate::wire::{
    ExportLine, Fate, Filter, LessonCard, NoArguments, OutcomeLine, PageAsked, Part, Told, instant,
    time,
};
