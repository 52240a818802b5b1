//! The database of ai-lessons, from its first schema to its last: what it holds is asked of the
//! database itself, because a schema's number says less than its tables.

use super::sqlite::Database;
use crate::export::ai_lessons::{Row, TYPE};
use crate::lesson::{Lesson, derived_title};
use crate::prelude::*;
use crate::reference::{Definition, TagRelation, normal_evidence};

/// Things that are lessons, rules, documents; by table, with the type that edges call them by.
const THINGS: [(&str, &str, &str); 4] = [
    ("lessons", "lesson", "lesson_tags"),
    ("rules", "rule", "rule_tags"),
    ("resources", "resource", "resource_tags"),
    ("resource_chunks", "chunk", ""),
];

pub(super) fn database(path: &Path) -> PathBuf {
    let inside = ["knowledge.db", "lessons/knowledge.db"].map(|name| path.join(name));
    let found = inside.into_iter().find(|file| file.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let file = database(path);
    let database = Database::with(&file, "lessons", "ai-lessons database")?;
    let mut carried = carried(&database)?;
    for (table, kind, tags) in THINGS {
        let mut beside = Beside::of(&database, kind, tags)?;
        database.table(table, "rowid", |row| {
            let whole = text(row, "id").and_then(|id| carried.remove(id));
            thing(giver, row, (table, kind), &mut beside, whole)
        })?;
    }
    let (mut defined, mut related) = (HashMap::new(), HashMap::new());
    for (_, carried) in carried.drain() {
        if let Some(definition) = Definition::of(&carried.record) {
            defined.insert(definition.name, carried);
        } else if let Some(relation) = TagRelation::of(&carried.record) {
            related.insert(relation, carried);
        }
    }
    source_types(&database, giver, defined)?;
    edges(&database, giver)?;
    tag_relations(&database, giver, related)
}

/// What an export of ours says beside the tables, by the name of a lesson.
fn carried(database: &Database) -> Result<HashMap<String, Carried>, ImportError> {
    let mut beside = HashMap::new();
    database.table(CORNER, "rowid", |row| {
        let line = text(row, "line").and_then(|line| serde_json::from_str(line).ok());
        let read = line.and_then(|line| Carried::read(line).ok());
        let named = text(row, "lesson_id").map(str::to_owned);
        beside.extend(named.zip(read));
        Ok(())
    })?;
    Ok(beside)
}

/// Kinds of evidence that somebody defined: ours need no definition.
fn source_types(
    database: &Database,
    giver: &mut Giver<'_>,
    mut own: HashMap<String, Carried>,
) -> Result<(), ImportError> {
    database.table("source_types", "rowid", |row| {
        let description = text(row, "description").unwrap_or_default();
        let Some(name) = text(row, "name").and_then(normal_evidence) else {
            return Ok(());
        };
        if name.parse::<Evidence>().is_ok() || description.is_empty() {
            return Ok(());
        }
        let place = format!("source_types {name}");
        if let Some(carried) = own.remove(&name)
            && Definition::of(&carried.record).is_some_and(|own| own.description == description)
        {
            return giver.own(&place, carried);
        }
        let definition = Definition {
            description: description.to_owned(),
            typical_confidence: text(row, "typical_confidence").map(str::to_owned),
            alias_of: None,
            name,
        };
        let mut record = definition.record();
        record.external_ids = vec![self::name(&format!("source_type:{}", definition.name))];
        giver.record(&place, record)
    })
}

/// How tags are related: each row a record, whatever its relation is called. `own` are those that
/// an export of ours brought.
fn tag_relations(
    database: &Database,
    giver: &mut Giver<'_>,
    mut own: HashMap<TagRelation, Carried>,
) -> Result<(), ImportError> {
    database.table("tag_relations", "rowid", |row| {
        let part = |name: &str| text(row, name).unwrap_or_default().trim().to_owned();
        let found = TagRelation {
            from_tag: part("from_tag"),
            to_tag: part("to_tag"),
            relation: part("relation"),
        };
        let place = format!("tag_relations {} {}", found.from_tag, found.to_tag);
        if [&found.from_tag, &found.to_tag, &found.relation].contains(&&String::new()) {
            return giver.refuse(
                &place,
                "a relation of tags names two tags and a word for it",
            );
        }
        if let Some(carried) = own.remove(&found) {
            return giver.own(&place, carried);
        }
        let mut record = found.record();
        let id = [
            "tag_relation",
            &found.from_tag,
            &found.relation,
            &found.to_tag,
        ]
        .join(" ");
        record.external_ids = vec![name(&id)];
        giver.record(&place, record)
    })
}

fn name(id: &str) -> ExternalId {
    ExternalId::new(ExternalId::AI_LESSONS, id)
}

/// What other tables say of the things of one, by their ids: a table is read once, for nothing says
/// that it has an index.
#[derive(Default)]
struct Beside {
    tags: HashMap<String, Vec<String>>,
    /// Contexts, and whether the thing applies there.
    contexts: HashMap<String, Vec<(String, bool)>>,
}

impl Beside {
    fn of(database: &Database, kind: &str, tags: &str) -> Result<Self, ImportError> {
        let mut beside = Self::default();
        if database.has(tags) {
            let key = format!("{kind}_id");
            let query = format!("SELECT {key}, tag FROM {tags} ORDER BY tag");
            database.rows(&query, [], |row| {
                if let (Some(id), Some(tag)) = (text(row, &key), text(row, "tag")) {
                    let tags = beside.tags.entry(id.to_owned()).or_default();
                    tags.push(tag.to_owned());
                }
                Ok(())
            })?;
        }
        if kind == "lesson" && database.has("lesson_contexts") {
            let query = "SELECT lesson_id, context, applies FROM lesson_contexts";
            database.rows(query, [], |row| {
                let applies = row.get("applies").and_then(Value::as_i64) != Some(0);
                if let (Some(id), Some(context)) = (text(row, "lesson_id"), text(row, "context")) {
                    let contexts = beside.contexts.entry(id.to_owned()).or_default();
                    contexts.push((context.to_owned(), applies));
                }
                Ok(())
            })?;
        }
        Ok(beside)
    }
}

fn thing(
    giver: &mut Giver<'_>,
    row: &Map<String, Value>,
    (table, kind): (&str, &str),
    beside: &mut Beside,
    whole: Option<Carried>,
) -> Result<(), ImportError> {
    let Some(id) = text(row, "id") else {
        return giver.refuse(table, "a row has no id");
    };
    let place = format!("{table} {id}");
    let said = text(row, "content").or_else(|| text(row, "summary"));
    // A title that was made of the content is not taken for one that somebody gave it.
    let own = |title: &&str| said.is_none_or(|said| derived_title(said) != *title);
    let title = text(row, "title").filter(own).unwrap_or_default();
    let Some(content) = said.or_else(|| text(row, "title")) else {
        let why = "it has neither title nor content";
        return giver.refuse(&place, why);
    };
    let tags = beside.tags.remove(id).unwrap_or_default();
    let typed = tags.iter().find_map(|tag| tag.strip_prefix(TYPE));
    let memory_kind = typed.map_or(MemoryKind::Finding, MemoryKind::meant_by);
    let mut record = NewRecord::new("", MemorySource::WorkerResult, memory_kind);
    record.external_ids = vec![name(id)];
    record.tags = tags;
    let said_of = beside.contexts.remove(id).unwrap_or_default();
    let seen = seen(row, &record.tags, &said_of);
    let (mut contexts, mut anti) = (Vec::new(), Vec::new());
    for (context, applies) in said_of {
        let list = if applies { &mut contexts } else { &mut anti };
        list.push(context);
    }
    let whole = whole.map(|whole| {
        let is_unchanged = Row::of(&whole.record) == seen;
        (whole, is_unchanged)
    });
    if let Some(whole) = whole.and_then(|both| giver.unchanged(both, &record)) {
        return giver.own(&place, whole);
    }
    let word = text(row, "confidence").and_then(|word| word.parse::<ConfidenceLevel>().ok());
    record.confidence = word.map(ConfidenceLevel::centre);
    let evidence = text(row, "source");
    record.evidence = evidence.and_then(|word| word.parse::<Evidence>().ok());
    // A source type that somebody added has no number of ours and keeps its word.
    if let Some(word) = evidence.filter(|_| record.evidence.is_none()) {
        record.metadata.insert("evidence".to_owned(), json!(word));
    }
    if let Some(path) = text(row, "path") {
        record.provenance.source_refs.push(path.to_owned());
    }
    let written = row.get("created_at").cloned().unwrap_or_default();
    // SQLite's CURRENT_TIMESTAMP is of Greenwich.
    date(&mut record, &written, Zone::Utc);
    record.metadata.remove("ts_assumed_tz");
    let lesson = Lesson {
        title: title.to_owned(),
        content: content.to_owned(),
        contexts,
        anti_contexts: anti,
        source_notes: text(row, "source_notes").map(str::to_owned),
        derived_from_experiment: text(row, "derived_from_experiment").map(str::to_owned),
        ..Lesson::default()
    };
    record.text = lesson.text();
    let mut details = lesson.details();
    details["ai_lessons"] = json!({
        "kind": kind,
        "created_at": written,
        "updated_at": row.get("updated_at"),
        "row": unplaced(row, &OWN),
    });
    record.details = Some(details);
    if let Some(whole) = text(row, "resource_id") {
        giver.link(&place, name(id), name(whole), "part_of");
    }
    giver.record(&place, record)
}

/// A lesson as its tables have it now.
fn seen(row: &Map<String, Value>, tags: &[String], contexts: &[(String, bool)]) -> Row {
    let owned = |name: &str| text(row, name).map(str::to_owned);
    Row {
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

/// Columns that have a place of their own in a record.
const OWN: [&str; 9] = [
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

fn edges(database: &Database, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    database.table("edges", "rowid", |row| {
        let ends = (text(row, "from_id"), text(row, "to_id"));
        let (Some(from), Some(to)) = ends else {
            return giver.refuse("edges", "an edge has no end");
        };
        let place = format!("edges {from} {to}");
        if from == to {
            return giver.refuse(&place, "the edge leads to where it begins");
        }
        let relation = text(row, "relation").unwrap_or("related_to");
        giver.link(&place, name(from), name(to), relation);
        Ok(())
    })
}
