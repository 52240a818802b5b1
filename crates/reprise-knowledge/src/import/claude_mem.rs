//! claude-mem's database: observations, summaries of sessions, prompts. Its schema's number says
//! little (a fork used some again), so that every column is asked of the row.

use super::sqlite::{Database, inside};
use crate::prelude::*;

/// The project under which claude-mem's own observer talks to itself.
const OBSERVER: &str = "observer-sessions";

/// Where claude-mem cuts a prompt.
const PROMPT_CHARS_MAX: usize = 4_000;

/// What has a place of its own in a record.
const OWN: [&str; 20] = [
    "text",
    "title",
    "subtitle",
    "facts",
    "narrative",
    "concepts",
    "files_read",
    "files_modified",
    "files_edited",
    "request",
    "investigated",
    "learned",
    "completed",
    "next_steps",
    "notes",
    "prompt_text",
    "created_at",
    "created_at_epoch",
    "content_session_id",
    "type",
];

/// From a row of one of its tables.
type Reader = fn(&Map<String, Value>) -> Result<NewRecord, String>;

/// What each part of a summary is called, in its order.
const SUMMARY: [(&str, &str); 6] = [
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
];

pub(super) fn database(path: &Path) -> PathBuf {
    inside(path, "claude-mem.db")
}

/// A session as the host knows it.
struct Session {
    host: String,
    project: String,
}

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let file = database(path);
    let database = Database::with(&file, "sdk_sessions", "claude-mem database")?;
    let mut sessions = HashMap::new();
    database.rows("SELECT * FROM sdk_sessions", [], |row| {
        let project = text(row, "project").unwrap_or_default().to_owned();
        // Before schema 17 the columns had the names of the SDK.
        let host = text(row, "content_session_id").or_else(|| text(row, "claude_session_id"));
        let memory = text(row, "memory_session_id").or_else(|| text(row, "sdk_session_id"));
        for name in [host, memory].into_iter().flatten() {
            let host = host.unwrap_or(name).to_owned();
            let project = project.clone();
            sessions.insert(name.to_owned(), Session { host, project });
        }
        Ok(())
    })?;
    let tables: [(&str, &str, Reader); 3] = [
        ("user_prompts", "prompt", prompt),
        ("observations", "observation", observation),
        ("session_summaries", "summary", summary),
    ];
    for (table, kind, reader) in tables {
        database.table(table, "id", |row| {
            let place = format!("{table} {}", row.get("id").cloned().unwrap_or_default());
            let named = ["memory_session_id", "sdk_session_id", "content_session_id"];
            let named = named.iter().find_map(|name| text(row, name));
            let session = named.and_then(|name| sessions.get(name));
            let project = text(row, "project");
            let project = project.or(session.map(|session| session.project.as_str()));
            if project == Some(OBSERVER) {
                return giver.refuse(&place, "claude-mem's observer says it of itself");
            }
            let read = reader(row).map(|mut record| {
                let host = session.map(|session| session.host.as_str()).or(named);
                host.unwrap_or_default().clone_into(&mut record.session_id);
                record
                    .tags
                    .extend(project.map(|project| format!("project:{project}")));
                let epoch = row.get("created_at_epoch").filter(|at| !at.is_null());
                let at = epoch
                    .or_else(|| row.get("created_at"))
                    .cloned()
                    .unwrap_or_default();
                date(&mut record, &at, Zone::Utc);
                let id = hex_id(&[kind, &record.session_id, &at.to_string(), &record.text]);
                record.external_ids = vec![ExternalId::new(ExternalId::CLAUDE_MEM, id)];
                record.details = Some(json!({
                    "type": format!("claude_mem_{kind}"),
                    "kind": row.get("type"),
                    "row": unplaced(row, &OWN),
                }));
                record
            });
            giver.result(&place, read)
        })?;
    }
    Ok(())
}

fn prompt(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let said = text(row, "prompt_text").ok_or("the prompt has no text")?;
    let mut record = NewRecord::new(said, MemorySource::UserInput, MemoryKind::Episode);
    if said.chars().count() == PROMPT_CHARS_MAX {
        record
            .metadata
            .insert("cut_at_chars".to_owned(), json!(PROMPT_CHARS_MAX));
    }
    Ok(record)
}

fn observation(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let facts = listed(row, "facts")
        .into_iter()
        .map(|fact| format!("- {fact}"));
    let parts = ["title", "subtitle", "narrative", "text"].into_iter();
    let parts = parts.filter_map(|name| text(row, name).map(str::to_owned));
    let said: Vec<String> = parts.chain(facts).collect();
    if said.is_empty() {
        return Err("the observation says nothing".to_owned());
    }
    let kind = match text(row, "type") {
        Some("decision") => MemoryKind::Strategy,
        _ => MemoryKind::Finding,
    };
    let mut record = NewRecord::new(said.join("\n"), MemorySource::WorkerResult, kind);
    record.tags.extend(text(row, "type").map(str::to_owned));
    record
        .tags
        .extend(listed(row, "concepts").into_iter().take(LIST_ITEMS_MAX - 2));
    record.provenance.source_refs = files(row, &["files_modified", "files_read"]);
    Ok(record)
}

fn summary(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let parts = SUMMARY
        .iter()
        .filter_map(|(name, head)| Some((head, text(row, name)?)));
    let said: Vec<String> = parts
        .map(|(head, said)| format!("{head}: {said}"))
        .collect();
    if said.is_empty() {
        return Err("the summary says nothing".to_owned());
    }
    let kind = MemoryKind::Episode;
    let mut record = NewRecord::new(said.join("\n"), MemorySource::WorkerResult, kind);
    record.tags.push("summary".to_owned());
    record.provenance.source_refs = files(row, &["files_edited", "files_read"]);
    Ok(record)
}

fn files(row: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    distinct(names.iter().flat_map(|name| listed(row, name)))
}

/// A list that stands as JSON text in its column; older rows have the bare text.
fn listed(row: &Map<String, Value>, name: &str) -> Vec<String> {
    let Some(said) = text(row, name) else {
        return Vec::new();
    };
    match serde_json::from_str(said) {
        Ok(Value::Array(items)) => {
            let texts = items.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        Ok(Value::Null) => Vec::new(),
        _ => vec![said.to_owned()],
    }
}
