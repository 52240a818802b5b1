//! Single records: read, corrected, kept and taken whole.

mod known;
pub mod list;
mod names;
pub mod observations;
mod rendering;
mod revising;
mod storing;

use schemars::json_schema;

use crate::bounds::ALONE;
use crate::operations::care::Stats;
use crate::operations::lessons::own_title;
use crate::prelude::*;
use crate::wire::{IngestLine, WriteReport, add_fields, drop_sensitive_records, parse_record};
use revising::MAY_CHANGE;

pub use known::KnownRecord;
pub(crate) use names::{
    RecordNames, find_record_id, get_live_record_id, get_named_record_id, hide_sensitive,
    list_tagged, no_such_memory_problem, no_whole_name_problem, short_beginning,
};
pub use rendering::render_records;

/// Records of one request.
pub(super) const RECORDS_MAX: usize = 50;
/// The records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Got")]
pub struct GotRecords {
    /// Each in its export form, with `title` and `links`; `title_derived` where nobody gave it one.
    pub records: Vec<Value>,
    /// Ids of no memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

operation! {
    Spec::for_reading("get", "Read whole memories, with links and metadata.")
        .with_tool("get", Profile::Lean)
        .with_tool_aliases(&["fetch"]);
    /// Which records.
    #[derive(Default, clap::Args)]
    #[schemars(transform = schema_rules::require_any_non_blank(&["id", "ids"]))]
    Get(memory, arguments: GetArguments {
        /// Its id, as `recall` shows it.
        #[arg(required = true)]
        pub id | "lesson_id": Option<String> as RecordKey,
        /// Several ids, in place of `id`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = RECORDS_MAX))]
        #[arg(skip)]
        pub ids: Vec<String> as RecordKeys,
        /// Show the version of this time, even if it was corrected or merged since.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_name = "TIME")]
        pub as_of: Option<String> as TimeText,
    }) -> GotRecords {
        let names: Vec<String> = arguments.ids.into_iter().chain(arguments.id).collect();
        if names.is_empty() {
            return Err(Problem::invalid(format!(
                "name 1 to {RECORDS_MAX} memories by `id` or `ids`"
            )));
        }
        let as_of = parse_time(
            &memory.calendar(),
            arguments.as_of.as_deref(),
            Calendar::parse_until,
        );
        let as_of = as_of.map_err(Problem::invalid)?;
        let mut records = Vec::with_capacity(names.len());
        let mut missing = Vec::new();
        for name in &names {
            let found = match as_of {
                Some(at) => memory.get_record_at(name, at).await,
                None => memory.get_record(name).await,
            };
            let problem = match found {
                Ok(record) => {
                    records.push(describe_record(memory, record).await?);
                    continue;
                }
                Err(problem) if problem.kind == ProblemKind::NotFound => problem,
                Err(problem) => return Err(problem),
            };
            let elsewhere = match as_of {
                Some(_) => None,
                None => find_elsewhere(memory, name).await?,
            };
            match elsewhere {
                Some(line) => records.push(line),
                // One wrong name among several costs no other its answer.
                None if names.len() > 1 => missing.push(name.clone()),
                None => return Err(problem),
            }
        }
        if records.is_empty() {
            return Err(no_such_memories_problem(&missing));
        }
        Ok(GotRecords { records, missing })
    }

    fn render_text(got: &GotRecords) -> Cow<'_, str> {
        render_records(got, false).into()
    }
}

/// A record as `get` answers it: with its title, its links, and how often it was seen.
async fn describe_record(memory: &Memory, record: MemoryRecord) -> Result<Value, Problem> {
    let id = record.id;
    let beside = move |memory: &Snapshot| {
        let mut over = json!({});
        list::mark_if_over(&mut over, memory, id);
        (memory.links(id), memory.seen_stats(id), over)
    };
    let (links, seen, over) = memory.run_on_snapshot(beside).await?;
    let mut line = json!(ExportLine::new(&record));
    add_fields(&mut line, &RecordByline::of(&record));
    add_fields(&mut line, &seen);
    add_fields(&mut line, &over);
    line["title"] = json!(title_or_beginning(&record));
    if own_title(&record).is_none() {
        line["title_derived"] = json!(true);
    }
    line["links"] = json!(links);
    Ok(line)
}

/// The lesson of a repository, or what others published, that has this name.
async fn find_elsewhere(memory: &Memory, name: &str) -> Result<Option<Value>, Problem> {
    if let Some(lesson) = memory.find_repository_lesson(name).await {
        return Ok(Some(json!(ExportLine::new(&lesson))));
    }
    memory.find_published_line(name).await
}

