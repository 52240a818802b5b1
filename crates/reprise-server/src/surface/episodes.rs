//! Runs and sessions as groups of records.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use reprise_engine::Snapshot;
use reprise_types::{MemoryRecord, RecordId, UserId};
use serde::Serialize;

use super::Surface;
use crate::problem::Problem;

/// Records of one run, or of one session where the source names no run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Episode {
    /// The run's id, else the session's.
    pub(crate) id: String,
    /// When its first record happened.
    pub(crate) started_at: DateTime<Utc>,
    /// When its last record happened.
    pub(crate) ended_at: DateTime<Utc>,
    /// Its records, oldest first.
    pub(crate) records: Vec<RecordId>,
}

impl Surface {
    /// The latest episodes, newest first. Reads every record once.
    pub(crate) async fn episodes(
        &self,
        user: &UserId,
        limit: usize,
    ) -> Result<Vec<Episode>, Problem> {
        let mut episodes = self.read(user, gather).await?;
        episodes.sort_by(|a, b| b.ended_at.cmp(&a.ended_at).then(a.id.cmp(&b.id)));
        episodes.truncate(limit);
        Ok(episodes)
    }

    /// The records of one episode, oldest first, without their vectors.
    pub(crate) async fn episode(
        &self,
        user: &UserId,
        id: &str,
    ) -> Result<Vec<MemoryRecord>, Problem> {
        let wanted = id.to_owned();
        let read = self.read(user, move |memory| {
            let records = memory.records().filter_map(Result::ok);
            let of_it = records.filter(|record| name_of(record) == wanted);
            of_it
                .map(|record| MemoryRecord {
                    embedding: Vec::new(),
                    ..record
                })
                .collect::<Vec<_>>()
        });
        let records = read.await?;
        if records.is_empty() {
            let id: String = id.chars().take(64).collect();
            return Err(Problem::not_found(format!(
                "there is no episode `{id}` in this memory; `/api/memory/episodes` lists them"
            )));
        }
        Ok(records)
    }
}

fn name_of(record: &MemoryRecord) -> &str {
    let run = record.provenance.run_id.as_deref();
    run.unwrap_or(&record.session_id)
}

fn gather(snapshot: &Snapshot) -> Vec<Episode> {
    let mut episodes: BTreeMap<String, Episode> = BTreeMap::new();
    for record in snapshot.records().filter_map(Result::ok) {
        let id = name_of(&record);
        if id.is_empty() {
            continue;
        }
        let at = record.timestamp;
        let episode = episodes.entry(id.to_owned()).or_insert_with(|| Episode {
            id: id.to_owned(),
            started_at: at,
            ended_at: at,
            records: Vec::new(),
        });
        episode.started_at = episode.started_at.min(at);
        episode.ended_at = episode.ended_at.max(at);
        episode.records.push(record.id);
    }
    episodes.into_values().collect()
}
