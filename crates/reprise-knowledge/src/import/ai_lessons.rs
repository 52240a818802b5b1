//! Reads the database of ai-lessons, from its first schema to its last: the tables themselves are
//! examined, because the number of a schema tells less.

use super::sqlite::Database;
use crate::export::ai_lessons::{LessonRow, TYPE};
use crate::lesson::{LessonDetails, derive_title};
use crate::prelude::*;
use crate::reference::{EvidenceDefinition, TagRelation, normalize_evidence};

/// Tables of lessons, rules and documents, each with the type in edges and the table of its tags.
const TABLES: [(&str, &str, &str); 4] = [
    ("lessons", "lesson", "lesson_tags"),
    ("rules", "rule", "rule_tags"),
    ("resources", "resource", "resource_tags"),
    ("resource_chunks", "chunk", ""),
];

pub(super) fn find_database_file(path: &Path) -> PathBuf {
    let inside = ["knowledge.db", "lessons/knowledge.db"].map(|name| path.join(name));
    let found = inside.into_iter().find(|file| file.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let file = find_database_file(path);
    let database = Database::open_with_table(&file, "lessons", "ai-lessons database")?;
    let mut carried = read_carried(&database)?;
    for (table, kind, tags) in TABLES {
        let mut side_tables = SideTables::read(&database, kind, tags)?;
        database.for_each_table_row(table, "rowid", |row| {
            let whole = non_blank_text(row, "id").and_then(|id| carried.remove(id));
            emit_thing(sink, row, (table, kind), &mut side_tables, whole)
        })?;
    }
    let (mut defined, mut related) = (HashMap::new(), HashMap::new());
    for (_, carried) in carried.drain() {
        if let Some(definition) = EvidenceDefinition::of(&carried.record) {
            defined.insert(definition.name, carried);
        } else if let Some(relation) = TagRelation::of(&carried.record) {
            related.insert(relation, carried);
        }
    }
    read_source_types(&database, sink, defined)?;
    read_edges(&database, sink)?;
    read_tag_relations(&database, sink, related)
}

/// Reads the records that our own export carries in an extra table, by the id of the lesson.
fn read_carried(database: &Database) -> Result<HashMap<String, CarriedRecord>, ImportError> {
    let mut carried_records = HashMap::new();
    database.for_each_table_row(CARRIER_FIELD, "rowid", |row| {
        let line = non_blank_text(row, "line").and_then(|line| serde_json::from_str(line).ok());
        let read = line.and_then(|line| CarriedRecord::parse_carrier(line).ok());
        let named = non_blank_text(row, "lesson_id").map(str::to_owned);
        carried_records.extend(named.zip(read));
        Ok(())
    })?;
    Ok(carried_records)
}

/// Reads the kinds of evidence that somebody defined; ours need no definition.
fn read_source_types(
    database: &Database,
    sink: &mut ItemSink<'_>,
    mut own: HashMap<String, CarriedRecord>,
) -> Result<(), ImportError> {
    database.for_each_table_row("source_types", "rowid", |row| {
        let description = non_blank_text(row, "description").unwrap_or_default();
        let Some(name) = non_blank_text(row, "name").and_then(normalize_evidence) else {
            return Ok(());
        };
        if name.parse::<Evidence>().is_ok() || description.is_empty() {
            return Ok(());
        }
        let place = format!("source_types {name}");
        if let Some(carried) = own.remove(&name)
            && EvidenceDefinition::of(&carried.record)
                .is_some_and(|own| own.description == description)
        {
            return sink.emit_carried(&place, carried);
        }
        let definition = EvidenceDefinition {
            description: description.to_owned(),
            typical_confidence: non_blank_text(row, "typical_confidence").map(str::to_owned),
            alias_of: None,
            name,
        };
        let mut record = definition.to_record();
        record.external_ids = vec![lesson_external_id(&format!(
            "source_type:{}",
            definition.name
        ))];
        sink.emit_record(&place, record)
    })
}

/// Reads the relations of tags: each row becomes a record, with any relation. `own` are those that
/// our own export carries.
fn read_tag_relations(
    database: &Database,
    sink: &mut ItemSink<'_>,
    mut own: HashMap<TagRelation, CarriedRecord>,
) -> Result<(), ImportError> {
    database.for_each_table_row("tag_relations", "rowid", |row| {
        let part = |name: &str| {
            non_blank_text(row, name)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let found = TagRelation {
            from_tag: part("from_tag"),
            to_tag: part("to_tag"),
            relation: part("relation"),
        };
        let place = format!("tag_relations {} {}", found.from_tag, found.to_tag);
        if [&found.from_tag, &found.to_tag, &found.relation].contains(&&String::new()) {
            return sink.refuse(
                &place,
                "a relation of tags names two tags and a word for it",
            );
        }
        if let Some(carried) = own.remove(&found) {
            return sink.emit_carried(&place, carried);
        }
        let mut record = found.to_record();
        let id = [
            "tag_relation",
            &found.from_tag,
            &found.relation,
            &found.to_tag,
        ]
        .join(" ");
        record.external_ids = vec![lesson_external_id(&id)];
        sink.emit_record(&place, record)
    })
}

fn lesson_external_id(id: &str) -> ExternalId {
    ExternalId::new(ExternalId::AI_LESSONS, id)
}

/// Tags and contexts from other tables, by id. Each table is read once, because it may have no
/// index.
#[derive(Default)]
struct SideTables {
    tags: HashMap<String, Vec<String>>,
    /// Contexts, and whether the lesson applies in each.
    contexts: HashMap<String, Vec<(String, bool)>>,
}

impl SideTables {
    fn read(database: &Database, kind: &str, tags: &str) -> Result<Self, ImportError> {
        let mut tables = Self::default();
        if database.has_table(tags) {
            let key = format!("{kind}_id");
            let query = format!("SELECT {key}, tag FROM {tags} ORDER BY tag");
            database.for_each_row(&query, [], |row| {
                if let (Some(id), Some(tag)) =
                    (non_blank_text(row, &key), non_blank_text(row, "tag"))
                {
                    let tags = tables.tags.entry(id.to_owned()).or_default();
                    tags.push(tag.to_owned());
                }
                Ok(())
            })?;
        }
        if kind == "lesson" && database.has_table("lesson_contexts") {
            let query = "SELECT lesson_id, context, applies FROM lesson_contexts";
            database.for_each_row(query, [], |row| {
                let applies = row.get("applies").and_then(Value::as_i64) != Some(0);
                if let (Some(id), Some(context)) = (
                    non_blank_text(row, "lesson_id"),
                    non_blank_text(row, "context"),
                ) {
                    let contexts = tables.contexts.entry(id.to_owned()).or_default();
                    contexts.push((context.to_owned(), applies));
                }
                Ok(())
            })?;
        }
        Ok(tables)
    }
}

fn emit_thing(
    sink: &mut ItemSink<'_>,
    row: &Map<String, Value>,
    (table, kind): (&str, &str),
    side_tables: &mut SideTables,
    whole: Option<CarriedRecord>,
) -> Result<(), ImportError> {
    let Some(id) = non_blank_text(row, "id") else {
        return sink.refuse(table, "a row has no id");
    };
    let place = format!("{table} {id}");
    let body = non_blank_text(row, "content").or_else(|| non_blank_text(row, "summary"));
    // A title that is derived from the content was not given by anybody.
    let own = |title: &&str| body.is_none_or(|body| derive_title(body) != *title);
    let title = non_blank_text(row, "title").filter(own).unwrap_or_default();
    let Some(content) = body.or_else(|| non_blank_text(row, "title")) else {
        let why = "it has neither title nor content";
        return sink.refuse(&place, why);
    };
    let tags = side_tables.tags.remove(id).unwrap_or_default();
    let typed = tags.iter().find_map(|tag| tag.strip_prefix(TYPE));
    let memory_kind = typed.map_or(MemoryKind::Finding, MemoryKind::from_foreign_word);
    let mut record = NewRecord::new("", MemorySource::WorkerResult, memory_kind);
    record.external_ids = vec![lesson_external_id(id)];
    record.tags = tags;
    let context_rows = side_tables.contexts.remove(id).unwrap_or_default();
    let seen = build_row(row, &record.tags, &context_rows);
    let (mut contexts, mut anti) = (Vec::new(), Vec::new());
    for (context, applies) in context_rows {
        let list = if applies { &mut contexts } else { &mut anti };
        list.push(context);
    }
    let whole = whole.map(|whole| {
        let is_unchanged = LessonRow::of(&whole.record) == seen;
        (whole, is_unchanged)
    });
    if let Some(whole) = whole.and_then(|both| sink.choose_unchanged(both, &record)) {
        return sink.emit_carried(&place, whole);
    }
    let word =
        non_blank_text(row, "confidence").and_then(|word| word.parse::<ConfidenceLevel>().ok());
    record.confidence = word.map(ConfidenceLevel::centre);
    let evidence = non_blank_text(row, "source");
    record.evidence = evidence.and_then(|word| word.parse::<Evidence>().ok());
    // A source type that somebody added is no variant of ours and keeps its word.
    if let Some(word) = evidence.filter(|_| record.evidence.is_none()) {
        record.metadata.insert("evidence".to_owned(), json!(word));
    }
    if let Some(path) = non_blank_text(row, "path") {
        record.provenance.source_refs.push(path.to_owned());
    }
    let written = row.get("created_at").cloned().unwrap_or_default();
    // CURRENT_TIMESTAMP of SQLite is in UTC.
    set_time(&mut record, &written, Zone::Utc);
    record.metadata.remove("ts_assumed_tz");
    let lesson = LessonDetails {
        title: title.to_owned(),
        content: content.to_owned(),
        contexts,
        anti_contexts: anti,
        source_notes: non_blank_text(row, "source_notes").map(str::to_owned),
        derived_from_experiment: non_blank_text(row, "derived_from_experiment").map(str::to_owned),
        ..LessonDetails::default()
    };
    record.text = lesson.to_text();
    let mut details = lesson.to_details();
    details["ai_lessons"] = json!({
        "kind": kind,
        "created_at": written,
        "updated_at": row.get("updated_at"),
        "row": fields_without_place(row, &PLACED_COLUMNS),
    });
    record.details = Some(details);
    if let Some(whole) = non_blank_text(row, "resource_id") {
        sink.hold_link(
            &place,
            lesson_external_id(id),
            lesson_external_id(whole),
            "part_of",
        );
    }
    sink.emit_record(&place, record)
}

/// Builds the row of a lesson as its tables hold it now.
fn build_row(row: &Map<String, Value>, tags: &[String], contexts: &[(String, bool)]) -> LessonRow {
    let owned = |name: &str| non_blank_text(row, name).map(str::to_owned);
    LessonRow {
        title: owned("title").unwrap_or_default(),
        content: owned("content").unwrap_or_default(),
        confidence: owned("confidence"),
        source: owned("source"),
        source_notes: owned("source_notes"),
        created_at: owned("created_at").unwrap_or_default(),
        derived_from_experiment: owned("derived_from_experiment"),
        tags: tags.iter().cloned().collect(),
        contexts: contexts.iter().cloned().collect(),
    }
}

/// Columns with a field of their own in a record.
const PLACED_COLUMNS: [&str; 9] = [
    "id",
    "title",
    "content",
    "confidence",
    "source",
    "source_notes",
    "derived_from_experiment",
    "created_at",
    "updated_at",
];

fn read_edges(database: &Database, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    database.for_each_table_row("edges", "rowid", |row| {
        let ends = (non_blank_text(row, "from_id"), non_blank_text(row, "to_id"));
        let (Some(from), Some(to)) = ends else {
            return sink.refuse("edges", "an edge has no end");
        };
        let place = format!("edges {from} {to}");
        if from == to {
            return sink.refuse(&place, "the edge leads to where it begins");
        }
        let relation = non_blank_text(row, "relation").unwrap_or("related_to");
        sink.hold_link(
            &place,
            lesson_external_id(from),
            lesson_external_id(to),
            relation,
        );
        Ok(())
    })
}
