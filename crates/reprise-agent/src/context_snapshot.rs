//! Conversion of a finished recall to choiros's `ContextSnapshot`, the reply to its
//! `GetContextSnapshot`, so that choiros can use this memory with its own types.

use chrono::{DateTime, Utc};
use reprise_types::{MemoryRecord, MemorySource, RecallResponse, RetrievedMemory};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results of a query for one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextSnapshot {
    /// Id of the recall (a ULID), to which an outcome refers.
    pub snapshot_id: String,
    pub run_id: String,
    pub query: String,
    /// Best first.
    pub items: Vec<ContextItem>,
    /// One citation for each item, in their order.
    pub provenance: Vec<CitationRef>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextItem {
    /// The record's id.
    pub item_id: String,
    /// `user_input`, `version_snapshot`, `run_trajectory` or `doc_trajectory`.
    pub kind: String,
    /// The document, file or run that the item came from.
    pub source_ref: String,
    pub content: String,
    /// The score after learning, 0..1.
    pub relevance: f32,
    /// When it happened.
    pub created_at: DateTime<Utc>,
}

/// The citation of a retrieved item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationRef {
    /// The record's id.
    pub cited_id: String,
    /// The item's kind.
    pub cited_kind: String,
    /// Always `retrieved_context`; whether the item was used is reported later.
    pub kind: String,
}

/// Converts the first `max_items` results of a recall. The result depends on the arguments only.
pub fn build_context_snapshot(
    recall: &RecallResponse,
    run_id: &str,
    query: &str,
    max_items: usize,
    now: DateTime<Utc>,
) -> ContextSnapshot {
    let items: Vec<ContextItem> = recall
        .results
        .iter()
        .take(max_items)
        .map(build_item)
        .collect();
    let citation = |item: &ContextItem| CitationRef {
        cited_id: item.item_id.clone(),
        cited_kind: item.kind.clone(),
        kind: "retrieved_context".to_owned(),
    };
    ContextSnapshot {
        snapshot_id: recall.recall_id.to_string(),
        run_id: run_id.to_owned(),
        query: query.to_owned(),
        provenance: items.iter().map(citation).collect(),
        items,
        created_at: now,
    }
}

fn build_item(found: &RetrievedMemory) -> ContextItem {
    let record = &found.record;
    ContextItem {
        item_id: record.id.to_string(),
        kind: choiros_kind(record).to_owned(),
        source_ref: source_ref(record),
        content: record.text.clone(),
        relevance: found.sona_score.clamp(0.0, 1.0),
        created_at: record.timestamp,
    }
}

/// Returns the choiros collection that corresponds to a record.
fn choiros_kind(record: &MemoryRecord) -> &'static str {
    match record.source {
        MemorySource::UserInput => "user_input",
        MemorySource::ConductorPlan
        | MemorySource::WorkerResult
        | MemorySource::TrajectoryOutcome => "run_trajectory",
        MemorySource::WriterRevision => {
            let event = record.metadata.get("event_type").and_then(Value::as_str);
            if event.is_some_and(|event| event.starts_with("writer.")) {
                "version_snapshot"
            } else {
                "doc_trajectory"
            }
        }
    }
}

fn source_ref(record: &MemoryRecord) -> String {
    let provenance = &record.provenance;
    let document = provenance.source_refs.first().cloned();
    document
        .or_else(|| Some(format!("run:{}", provenance.run_id.as_deref()?)))
        .or_else(|| Some(format!("session:{}", non_empty(&record.session_id)?)))
        .unwrap_or_else(|| format!("record:{}", record.id))
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemoryProvider as _, NewRecord, Provenance, RecallRequest};
    use serde_json::json;

    use super::*;
    use crate::testing::{TestService, ada};

    fn new_record(text: &str, source: MemorySource, event: &str, path: Option<&str>) -> NewRecord {
        let mut record = NewRecord::new(text, source, MemoryKind::Finding);
        record
            .metadata
            .insert("event_type".to_owned(), event.into());
        record.provenance = Provenance {
            run_id: Some("r-1".to_owned()),
            actor_id: None,
            source_refs: path.map(str::to_owned).into_iter().collect(),
        };
        record
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_recall_is_answered_in_the_shape_that_choiros_reads() {
        let bench = TestService::new();
        let service = bench.start().await;
        let draft = Some("draft.md");
        let records = vec![
            new_record("clock asked", MemorySource::UserInput, "user_input", None),
            new_record(
                "clock written",
                MemorySource::WriterRevision,
                "writer.run.patch",
                draft,
            ),
            new_record(
                "clock edited",
                MemorySource::WriterRevision,
                "worker.task.document_update",
                draft,
            ),
            new_record(
                "clock ran",
                MemorySource::WorkerResult,
                "worker.report.received",
                None,
            ),
        ];
        service.observe(&ada(), records).await.unwrap();
        let provider = service.provider(&ada());
        let recall = provider
            .execute_recall(RecallRequest::new("clock"))
            .await
            .unwrap();
        let now = recall.results[0].record.known_at;
        let snapshot = build_context_snapshot(&recall, "r-2", "clock", 8, now);
        assert_eq!(snapshot.snapshot_id, recall.recall_id.to_string());
        let mut found: Vec<[&str; 3]> = snapshot
            .items
            .iter()
            .map(|item| {
                [
                    item.content.as_str(),
                    item.kind.as_str(),
                    item.source_ref.as_str(),
                ]
            })
            .collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ["clock asked", "user_input", "run:r-1"],
                ["clock edited", "doc_trajectory", "draft.md"],
                ["clock ran", "run_trajectory", "run:r-1"],
                ["clock written", "version_snapshot", "draft.md"],
            ]
        );
        let written = serde_json::to_value(&snapshot).unwrap();
        assert_eq!(written["run_id"], "r-2");
        assert_eq!(
            written["items"][0]["item_id"],
            written["provenance"][0]["cited_id"]
        );
        assert_eq!(written["provenance"][0]["kind"], json!("retrieved_context"));
        assert_eq!(
            build_context_snapshot(&recall, "r", "q", 2, now)
                .items
                .len(),
            2
        );
        assert!(service.shut_down().await.is_clean());
    }
}
