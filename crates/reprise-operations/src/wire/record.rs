//! Records on their way in and out.

use chrono::SecondsFormat;
use reprise_types::limits::DIMENSIONS_MAX;
use reprise_types::{
    JsonLine, Provenance, RejectReason, Retention, Visibility, Zone, parse_json_line,
};

use super::RecordRedaction;
use super::fields::{add_hint, pair_embedding, parse_lenient_json, refuse_misspelled_fields};
use crate::bounds::instant_pattern;
use crate::prelude::*;

arguments! {
    /// A record as it is sent: one line of an ingest file.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(transform = schema_rules::require_all_or_none(&["embedding", "embedding_space"]))]
    pub struct IngestLine {
        /// Its sender's id; a second record with it is a duplicate.
        external_id: Option<Name> as RecordKey,
        /// What a person reads; of more than 64 KiB the rest is cut off.
        #[schemars(regex(pattern = r"\S"))]
        text: String as LongText,
        /// Who it came from; `user_input` by default. `user` is that too; `assistant` and
        /// `agent` are `worker_result`.
        #[serde(default = "default_source")]
        #[schemars(with = "String", extend("enum" = list_source_words()))]
        source: String as FixedWord,
        /// What it is: episode, strategy, finding, pattern, or a word of the sender's, which is
        /// kept as the tag `type:WORD`; `episode` by default.
        #[serde(default = "default_kind")]
        #[schemars(length(max = TYPE_CHARS_MAX), regex(pattern = r"\S"))]
        kind: String as LineText,
        /// The session that it belongs to.
        #[serde(default)]
        session_id: String as SessionName,
        /// When it happened, as RFC 3339, a local time or a day; now by default.
        #[schemars(regex(pattern = instant_pattern()))]
        timestamp: Option<String> as LineText,
        /// Whatever else is to be kept.
        metadata: Option<Map<String, Value>> as FreeObject,
        /// How its run went.
        #[schemars(range(min = 0.0, max = 1.0))]
        quality_score: Option<f32>,
        /// Free words.
        #[serde(default)]
        tags: Vec<String> as NameText,
        /// Typed knowledge, as its writer has it.
        details: Option<Value> as FreeObject,
        /// Names in other systems, in addition to the `external_id`.
        #[serde(default)]
        external_ids: Vec<ExternalId>,
        /// Run, actor and sources, in the sender's words.
        #[serde(default)]
        provenance: Provenance,
        /// How long it stays; until it is forgotten by default.
        #[serde(default)]
        retention: Retention,
        /// Its unit vector, by callers that embed themselves.
        #[schemars(length(min = 1, max = DIMENSIONS_MAX))]
        embedding: Option<Vec<f32>>,
        /// The space of `embedding`.
        embedding_space: Option<EmbeddingSpace>,
        /// Printed by `export`, ignored on the way back in.
        #[serde(rename = "id")]
        #[schemars(skip)]
        _id: Option<String> as DescribedElsewhere,
        #[serde(rename = "known_at")]
        #[schemars(skip)]
        _known_at: Option<String> as DescribedElsewhere,
        #[serde(rename = "supersedes")]
        #[schemars(skip)]
        _supersedes: Option<String> as DescribedElsewhere,
        /// Fields of nobody's: kept in the metadata, because what was sent is never dropped.
        #[serde(flatten)]
        #[schemars(skip)]
        other: Map<String, Value> as DescribedElsewhere,
    }
}

/// Ids that other systems write as numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Name {
    Text(#[schemars(length(max = IDENTIFIER_BYTES_MAX))] String),
    Number(serde_json::Number),
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        match name {
            Name::Text(text) => text,
            Name::Number(number) => number.to_string(),
        }
    }
}

/// Characters of a sender's own word for what a record is.
const TYPE_CHARS_MAX: usize = 64;

/// What others call a source.
const SOURCES: [(&str, MemorySource); 3] = [
    ("user", MemorySource::UserInput),
    ("assistant", MemorySource::WorkerResult),
    ("agent", MemorySource::WorkerResult),
];

/// Lists every word that is accepted as a source.
fn list_source_words() -> Vec<&'static str> {
    let own = MemorySource::ALL.iter().map(|source| source.name());
    own.chain(SOURCES.map(|(word, _)| word)).collect()
}

fn default_source() -> String {
    "user_input".to_owned()
}

fn default_kind() -> String {
    "episode".to_owned()
}

/// Further fields, not in [`IngestLine`], that have a place in the record.
const TAKEN: [&str; 3] = ["confidence", "evidence", "visibility"];

