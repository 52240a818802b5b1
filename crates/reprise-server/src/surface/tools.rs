//! The tools: what an agent asks for by name, with light answers first and `get` for the whole.
//!
//! Lives here: arguments to operations, operations to answers. Must never live here: JSON-RPC, or
//! an operation of its own.

mod found;

use std::time::Instant;

use reprise_engine::context_candidates;
use reprise_types::{MemoryKind, MemoryRecord, QuotedMemory, RecordId, UserId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lessons::{Lesson, title_of};
use super::tagging::alike_pairs;
use super::{Kept, Surface};
use crate::problem::Problem;
use crate::wire::{Fate, ForgetBody, ListBody, RecallBody};
use found::Found;

/// Results of a recall where the agent does not say.
const LIMIT_DEFAULT: usize = 5;
/// Records of a page where the agent does not say.
const LISTED_DEFAULT: usize = 20;
/// Records of one `get`.
const GET_MAX: usize = 50;

/// What a tool answers: the same twice, for a reader and for a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// For a reader.
    pub text: String,
    /// For a program.
    pub structured: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    kinds: Vec<MemoryKind>,
    session: Option<String>,
    since: Option<String>,
    until: Option<String>,
    as_of: Option<String>,
    #[serde(default)]
    full: bool,
    max_tokens: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RelatedArguments {
    id: String,
    depth: Option<usize>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkArguments {
    from_id: String,
    to_id: String,
    relation: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GetArguments {
    id: Option<String>,
    #[serde(default)]
    ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct UpdateArguments {
    id: String,
    #[serde(flatten)]
    changes: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteArguments {
    id: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    #[serde(default)]
    kinds: Vec<MemoryKind>,
    #[serde(default)]
    tags: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    session: Option<String>,
    project: Option<String>,
    author: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TagsArguments {
    #[serde(default)]
    review: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeArguments {
    from: String,
    into: String,
}

impl Surface {
    /// Runs a tool by its name; an alias does what its original does.
    pub async fn tool(
        &self,
        user: &UserId,
        name: &str,
        arguments: Map<String, Value>,
        kept: &Kept,
    ) -> Result<ToolAnswer, Problem> {
        match name {
            "learn" | "remember" => self.tool_learn(user, read(arguments)?, kept).await,
            "recall" | "search" => self.tool_recall(user, read(arguments)?).await,
            "related" => self.tool_related(user, read(arguments)?).await,
            "link" => self.tool_link(user, read(arguments)?).await,
            "get" | "fetch" => self.tool_get(user, read(arguments)?).await,
            "update" => self.tool_update(user, read(arguments)?, kept).await,
            "delete" => self.tool_delete(user, read(arguments)?).await,
            "tags" => self.tool_tags(user, read(arguments)?).await,
            "outcome" => {
                let key = kept.key.as_deref();
                let report = self.outcome(user, read(arguments)?, key).await?;
                let text = format!("learned; {} runs so far", report.runs);
                answer(text, &report)
            }
            "forget" => {
                let what: ForgetBody = read(arguments)?;
                let ids = self.forget_many(user, &what).await?;
                let text = format!("{} records forgotten", ids.len());
                answer(text, &json!({ "forgotten": ids }))
            }
            "merge_tags" => {
                let MergeArguments { from, into } = read(arguments)?;
                let merged = self.merge_tags(user, &from, &into).await?;
                let text = format!("{merged} records have `{into}` instead of `{from}` now");
                answer(text, &json!({ "merged": merged }))
            }
            "list" => self.tool_list(user, read(arguments)?).await,
            "stats" => {
                let NoArguments {} = read(arguments)?;
                let stats = self.stats(user).await?;
                let text = format!("{} records in {} sessions", stats.live, stats.sessions);
                answer(text, &stats)
            }
            _ => Err(Problem::not_found(format!(
                "there is no tool `{}`; list the tools first",
                name.chars().take(64).collect::<String>()
            ))),
        }
    }

    async fn tool_learn(
        &self,
        user: &UserId,
        lesson: Lesson,
        kept: &Kept,
    ) -> Result<ToolAnswer, Problem> {
        let tags = lesson.tags.clone().unwrap_or_default();
        let warnings = self.tag_doubts(user, &tags).await?;
        let (id, outcome) = match self.learn(user, lesson, kept).await? {
            Fate::Inserted { id } => (id, "inserted"),
            Fate::Duplicate { of } => (of, "duplicate"),
            Fate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let mut text = format!("{outcome} as {id}");
        for warning in &warnings {
            text.push_str(&["; tag ", warning].concat());
        }
        answer(
            text,
            &json!({ "id": id, "outcome": outcome, "warnings": warnings }),
        )
    }

    async fn tool_recall(
        &self,
        user: &UserId,
        arguments: RecallArguments,
    ) -> Result<ToolAnswer, Problem> {
        let RecallArguments {
            full, max_tokens, ..
        } = arguments;
        let limit = max_tokens.map_or(LIMIT_DEFAULT, context_candidates);
        let body = RecallBody {
            query: arguments.query,
            top_k: Some(arguments.limit.unwrap_or(limit)),
            kind: arguments.kinds,
            since: arguments.since,
            until: arguments.until,
            tags: arguments.tags,
            session: arguments.session,
            as_of: arguments.as_of,
            ..RecallBody::default()
        };
        let began = Instant::now();
        let found = self.found(user, &body, body.top_k).await?;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let shown = Found::of(&found, full, max_tokens, Self::random());
        let tokens = found::tokens(shown.text.len());
        answer(
            shown.text,
            &json!({
                "recall_id": found.recall_id,
                "verdict": found.verdict,
                "nothing_relevant": found.nothing_relevant,
                "degraded": found.degraded,
                "notes": found.notes,
                "tokens": tokens,
                "truncated": shown.truncated,
                "elapsed_ms": elapsed_ms,
                "results": shown.results,
            }),
        )
    }

    async fn tool_list(
        &self,
        user: &UserId,
        arguments: ListArguments,
    ) -> Result<ToolAnswer, Problem> {
        let body = ListBody {
            kind: arguments.kinds,
            tag: arguments.tags,
            since: arguments.since,
            until: arguments.until,
            session: arguments.session,
            project: arguments.project,
            author: arguments.author,
            limit: Some(arguments.limit.unwrap_or(LISTED_DEFAULT)),
            cursor: arguments.cursor,
            source: Vec::new(),
        };
        let page = self.list(user, &body).await?;
        let mut text = format!("{} of {} records", page.records.len(), page.considered);
        for note in &page.notes {
            text.push_str(&[": ", note].concat());
        }
        let mut records = Vec::with_capacity(page.records.len());
        let mut memory = QuotedMemory::new(Self::random());
        for mut record in page.records {
            let part = |name: &str| record[name].as_str().unwrap_or_default();
            let short = found::short(part("text"), &[]);
            let label = ["- ", part("timestamp"), " [", part("id"), "] "].concat();
            memory.line(&label, &short);
            record["text"] = json!(short);
            records.push(record);
        }
        text.push_str(&["\n", &memory.into_text()].concat());
        if let Some(next) = page.next {
            text.push_str(&["\nmore with cursor ", &next.to_string()].concat());
        }
        answer(
            text,
            &json!({
                "records": records,
                "next": page.next,
                "considered": page.considered,
                "notes": page.notes,
            }),
        )
    }

    async fn tool_related(
        &self,
        user: &UserId,
        arguments: RelatedArguments,
    ) -> Result<ToolAnswer, Problem> {
        let RelatedArguments { id, depth, limit } = arguments;
        let related = self.related(user, &id, depth, limit).await?;
        let text = format!("{} related\n", related.len());
        let mut memory = QuotedMemory::new(Self::random());
        let mut list = Vec::with_capacity(related.len());
        for (related, title) in related {
            let link = related.link;
            let side = if link.outgoing { "to" } else { "from" };
            let label = format!("- {side} {} ", link.record);
            memory.line(&label, &[&link.relation, ": ", &title].concat());
            list.push(json!({
                "id": link.record,
                "title": title,
                "relation": link.relation,
                "outgoing": link.outgoing,
                "depth": related.depth,
                "via": related.via,
            }));
        }
        answer(text + &memory.into_text(), &json!({ "related": list }))
    }

    async fn tool_link(
        &self,
        user: &UserId,
        arguments: LinkArguments,
    ) -> Result<ToolAnswer, Problem> {
        let (from, to) = (&arguments.from_id, &arguments.to_id);
        let new = self.link(user, from, to, arguments.relation.as_deref());
        let new = new.await?;
        let text = if new {
            "linked"
        } else {
            "they were linked so already"
        };
        answer(text.to_owned(), &json!({ "linked": new }))
    }

    async fn tool_get(
        &self,
        user: &UserId,
        arguments: GetArguments,
    ) -> Result<ToolAnswer, Problem> {
        let names: Vec<String> = arguments.ids.into_iter().chain(arguments.id).collect();
        if names.is_empty() || names.len() > GET_MAX {
            return Err(Problem::invalid(format!(
                "name 1 to {GET_MAX} records by `id` or `ids`"
            )));
        }
        let mut memory = QuotedMemory::new(Self::random());
        let mut records = Vec::with_capacity(names.len());
        for name in &names {
            let record = self.record(user, name).await?;
            let links = self.links(user, record.id).await?;
            for (number, line) in record.text.lines().enumerate() {
                let label = match number {
                    0 => format!("[{}] ", record.id),
                    _ => "  ".to_owned(),
                };
                memory.line(&label, line);
            }
            records.push(whole(&record, &json!(links)));
        }
        answer(memory.into_text(), &json!({ "records": records }))
    }

    async fn tool_update(
        &self,
        user: &UserId,
        arguments: UpdateArguments,
        kept: &Kept,
    ) -> Result<ToolAnswer, Problem> {
        let lesson: Lesson = read(arguments.changes)?;
        let new = self.correct(user, &arguments.id, lesson, kept).await?;
        let said = if new.id.to_string() == arguments.id {
            "updated".to_owned()
        } else {
            format!("updated; its id is {} now", new.id)
        };
        answer(said, &json!({ "id": new.id, "supersedes": new.supersedes }))
    }

    async fn tool_delete(
        &self,
        user: &UserId,
        arguments: DeleteArguments,
    ) -> Result<ToolAnswer, Problem> {
        let reason = arguments.reason.as_deref();
        let reason = reason.unwrap_or("asked for by an agent");
        let deleted = self.forget(user, &arguments.id, reason).await?;
        answer(
            match deleted.len() {
                1 => "1 version deleted".to_owned(),
                count => format!("{count} versions deleted"),
            },
            &json!({ "deleted": deleted }),
        )
    }

    async fn tool_tags(
        &self,
        user: &UserId,
        TagsArguments { review }: TagsArguments,
    ) -> Result<ToolAnswer, Problem> {
        let tags = self.tags(user).await?;
        let words = tags.iter().map(|(tag, count)| format!("{tag} ({count})"));
        let mut text = words.collect::<Vec<_>>().join(", ");
        let named = tags
            .iter()
            .map(|(tag, count)| json!({ "tag": tag, "count": count }));
        let mut structured = json!({ "tags": named.collect::<Vec<_>>() });
        if review {
            let pairs = alike_pairs(&tags);
            for pair in &pairs {
                let line = [
                    "\n`",
                    &pair.tag,
                    "` may be `",
                    &pair.into,
                    "`: merge the two",
                ];
                text.push_str(&line.concat());
            }
            structured["alike"] = json!(pairs);
        }
        answer(text, &structured)
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Problem::invalid(format!("the arguments do not fit the tool: {error}")))
}

fn answer(text: String, structured: &impl Serialize) -> Result<ToolAnswer, Problem> {
    let structured = serde_json::to_value(structured);
    let structured = structured
        .map_err(|error| Problem::new(crate::ProblemKind::Internal, error.to_string()))?;
    Ok(ToolAnswer { text, structured })
}

fn whole(record: &MemoryRecord, links: &Value) -> Value {
    let line = serde_json::to_value(crate::wire::ExportLine::new(record));
    let mut line = line.unwrap_or_else(|_| json!({ "id": RecordId::to_string(&record.id) }));
    line["title"] = json!(title_of(record));
    line["links"] = links.clone();
    line
}
