//! The memory record: the fields of the seed document and further ones.

use std::ops::{Deref, DerefMut};

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::calendar::Zone;
use crate::embedding::{Embedding, EmbeddingSpace};
use crate::id::RecordId;
use crate::kind::{ConfidenceLevel, Evidence, MemoryKind, MemorySource, Retention, Visibility};
use crate::limits::IDENTIFIER_BYTES_MAX;

/// The content of a record, shared by new and stored records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordBody {
    /// The text. Cut at [`crate::limits::TEXT_BYTES_MAX`].
    pub text: String,
    /// The kind of source it came from.
    pub source: MemorySource,
    /// The kind of record.
    pub kind: MemoryKind,
    /// Quality of the run it belongs to, 0..1; independent of `confidence`.
    pub quality_score: Option<f32>,
    /// The session, or an empty string where the source names none.
    pub session_id: String,
    /// Further data of the source: a JSON object.
    pub metadata: Map<String, Value>,
    /// Its ids in other systems; a second record with one of them is a duplicate.
    pub external_ids: Vec<ExternalId>,
    /// Free-form labels, in normal form.
    pub tags: Vec<String>,
    /// Confidence of its author, 0..1.
    pub confidence: Option<f32>,
    /// The evidence for it.
    pub evidence: Option<Evidence>,
    /// Who may see it.
    pub visibility: Visibility,
    /// How long it is kept.
    pub retention: Retention,
    /// The record that this one corrects.
    pub supersedes: Option<RecordId>,
    /// Its origin, in the host's terms.
    pub provenance: Provenance,
    /// Typed knowledge (lesson, decision, failure, ...) as its operation wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl RecordBody {
    /// Builds a private, normal record with nothing but its text, source and kind.
    pub fn new(text: impl Into<String>, source: MemorySource, kind: MemoryKind) -> Self {
        Self {
            text: text.into(),
            source,
            kind,
            quality_score: None,
            session_id: String::new(),
            metadata: Map::new(),
            external_ids: Vec::new(),
            tags: Vec::new(),
            confidence: None,
            evidence: None,
            visibility: Visibility::Private,
            retention: Retention::Normal,
            supersedes: None,
            provenance: Provenance::default(),
            details: None,
        }
    }

    /// Converts it to a stored record with timestamp and `known_at` set to `at`, without vector and
    /// hash.
    pub fn into_record(self, id: RecordId, at: DateTime<Utc>) -> MemoryRecord {
        MemoryRecord {
            id,
            body: self,
            timestamp: at,
            known_at: at,
            embedding: Vec::new(),
            embedding_space: None,
            content_hash: ContentHash::default(),
        }
    }

    /// Metadata key of the mark that a cut text gets: how many bytes it had.
    pub const TRUNCATED_KEY: &str = "truncated_from_bytes";

    /// Cuts the text to `bytes_max` at a character boundary and marks that in the metadata. Returns
    /// how many bytes it had if it was longer.
    pub fn truncate_text(&mut self, bytes_max: usize) -> Option<usize> {
        let bytes = self.text.len();
        if bytes <= bytes_max {
            return None;
        }
        self.text.truncate(self.text.floor_char_boundary(bytes_max));
        // A text that was cut before keeps the size of the first mark.
        let before = self
            .metadata
            .get(Self::TRUNCATED_KEY)
            .and_then(Value::as_u64);
        let bytes = bytes.max(before.unwrap_or_default() as usize);
        self.metadata
            .insert(Self::TRUNCATED_KEY.to_owned(), Value::from(bytes));
        Some(bytes)
    }

    /// Returns `confidence` as a level.
    pub fn confidence_level(&self) -> Option<ConfidenceLevel> {
        self.confidence.map(ConfidenceLevel::from_confidence)
    }

    /// Returns the id of this record in a system, of which the namespace is the name.
    pub fn find_external_id(&self, namespace: &str) -> Option<&str> {
        self.external_ids
            .iter()
            .find(|e| e.namespace == namespace)
            .map(|e| e.id.as_str())
    }
}

/// A stored record. Immutable: a change is a later log entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRecord {
    /// Assigned when the record was stored.
    pub id: RecordId,
    #[serde(flatten)]
    pub body: RecordBody,
    /// When it happened.
    pub timestamp: DateTime<Utc>,
    /// When this store received it. Ascends within a file, except after a clock that was far ahead
    /// was set right.
    pub known_at: DateTime<Utc>,
    /// The unit vector of `text`; empty while not embedded, and in responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedding: Vec<f32>,
    /// The space of its vector; `None` while it is not yet embedded.
    pub embedding_space: Option<EmbeddingSpace>,
    /// Hash of the stored text.
    #[schemars(with = "String")]
    pub content_hash: ContentHash,
}

impl MemoryRecord {
    /// The tag of a receipt: a note that the memory writes itself about what left it. A receipt is
    /// stored in the log and read by its id or its tag, and is no knowledge.
    pub const RECEIPT_TAG: &str = "receipt:global";

