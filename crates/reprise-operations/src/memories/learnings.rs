//! Learnings: extracted from a finished session, and sent to listeners as Sunwell's events.

use reprise_engine::{LinkEnd, NewLink};
use reprise_knowledge::{
    StoreCounts, SunwellLearning, SunwellMemory, SunwellStats, extract_learnings,
};

use crate::prelude::*;

/// Learnings that are told one by one; of more at once listeners hear what there is.
const TOLD_MAX: usize = 64;

/// What a session taught.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    /// The learnings, in the order of the session, each with its nine fields.
    pub learnings: Vec<Value>,
    /// The records that were made for those that are new.
    pub ids: Vec<RecordId>,
    /// Outcomes of its tests that were learned from.
    #[serde(default)]
    pub outcomes: u64,
}

/// Returns the filter of a project's records; of all records if no project is named.
pub(super) fn project_filter(project: Option<&str>) -> MemoryFilter {
    MemoryFilter {
        project: project.map(str::to_owned),
        ..MemoryFilter::default()
    }
}

/// Lists what was learned and planned in a memory, or in one project of it, oldest first, without
/// what has expired.
pub(crate) fn list_learnings(
    memory: &Snapshot,
    project: Option<&str>,
    now: DateTime<Utc>,
) -> SunwellMemory {
    let mut own = memory.list_matching_records(&project_filter(project));
    own.retain(|record| SunwellMemory::is_in(record) && !record.is_expired(now));
    own.sort_by_key(|record| (record.timestamp, record.id));
    SunwellMemory::of(&own)
}

/// Counts for Studio the turns of a session (the current one by default) and of all sessions, the
/// files of the memory, and the copies that are kept with them.
pub(crate) fn count_store(
    memory: &Snapshot,
    session: Option<&str>,
    branches: usize,
) -> StoreCounts {
    let is_turn = |record: &&MemoryRecord| {
        let form = record.record_type();
        matches!(form, RecordType::Prompt | RecordType::Answer)
    };
    let all = memory.list_matching_records(&MemoryFilter::default());
    let turns: Vec<&MemoryRecord> = all.iter().filter(is_turn).collect();
    let newest = turns.iter().max_by_key(|turn| (turn.timestamp, turn.id));
    let hot = session.or_else(|| newest.map(|turn| turn.session_id.as_str()));
    let mut counts = StoreCounts {
        hot_turns: turns
            .iter()
            .filter(|turn| Some(turn.session_id.as_str()) == hot)
            .count(),
        total_turns: turns.len(),
        branches,
        ..StoreCounts::default()
    };
    if let Some(home) = memory.log_reader().path().parent() {
        counts.count_files(home);
    }
    counts
}

impl Memory {
    /// Keeps the sentences of a session that say what was learned in it, each once. Each is linked
    /// to the record that contains it, so that forgetting that record forgets it too.
    pub(crate) async fn extract_and_store_learnings(
        &self,
        session: &str,
        dry_run: bool,
    ) -> Result<Extracted, Problem> {
        if session.is_empty() {
            return Err(Problem::invalid(
                "name the session that is to be learned from",
            ));
        }
        if !self.exists() {
            return Ok(Extracted::default());
        }
        let of_session = MemoryFilter {
            session_id: Some(session.to_owned()),
            ..MemoryFilter::default()
        };
        let found = self.run_on_snapshot(move |memory| {
            let mut said = memory.list_matching_records(&of_session);
            said.sort_by_key(|record| (record.timestamp, record.id));
            let found = extract_learnings(&said).into_iter();
            found.map(|(from, new)| (from.id, new)).collect::<Vec<_>>()
        });
        let found = found.await?;
        let learnings = found.iter().map(|(_, new)| {
            let record = new
                .body
                .clone()
                .into_record(RecordId::from_u128(0), self.now());
            json!(SunwellLearning::of(&record))
        });
        let learnings = learnings.collect();
        if dry_run || found.is_empty() {
            return Ok(Extracted {
                learnings,
                ..Extracted::default()
            });
        }
        let now = self.now();
        let keep = move |engine: &mut Engine| -> Result<Vec<RecordId>, Problem> {
            let mut batch = WriteBatch::default();
            for (from, new) in found {
                let made = LinkEnd::New(batch.records.len());
                let link = NewLink::distilled_from(made, LinkEnd::Stored(from));
                batch.records.push(new);
                batch.links.push(link);
            }
            let outcomes = engine.write(batch, now)?.outcomes;
            let ids = outcomes.iter().filter_map(WriteOutcome::inserted_id);
            Ok(ids.collect())
        };
        let ids = self.run_on_engine(keep).await??;
        if !ids.is_empty() {
            self.announce_change("inserted", ids.clone());
            self.notify_learnings(&ids).await;
        }
        Ok(Extracted {
            learnings,
            ids,
            outcomes: 0,
        })
    }

    /// Notifies listeners of the learnings in some new records, or only of the totals if there are
    /// too many. Sensitive records are left out.
    pub(crate) async fn notify_learnings(&self, ids: &[RecordId]) {
        if !self.all.has_listeners() {
            return;
        }
        if ids.len() > TOLD_MAX {
            return self.notify_loaded(None).await;
        }
        let wanted = ids.to_vec();
        let read = self.run_on_snapshot(move |memory| {
            let records = wanted.iter().filter_map(|id| memory.get(*id)?.ok());
            let told = records.filter(|record| record.check_release(ReleaseTarget::Export).is_ok());
            let told = told.filter_map(|record| Some((record.id, SunwellLearning::of(&record)?)));
            told.collect::<Vec<_>>()
        });
        // A listener that hears nothing of it reads it with its next question.
        for (id, learning) in read.await.unwrap_or_default() {
            self.send_change("memory_learning", vec![id], learning.to_event());
        }
    }

    /// Notifies listeners of what is known, in one project or in all, when an agent loads it.
    pub(crate) async fn notify_loaded(&self, project: Option<String>) {
        if !self.all.has_listeners() || !self.exists() {
            return;
        }
        let now = self.now();
        let read = self.run_on_snapshot(move |memory| {
            list_learnings(memory, project.as_deref(), now).count_learnings()
        });
        if let Ok(stats) = read.await {
            self.notify_stats(&stats);
        }
    }

    /// Notifies listeners of totals that were just read.
    pub(crate) fn notify_stats(&self, stats: &SunwellStats) {
        if let Some(event) = stats.to_loaded_event() {
            self.send_change("memory_loaded", Vec::new(), event);
        }
    }
}
