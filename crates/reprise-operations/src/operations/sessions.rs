//! Sessions: episodes, prompts, hooks.

use crate::hook::{HookAnswer, HookEvent, HookReport};
use crate::memories::{Prompt, Replayed, prompts, replay};
use crate::prelude::*;

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
pub struct Found {
    /// Newest first.
    pub episodes: Vec<EpisodeRow>,
    /// The `offset` of the next page; null on the last.
    pub next: Option<usize>,
}

operation! {
    Spec::reads("episodes", "The latest runs and sessions.").at(&[
        (Method::Get, "/v1/users/{user}/episodes"),
        (Method::Get, "/api/memory/episodes"),
    ]);
    Episodes(memory, asked: PageAsked) -> Found {
        // It reads every record once.
        let part = Part::of(asked.offset, asked.limit);
        let mut episodes = memory.read(gather).await?;
        episodes.sort_by(|a, b| b.ended_at.cmp(&a.ended_at).then(a.id.cmp(&b.id)));
        let (episodes, next) = part.cut(episodes);
        Ok(Found { episodes, next })
    }
}

/// The run of a record, else its session.
pub(super) fn name_of(record: &MemoryRecord) -> &str {
    let run = record.provenance.run_id.as_deref();
    run.unwrap_or(&record.session_id)
}

fn gather(snapshot: &Snapshot) -> Vec<EpisodeRow> {
    let mut episodes: BTreeMap<String, EpisodeRow> = BTreeMap::new();
    for record in snapshot.records().filter_map(Result::ok) {
        let id = name_of(&record);
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
    Spec::reads("episode", "The records of one run or session.").at(&[
        (Method::Get, "/v1/users/{user}/episodes/{id}"),
        (Method::Get, "/api/memory/episodes/{id}"),
    ]);
    /// Which episode.
    Episode(memory, asked: EpisodeArguments {
        /// Its id: the run's, else the session's.
        pub id: String,
    }) -> EpisodeRecords {
        let EpisodeArguments { id } = asked;
        let wanted = id.clone();
        let read = memory.read(move |memory| {
            let records = memory.records().filter_map(Result::ok);
            let of_it = records.filter(|record| name_of(record) == wanted);
            of_it.map(MemoryRecord::without_vector).collect::<Vec<_>>()
        });
        let records = read.await?;
        if records.is_empty() {
            let id: String = id.chars().take(64).collect();
            return Err(Problem::not_found(format!(
                "there is no episode `{id}` in this memory; `/api/memory/episodes` lists them"
            )));
        }
        Ok(EpisodeRecords { id, records })
    }
}

/// Prompts of a page where the caller does not say, and at most.
const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 200;

/// A page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// Newest first.
    pub prompts: Vec<Prompt>,
    /// The cursor of the next page; null on the last.
    pub next: Option<Cursor>,
}

operation! {
    Spec::reads(
        "prompts",
        "The prompts of sessions: what memory gave to each, and how the work went.",
    );
    /// Which.
    #[derive(Default)]
    Prompts(memory, arguments: PromptsArguments {
        /// Only this session's.
        pub session: Option<String>,
        /// Most prompts; 20 by default, 200 at most.
        pub limit: Option<usize>,
        /// Go on after this one.
        pub cursor: Option<Cursor>,
    }) -> Page {
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let page = memory.read(move |snapshot| {
            let session = arguments.session.as_deref();
            prompts(snapshot, session, limit, arguments.cursor)
        });
        let (prompts, next) = page.await?;
        Ok(Page { prompts, next })
    }
}

operation! {
    Spec::reads(
        "replay",
        "A prompt once more: what was found for it, put into it, used, and what came of it.",
    );
    /// Which prompt.
    Replay(memory, asked: ReplayArguments {
        /// The id of its record.
        pub id: String,
    }) -> Replayed {
        let record = memory.record(&asked.id).await?;
        memory.read(move |snapshot| replay(snapshot, &record)).await
    }
}

operation! {
    Spec::adds("hook", "A moment of a session: keeps it, answers a prompt.")
        .at(&[(Method::Post, "/v1/users/{user}/hooks/{event}")]);
    /// What happened.
    Hook(memory, arguments: HookArguments {
        /// The moment, by our name or by Claude Code's.
        pub event: String,
        /// What is reported of it.
        #[serde(flatten)]
        pub report: HookReport,
    }) -> HookAnswer {
        // A hook that has run out of time goes away; what it reported is kept all the same.
        let memory = memory.clone();
        aside(async move { took(&memory, arguments).await }).await
    }
}

async fn took(memory: &Memory, arguments: HookArguments) -> Result<HookAnswer, Problem> {
    let event: HookEvent = arguments.event.parse().map_err(Problem::not_found)?;
    memory.hook(event, arguments.report).await
}

/// Does it to its end, whoever goes away meanwhile.
async fn aside<T: Send + 'static>(
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
    Spec::adds(
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
        aside(async move {
            let mut done = MomentsTaken::default();
            for moment in arguments.moments {
                match took(&memory, moment).await {
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
