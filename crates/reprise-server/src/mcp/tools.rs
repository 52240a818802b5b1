//! The tools as MCP describes them: names, schemas, hints, and which profile has which.

use std::str::FromStr;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Which tools a client sees: each costs its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Four: recall, get, learn, outcome.
    Lean,
    /// Nine.
    #[default]
    Default,
    /// All, with aliases and administration.
    Full,
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lean" => Ok(Self::Lean),
            "default" => Ok(Self::Default),
            "full" => Ok(Self::Full),
            _ => Err("the profiles are lean, default and full".to_owned()),
        }
    }
}

/// What a call may do to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

/// The tools of a profile, in the order in which they are shown.
pub(super) fn of(profile: Profile) -> Vec<Tool> {
    let names: &[&str] = match profile {
        Profile::Lean => &["recall", "get", "learn", "outcome"],
        Profile::Default => &[
            "learn", "recall", "related", "link", "get", "update", "delete", "tags", "outcome",
        ],
        Profile::Full => &[
            "learn",
            "recall",
            "related",
            "link",
            "get",
            "update",
            "delete",
            "tags",
            "outcome",
            "remember",
            "search",
            "fetch",
            "forget",
            "merge_tags",
            "stats",
            "list",
        ],
    };
    names.iter().filter_map(|name| tool(name)).collect()
}