/// What an export says besides: ignored on the way back in, or read by `import` alone.
const PRINTED: [&str; 4] = ["seen_count", "last_seen", "archive", "links"];

/// Fields in which others write when something happened, where they do not say `timestamp`.
const TIMES: [&str; 4] = ["created_at", "date", "time", "ts"];

/// Reads one ingest line, its times as of a zone where they name none, and names its fields that
/// nobody reads; the error is a sentence about it.
pub fn read_line(line: &str, zone: Zone) -> Result<(NewRecord, Vec<String>), String> {
    read_value(parse_lenient_json(line.as_bytes())?, zone)
}

/// Reads the records of one ingest line as far as it can be read: more than one where the end of a
/// line was lost.
pub fn read_records(line: &str, zone: Zone) -> Vec<Result<(NewRecord, Vec<String>), String>> {
    let first = read_line(line, zone);
    // A comma behind an object is that of an array, which is no line of records.
    if first.is_ok() || line.trim_end().ends_with(',') {
        return vec![first];
    }
    let JsonLine { objects, unread } = parse_json_line(line);
    if objects.is_empty() || objects.len() == 1 && unread.is_none() {
        return vec![first];
    }
    let objects = objects.into_iter().map(Value::Object);
    let read = objects.map(|object| read_value(object, zone));
    let read: Vec<_> = read.chain(unread.map(Err)).collect();
    // Objects inside of a line that is no JSON are no records: the line is refused once.
    if read.iter().all(Result::is_err) {
        return vec![first];
    }
    read
}

/// Reads one ingest line that is parsed as JSON already, as [`read_line`] does.
pub(crate) fn read_value(value: Value, zone: Zone) -> Result<(NewRecord, Vec<String>), String> {
    let bounds = Bounds::get_for_type::<IngestLine>();
    let (value, _) = bounds.convert_to_meant_types(value);
    bounds.check(&value)?;
    let line = serde_json::from_value(value).map_err(|error| add_hint(error.to_string()))?;
    into_record(line, zone, &bounds)
}

/// Reads one record of a request; the error is a sentence about it.
pub fn parse_record(value: Value) -> Result<NewRecord, String> {
    read_value(value, Zone::Machine).map(|(record, _)| record)
}

/// Names in the metadata that memory reads in addition to those of an author.
const NAMES_READ: [&str; 3] = ["expires_at", "project", "type"];

/// Deepest nesting of `details` and `metadata`: far less than a reader of JSON takes, because each
/// answer puts them into something more.
const NESTED_MAX: usize = 64;

fn nesting_depth(value: &Value) -> usize {
    let inside = match value {
        Value::Array(items) => items.iter().map(nesting_depth).max(),
        Value::Object(fields) => fields.values().map(nesting_depth).max(),
        _ => return 0,
    };
    1 + inside.unwrap_or_default()
}

