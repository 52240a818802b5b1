//! What most files of this crate use: one list instead of one in each.

pub(crate) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
pub(crate) use std::path::{Path, PathBuf};

pub(crate) use chrono::{DateTime, NaiveDate, Utc};
pub(crate) use reprise_engine::Snapshot;
pub(crate) use reprise_files::{Access, FileError, Folder, Lines, Placed, open_path, read_named};
pub(crate) use reprise_types::limits::LIST_ITEMS_MAX;
pub(crate) use reprise_types::{
    ConfidenceLevel, Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord,
    RecordBody, RecordId, WayOut, Zone, normal_tag, sha256_hex,
};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::carried::{CORNER, Carried};
pub(crate) use crate::error::{ExportError, ImportError};
pub(crate) use crate::import::Giver;
pub(crate) use crate::values::{
    LINE_BYTES_MAX, date, distinct, exact, hex_id, items, object, text, texts, typed, unplaced,
    word_of, words,
};
