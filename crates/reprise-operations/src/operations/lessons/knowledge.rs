//! What was learned, as Sunwell's programs read it (RFC-065): its views, its queries, its search.

use std::path::Path;

use reprise_knowledge::{
    LearningCategory, LearningQuery, StoreCounts, SunwellLearning, SunwellMemory, TYPESCRIPT,
    list_branch_names, to_studio,
};

use super::learnings::list_learnings;
use crate::operations::care::fork_stream_name;
use crate::prelude::*;

/// Results of a search where the caller does not say.
const LIMIT_DEFAULT: usize = 10;
/// How sure a learning has to be to be found by a search where the caller does not say.
const CONFIDENCE_DEFAULT: f64 = 0.5;

/// Which view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "View")]
pub enum KnowledgeView {
    /// `get_intelligence`: decisions, failures, learnings and their totals.
    #[default]
    Intelligence,
    /// `get_memory_stats`: memory in numbers.
    Stats,
    /// `get_project_learnings`: what was done and learned on the way to a goal.
    Project,
    /// The learning with an `id`.
    Get,
    /// Learnings by category, goal, source and confidence, the surest first.
    Query,
    /// Learnings that share words with a question, with RFC-065's score.
    Search,
    /// The lines that an agent gets before it works on a goal.
    Context,
    /// `index.json`.
    Index,
    /// The event `memory_loaded`; empty where nothing was learned.
    Loaded,
    /// The types of all these answers, as a `.d.ts` file.
    Types,
}

/// A view, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Shown")]
pub struct KnowledgeAnswer(pub Map<String, Value>);

operation! {
    Spec::for_reading(
        "knowledge",
        "Sunwell: what was learned, decided and failed, as its programs read it.",
    );
    /// What is asked for.
    #[derive(Default)]
    #[schemars(transform = schema_rules::require_field_by_word("view", &[
        (&["intelligence", "stats", "project", "query", "index", "loaded", "types"], None),
        (&["get"], Some("id")),
        (&["search"], Some("query")),
        (&["context"], Some("goal")),
    ]))]
    Knowledge(memory, arguments: Arguments {
        /// Which view; `intelligence` by default.
        #[serde(default)]
        pub view: KnowledgeView,
        /// Of `search`: the question.
        pub query: Option<String> as LongText,
        /// Of `get`: the learning's id.
        pub id: Option<String> as RecordKey,
        /// Of `query`: only this one; of `project` and `context`: what is worked on.
        pub goal: Option<String> as LineText,
        /// Of `query`: `task_completion`, pattern, type, api, fix, decision or failure.
        #[schemars(transform = schema_rules::restrict_to_words(LearningCategory::ALL.iter().map(|one| one.name())))]
        pub category: Option<String> as FixedWord,
        /// Of `query`: only what came from this.
        pub source: Option<String> as LineText,
        /// At least as sure, 0..1; of `search` .5 by default.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub min_confidence: Option<f64>,
        /// Maximum number of results; 10 of `search` by default.
        pub limit: Option<usize> as LimitCount,
        /// Of `stats`: the session that it is asked for in.
        pub session: Option<String> as StoredSession,
        /// Only records of this project.
        pub project: Option<String> as SelectorName,
        /// Of `project` once: not read any more, plans say what is pending.
        #[serde(default, skip_serializing)]
        #[schemars(skip)]
        pub pending: Vec<String> as DescribedElsewhere,
    }) -> KnowledgeAnswer {
        // It reads every record once.
        // An agent that loads what is known goes to work with it.
        let loads = matches!(arguments.view, KnowledgeView::Context | KnowledgeView::Loaded);
        let (shown, stats) = if memory.exists() {
            let branches = match arguments.view {
                KnowledgeView::Stats => count_branches(memory).await,
                _ => 0,
            };
            let mut beside = ViewContext {
                cwd: memory.find_sunwell_folder(arguments.project.as_deref()),
                store: None,
            };
            let now = memory.now();
            let read = move |memory: &Snapshot| {
                if arguments.view == KnowledgeView::Stats {
                    let session = arguments.session.as_deref();
                    beside.store = Some(count_store(memory, session, branches));
                }
                let known = list_learnings(memory, arguments.project.as_deref(), now);
                let stats = loads.then(|| known.count_learnings());
                (render_view(&known, &arguments, &beside), stats)
            };
            memory.run_on_snapshot(read).await?
        } else {
            let beside = ViewContext {
                cwd: None,
                store: Some(StoreCounts::default()),
            };
            (render_view(&SunwellMemory::default(), &arguments, &beside), None)
        };
        let shown = shown?;
        if let Some(stats) = stats {
            memory.notify_stats(&stats);
        }
        match shown {
            Value::Object(shown) => Ok(KnowledgeAnswer(shown)),
            other => Ok(KnowledgeAnswer(Map::from_iter([("value".to_owned(), other)]))),
        }
    }
}