/// Says that none of several names is a memory's.
fn no_such_memories_problem(names: &[String]) -> Problem {
    let names = names.join("`, `");
    let detail = format!(
        "no memory with one of the ids `{names}`; `reprise recall` and `reprise list` show ids"
    );
    Problem::new(ProblemKind::NotFound, detail)
}

operation! {
    Spec::for_reading("show", "Show a memory.").with_routes(&[(Method::Get, "/v1/users/{user}/records/{id}")]);
    /// Which record.
    Show(memory, arguments: ShowArguments {
        /// Its id, or its external id.
        pub id: String as RecordKey,
    }) -> MemoryRecord {
        // Without its vector: 384 numbers tell a reader nothing.
        Ok(memory.get_record(&arguments.id).await?.without_vector())
    }
}

/// A memory in whose place another answers, since a decision or a merge put it away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplacedRecord {
    /// What it said.
    pub record: MemoryRecord,
    /// Since when.
    pub at: DateTime<Utc>,
}

/// Every version, without vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The one that answers now.
    pub present: MemoryRecord,
    /// Those before it, newest first.
    pub earlier: Vec<MemoryRecord>,
    /// The memory that was asked for, where another one answers in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ReplacedRecord>,
}

/// Finds the memory of this name that was put away for another one, which answers.
fn find_replaced_record(
    memory: &Snapshot,
    name: &str,
    present: RecordId,
) -> Option<ReplacedRecord> {
    let asked: Option<RecordId> = name.parse().ok();
    if asked == Some(present) {
        return None;
    }
    let retired = memory.retirements().into_iter();
    let mut retired = retired.filter(|one| one.merged_into.is_some());
    let is_named = |id| {
        let record = memory.get_stored(id).and_then(Result::ok);
        record.is_some_and(|record| record.external_ids.iter().any(|own| own.id == name))
    };
    // The name that its own system gave it leads to the one that answers.
    let found = retired.find(|one| match asked {
        Some(id) => one.retired == id,
        None => memory.merged_into(one.retired) == Some(present) && is_named(one.retired),
    })?;
    Some(ReplacedRecord {
        record: memory.get_stored(found.retired)?.ok()?.without_vector(),
        at: DateTime::from_timestamp_micros(found.at_micros)?,
    })
}

operation! {
    Spec::for_reading("history", "A memory with its earlier versions.");
    /// Which record.
    History(memory, arguments: HistoryArguments {
        /// The id of any of its versions, or its external id.
        pub id: String as RecordKey,
    }) -> Versions {
        let present = memory.get_record(&arguments.id).await?;
        let id = present.id;
        let look = move |memory: &Snapshot| {
            let replaced = find_replaced_record(memory, &arguments.id, id);
            (memory.version_history(id), replaced)
        };
        let (versions, replaced) = memory.run_on_snapshot(look).await?;
        let plain = MemoryRecord::without_vector;
        Ok(Versions {
            present: plain(present),
            earlier: versions.into_iter().skip(1).map(plain).collect(),
            replaced,
        })
    }
}

arguments! {
    /// What is to change: fields of the ingest form; the rest stays.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[schemars(transform = schema_rules::require_any_present(MAY_CHANGE), extend("additionalProperties" = false))]
    pub struct ReviseArguments {
        /// The record's id or external id.
        pub id: String as RecordKey,
        /// What is new.
        #[serde(flatten)]
        #[schemars(schema_with = "changes")]
        pub changes: Map<String, Value> as DescribedElsewhere,
    }
}

fn changes(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = IngestLine::json_schema(generator);
    schema.remove("required");
    schema.remove("anyOf");
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| MAY_CHANGE.contains(&name.as_str()));
    }
    schema
}

/// The record as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revised {
    #[serde(flatten)]
    pub record: MemoryRecord,
    /// What was published of it, where that may not leave any more or is not what it says now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedCopy>,
}

operation! {
    Spec::for_adding("revise", "Correct a memory; the new version replaces it.")
        .with_routes(&[(Method::Patch, "/v1/users/{user}/records/{id}")]);
    Revise(memory, arguments: ReviseArguments) -> Revised {
        let (old, new) = memory.revise(&arguments.id, arguments.changes).await?;
        Ok(Revised {
            published: memory.find_outdated_copy(&old, &new).await?,
            record: new.without_vector(),
        })
    }
}

