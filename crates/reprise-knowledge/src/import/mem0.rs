//! mem0's memories: what its `get_all` answers, as an object, a list or a line each, and the
//! `history.db` in which it logs every change, deletions too.
//!
//! mem0 has no export of its own that holds everything (its platform's fills a schema of the
//! caller's), so `get_all` is what its users have.

use super::Found;
use super::json::objects;
use super::sqlite::{Database, inside, is_database};
use crate::prelude::*;

/// How many memories `get_all` answers where nobody says how many.
const CUT_AT: usize = 20;

/// Where each version names the text of a memory: `get_all`, `mem0 import`, the vector's payload.
const TEXTS: [&str; 4] = ["memory", "text", "content", "data"];

/// What has a place of its own in a record, or says nothing that the record does not.
const OWN: [&str; 15] = [
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

/// The history in mem0's own folder.
pub(super) fn history(path: &Path) -> PathBuf {
    inside(path, "history.db")
}

pub(super) fn is_one(object: &Map<String, Value>) -> bool {
    let has = |name: &str| object.contains_key(name);
    TEXTS.iter().any(|name| has(name))
        && ["hash", "user_id", "agent_id", "run_id", "attributed_to"]
            .iter()
            .any(|name| has(name))
}

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let file = history(path);
    if is_database(&file)? {
        return changes(&Database::open(&file)?, giver);
    }
    let mut count = 0;
    objects(
        &file,
        &["results", "memories"],
        giver,
        |giver, place, object| {
            count += 1;
            let zone = giver.zone();
            let read = memory(&object, zone);
            giver.result(place, read)
        },
    )?;
    if count == CUT_AT {
        let name = giver.name(&file);
        let why = format!(
            "it holds exactly {CUT_AT} memories, which is where mem0's `get_all` stops by itself; \
             ask it again with a larger `top_k`"
        );
        giver.refuse(&name, why)?;
    }
    Ok(())
}

fn memory(object: &Map<String, Value>, zone: Zone) -> Result<NewRecord, String> {
    if text(object, "state").is_some_and(|state| state == "deleted") {
        return Err("the memory was deleted there".to_owned());
    }
    let said = TEXTS.iter().find_map(|name| text(object, name));
    let said = said.ok_or("the memory has no text (`memory`, `text`, `content` or `data`)")?;
    let source = source_of(text(object, "role"));
    let mut record = NewRecord::new(said, source, MemoryKind::Finding);
    let id = text(object, "id").ok_or("the memory has no `id`")?;
    record.external_ids = vec![ExternalId::new(ExternalId::MEM0, id)];
    text(object, "run_id")
        .unwrap_or_default()
        .clone_into(&mut record.session_id);
    record.provenance.run_id = text(object, "run_id").map(str::to_owned);
    let actor = text(object, "actor_id").or_else(|| text(object, "agent_id"));
    record.provenance.actor_id = actor.map(str::to_owned);
    if let Some(Value::Object(own)) = object.get("metadata") {
        record.metadata.clone_from(own);
    }
    if let Some(ends) = text(object, "expiration_date") {
        record.metadata.insert("expires_at".to_owned(), json!(ends));
    }
    let labels = [object.get("categories"), record.metadata.get("category")];
    record.tags = labels
        .into_iter()
        .flatten()
        .flat_map(words)
        .take(LIST_ITEMS_MAX)
        .collect();
    let written = object.get("created_at").cloned().unwrap_or_default();
    date(&mut record, &written, zone);
    let mut details = Value::Object(unplaced(object, &OWN));
    details["type"] = json!("mem0_memory");
    record.details = Some(details);
    Ok(record)
}

fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(word) => vec![word.clone()],
        list => texts(Some(list)).map(str::to_owned).collect(),
    }
}

fn source_of(role: Option<&str>) -> MemorySource {
    match role {
        Some("assistant" | "system" | "tool") => MemorySource::WorkerResult,
        _ => MemorySource::UserInput,
    }
}

/// A memory of the history, folded up to its last change.
#[derive(Default)]
struct Folded {
    last: Map<String, Value>,
    said: Option<String>,
    created: Value,
    earlier: Vec<Value>,
}

fn changes(database: &Database, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let mut memories: BTreeMap<String, Folded> = BTreeMap::new();
    let mut order = Vec::new();
    database.rows("SELECT * FROM history ORDER BY rowid", [], |row| {
        let Some(id) = text(row, "memory_id") else {
            return giver.refuse("history", "a row names no memory");
        };
        let folded = memories.entry(id.to_owned()).or_insert_with(|| {
            order.push(id.to_owned());
            Folded {
                created: row.get("created_at").cloned().unwrap_or_default(),
                ..Folded::default()
            }
        });
        if let Some(before) = folded.said.take() {
            let until = row.get("updated_at").cloned().unwrap_or_default();
            folded
                .earlier
                .push(json!({ "memory": before, "until": until }));
            giver.give(&format!("history {id}"), Found::Repeated)?;
        }
        // A deletion says nothing.
        folded.said = text(row, "new_memory").map(str::to_owned);
        folded.last.clone_from(row);
        Ok(())
    })?;
    for (id, folded) in order
        .iter()
        .filter_map(|id| Some((id, memories.remove(id)?)))
    {
        let place = format!("history {id}");
        let Some(said) = folded.said else {
            giver.refuse(&place, "the memory was deleted there")?;
            continue;
        };
        let source = source_of(text(&folded.last, "role"));
        let mut record = NewRecord::new(said, source, MemoryKind::Finding);
        record.external_ids = vec![ExternalId::new(ExternalId::MEM0, id.as_str())];
        record.provenance.actor_id = text(&folded.last, "actor_id").map(str::to_owned);
        let zone = giver.zone();
        date(&mut record, &folded.created, zone);
        let mut details = json!({ "type": "mem0_memory" });
        if !folded.earlier.is_empty() {
            details["updated_at"] = folded.last.get("updated_at").cloned().unwrap_or_default();
            details["earlier"] = Value::Array(folded.earlier);
        }
        record.details = Some(details);
        giver.record(&place, record)?;
    }
    Ok(())
}
