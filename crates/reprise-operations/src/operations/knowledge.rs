//! What was learned, as Sunwell's programs read it (RFC-065): its views, its queries, its search.

use std::path::Path;

use reprise_knowledge::{
    Category, Learning, LearningQuery, StoreCounts, SunwellMemory, TYPESCRIPT, branch_names, studio,
};

use crate::memories::{learnings_of, store_counts};
use crate::operations::care::fork_stream;
use crate::prelude::*;

/// Results of a search where the caller does not say.
const LIMIT_DEFAULT: usize = 10;
/// How sure a learning has to be to be found by a search where the caller does not say.
const CONFIDENCE_DEFAULT: f64 = 0.5;

/// Which view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
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
pub struct Shown(pub Map<String, Value>);

operation! {
    Spec::reads(
        "knowledge",
        "Sunwell: what was learned, decided and failed, as its programs read it.",
    );
    /// What is asked for.
    #[derive(Default)]
    #[schemars(transform = asks::by_word("view", &[
        (&["intelligence", "stats", "project", "query", "index", "loaded", "types"], None),
        (&["get"], Some("id")),
        (&["search"], Some("query")),
        (&["context"], Some("goal")),
    ]))]
    Knowledge(memory, arguments: Arguments {
        /// Which view; `intelligence` by default.
        #[serde(default)]
        pub view: View,
        /// Of `search`: the question.
        pub query: Option<String>,
        /// Of `get`: the learning's id.
        pub id: Option<String>,
        /// Of `query`: only this one; of `project` and `context`: what is worked on.
        pub goal: Option<String>,
        /// Of `query`: `task_completion`, pattern, type, api, fix, decision or failure.
        #[schemars(transform = asks::words(Category::ALL.iter().map(|one| one.name())))]
        pub category: Option<String>,
        /// Of `query`: only what came from this.
        pub source: Option<String>,
        /// At least as sure, 0..1; of `search` .5 by default.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub min_confidence: Option<f64>,
        /// Most results; of `search` 10 by default.
        pub limit: Option<usize>,
        /// Of `stats`: the session that it is asked for in.
        pub session: Option<String>,
        /// Only records of this project.
        pub project: Option<String>,
        /// Of `project` once: not read any more, plans say what is pending.
        #[serde(default, skip_serializing)]
        #[schemars(skip)]
        pub pending: Vec<String>,
    }) -> Shown {
        // It reads every record once.
        // An agent that loads what is known goes to work with it.
        let loads = matches!(arguments.view, View::Context | View::Loaded);
        let (shown, stats) = if memory.exists() {
            let branches = match arguments.view {
                View::Stats => branches_of(memory).await,
                _ => 0,
            };
            let mut beside = Beside {
                cwd: memory.sunwell_folder(arguments.project.as_deref()),
                store: None,
            };
            let now = memory.now();
            let read = move |memory: &Snapshot| {
                if arguments.view == View::Stats {
                    let session = arguments.session.as_deref();
                    beside.store = Some(store_counts(memory, session, branches));
                }
                let known = learnings_of(memory, arguments.project.as_deref(), now);
                let stats = loads.then(|| known.stats());
                (show(&known, &arguments, &beside), stats)
            };
            memory.read(read).await?
        } else {
            let beside = Beside {
                cwd: None,
                store: Some(StoreCounts::default()),
            };
            (show(&SunwellMemory::default(), &arguments, &beside), None)
        };
        let shown = shown?;
        if let Some(stats) = stats {
            memory.tell_stats(&stats);
        }
        match shown {
            Value::Object(shown) => Ok(Shown(shown)),
            other => Ok(Shown(Map::from_iter([("value".to_owned(), other)]))),
        }
    }
}

/// What a view says that no learning does.
struct Beside {
    cwd: Option<String>,
    store: Option<StoreCounts>,
}

/// How many memories began with what this one knew.
async fn branches_of(memory: &Memory) -> usize {
    let home = memory.read(|memory| memory.log().path().parent().map(Path::to_owned));
    let Ok(Some(home)) = home.await else { return 0 };
    let stream = fork_stream(memory.user());
    let mut count = 0;
    for name in branch_names(&home) {
        let Ok(user) = name.parse::<UserId>() else {
            continue;
        };
        let branch = memory.all().of(&user);
        let stream = stream.clone();
        let is_branch = move |engine: &mut Engine| engine.cursor(&stream).is_some();
        if branch.exists() && branch.with_engine(is_branch).await.unwrap_or_default() {
            count += 1;
        }
    }
    count
}

fn show(known: &SunwellMemory, asked: &Arguments, beside: &Beside) -> Result<Value, Problem> {
    let goal = asked.goal.as_deref();
    let text = |given: &Option<String>, name: &str| {
        let missing = || Problem::invalid(format!("this view needs `{name}`"));
        let said = given.clone().filter(|given| !given.trim().is_empty());
        said.ok_or_else(missing)
    };
    let category = asked.category.as_deref().map(|word| {
        let unknown = || Problem::invalid(format!("`{word}` is no category of learnings"));
        Category::of(word).ok_or_else(unknown)
    });
    let category = category.transpose()?;
    Ok(match asked.view {
        View::Intelligence => known.intelligence(),
        View::Stats => known.memory_stats(asked.session.as_deref(), beside.store.as_ref()),
        View::Project => known.project_learnings(goal),
        View::Get => {
            let id = text(&asked.id, "id")?;
            let found = known.get(&id);
            studio(found.ok_or_else(|| {
                Problem::not_found(format!("there is no learning `{id}`; `query` lists them"))
            })?)
        }
        View::Query => {
            let found = known.query(&LearningQuery {
                category,
                goal,
                source: asked.source.as_deref(),
                min_confidence: asked.min_confidence.unwrap_or_default(),
                limit: asked.limit,
            });
            let found = found.into_iter().map(studio);
            json!({ "learnings": found.collect::<Vec<_>>() })
        }
        View::Search => {
            let query = text(&asked.query, "query")?;
            let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
            let least = asked.min_confidence.unwrap_or(CONFIDENCE_DEFAULT);
            let found = known.search(&query, limit, least).into_iter();
            let scored = |(learning, score): (&Learning, f64)| {
                let learning = studio(learning);
                json!({ "learning": learning, "score": score })
            };
            json!({ "results": found.map(scored).collect::<Vec<_>>() })
        }
        View::Context => known.context(&text(&asked.goal, "goal")?, beside.cwd.as_deref()),
        View::Index => known.index(),
        View::Loaded => json!(known.stats().loaded().unwrap_or_default()),
        View::Types => json!({ "typescript": TYPESCRIPT }),
    })
}
