//! What was learned, as Sunwell's programs read it (RFC-065): its views, its queries, its search.

use reprise_engine::Snapshot;
use reprise_knowledge::{Category, Learning, LearningQuery, SunwellMemory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

use crate::asks;
use crate::catalogue::{Operation, Spec};
use crate::memories::{Memory, learnings_of};
use crate::problem::Problem;
use crate::wire::whole;

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
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = asks::by_word("view", &[
    (&["intelligence", "stats", "project", "query", "index", "loaded"], None),
    (&["get"], Some("id")),
    (&["search"], Some("query")),
    (&["context"], Some("goal")),
]))]
#[skip_serializing_none]
pub struct Arguments {
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
    #[serde(default, deserialize_with = "whole")]
    pub limit: Option<usize>,
    /// Of `stats`: the session that it is asked for in.
    pub session: Option<String>,
    /// Only records of this project.
    pub project: Option<String>,
    /// Of `project`: tasks that a plan still names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
}

/// A view, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Shown(pub Map<String, Value>);

/// The operation. It reads every record once.
#[derive(Debug)]
pub struct Knowledge;

impl Operation for Knowledge {
    const SPEC: Spec = Spec::reads(
        "knowledge",
        "Sunwell: what was learned, decided and failed, as its programs read it.",
    );
    type Arguments = Arguments;
    type Answer = Shown;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Shown, Problem> {
        // An agent that loads what is known goes to work with it.
        let loads = matches!(arguments.view, View::Context | View::Loaded);
        let (shown, stats) = if memory.exists() {
            let read = move |memory: &Snapshot| {
                let known = learnings_of(memory, arguments.project.as_deref());
                let stats = loads.then(|| known.stats());
                (show(&known, &arguments), stats)
            };
            memory.read(read).await?
        } else {
            let none = SunwellMemory::default();
            (show(&none, &arguments), None)
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

fn show(known: &SunwellMemory, asked: &Arguments) -> Result<Value, Problem> {
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
        View::Intelligence => json!(known.intelligence()),
        View::Stats => json!(known.memory_stats(asked.session.clone())),
        View::Project => {
            json!(known.project_learnings(goal.unwrap_or_default(), asked.pending.clone()))
        }
        View::Get => {
            let id = text(&asked.id, "id")?;
            let found = known.get(&id);
            json!(found.ok_or_else(|| {
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
            json!({ "learnings": found })
        }
        View::Search => {
            let query = text(&asked.query, "query")?;
            let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
            let least = asked.min_confidence.unwrap_or(CONFIDENCE_DEFAULT);
            let found = known.search(&query, limit, least).into_iter();
            let scored = |(learning, score): (&Learning, f64)| {
                let mut one = json!({ "learning": learning });
                one["score"] = json!(score);
                one
            };
            json!({ "results": found.map(scored).collect::<Vec<_>>() })
        }
        View::Context => json!({ "lines": known.context(&text(&asked.goal, "goal")?) }),
        View::Index => known.index(),
        View::Loaded => json!(known.stats().loaded().unwrap_or_default()),
    })
}
