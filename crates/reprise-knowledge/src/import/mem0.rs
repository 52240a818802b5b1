//! Reads the memories of mem0: the result of its `get_all`, as an object, a list or lines, and the
//! `history.db` in which it logs every change and deletion.
//!
//! There is no complete export of mem0 (that of its platform fills a schema of the caller's), so
//! that its users have only `get_all`.

use super::ItemContent;
use super::json::for_each_object;
use super::sqlite::{Database, database_path, is_database};
use crate::prelude::*;

/// Default limit of `get_all`.
const DEFAULT_LIMIT: usize = 20;

/// Fields for the text of a memory: of `get_all`, of `mem0 import`, and of the vector's payload.
const TEXTS: [&str; 4] = ["memory", "text", "content", "data"];

/// Fields with a field of their own in a record, or without any other information.
const PLACED_FIELDS: [&str; 15] = [
    "id",
    "memory",
    "text",
    "content",
    "data",
    "hash",
    "text_lemmatized",
    "created_at",
    "run_id",
    "agent_id",
    "actor_id",
    "role",
    "categories",
    "metadata",
    "expiration_date",
];

/// Returns the path of the history in mem0's folder.
pub(super) fn history_file(path: &Path) -> PathBuf {
    database_path(path, "history.db")
}

pub(super) fn is_memory(object: &Map<String, Value>) -> bool {
    let has = |name: &str| object.contains_key(name);
    TEXTS.iter().any(|name| has(name))
        && ["hash", "user_id", "agent_id", "run_id", "attributed_to"]
            .iter()
            .any(|name| has(name))
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let file = history_file(path);
    if is_database(&file)? {
        return read_history(&Database::open(&file)?, sink);
    }
    let mut count = 0;
    for_each_object(
        &file,
        &["results", "memories"],
        sink,
        |sink, place, object| {
            count += 1;
            let zone = sink.zone();
            let read = memory_record(&object, zone);
            sink.emit_result(place, read)
        },
    )?;
    if count == DEFAULT_LIMIT {
        let name = sink.place_name(&file);
        let why = format!(
            "it holds exactly {DEFAULT_LIMIT} memories, which is where mem0's `get_all` stops by itself; \
             ask it again with a larger `top_k`"
        );
        sink.refuse(&name, why)?;
    }
    Ok(())
}

fn memory_record(object: &Map<String, Value>, zone: Zone) -> Result<NewRecord, String> {
    if non_blank_text(object, "state").is_some_and(|state| state == "deleted") {
        return Err("the memory was deleted there".to_owned());
    }
    let body = TEXTS.iter().find_map(|name| non_blank_text(object, name));
    let body = body.ok_or("the memory has no text (`memory`, `text`, `content` or `data`)")?;
    let source = source_of_role(non_blank_text(object, "role"));
    let mut record = NewRecord::new(body, source, MemoryKind::Finding);
    let id = non_blank_text(object, "id").ok_or("the memory has no `id`")?;
    record.external_ids = vec![ExternalId::new(ExternalId::MEM0, id)];
    non_blank_text(object, "run_id")
        .unwrap_or_default()
        .clone_into(&mut record.session_id);
    record.provenance.run_id = non_blank_text(object, "run_id").map(str::to_owned);
    let actor = non_blank_text(object, "actor_id").or_else(|| non_blank_text(object, "agent_id"));
    record.provenance.actor_id = actor.map(str::to_owned);
    if let Some(Value::Object(own)) = object.get("metadata") {
        record.metadata.clone_from(own);
    }
    if let Some(ends) = non_blank_text(object, "expiration_date") {
        record.metadata.insert("expires_at".to_owned(), json!(ends));
    }
    let labels = [object.get("categories"), record.metadata.get("category")];
    record.tags = labels
        .into_iter()
        .flatten()
        .flat_map(word_list)
        .take(LIST_ITEMS_MAX)
        .collect();
    let written = object.get("created_at").cloned().unwrap_or_default();
    set_time(&mut record, &written, zone);
    let mut details = Value::Object(fields_without_place(object, &PLACED_FIELDS));
    details["type"] = json!("mem0_memory");
    record.details = Some(details);
    Ok(record)
}

fn word_list(value: &Value) -> Vec<String> {
    match value {
        Value::String(word) => vec![word.clone()],
        list => list_texts(Some(list)).map(str::to_owned).collect(),
    }
}

fn source_of_role(role: Option<&str>) -> MemorySource {
    match role {
        Some("assistant" | "system" | "tool") => MemorySource::WorkerResult,
        _ => MemorySource::UserInput,
    }
}

/// A memory of the history, with all its changes applied.
#[derive(Default)]
struct FoldedMemory {
    last: Map<String, Value>,
    body: Option<String>,
    created: Value,
    earlier: Vec<Value>,
}

fn read_history(database: &Database, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let mut memories: BTreeMap<String, FoldedMemory> = BTreeMap::new();
    let mut order = Vec::new();
    database.for_each_table_row("history", "rowid", |row| {
        let Some(id) = non_blank_text(row, "memory_id") else {
            return sink.refuse("history", "a row names no memory");
        };
        let folded = memories.entry(id.to_owned()).or_insert_with(|| {
            order.push(id.to_owned());
            FoldedMemory {
                created: row.get("created_at").cloned().unwrap_or_default(),
                ..FoldedMemory::default()
            }
        });
        if let Some(before) = folded.body.take() {
            let until = row.get("updated_at").cloned().unwrap_or_default();
            folded
                .earlier
                .push(json!({ "memory": before, "until": until }));
            sink.emit(&format!("history {id}"), ItemContent::Repeated)?;
        }
        // A deletion says nothing.
        folded.body = non_blank_text(row, "new_memory").map(str::to_owned);
        folded.last.clone_from(row);
        Ok(())
    })?;
    for (id, folded) in order
        .iter()
        .filter_map(|id| Some((id, memories.remove(id)?)))
    {
        let place = format!("history {id}");
        let Some(body) = folded.body else {
            sink.refuse(&place, "the memory was deleted there")?;
            continue;
        };
        let source = source_of_role(non_blank_text(&folded.last, "role"));
        let mut record = NewRecord::new(body, source, MemoryKind::Finding);
        record.external_ids = vec![ExternalId::new(ExternalId::MEM0, id.as_str())];
        record.provenance.actor_id = non_blank_text(&folded.last, "actor_id").map(str::to_owned);
        let zone = sink.zone();
        set_time(&mut record, &folded.created, zone);
        let mut details = json!({ "type": "mem0_memory" });
        if !folded.earlier.is_empty() {
            details["updated_at"] = folded.last.get("updated_at").cloned().unwrap_or_default();
            details["earlier"] = Value::Array(folded.earlier);
        }
        record.details = Some(details);
        sink.emit_record(&place, record)?;
    }
    Ok(())
}