/// One record, or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Records {
    /// Each has its fate in the report.
    Many(Vec<Value>),
    /// Refused, it is the request that is refused.
    One(Value),
}

impl JsonSchema for Records {
    fn schema_name() -> Cow<'static, str> {
        "Records".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let record = generator.subschema_for::<IngestLine>();
        let each = "As the single record; a bad one spoils only itself.";
        let list = json_schema!({
            "type": "array", "items": { "type": "object", "description": each },
            "maxItems": 10_000, ALONE: true,
        });
        json_schema!({ "anyOf": [record, list] })
    }
}

/// Whether a record has a vector that its space has no place for, which no schema can say.
fn has_unfit_vector(record: &Value) -> bool {
    let vector = record.get("embedding").filter(|vector| !vector.is_null());
    let record = vector.and_then(|_| parse_record(record.clone()).ok());
    let vector = record.and_then(|record| record.embedding);
    vector.is_some_and(|vector| vector.validate().is_err())
}

operation! {
    Spec::for_adding("observe", "Add one memory or a list.")
        .with_routes(&[(Method::Post, "/v1/users/{user}/records")])
        .with_bare_body("records");
    /// What is to be kept.
    Observe(memory, arguments: ObserveArguments {
        /// The records; a bad one spoils only itself.
        pub records: Records as RedactedLater,
        /// Keep texts as they are, secrets and all; for programs of this machine that have redacted
        /// them.
        pub verbatim: bool,
        /// Where a record is known by an external id and its text is another one, keep it as a new
        /// version of that record.
        pub update: bool,
    }) -> WriteReport {
        let mut memory = if arguments.verbatim {
            memory.with_verbatim_texts()?
        } else {
            memory.clone()
        };
        memory.options.updates = arguments.update;
        match arguments.records {
            Records::Many(records) => {
                if records.iter().any(|record| !record.is_object()) {
                    let said = "a record is a JSON object; send a list of nothing else";
                    return Err(Problem::invalid(said));
                }
                memory.ingest(records).await
            }
            Records::One(record) => {
                let unfit = has_unfit_vector(&record);
                let report = memory.ingest(vec![record]).await?;
                match report.outcomes.first() {
                    Some(RecordFate::Rejected { why }) if unfit => Err(Problem::conflict(why)),
                    Some(RecordFate::Rejected { why }) => Err(Problem::invalid(why)),
                    _ => Ok(report),
                }
            }
        }
    }
}

/// Records of `memory://recent`.
const RECENT: usize = 20;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// JSON.
    pub text: String,
}

operation! {
    Spec::for_reading("resource", "Read a resource of MCP.");
    /// Which document.
    Resource(memory, asked: ResourceArguments {
        /// Its address.
        pub uri: String as LineText,
    }) -> Document {
        let ResourceArguments { uri } = asked;
        let unknown = || {
            let uri: String = uri.chars().take(128).collect();
            Problem::not_found(format!("there is no resource `{uri}`; list them first"))
        };
        let path = uri.strip_prefix("memory://").ok_or_else(unknown)?;
        let value = match path.split_once('/') {
            None if path == "recent" => memory.run_on_snapshot(recent).await?,
            None if path == "tags" => json!(memory.run_on_tag_counts(<[_]>::to_vec).await?),
            None if path == "stats" => json!(Stats::run(memory, NoArguments {}).await?),
            Some(("records", name)) if !name.is_empty() => {
                json!(ExportLine::new(&memory.get_record(name).await?))
            }
            _ => return Err(unknown()),
        };
        Ok(Document {
            text: plain_json(&value),
        })
    }
}

/// JSON that a host may put into a prompt: what would be a tag or an entity of a stored text is
/// written as JSON's escapes.
pub(super) fn plain_json(value: &Value) -> String {
    let text = value.to_string().replace('<', "\\u003c");
    text.replace('>', "\\u003e").replace('&', "\\u0026")
}

fn recent(snapshot: &Snapshot) -> Value {
    let light = |record: MemoryRecord| {
        json!({
            "id": record.id,
            "title": title_or_beginning(&record),
            "when": format_instant(record.timestamp),
            "tags": record.tags,
        })
    };
    let newest = snapshot.newest_records(RECENT).into_iter();
    let mut newest: Vec<MemoryRecord> = newest.filter_map(Result::ok).collect();
    let note = drop_sensitive_records(&mut newest).map(|note| json!({ "note": note }));
    newest.into_iter().map(light).chain(note).collect()
}
