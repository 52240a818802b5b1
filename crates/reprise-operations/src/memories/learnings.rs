//! Learnings: taken out of a finished session, and told to whoever listens as Sunwell tells them.

use reprise_engine::{LinkEnd, NewLink};
use reprise_knowledge::{Learning, StoreCounts, SunwellMemory, SunwellStats, learnings_of_session};

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

/// What belongs to a project; all where none is named.
pub(super) fn of_project(project: Option<&str>) -> MemoryFilter {
    MemoryFilter {
        project: project.map(str::to_owned),
        ..MemoryFilter::default()
    }
}

/// What was learned and planned in a memory, or in one project of it, oldest first. What had its
/// time is not known any more (S65).
pub(crate) fn learnings_of(
    memory: &Snapshot,
    project: Option<&str>,
    now: DateTime<Utc>,
) -> SunwellMemory {
    let mut own = memory.matching(&of_project(project));
    own.retain(|record| SunwellMemory::is_in(record) && !record.is_over(now));
    own.sort_by_key(|record| (record.timestamp, record.id));
    SunwellMemory::of(&own)
}

/// What Studio asks of the store itself: turns of a session, or of the one that goes on, and of
/// all; the files that memory answers from, and the copies that are kept beside them.
pub(crate) fn store_counts(
    memory: &Snapshot,
    session: Option<&str>,
    branches: usize,
) -> StoreCounts {
    let is_turn = |record: &&MemoryRecord| {
        let form = record.record_type();
        matches!(form, RecordType::Prompt | RecordType::Answer)
    };
    let all = memory.matching(&MemoryFilter::default());
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
    if let Some(home) = memory.log().path().parent() {
        counts.look(home);
    }
    counts
}

impl Memory {
    /// Keeps the sentences of a session that say what was learned in it, each once, with the record
    /// that it stands in: forgetting that forgets it too.
    pub(crate) async fn extract(&self, session: &str, dry_run: bool) -> Result<Extracted, Problem> {
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
        let found = self.read(move |memory| {
            let mut said = memory.matching(&of_session);
            said.sort_by_key(|record| (record.timestamp, record.id));
            let found = learnings_of_session(&said).into_iter();
            found.map(|(from, new)| (from.id, new)).collect::<Vec<_>>()
        });
        let found = found.await?;
        let learnings = found.iter().map(|(_, new)| {
            let record = new.body.clone().kept(RecordId::from_u128(0), self.now());
            json!(Learning::of(&record))
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
                let link = NewLink::distilled(made, LinkEnd::Kept(from));
                batch.records.push(new);
                batch.links.push(link);
            }
            let outcomes = engine.write(batch, now)?.outcomes;
            let ids = outcomes.iter().filter_map(WriteOutcome::new_id);
            Ok(ids.collect())
        };
        let ids = self.with_engine(keep).await??;
        if !ids.is_empty() {
            self.tell("inserted", ids.clone());
            self.tell_learnings(&ids).await;
        }
        Ok(Extracted {
            learnings,
            ids,
            outcomes: 0,
        })
    }

    /// Tells listeners what was learned with some new records (S54), or what there is where that is
    /// too much to tell one by one. What is sensitive is not told.
    pub(crate) async fn tell_learnings(&self, ids: &[RecordId]) {
        if !self.all.is_heard() {
            return;
        }
        if ids.len() > TOLD_MAX {
            return self.tell_loaded(None).await;
        }
        let wanted = ids.to_vec();
        let read = self.read(move |memory| {
            let records = wanted.iter().filter_map(|id| memory.get(*id)?.ok());
            let told = records.filter(|record| record.may_leave(WayOut::Export).is_ok());
            let told = told.filter_map(|record| Some((record.id, Learning::of(&record)?)));
            told.collect::<Vec<_>>()
        });
        // A listener that hears nothing of it reads it with its next question.
        for (id, learning) in read.await.unwrap_or_default() {
            self.send("memory_learning", vec![id], learning.event());
        }
    }

    /// Tells listeners what there is to know, in one project or in all: somebody goes to work with
    /// it (S55).
    pub(crate) async fn tell_loaded(&self, project: Option<String>) {
        if !self.all.is_heard() || !self.exists() {
            return;
        }
        let now = self.now();
        let read = self.read(move |memory| learnings_of(memory, project.as_deref(), now).stats());
        if let Ok(stats) = read.await {
            self.tell_stats(&stats);
        }
    }

    /// The same of what was just read.
    pub(crate) fn tell_stats(&self, stats: &SunwellStats) {
        if let Some(event) = stats.loaded() {
            self.send("memory_loaded", Vec::new(), event);
        }
    }
}
