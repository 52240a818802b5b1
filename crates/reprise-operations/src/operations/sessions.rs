//! Sessions: episodes, prompts, hooks.

mod hook_report;
pub(crate) mod hooks;
mod implied_quality;
pub mod pausing;
mod prompts;
mod quoting;

use crate::prelude::*;

pub use hook_report::{HOOK_DEADLINE_MS, HookAnswer, HookEvent, HookReport, OPENING_DEADLINE_MS};
pub use hooks::{PromptPreview, UnaskedReason};
pub(in crate::operations) use hooks::{WorkPart, list_work};
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

operation! {
    Spec::for_adding("hook", "A moment of a session: keeps it, answers a prompt.")
        .with_routes(&[(Method::Post, "/v1/users/{user}/hooks/{event}")]);
    /// What happened.
    Hook(memory, arguments: HookArguments {
        /// The moment, by our name or by Claude Code's.
        pub event: String as NameText,
        /// What is reported of it.
        #[serde(flatten)]
        pub report: HookReport,
    }) -> HookAnswer {
        // A hook that has run out of time goes away; what it reported is kept all the same.
        let memory = memory.clone();
        run_to_end(async move { handle_moment(&memory, arguments).await }).await
    }
}

async fn handle_moment(memory: &Memory, arguments: HookArguments) -> Result<HookAnswer, Problem> {
    let event: HookEvent = arguments.event.parse().map_err(Problem::not_found)?;
    memory.handle_hook(event, arguments.report).await
}

/// Runs the work to its end, even if the caller goes away meanwhile.
async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| Problem::new(ProblemKind::Internal, format!("a hook failed ({error})")))?
}

/// How many were taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentsTaken {
    /// Kept, or known already.
    pub taken: u64,
    /// Why each of the others was not; sending it again would change nothing.
    pub refused: Vec<String>,
}

operation! {
    Spec::for_adding(
        "moments",
        "Moments of sessions that are told later, in their order.",
    );
    /// What could not be told when it happened.
    #[derive(Default)]
    Moments(memory, arguments: MomentsArguments {
        /// Oldest first, each with its time.
        pub moments: Vec<HookArguments>,
    }) -> MomentsTaken {
        // What happens twice is kept once: what is said in a session is known by its words.
        let memory = memory.clone();
        run_to_end(async move {
            let mut done = MomentsTaken::default();
            for mut moment in arguments.moments {
                // Nobody waits for an answer any more, also if its time was not said.
                moment.report.at.get_or_insert(memory.now());
                match handle_moment(&memory, moment).await {
                    Ok(_) => done.taken += 1,
                    Err(problem) if problem.is_passing() => return Err(problem),
                    Err(problem) => done.refused.push(problem.detail),
                }
            }
            Ok(done)
        })
        .await
    }
}