fn into_record(
    mut line: IngestLine,
    zone: Zone,
    bounds: &Bounds,
) -> Result<(NewRecord, Vec<String>), String> {
    line.other
        .retain(|name, _| !PRINTED.contains(&name.as_str()));
    // What may be left out is missed by a slip.
    let fields = bounds.field_names().into_iter().chain(TAKEN);
    let fields: Vec<&str> = fields.filter(|name| *name != "text").collect();
    refuse_misspelled_fields(&line.other, &fields)?;
    if line.text.trim().is_empty() {
        // As the engine says, which need not be opened for it.
        return Err(RejectReason::EmptyText.to_string());
    }
    let unknown = |error: reprise_types::UnknownName| error.to_string();
    let source = match SOURCES.iter().find(|(word, _)| *word == line.source) {
        Some((_, source)) => *source,
        None => line.source.parse().map_err(unknown)?,
    };
    let own_kind = line.kind.parse::<MemoryKind>();
    let kind = own_kind
        .clone()
        .unwrap_or_else(|_| MemoryKind::from_foreign_word(&line.kind));
    let timestamp = line.timestamp.as_deref();
    let timestamp = timestamp.map(|text| zone.parse_timestamp(text)).transpose();
    let embedding = pair_embedding(line.embedding_space, line.embedding)?;
    let mut record = NewRecord::new(line.text, source, kind);
    record.session_id = line.session_id;
    record.timestamp = timestamp.map_err(|error| error.to_string())?;
    for name in TIMES {
        if record.timestamp.is_none() {
            record.timestamp =
                take_known_field(&mut line.other, name, |value| zone.parse_json_time(value));
        }
    }
    record.confidence = take_known_field(&mut line.other, "confidence", parse_confidence);
    record.evidence = take_known_field(&mut line.other, "evidence", |value| {
        value.as_str()?.parse::<Evidence>().ok()
    });
    // Any other word is a mark of its sender's, and marks are kept.
    let is_workspace = |value: &Value| (value == "workspace").then_some(Visibility::Workspace);
    if let Some(visibility) = take_known_field(&mut line.other, "visibility", is_workspace) {
        record.visibility = visibility;
    }
    let unknown = line.other.keys();
    let is_read =
        |name: &str| NAMES_READ.contains(&name) || RecordBody::AUTHOR_KEYS.contains(&name);
    let unknown = unknown.filter(|name| !is_read(name));
    let unknown = unknown.cloned().collect();
    record.metadata = line.other;
    record.metadata.extend(line.metadata.unwrap_or_default());
    let nested = record
        .metadata
        .values()
        .chain(&line.details)
        .map(nesting_depth);
    if let Some(nested) = nested.max().filter(|nested| *nested > NESTED_MAX) {
        return Err(format!(
            "the memory is nested {nested} deep; send at most {NESTED_MAX} lists and objects in \
             each other"
        ));
    }
    record.quality_score = line.quality_score;
    record.tags = line.tags;
    record
        .tags
        .extend(own_kind.is_err().then(|| ["type:", &line.kind].concat()));
    record.details = line.details;
    record.embedding = embedding;
    let named = line.external_id.map(String::from);
    // An export says an id of another system in both places.
    let named = named.filter(|id| line.external_ids.iter().all(|other| other.id != *id));
    let external = named.map(|id| ExternalId::new(ExternalId::BATCH, id));
    record.external_ids = external.into_iter().chain(line.external_ids).collect();
    record.provenance = line.provenance;
    record.retention = line.retention;
    Ok((record, unknown))
}

/// The ingest line of a record that is to be kept: the inverse of [`read_line`].
#[must_use]
pub fn to_ingest_line(record: &NewRecord) -> String {
    let mut line = json!(record.body);
    let embedding = record.embedding.as_ref();
    for (name, value) in [
        ("timestamp", json!(record.timestamp)),
        ("visibility", json!(workspace_or_none(record.visibility))),
        ("supersedes", Value::Null),
        ("embedding", json!(embedding.map(|e| &e.vector))),
        ("embedding_space", json!(embedding.map(|e| &e.space))),
    ] {
        line[name] = value;
    }
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    line.to_string()
}

/// Takes a field that has a place in the record; one in words of its own stays in the metadata.
fn take_known_field<T>(
    other: &mut Map<String, Value>,
    name: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    let read = other.get(name).and_then(read);
    if read.is_some() {
        other.remove(name);
    }
    read
}

/// A number of 0..1, or a word for one.
fn parse_confidence(value: &Value) -> Option<f32> {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().map(|number| number as f32);
            number.filter(|number| (0.0..=1.0).contains(number))
        }
        Value::String(word) => word.parse().ok().map(ConfidenceLevel::centre),
        _ => None,
    }
}

/// What became of the records of one request, in its order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WriteReport {
    /// Records that are on disk and findable now.
    pub inserted: u64,
    /// Records that were known already.
    pub duplicate: u64,
    /// Records that were refused.
    pub rejected: u64,
    /// Of those inserted, the records whose text was cut.
    #[serde(default)]
    pub truncated: u64,
    /// What was taken out of them, without the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<RecordRedaction>,
    /// One fate each.
    pub outcomes: Vec<RecordFate>,
    /// Fields that nobody reads; they are kept in the metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_fields: Vec<String>,
}

/// The fate of one record: `outcome` is `inserted`, `duplicate` or `rejected`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[schemars(rename = "Fate")]
pub enum RecordFate {
    /// Kept under this id.
    Inserted {
        /// The new record.
        id: RecordId,
        /// How many bytes its text had, of which the first 64 KiB are kept; absent where all are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        truncated_from_bytes: Option<usize>,
    },
    /// Known already; it gains the tags that it never had, and nothing else changes.
    Duplicate {
        /// The record that is the same.
        of: RecordId,
        /// Whether it never said this: its text has changed where it came from.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        differs: bool,
    },
    /// Refused; nothing changed.
    Rejected {
        /// A sentence.
        why: String,
    },
}

impl WriteReport {
    /// Lists the ids of the new records.
    pub(crate) fn list_inserted(&self) -> Vec<RecordId> {
        let inserted = self.outcomes.iter().filter_map(|fate| match fate {
            RecordFate::Inserted { id, .. } => Some(*id),
            _ => None,
        });
        inserted.collect()
    }

