//! Reads the database of claude-mem: observations, summaries of sessions, prompts. The number of
//! its schema is ambiguous (a fork reused some), so that every column is looked up in the row.

use super::sqlite::{Database, database_path};
use crate::prelude::*;

/// Project of the sessions of claude-mem's own observer.
const OBSERVER: &str = "observer-sessions";

/// Length to which claude-mem cuts a prompt.
const PROMPT_CHARS_MAX: usize = 4_000;

/// Columns with a field of their own in a record.
const PLACED_COLUMNS: [&str; 20] = [
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

/// Reads the record of a row of one of its tables.
type RowReader = fn(&Map<String, Value>) -> Result<NewRecord, String>;

/// Columns of a summary in their order, with their headings.
const SUMMARY: [(&str, &str); 6] = [
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
];

pub(super) fn database_file(path: &Path) -> PathBuf {
    database_path(path, "claude-mem.db")
}

/// A session with the id and project that the host gave it.
struct HostSession {
    host: String,
    project: String,
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let file = database_file(path);
    let database = Database::open_with_table(&file, "sdk_sessions", "claude-mem database")?;
    let mut sessions = HashMap::new();
    database.for_each_table_row("sdk_sessions", "rowid", |row| {
        let project = non_blank_text(row, "project")
            .unwrap_or_default()
            .to_owned();
        // Before schema 17 the columns had the names of the SDK.
        let host = non_blank_text(row, "content_session_id")
            .or_else(|| non_blank_text(row, "claude_session_id"));
        let memory = non_blank_text(row, "memory_session_id")
            .or_else(|| non_blank_text(row, "sdk_session_id"));
        for name in [host, memory].into_iter().flatten() {
            let host = host.unwrap_or(name).to_owned();
            let project = project.clone();
            sessions.insert(name.to_owned(), HostSession { host, project });
        }
        Ok(())
    })?;
    let tables: [(&str, &str, RowReader); 3] = [
        ("user_prompts", "prompt", prompt_record),
        ("observations", "observation", observation_record),
        ("session_summaries", "summary", summary_record),
    ];
    for (table, kind, reader) in tables {
        database.for_each_table_row(table, "id", |row| {
            let place = format!("{table} {}", row.get("id").cloned().unwrap_or_default());
            let named = ["memory_session_id", "sdk_session_id", "content_session_id"];
            let named = named.iter().find_map(|name| non_blank_text(row, name));
            let session = named.and_then(|name| sessions.get(name));
            let project = non_blank_text(row, "project");
            let project = project.or(session.map(|session| session.project.as_str()));
            if project == Some(OBSERVER) {
                return sink.refuse(&place, "claude-mem's observer says it of itself");
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
                set_time(&mut record, &at, Zone::Utc);
                let id = hex_id(&[kind, &record.session_id, &at.to_string(), &record.text]);
                record.external_ids = vec![ExternalId::new(ExternalId::CLAUDE_MEM, id)];
                record.details = Some(json!({
                    "type": format!("claude_mem_{kind}"),
                    "kind": row.get("type"),
                    "row": fields_without_place(row, &PLACED_COLUMNS),
                }));
                record
            });
            sink.emit_result(&place, read)
        })?;
    }
    Ok(())
}

fn prompt_record(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let prompt = non_blank_text(row, "prompt_text").ok_or("the prompt has no text")?;
    let mut record = NewRecord::new(prompt, MemorySource::UserInput, MemoryKind::Episode);
    if prompt.chars().count() == PROMPT_CHARS_MAX {
        record
            .metadata
            .insert("cut_at_chars".to_owned(), json!(PROMPT_CHARS_MAX));
    }
    Ok(record)
}

fn observation_record(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let facts = parse_text_list(row, "facts")
        .into_iter()
        .map(|fact| format!("- {fact}"));
    let parts = ["title", "subtitle", "narrative", "text"].into_iter();
    let parts = parts.filter_map(|name| non_blank_text(row, name).map(str::to_owned));
    let lines: Vec<String> = parts.chain(facts).collect();
    if lines.is_empty() {
        return Err("the observation says nothing".to_owned());
    }
    let kind = match non_blank_text(row, "type") {
        Some("decision") => MemoryKind::Strategy,
        _ => MemoryKind::Finding,
    };
    let mut record = NewRecord::new(lines.join("\n"), MemorySource::WorkerResult, kind);
    record
        .tags
        .extend(non_blank_text(row, "type").map(str::to_owned));
    record.tags.extend(
        parse_text_list(row, "concepts")
            .into_iter()
            .take(LIST_ITEMS_MAX - 2),
    );
    record.provenance.source_refs = list_files(row, &["files_modified", "files_read"]);
    Ok(record)
}

fn summary_record(row: &Map<String, Value>) -> Result<NewRecord, String> {
    let parts = SUMMARY
        .iter()
        .filter_map(|(name, head)| Some((head, non_blank_text(row, name)?)));
    let lines: Vec<String> = parts
        .map(|(head, part)| format!("{head}: {part}"))
        .collect();
    if lines.is_empty() {
        return Err("the summary says nothing".to_owned());
    }
    let kind = MemoryKind::Episode;
    let mut record = NewRecord::new(lines.join("\n"), MemorySource::WorkerResult, kind);
    record.tags.push("summary".to_owned());
    record.provenance.source_refs = list_files(row, &["files_edited", "files_read"]);
    Ok(record)
}

fn list_files(row: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    deduplicate_texts(names.iter().flat_map(|name| parse_text_list(row, name)))
}

/// Parses a column that holds a JSON list; older rows have plain text.
fn parse_text_list(row: &Map<String, Value>, name: &str) -> Vec<String> {
    let Some(raw) = non_blank_text(row, name) else {
        return Vec::new();
    };
    match serde_json::from_str(raw) {
        Ok(Value::Array(items)) => {
            let texts = items.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        Ok(Value::Null) => Vec::new(),
        _ => vec![raw.to_owned()],
    }
}
