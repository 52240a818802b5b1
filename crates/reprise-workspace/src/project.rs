//! What a memory brings into the workspace: records that may be seen there become lines of
//! `memory/long_term`, and manifests of embeddings say what its spaces hold.
//!
//! What is private, or kept for oneself in any other way, never leaves its store: `check_release`
//! decides that. Nor do vectors.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use reprise_types::{EmbeddingSpace, MemoryRecord, ReleaseTarget, UserId};
use reprise_workspace_types::{Actor, AuditAction, Receipt, RepoPath};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::combine::LogLines;
use crate::error::{Result, invalid_error};
use crate::stage::Changes;
use crate::transaction::Draft;
use crate::workspace::{Workspace, WriteRequest};

const CONTRADICTIONS: &str = "memory/contradiction_history.jsonl";
/// The log of each subject, by the tag that a record has; the last is for the rest.
const LOGS: [(&str, &str); 5] = [
    ("contradiction", CONTRADICTIONS),
    ("drift", "memory/long_term/drift_history.jsonl"),
    ("risk", "memory/long_term/risk_profiles.jsonl"),
    ("lineage", "memory/long_term/lineage_history.jsonl"),
    ("", "memory/long_term/records.jsonl"),
];

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecordProjection {
    pub written: usize,
    /// Records that were there already.
    pub known: usize,
    /// Records that stay in their store: private, sensitive, or for other audiences.
    pub held_back: usize,
    /// The transaction; nothing where all were known.
    pub receipt: Option<Receipt>,
}

impl Workspace {
    /// Writes the records that may leave their store this way, each once, as one transaction.
    pub fn project<'a>(
        &self,
        records: impl Iterator<Item = &'a MemoryRecord>,
    ) -> Result<RecordProjection> {
        self.make_folders()?;
        let mut projection = RecordProjection::default();
        let mut lines: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        let mut open = 0;
        for record in records {
            if record.check_release(ReleaseTarget::Projection).is_err() {
                projection.held_back += 1;
                continue;
            }
            open += 1;
            lines
                .entry(log_path(record))
                .or_default()
                .extend(crate::wal::encode_line(&render_log_line(record)));
        }
        if lines.is_empty() {
            return Ok(projection);
        }
        let mut written = 0;
        let orchestrator = Actor::orchestrator();
        let receipt = self.transact_alone(&orchestrator, &mut |view| {
            let mut changes = Changes::new();
            written = 0;
            for (path, new) in &lines {
                let path = RepoPath::trusted(*path);
                let present = view
                    .git
                    .content_at(view.head.tree, &path)?
                    .unwrap_or_default();
                let read = |bytes: &[u8]| {
                    let lines = LogLines::parse(&String::from_utf8_lossy(bytes));
                    lines.map_err(|why| invalid_error("schema-event-line", path.as_str(), why))
                };
                let (there, new) = (read(&present)?, read(new)?);
                let before = there.len();
                let joined = there.merge_with(new);
                written += joined.len() - before;
                if joined.len() > before {
                    changes.insert(path, Some(joined.encode()));
                }
            }
            Ok(Draft {
                act: Some(crate::governor::PathAction::Write),
                changes,
                title: format!("Project {written} records"),
                topic: Some("Memory_Projected"),
                ..Draft::new(&orchestrator, AuditAction::Write)
            })
        })?;
        projection.written = written;
        projection.known = open - written;
        projection.receipt = receipt.event.is_some().then_some(receipt);
        Ok(projection)
    }
}

fn log_path(record: &MemoryRecord) -> &'static str {
    let named = LOGS
        .iter()
        .find(|(tag, _)| record.tags.iter().any(|there| there == tag));
    named.or(LOGS.last()).map_or("", |(_, path)| path)
}

fn render_log_line(record: &MemoryRecord) -> Value {
    let mut line = json!({
        "event_id": record.id,
        "ts": record.timestamp,
        "text": record.text,
        "source": record.source,
        "kind": record.kind,
        "tags": record.tags,
        "confidence": record.confidence,
        "evidence": record.evidence,
        "supersedes": record.supersedes,
        "metadata": record.metadata,
    });
    // A contradiction that names its PRD has the fields that ADR-008 gives it.
    let prd = record.metadata.get("prd_id").and_then(Value::as_str);
    if let (CONTRADICTIONS, Some(prd)) = (log_path(record), prd) {
        let conflict = record.metadata.get("conflict").cloned();
        line["prd_id"] = json!(prd);
        line["conflict"] = conflict.unwrap_or_else(|| json!(record.text));
    }
    line
}

/// The spaces of one store, counted as its records go by, in the order of the store.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingSpaces(BTreeMap<EmbeddingSpace, SpaceCounts>);

#[derive(Debug, Clone, Default)]
struct SpaceCounts {
    count: u64,
    /// Over each record's id and its vector in little-endian, in order.
    digest: Sha256,
}

impl EmbeddingSpaces {
    /// Counts a record; one without a vector is in no space.
    pub fn add(&mut self, record: &MemoryRecord) {
        let Some(space) = &record.embedding_space else {
            return;
        };
        let found = self.0.entry(space.clone()).or_default();
        found.count += 1;
        found.digest.update(record.id.to_string());
        for number in &record.embedding {
            found.digest.update(number.to_le_bytes());
        }
    }

    /// Returns the manifest: the same store gives the same bytes. The space of most records is the
    /// store's; records in another space are to be embedded again.
    fn document(&self, user: &UserId) -> Value {
        let mut spaces: Vec<_> = self.0.iter().collect();
        spaces.sort_by_key(|(_, found)| std::cmp::Reverse(found.count));
        let artifacts = spaces
            .into_iter()
            .enumerate()
            .map(|(place, (space, found))| {
                let id = format!("{}/{}/{}", space.model, space.version, space.dimensions);
                let artifact = if place == 0 {
                    format!("memory/{user}")
                } else {
                    format!("memory/{user}#{id}")
                };
                let mut entry = json!({
                    "artifact_id": artifact,
                    "vec_id": id,
                    "granularity": "record",
                    "model": space.model,
                    "model_version": space.version,
                    "dimensions": space.dimensions,
                    "count": found.count,
                    "sha256": HEXLOWER.encode(&found.digest.clone().finalize()),
                });
                if place > 0 {
                    entry["re_embed"] = json!(true);
                }
                entry
            });
        json!({ "owner": user, "artifacts": artifacts.collect::<Vec<_>>() })
    }
}

impl Workspace {
    /// Writes the manifest of a user's store, as the Vectorizer. What is there already is no
    /// change.
    pub fn write_manifest(&self, user: &UserId, spaces: &EmbeddingSpaces) -> Result<Receipt> {
        let path = RepoPath::new(&format!("embeddings/index/memory-{user}.json"))?;
        let document = crate::wal::encode_document(&spaces.document(user));
        self.write(&WriteRequest {
            actor: Actor::new("vectorizer")?,
            changes: vec![(path, Some(document))],
            message: Some(format!("Manifest of the embeddings of {user}")),
        })
    }
}