    /// Returns when this version was made if it corrects an earlier one.
    pub fn made_as_correction_at(&self) -> Option<DateTime<Utc>> {
        self.supersedes.map(|_| self.known_at)
    }

    pub fn is_receipt(&self) -> bool {
        self.tags.iter().any(|tag| tag == Self::RECEIPT_TAG)
    }

    /// The `type` in the `details` of a stored prompt.
    pub const PROMPT_TYPE: &str = "prompt";

    /// Whether it is a prompt that somebody gave to an agent, whether the agent's hook stored it or
    /// it came in with its session.
    pub fn is_prompt(&self) -> bool {
        let kind = self
            .details
            .as_ref()
            .and_then(|details| details.get("type"));
        kind.map_or_else(
            || self.is_prompt_without_mark(),
            |kind| kind == Self::PROMPT_TYPE,
        )
    }

    /// Whether it came in as a person's words to an agent, before those were marked as prompts.
    fn is_prompt_without_mark(&self) -> bool {
        let is_persons = self.metadata.get("role").is_some_and(|role| role == "user");
        let is_programs = |id: &ExternalId| {
            let namespace = id.namespace.as_str();
            namespace == ExternalId::TRAJECTORY || ExternalId::AGENT_PROGRAMS.contains(&namespace)
        };
        is_persons
            && self.source == MemorySource::UserInput
            && self.external_ids.iter().any(is_programs)
    }

    /// Converts it to a new record: without id, hash and `known_at`.
    pub fn into_new_record(self) -> NewRecord {
        let vector = self.embedding;
        let space = self.embedding_space.filter(|_| !vector.is_empty());
        NewRecord {
            body: self.body,
            timestamp: Some(self.timestamp),
            embedding: space.map(|space| Embedding { space, vector }),
            replaces_known_id: false,
        }
    }

    /// Returns when the record expires: the `expires_at` of its metadata or details, or the end of
    /// its scratch time. A pinned record never expires.
    pub fn expiry(&self) -> Option<DateTime<Utc>> {
        match self.retention {
            Retention::Scratch { ttl_seconds } => {
                Some(self.known_at + TimeDelta::seconds(ttl_seconds.into()))
            }
            Retention::Pinned => None,
            Retention::Normal => self.stated_expiry(),
        }
    }

    /// Whether its `expires_at` has passed, so that no recall returns it, whether memory was tended
    /// or not. A scratch record is not included: tending ends it, and does not count days on which
    /// nothing happened.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.retention != Retention::Pinned && self.stated_expiry().is_some_and(|end| end <= now)
    }

    fn stated_expiry(&self) -> Option<DateTime<Utc>> {
        let in_details = self.details.as_ref().and_then(|it| it.get("expires_at"));
        let named = [self.metadata.get("expires_at"), in_details]
            .into_iter()
            .flatten();
        let mut named = named.filter_map(|at| Zone::Utc.parse_json_time(at));
        named.next()
    }

    /// Returns the record without its vector, as responses have it.
    #[must_use]
    pub fn without_vector(self) -> Self {
        Self {
            embedding: Vec::new(),
            ..self
        }
    }
}

impl Deref for MemoryRecord {
    type Target = RecordBody;

    fn deref(&self) -> &RecordBody {
        &self.body
    }
}

impl DerefMut for MemoryRecord {
    fn deref_mut(&mut self) -> &mut RecordBody {
        &mut self.body
    }
}

/// A record to be stored; the engine adds id, `known_at` and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    pub body: RecordBody,
    /// When it happened; `None` means now.
    pub timestamp: Option<DateTime<Utc>>,
    /// The vector of `text`; `None` stores the record as not yet embedded.
    pub embedding: Option<Embedding>,
    /// Whether it is stored as a new version of the record that has one of its external ids, if the
    /// text differs.
    pub replaces_known_id: bool,
}

impl Deref for NewRecord {
    type Target = RecordBody;

    fn deref(&self) -> &RecordBody {
        &self.body
    }
}

impl DerefMut for NewRecord {
    fn deref_mut(&mut self) -> &mut RecordBody {
        &mut self.body
    }
}

impl NewRecord {
    /// Builds a private, normal record with nothing but its text, source and kind.
    pub fn new(text: impl Into<String>, source: MemorySource, kind: MemoryKind) -> Self {
        Self {
            body: RecordBody::new(text, source, kind),
            timestamp: None,
            embedding: None,
            replaces_known_id: false,
        }
    }

    /// Returns the approximate size of the stored record in bytes, with its metadata re-encoded,
    /// which may be longer than the input.
    pub fn encoded_size(&self) -> usize {
        let external = self
            .external_ids
            .iter()
            .map(|e| e.namespace.len() + e.id.len());
        let lists = self.tags.iter().chain(&self.provenance.source_refs);
        let runs = [&self.provenance.run_id, &self.provenance.actor_id];
        self.text.len()
            + self.session_id.len()
            + external.sum::<usize>()
            + lists.map(String::len).sum::<usize>()
            + runs.into_iter().flatten().map(String::len).sum::<usize>()
            + json_size(&self.metadata)
            + self.details.as_ref().map_or(0, json_size)
            + self.embedding.as_ref().map_or(0, |e| 4 * e.vector.len())
    }
}