/// What a view says that no learning does.
struct ViewContext {
    cwd: Option<String>,
    store: Option<StoreCounts>,
}

/// How many memories began with what this one knew.
async fn count_branches(memory: &Memory) -> usize {
    let home =
        memory.run_on_snapshot(|memory| memory.log_reader().path().parent().map(Path::to_owned));
    let Ok(Some(home)) = home.await else { return 0 };
    let stream = fork_stream_name(memory.user());
    let mut count = 0;
    for name in list_branch_names(&home) {
        let Ok(user) = name.parse::<UserId>() else {
            continue;
        };
        let branch = memory.all_memories().user_memory(&user);
        let stream = stream.clone();
        let is_branch = move |engine: &mut Engine| engine.stream_cursor(&stream).is_some();
        if branch.exists() && branch.run_on_engine(is_branch).await.unwrap_or_default() {
            count += 1;
        }
    }
    count
}

fn render_view(
    known: &SunwellMemory,
    asked: &Arguments,
    beside: &ViewContext,
) -> Result<Value, Problem> {
    let goal = asked.goal.as_deref();
    let text = |given: &Option<String>, name: &str| {
        let missing = || Problem::invalid(format!("this view needs `{name}`"));
        let said = given.clone().filter(|given| !given.trim().is_empty());
        said.ok_or_else(missing)
    };
    let category = asked.category.as_deref().map(|word| {
        let unknown = || Problem::invalid(format!("unknown category of lessons `{word}`"));
        LearningCategory::of(word).ok_or_else(unknown)
    });
    let category = category.transpose()?;
    Ok(match asked.view {
        KnowledgeView::Intelligence => known.render_intelligence(),
        KnowledgeView::Stats => {
            known.render_memory_stats(asked.session.as_deref(), beside.store.as_ref())
        }
        KnowledgeView::Project => known.render_project_learnings(goal),
        KnowledgeView::Get => {
            let id = text(&asked.id, "id")?;
            let found = known.get(&id);
            to_studio(found.ok_or_else(|| {
                Problem::not_found(format!("there is no learning `{id}`; `query` lists them"))
            })?)
        }
        KnowledgeView::Query => {
            let found = known.find_matching(&LearningQuery {
                category,
                goal,
                source: asked.source.as_deref(),
                min_confidence: asked.min_confidence.unwrap_or_default(),
                limit: asked.limit,
            });
            let found = found.into_iter().map(to_studio);
            json!({ "learnings": found.collect::<Vec<_>>() })
        }
        KnowledgeView::Search => {
            let query = text(&asked.query, "query")?;
            let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
            let least = asked.min_confidence.unwrap_or(CONFIDENCE_DEFAULT);
            let found = known.search_by_words(&query, limit, least).into_iter();
            let scored = |(learning, score): (&SunwellLearning, f64)| {
                let learning = to_studio(learning);
                json!({ "learning": learning, "score": score })
            };
            json!({ "results": found.map(scored).collect::<Vec<_>>() })
        }
        KnowledgeView::Context => {
            known.render_context(&text(&asked.goal, "goal")?, beside.cwd.as_deref())
        }
        KnowledgeView::Index => known.render_index(),
        KnowledgeView::Loaded => json!(
            known
                .count_learnings()
                .to_loaded_event()
                .unwrap_or_default()
        ),
        KnowledgeView::Types => json!({ "typescript": TYPESCRIPT }),
    })
}

/// Counts for Studio the turns of a session (the current one by default) and of all sessions, the
/// files of the memory, and the copies that are kept with them.
fn count_store(memory: &Snapshot, session: Option<&str>, branches: usize) -> StoreCounts {
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