fn tool(name: &str) -> Option<Tool> {
    let (name, alias) = match name {
        "remember" => ("learn", Some("remember")),
        "search" => ("recall", Some("search")),
        "fetch" => ("get", Some("fetch")),
        name => (name, None),
    };
    let (title, what, effect, input, output) = described(name)?;
    let shown = alias.map_or_else(|| name.to_owned(), str::to_owned);
    let annotations = ToolAnnotations::with_title(title)
        .read_only(effect == Effect::Reads)
        .destructive(effect == Effect::Destroys)
        .idempotent(effect == Effect::Reads)
        .open_world(false);
    let tool = Tool::new(shown, what, object(input))
        .with_title(title)
        .with_raw_output_schema(object(output))
        .with_annotations(annotations);
    Some(tool)
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// A schema whose every property must be known.
fn takes(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A schema of an answer: more may stand in it.
fn gives(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

fn texts(what: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": what })
}

fn list() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}

fn count(what: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": what })
}

/// The parts of a lesson.
fn lesson() -> Value {
    json!({
        "title": text("One line that names it"),
        "content": text("What was learned: one thing"),
        "tags": texts("Free words, such as project:x or rust"),
        "keywords": texts("Words that it should be found by"),
        "contexts": texts("Where it holds"),
        "anti_contexts": texts("Where it does not hold"),
        "confidence": {
            "type": "string",
            "enum": ["very_low", "low", "medium", "high", "very_high"],
        },
        "evidence": {
            "type": "string",
            "enum": ["documented", "tested", "observed", "inferred", "hearsay"],
        },
        "source_notes": text("Where that can be looked up"),
        "session": text("The session that taught it"),
    })
}

type Described = (&'static str, &'static str, Effect, Value, Value);

fn described(name: &str) -> Option<Described> {
    asking(name)
        .or_else(|| looking(name))
        .or_else(|| adding(name))
        .or_else(|| governing(name))
}

fn asking(name: &str) -> Option<Described> {
    let id = || text("A record's id, as a recall gave it");
    Some(match name {
        "recall" => recall(),
        "related" => (
            "Related",
            "Walk the links of a record, both ways, nearest first.",
            Effect::Reads,
            takes(
                &json!({
                    "id": id(),
                    "depth": count("Links to walk; 2 by default"),
                    "limit": count("Most results; 20 by default"),
                }),
                &["id"],
            ),
            gives(&json!({ "related": list() }), &["related"]),
        ),
        "get" => (
            "Get",
            "The whole of one record or several, with links and metadata.",
            Effect::Reads,
            takes(&json!({ "id": id(), "ids": texts("Several at once") }), &[]),
            gives(&json!({ "records": list() }), &["records"]),
        ),
        "tags" => (
            "Tags",
            "Every tag with the number of records that have it.",
            Effect::Reads,
            takes(
                &json!({
                    "review": { "type": "boolean", "description": "Name those that may be one" },
                }),
                &[],
            ),
            gives(&json!({ "tags": list() }), &["tags"]),
        ),
        "stats" => (
            "Statistics",
            "The memory in numbers.",
            Effect::Reads,
            takes(&json!({}), &[]),
            gives(&json!({ "live": count("Records") }), &["live"]),
        ),
        _ => return None,
    })
}

fn looking(name: &str) -> Option<Described> {
    Some(match name {
        "list" => (
            "List",
            "Look through memory without a question, the newest first, page by page.",
            Effect::Reads,
            takes(
                &json!({
                    "kinds": {
                        "type": "array",
                        "items": { "enum": ["episode", "strategy", "finding", "pattern"] },
                    },
                    "tags": texts("Only what has all of these"),
                    "since": text("Only from this time on: 2026-02-16, 2026-02, 7d, yesterday"),
                    "until": text("Only up to this time, which belongs to it"),
                    "session": text("Only this session"),
                    "project": text("Only this project"),
                    "author": text("Only this author"),
                    "limit": count("Records of the page; 20 by default, 1000 at most"),
                    "cursor": text("`next` of the page before"),
                }),
                &[],
            ),
            gives(
                &json!({ "records": list(), "considered": count("On all pages") }),
                &["records", "considered"],
            ),
        ),
        _ => return None,
    })
}

fn recall() -> Described {
    (
        "Recall",
        "Find what is known about a text, by meaning, words and what helped before. Light \
         results; `get` gives the whole.",
        Effect::Reads,
        takes(
            &json!({
                "query": text("The question or task, in the user's words"),
                "limit": count("Most results; 5 by default"),
                "tags": texts("Only what has all of these"),
                "kinds": {
                    "type": "array",
                    "items": { "enum": ["episode", "strategy", "finding", "pattern"] },
                },
                "session": text("Only this session"),
                "since": text("Only what happened from this time on: 2026-02-16, 7d, last week"),
                "until": text("Only what happened up to this time, which belongs to it"),
                "as_of": text("Answer as memory stood at this time"),
                "full": { "type": "boolean", "description": "Whole texts at once" },
                "max_tokens": count("Most tokens of the text; the best is cut to fit"),
            }),
            &["query"],
        ),
        gives(
            &json!({
                "recall_id": text("Name it in `outcome`"),
                "verdict": { "enum": ["nothing", "weak", "relevant"] },
                "nothing_relevant": { "type": "boolean" },
                "degraded": texts("What the answer had to do without"),
                "tokens": count("Tokens of the text, four bytes each"),
                "truncated": { "type": "boolean", "description": "More was found than fits" },
                "elapsed_ms": { "type": "number" },
                "results": list(),
            }),
            &["recall_id", "nothing_relevant", "results"],
        ),
    )
}

fn adding(name: &str) -> Option<Described> {
    let id = || text("A record's id, as a recall gave it");
    Some(match name {
        "learn" => (
            "Learn",
            "Keep one lesson: something that was unknown, unexpected or took several tries.",
            Effect::Adds,
            takes(&lesson(), &["title", "content"]),
            gives(
                &json!({
                    "id": id(),
                    "outcome": { "enum": ["inserted", "duplicate"] },
                    "warnings": texts("Tags that may be slips"),
                }),
                &["id", "outcome"],
            ),
        ),
        "link" => (
            "Link",
            "Connect two records, for example by derived_from, contradicts or related_to.",
            Effect::Adds,
            takes(
                &json!({
                    "from_id": id(),
                    "to_id": id(),
                    "relation": text("related_to by default"),
                }),
                &["from_id", "to_id"],
            ),
            gives(&json!({ "linked": { "type": "boolean" } }), &["linked"]),
        ),
        "update" => {
            let mut parts = lesson();
            parts["id"] = id();
            (
                "Update",
                "Correct a record: the new version replaces the old one. What is not given stays.",
                Effect::Adds,
                takes(&parts, &["id"]),
                gives(&json!({ "id": id() }), &["id"]),
            )
        }
        _ => return None,
    })
}

fn governing(name: &str) -> Option<Described> {
    let id = || text("A record's id, as a recall gave it");
    Some(match name {
        "delete" => (
            "Delete",
            "Forget a record and its earlier versions for good.",
            Effect::Destroys,
            takes(&json!({ "id": id(), "reason": text("Why") }), &["id"]),
            gives(&json!({ "deleted": texts("Ids") }), &["deleted"]),
        ),
        "outcome" => (
            "Outcome",
            "Say how a task went that used a recall; what helped comes first next time.",
            Effect::Adds,
            takes(
                &json!({
                    "recall_id": text("Of the recall that was used"),
                    "query": text("The task, where no recall was made"),
                    "used": texts("Ids of the records that helped or misled"),
                    "quality": { "type": "number", "minimum": 0, "maximum": 1 },
                    "run_id": text("A name of your own for the run"),
                    "failure_kind": {
                        "enum": ["task", "auth", "rate_limit", "network", "provider"],
                    },
                }),
                &["quality"],
            ),
            gives(&json!({ "runs": count("Runs so far") }), &["runs"]),
        ),
        "merge_tags" => (
            "Merge tags",
            "Give every record that has one tag another one in its place.",
            Effect::Destroys,
            takes(
                &json!({ "from": text("The tag to leave"), "into": text("The tag to keep") }),
                &["from", "into"],
            ),
            gives(&json!({ "merged": count("Records") }), &["merged"]),
        ),
        "forget" => (
            "Forget",
            "Forget by id, by external id, a whole session, or all before a time.",
            Effect::Destroys,
            takes(
                &json!({
                    "id": id(),
                    "external_id": text("The name its sender gave it"),
                    "session": text("All of this session"),
                    "before": text("All that happened before this time"),
                    "reason": text("Why"),
                }),
                &[],
            ),
            gives(&json!({ "forgotten": texts("Ids") }), &["forgotten"]),
        ),
        _ => return None,
    })
}
