//! What most measurements use: one list in place of one in each file.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::io::{self, BufReader, Write};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Stdio};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::{Duration, Instant};

pub(crate) use anyhow::{Context as _, bail, ensure};
pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use indicatif::ProgressBar;
pub(crate) use reprise::lab::{
    Context, DIMENSIONS, Exit, Host, build_remote_store_at, embedded, memory_config, model,
    open_to_read, output, runtime,
};
pub(crate) use reprise_agent::MemoryService;
pub(crate) use reprise_embed::Variant;
pub(crate) use reprise_engine::{Engine, Snapshot};
pub(crate) use reprise_server::{Call, Client};
pub(crate) use reprise_store::RealDisk;
pub(crate) use reprise_types::{
    Clock, EmbedError, Embedder, Embedding, EmbeddingSpace, ExternalId, MemoryKind, MemoryRecord,
    MemorySource, NewRecord, NoLearning, RecallId, RecallRequest, RecordId, SystemClock, UserId,
    Zone, parse_timestamp,
};
pub(crate) use serde::Serialize;
pub(crate) use serde_json::{Map, Value, json};
