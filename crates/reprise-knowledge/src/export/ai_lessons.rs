//! A `knowledge.db` as ai-lessons' last schema (12) has it, as far as a memory has what belongs
//! there.

use std::collections::HashMap;
use std::path::Path;

use reprise_types::{ConfidenceLevel, Evidence, ExternalId, RecordId};
use rusqlite::{Connection, params};
use serde_json::Value;

use super::telling::Telling;
use crate::error::ExportError;
use crate::lesson::Lesson;

const SCHEMA: &str = "
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
    INSERT INTO meta VALUES('schema_version', '12');
    CREATE TABLE confidence_levels(name TEXT PRIMARY KEY, ordinal INTEGER);
    CREATE TABLE source_types(name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT);
    CREATE TABLE lessons(id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL,
        confidence TEXT REFERENCES confidence_levels(name), source TEXT, source_notes TEXT,
        created_at TEXT, updated_at TEXT);
    CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT, PRIMARY KEY(lesson_id, tag));
    CREATE TABLE lesson_contexts(lesson_id TEXT, context TEXT, applies BOOLEAN DEFAULT TRUE,
        PRIMARY KEY(lesson_id, context));
    CREATE TABLE edges(id INTEGER PRIMARY KEY, from_id TEXT, from_type TEXT, to_id TEXT,
        to_type TEXT, relation TEXT, created_at TEXT);";

pub(super) fn write(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let failed = |error: rusqlite::Error| ExportError::Unwritable {
        what: path.display().to_string(),
        why: error.to_string(),
    };
    let mut database = Connection::open(path).map_err(failed)?;
    let transaction = database.transaction().map_err(failed)?;
    fill(&transaction, told).map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn fill(database: &Connection, told: &[Telling]) -> Result<(), rusqlite::Error> {
    database.execute_batch(SCHEMA)?;
    for level in ConfidenceLevel::ALL {
        let row = params![spelled(*level), level.number()];
        database.execute("INSERT INTO confidence_levels VALUES(?1, ?2)", row)?;
    }
    for evidence in Evidence::ALL {
        let row = params![evidence.name(), evidence.name()];
        database.execute("INSERT INTO source_types VALUES(?1, ?2, NULL)", row)?;
    }
    let names: HashMap<RecordId, String> = told
        .iter()
        .map(|one| (one.record.id, one.name(ExternalId::AI_LESSONS)))
        .collect();
    for one in told {
        let (record, id) = (&one.record, &names[&one.record.id]);
        let lesson = Lesson::of(record).unwrap_or_else(|| plain(&record.text));
        let source = record.evidence.map(Evidence::name);
        let source = source.or_else(|| record.metadata.get("evidence").and_then(Value::as_str));
        let at = record.timestamp.format("%Y-%m-%d %H:%M:%S").to_string();
        database.execute(
            "INSERT INTO lessons VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
            params![
                id,
                lesson.title,
                lesson.content,
                record.confidence_level().map(spelled),
                source,
                lesson.source_notes,
                at
            ],
        )?;
        for tag in &record.tags {
            database.execute("INSERT INTO lesson_tags VALUES(?1, ?2)", params![id, tag])?;
        }
        for (contexts, applies) in [(&lesson.contexts, true), (&lesson.anti_contexts, false)] {
            for context in contexts {
                let row = params![id, context, applies];
                let insert = "INSERT OR IGNORE INTO lesson_contexts VALUES(?1, ?2, ?3)";
                database.execute(insert, row)?;
            }
        }
        for (to, relation) in one
            .links
            .iter()
            .filter_map(|(to, word)| Some((names.get(to)?, word)))
        {
            database.execute(
                "INSERT INTO edges(from_id, from_type, to_id, to_type, relation, created_at)
                 VALUES(?1, 'lesson', ?2, 'lesson', ?3, ?4)",
                params![id, to, relation, at],
            )?;
        }
    }
    Ok(())
}

/// ai-lessons writes a dash between the words.
fn spelled(level: ConfidenceLevel) -> String {
    level.name().replace('_', "-")
}

/// A record that is no lesson: its first line, and all of it.
fn plain(text: &str) -> Lesson {
    let title = text.lines().next().unwrap_or_default();
    Lesson {
        title: title[..title.floor_char_boundary(120)].to_owned(),
        content: text.to_owned(),
        ..Lesson::default()
    }
}
