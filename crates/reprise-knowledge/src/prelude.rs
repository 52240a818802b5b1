//! What most files of this crate use: one list instead of one in each.

pub(crate) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
pub(crate) use std::path::{Path, PathBuf};

pub(crate) use chrono::{DateTime, NaiveDate, Utc};
pub(crate) use reprise_engine::Snapshot;
pub(crate) use reprise_files::{
    ChangeOutcome, FileError, Folder, LineReader, OpenMode, open_path, read_if_exists,
};
pub(crate) use reprise_types::limits::LIST_ITEMS_MAX;
pub(crate) use reprise_types::{
    ConfidenceLevel, Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord,
    RecordBody, RecordId, ReleaseTarget, Zone, normalize_tag, parse_json_line, parse_json_object,
    repair_json, sha256_hex,
};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::carried::{CARRIER_FIELD, CarriedRecord};
pub(crate) use crate::error::{ExportError, ImportError};
pub(crate) use crate::import::ItemSink;
pub(crate) use crate::values::{
    LINE_BYTES_MAX, deduplicate_texts, detail_word, details_of_type, fields_without_place, hex_id,
    list_items, list_texts, non_blank_text, set_time, to_exact_decimal, words,
};