/// Returns the length of a value's JSON in bytes, computed without allocating it.
pub fn json_size(value: &impl Serialize) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    // Nothing here fails: keys are strings, and the counter accepts every byte.
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// The id of a record in another system.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct ExternalId {
    /// The system, for example `event` or `batch`.
    #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
    pub namespace: String,
    /// The id in that system.
    #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
    pub id: String,
}

impl ExternalId {
    /// Namespace of the batch contract's `external_id`.
    pub const BATCH: &'static str = "batch";
    /// Namespace of `event_id` of a host's event log.
    pub const EVENT: &'static str = "event";
    /// Namespace of the content ids of Sunwell's RFC-065.
    pub const SUNWELL: &'static str = "sunwell";
    /// Namespace of ralph's frames.
    pub const FRAMES: &'static str = "ralph";
    /// Namespace of the things of an ai-lessons database.
    pub const AI_LESSONS: &'static str = "ai-lessons";
    /// Namespace of the names of MCP's memory server.
    pub const SERVER_MEMORY: &'static str = "server-memory";
    /// Namespace of mem0's memories.
    pub const MEM0: &'static str = "mem0";
    /// Namespace of claude-mem's observations, summaries and prompts.
    pub const CLAUDE_MEM: &'static str = "claude-mem";
    /// Namespace of the sections of Markdown notes.
    pub const NOTES: &'static str = "notes";
    /// Namespace of git's commits.
    pub const GIT: &'static str = "git";
    /// Namespace of the vectors of other programs' `.rvf` files.
    pub const RVF: &'static str = "rvf";
    /// Namespace of the ids that records had in another memory.
    pub const REPRISE: &'static str = "reprise";
    /// Namespace of the ids that Reprise itself gives to a request, so that a repeated one is
    /// stored once. No caller knows them.
    pub const REQUEST: &'static str = "request";
    /// Prefix of the request id of a lesson.
    pub const LESSON_PREFIX: &'static str = "lesson ";
    /// Namespace of the id that a merged record had in its branch.
    pub const MERGED: &'static str = "branch-record";
    /// The programs of agents, under the names that their hooks report: also the namespaces of the
    /// turns of their sessions, in which a person's words are prompts. In a chat people tell
    /// things, too.
    pub const AGENT_PROGRAMS: [&'static str; 7] = [
        "claude-code",
        "codex",
        "copilot",
        "cursor",
        "gemini",
        "opencode",
        "windsurf",
    ];
    /// Namespace of the turns of a recorded trajectory.
    pub const TRAJECTORY: &'static str = "trajectory";
    /// Namespaces in which a caller's id is looked up, in this order.
    pub const CALLER_NAMESPACES: [&'static str; 12] = [
        Self::BATCH,
        Self::EVENT,
        Self::SUNWELL,
        Self::FRAMES,
        Self::AI_LESSONS,
        Self::SERVER_MEMORY,
        Self::MEM0,
        Self::CLAUDE_MEM,
        Self::NOTES,
        Self::GIT,
        Self::RVF,
        Self::REPRISE,
    ];

    pub fn new(namespace: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            id: id.into(),
        }
    }

    /// Whether every version of a record has this id, so that it leads to the newest one. The ids
    /// of a request and of a merged record belong to one version.
    pub fn is_shared_by_versions(&self) -> bool {
        ![Self::REQUEST, Self::MERGED].contains(&self.namespace.as_str())
    }
}

/// The XXH3-128 hash of a text: it detects repeated content and is not cryptographic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ContentHash(pub u128);

impl ContentHash {
    pub fn of_text(text: &str) -> Self {
        Self(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
    }
}

impl Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

/// The origin of a record, in the host's terms.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
    pub run_id: Option<String>,
    /// The actor that produced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
    pub actor_id: Option<String>,
    /// Files, documents and evidence it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = IDENTIFIER_BYTES_MAX)))]
    pub source_refs: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_is_over_however_it_is_written() {
        let now = Zone::Utc.parse_timestamp("2026-02-18T12:00:00Z").unwrap();
        for (at, over) in [
            (json!("2026-02-18T11:00:00Z"), true),
            (json!("2026-02-18T13:00:00Z"), false),
            (json!("2026-02-18"), true),
            (json!("2026-02-19"), false),
            (json!(1_771_400_000), true),
            (json!(1_771_500_000_000_i64), false),
            (json!(30), false),
            (json!("soon"), false),
            (json!(null), false),
        ] {
            let body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
            let mut record = body.into_record(RecordId::from_u128(1), now);
            record.metadata.insert("expires_at".to_owned(), at.clone());
            assert_eq!(record.is_expired(now), over, "{at}");
            record.metadata.clear();
            record.details = Some(json!({ "expires_at": at }));
            assert_eq!(record.is_expired(now), over, "{at} in details");
        }
    }
}
