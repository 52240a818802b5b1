//! Sessions: episodes, prompts, hooks.

mod hook_report;
pub(crate) mod hooks;
mod implied_quality;
pub mod pausing;
mod prompts;
mod quoting;

use crate::prelude::*;

pub use hook_report::{HOOK_DEADLINE_MS, HookAnswer, HookEvent, HookReport, OPENING_DEADLINE_MS};
pub use hooks::{
    Hook, HookArguments, Moments, MomentsArguments, MomentsTaken, PromptPreview, UnaskedReason,
};
pub(in crate::operations) use hooks::{WorkPart, is_rule, list_rules, list_work};
pub use prompts::{
    FollowingRecord, InjectedBlock, InjectedLine, InjectedPart, LeftOutReason, NotedRecord, Prompt,
    PromptOutcome, PromptPage, PromptRecall, PromptReplay, Prompts, PromptsArguments, ReceivedText,
    Replay, ReplayArguments, ReplayedRecord, TextExcerpt, UnansweredReason,
};

/// Records of one run, or of one session where the source names no run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeRow {
    /// The run's id, else the session's.
    pub id: String,
    /// When its first record happened.
    pub started_at: DateTime<Utc>,
    /// When its last record happened.
    pub ended_at: DateTime<Utc>,
    /// Its records, oldest first.
    pub records: Vec<RecordId>,
}

/// The latest episodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct EpisodePage {
    /// Newest first.
    pub episodes: Vec<EpisodeRow>,
    /// The `offset` of the next page; null on the last.
    pub next: Option<usize>,
}

operation! {
    Spec::for_reading("episodes", "The latest runs and sessions.").with_routes(&[
        (Method::Get, "/v1/users/{user}/episodes"),
        (Method::Get, "/api/memory/episodes"),
    ]);
    Episodes(memory, asked: PageArguments) -> EpisodePage {
        // It reads every record once.
        let page = list_page(asked.offset, asked.limit);
        let mut episodes = memory.run_on_snapshot(gather_episodes).await?;
        episodes.sort_by(|a, b| b.ended_at.cmp(&a.ended_at).then(a.id.cmp(&b.id)));
        let (episodes, next) = cut_page(page, episodes);
        Ok(EpisodePage { episodes, next })
    }
}

/// The run of a record, else its session.
pub(super) fn episode_name(record: &MemoryRecord) -> &str {
    let run = record.provenance.run_id.as_deref();
    run.unwrap_or(&record.session_id)
}

async fn read_episode(memory: &Memory, id: &str) -> Result<Vec<MemoryRecord>, Problem> {
    let id = id.to_owned();
    let read = memory.run_on_snapshot(move |memory| {
        let records = memory.records().filter_map(Result::ok);
        let of_it = records.filter(|record| episode_name(record) == id);
        of_it.map(MemoryRecord::without_vector).collect()
    });
    read.await
}

fn gather_episodes(snapshot: &Snapshot) -> Vec<EpisodeRow> {
    let mut episodes: BTreeMap<String, EpisodeRow> = BTreeMap::new();
    for record in snapshot.records().filter_map(Result::ok) {
        let id = episode_name(&record);
        if id.is_empty() {
            continue;
        }
        let at = record.timestamp;
        let episode = episodes.entry(id.to_owned()).or_insert_with(|| EpisodeRow {
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

/// An episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeRecords {
    /// Its id.
    pub id: String,
    /// Oldest first, without their vectors.
    pub records: Vec<MemoryRecord>,
}

operation! {
    Spec::for_reading("episode", "The records of one run or session.").with_routes(&[
        (Method::Get, "/v1/users/{user}/episodes/{id}"),
        (Method::Get, "/api/memory/episodes/{id}"),
    ]);
    /// Which episode.
    Episode(memory, asked: EpisodeArguments {
        /// Its id: the run's, else the session's.
        pub id: String as RecordKey,
    }) -> EpisodeRecords {
        let mut id = asked.id;
        let mut records = read_episode(memory, &id).await?;
        if records.is_empty() {
            memory.resolve_session(&mut id).await?;
            records = read_episode(memory, &id).await?;
        }
        if records.is_empty() {
            let id: String = id.chars().take(64).collect();
            return Err(Problem::not_found(format!(
                "there is no episode `{id}` in this memory; `/api/memory/episodes` lists them"
            )));
        }
        Ok(EpisodeRecords { id, records })
    }
}
