//! What most commands use: one list instead of one in each.

pub(super) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub(super) use std::io::{self, BufReader, Write};
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::process::{Command, Stdio};
pub(super) use std::sync::{Arc, Mutex};
pub(super) use std::time::{Duration, Instant};

pub(super) use anyhow::{Context as _, anyhow, bail, ensure};
pub(super) use chrono::{DateTime, TimeDelta, Utc};
pub(super) use reprise_agent::MemoryService;
pub(super) use reprise_embed::Variant;
pub(super) use reprise_engine::{Engine, Snapshot};
pub(super) use reprise_files::Folder;
pub(super) use reprise_operations::{
    Effect, NoArguments, Operation, Problem, ProblemKind, RecordFate, describe_empty_memory,
    format_count, format_size,
};
pub(super) use reprise_redact::{Redaction, Redactor};
pub(super) use reprise_server::{Call, Client};
pub(super) use reprise_store::{RealDisk, Verify};
pub(super) use reprise_types::{
    Clock, EmbedError, Embedder, Embedding, EmbeddingSpace, ExternalId, MemoryRecord, NewRecord,
    RecallId, RecallRequest, RecordId, SystemClock, UserId, Zone, lock, parse_timestamp,
};
pub(super) use serde::{Deserialize, Serialize};
pub(super) use serde_json::{Map, Value, json};

pub(super) use super::context::tell;
pub(super) use super::daemon::DaemonConnection;
pub(super) use super::host::Host;
pub(super) use super::input::jsonl;
pub(super) use super::session::Session;
pub(super) use super::store::{Access, DIMENSIONS};
pub(super) use super::unsent::Unsent;
pub(super) use super::{
    Context, Exit, atomic_files, confirm, copies, input, model, note, output, project, runtime,
    store,
};
pub(super) use crate::args::WhoseArguments;
pub(super) use crate::terminal::{self, Page};