    /// Adds the fate of one more record and counts it.
    pub(crate) fn add_fate(&mut self, fate: RecordFate) {
        match fate {
            RecordFate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                self.inserted += 1;
                self.truncated += u64::from(truncated_from_bytes.is_some());
            }
            RecordFate::Duplicate { .. } => self.duplicate += 1,
            RecordFate::Rejected { .. } => self.rejected += 1,
        }
        self.outcomes.push(fate);
    }
}

impl RecordFate {
    /// Sets how many bytes the text had before it was cut; `None` if it was not.
    #[must_use]
    pub fn with_truncation(self, from_bytes: Option<usize>) -> Self {
        match self {
            Self::Inserted { id, .. } => Self::Inserted {
                id,
                truncated_from_bytes: from_bytes,
            },
            fate => fate,
        }
    }

    /// What became of a record whose text was cut, or not, before it was kept.
    #[must_use]
    pub fn new(outcome: WriteOutcome, truncated_from_bytes: Option<usize>) -> Self {
        match outcome {
            WriteOutcome::Inserted { id } => Self::Inserted {
                id,
                truncated_from_bytes,
            },
            WriteOutcome::Duplicate { of, differs } => Self::Duplicate { of, differs },
            WriteOutcome::Rejected { why } => Self::Rejected {
                why: why.to_string(),
            },
        }
    }
}

/// The batch contract's id, else the first of another system: not what a request or a merge named
/// it by.
#[must_use]
pub fn external_id_of(record: &MemoryRecord) -> Option<String> {
    let others = record.external_ids.iter();
    let mut others = others.filter(|other| other.is_shared_by_versions());
    let batch = record.find_external_id(ExternalId::BATCH);
    batch
        .or_else(|| others.next().map(|other| other.id.as_str()))
        .map(str::to_owned)
}

/// An instant as every face prints it.
pub(crate) fn format_instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// One line of an export: the ingest form plus what the store added.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct ExportLine<'a> {
    id: RecordId,
    #[serialize_always]
    external_id: Option<String>,
    text: &'a str,
    source: &'static str,
    kind: &'static str,
    session_id: &'a str,
    timestamp: String,
    known_at: String,
    metadata: &'a Map<String, Value>,
    #[serialize_always]
    quality_score: Option<f64>,
    tags: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    external_ids: Vec<&'a ExternalId>,
    provenance: Option<&'a Provenance>,
    retention: Option<Retention>,
    confidence: Option<f64>,
    evidence: Option<Evidence>,
    visibility: Option<Visibility>,
    supersedes: Option<RecordId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: &'a Option<Value>,
}

impl<'a> ExportLine<'a> {
    /// The line of a record.
    #[must_use]
    pub fn new(record: &'a MemoryRecord) -> Self {
        // The batch contract's one has a field of its own.
        let others = record.external_ids.iter();
        let own = [ExternalId::BATCH, ExternalId::REQUEST];
        let others = others
            .filter(|other| !own.contains(&&*other.namespace))
            .collect();
        Self {
            id: record.id,
            external_id: external_id_of(record),
            text: &record.text,
            source: record.source.name(),
            kind: record.kind.name(),
            session_id: &record.session_id,
            timestamp: format_instant(record.timestamp),
            known_at: format_instant(record.known_at),
            metadata: &record.metadata,
            quality_score: record.quality_score.map(shortest_decimal),
            tags: &record.tags,
            external_ids: others,
            provenance: not_default(&record.provenance),
            retention: not_default(&record.retention).copied(),
            confidence: record.confidence.map(shortest_decimal),
            evidence: record.evidence,
            visibility: workspace_or_none(record.visibility),
            supersedes: record.supersedes,
            details: &record.details,
        }
    }
}

/// A number as it was written: .7, and not the nearest number that is held, .699999988.
fn shortest_decimal(held: f32) -> f64 {
    held.to_string().parse().unwrap_or(f64::from(held))
}

/// The one visibility that a line can say; others come by acts of their own.
fn workspace_or_none(visibility: Visibility) -> Option<Visibility> {
    (visibility == Visibility::Workspace).then_some(visibility)
}

fn not_default<T: Default + PartialEq>(value: &T) -> Option<&T> {
    (*value != T::default()).then_some(value)
}

/// Whether a record is left out of exports unless it is asked for.
#[must_use]
pub fn is_sensitive(record: &MemoryRecord) -> bool {
    record.check_release(ReleaseTarget::Export).is_err()
}

#[cfg(test)]
mod tests;
