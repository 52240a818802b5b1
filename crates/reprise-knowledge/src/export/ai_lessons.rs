//! Writes a `knowledge.db` in the last schema (12) of ai-lessons.

use rusqlite::{Connection, params};

use super::OutgoingRecord;
use crate::carried::build_carrier;
use crate::lesson::{LessonDetails, derive_title};
use crate::prelude::*;
use crate::reference::{EvidenceDefinition, TagRelation, evidence_of, meaning_of_evidence};

const SCHEMA: &str = "
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
    INSERT INTO meta VALUES('schema_version', '12');
    CREATE TABLE confidence_levels(name TEXT PRIMARY KEY, ordinal INTEGER);
    CREATE TABLE source_types(name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT);
    CREATE TABLE lessons(id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL,
        confidence TEXT REFERENCES confidence_levels(name),
        source TEXT REFERENCES source_types(name), source_notes TEXT,
        created_at TEXT, updated_at TEXT, derived_from_experiment TEXT);
    CREATE TABLE lesson_tags(lesson_id TEXT REFERENCES lessons(id) ON DELETE CASCADE,
        tag TEXT NOT NULL, PRIMARY KEY(lesson_id, tag));
    CREATE TABLE lesson_contexts(lesson_id TEXT REFERENCES lessons(id) ON DELETE CASCADE,
        context TEXT NOT NULL, applies BOOLEAN DEFAULT TRUE,
        PRIMARY KEY(lesson_id, context, applies));
    CREATE TABLE edges(id INTEGER PRIMARY KEY,
        from_id TEXT REFERENCES lessons(id) ON DELETE CASCADE, from_type TEXT,
        to_id TEXT REFERENCES lessons(id) ON DELETE CASCADE, to_type TEXT,
        relation TEXT NOT NULL, created_at TEXT,
        UNIQUE(from_id, from_type, to_id, to_type, relation));
    CREATE TABLE tag_relations(from_tag TEXT, to_tag TEXT, relation TEXT,
        PRIMARY KEY(from_tag, to_tag, relation));
    CREATE TABLE lesson_embeddings(
        lesson_id TEXT PRIMARY KEY REFERENCES lessons(id) ON DELETE CASCADE, embedding BLOB);";

/// Prefix of the tag that names the type of a lesson, for which there is no column.
pub(crate) const TYPE: &str = "type:";
/// Format of an instant in ai-lessons.
const TIME: &str = "%Y-%m-%d %H:%M:%S";

/// Returns the bytes of the database; if it is `whole`, it has an extra table with each record's
/// line.
pub(crate) fn build_database(
    records: &[&OutgoingRecord],
    aliases: &BTreeMap<String, String>,
    whole: bool,
) -> Result<Vec<u8>, ExportError> {
    let failed = |error: rusqlite::Error| ExportError::unwritable("the ai-lessons database", error);
    let file = tempfile::NamedTempFile::new()?;
    let mut database = Connection::open(file.path()).map_err(failed)?;
    // It is read back whole, and synced where it goes.
    database
        .pragma_update(None, "synchronous", "OFF")
        .map_err(failed)?;
    let transaction = database.transaction().map_err(failed)?;
    fill_tables(&transaction, records).map_err(failed)?;
    let stored = records
        .iter()
        .filter_map(|one| TagRelation::of(&one.record));
    let configured = aliases.iter().map(|(from, to)| TagRelation {
        from_tag: from.clone(),
        to_tag: to.clone(),
        relation: "alias_of".to_owned(),
    });
    for one in stored.chain(configured) {
        let insert = "INSERT OR IGNORE INTO tag_relations VALUES(?1, ?2, ?3)";
        let row = [one.from_tag, one.to_tag, one.relation];
        transaction.execute(insert, row).map_err(failed)?;
    }
    if whole {
        insert_carrier_lines(&transaction, records).map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    drop(database);
    Ok(fs_err::read(file.path())?)
}

/// Whether two databases hold the same rows.
pub(crate) fn have_same_rows(one: &[u8], other: &[u8]) -> bool {
    let rows = |bytes: &[u8]| {
        let file = tempfile::NamedTempFile::new().ok()?;
        fs_err::write(file.path(), bytes).ok()?;
        dump_rows(file.path()).ok()
    };
    rows(one).is_some_and(|own| Some(own) == rows(other))
}

fn dump_rows(file: &Path) -> Result<Vec<String>, rusqlite::Error> {
    let database = Connection::open(file)?;
    let mut rows = Vec::new();
    for table in TABLES {
        let mut query = database.prepare(&format!("SELECT * FROM {table} ORDER BY rowid"))?;
        let columns = query.column_count();
        let mut found = query.query([])?;
        while let Some(row) = found.next()? {
            let values = (0..columns).map(|at| row.get_ref(at).map(|value| format!("{value:?}")));
            let values: Vec<String> = values.collect::<Result<_, _>>()?;
            rows.push(format!("{table} {}", values.join("|")));
        }
    }
    Ok(rows)
}

const TABLES: [&str; 8] = [
    "confidence_levels",
    "source_types",
    "lessons",
    "lesson_tags",
    "lesson_contexts",
    "edges",
    "tag_relations",
    "lesson_embeddings",
];

fn fill_tables(database: &Connection, records: &[&OutgoingRecord]) -> Result<(), rusqlite::Error> {
    database.execute_batch(SCHEMA)?;
    fill_lookup_tables(database, records)?;
    let lessons = || {
        records
            .iter()
            .filter(|one| !is_lookup_definition(&one.record))
    };
    let names: HashMap<RecordId, String> = lessons()
        .map(|one| (one.record.id, one.id_in_system(ExternalId::AI_LESSONS)))
        .collect();
    for one in lessons() {
        insert_lesson(database, one, &names[&one.record.id])?;
    }
    for one in lessons() {
        let id = &names[&one.record.id];
        let at = one.record.timestamp.format(TIME).to_string();
        for (to, relation) in one
            .links
            .iter()
            .filter_map(|(to, word)| Some((names.get(to)?, word)))
        {
            database.execute(
                "INSERT OR IGNORE INTO
                 edges(from_id, from_type, to_id, to_type, relation, created_at)
                 VALUES(?1, 'lesson', ?2, 'lesson', ?3, ?4)",
                params![id, to, relation, at],
            )?;
        }
    }
    Ok(())
}

/// Whether a record belongs to a reference table and is no lesson.
fn is_lookup_definition(record: &MemoryRecord) -> bool {
    EvidenceDefinition::of(record).is_some() || TagRelation::of(record).is_some()
}

/// Inserts each record's line, under the id of its lesson.
fn insert_carrier_lines(
    database: &Connection,
    records: &[&OutgoingRecord],
) -> Result<(), rusqlite::Error> {
    let table = format!("CREATE TABLE {CARRIER_FIELD}(lesson_id TEXT PRIMARY KEY, line TEXT)");
    database.execute(&table, [])?;
    let insert = format!("INSERT INTO {CARRIER_FIELD} VALUES(?1, ?2)");
    for one in records {
        // The links are in the table of edges.
        let line = build_carrier(&one.line, &[]).to_string();
        database.execute(
            &insert,
            params![one.id_in_system(ExternalId::AI_LESSONS), line],
        )?;
    }
    Ok(())
}

/// Inserts the reference tables: our own values, the defined ones, and those used without a
/// definition.
fn fill_lookup_tables(
    database: &Connection,
    records: &[&OutgoingRecord],
) -> Result<(), rusqlite::Error> {
    for level in ConfidenceLevel::ALL {
        let row = params![level_word(*level), level.number()];
        database.execute("INSERT INTO confidence_levels VALUES(?1, ?2)", row)?;
    }
    let insert = "INSERT OR REPLACE INTO source_types VALUES(?1, ?2, ?3)";
    for evidence in Evidence::ALL {
        let (description, typical) = meaning_of_evidence(*evidence);
        database.execute(insert, params![evidence.name(), description, typical])?;
    }
    let insert = "INSERT OR IGNORE INTO source_types VALUES(?1, ?2, ?3)";
    let defined = records
        .iter()
        .filter_map(|one| EvidenceDefinition::of(&one.record));
    for own in defined.filter(|own| own.alias_of.is_none()) {
        database.execute(
            insert,
            params![own.name, own.description, own.typical_confidence],
        )?;
    }
    for word in records.iter().filter_map(|one| evidence_of(&one.record)) {
        database.execute(insert, params![word, "", None::<&str>])?;
    }
    Ok(())
}

/// A lesson as the tables hold it.
#[derive(Debug, PartialEq)]
pub(crate) struct LessonRow {
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) confidence: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) source_notes: Option<String>,
    pub(crate) created_at: String,
    pub(crate) derived_from_experiment: Option<String>,
    pub(crate) tags: BTreeSet<String>,
    /// Contexts, and whether the lesson applies in each.
    pub(crate) contexts: BTreeSet<(String, bool)>,
}

impl LessonRow {
    pub(crate) fn of(record: &MemoryRecord) -> Self {
        // Any other record is exported with its whole text.
        let mut lesson = LessonDetails::of(record).unwrap_or_else(|| LessonDetails {
            content: record.text.clone(),
            ..LessonDetails::default()
        });
        if lesson.title.trim().is_empty() {
            lesson.title = derive_title(&lesson.content);
        }
        let applying = lesson.contexts.into_iter().map(|context| (context, true));
        let others = lesson
            .anti_contexts
            .into_iter()
            .map(|context| (context, false));
        Self {
            title: lesson.title,
            content: lesson.content,
            confidence: record.confidence_level().map(level_word),
            source: evidence_of(record).map(str::to_owned),
            source_notes: lesson.source_notes,
            created_at: record.timestamp.format(TIME).to_string(),
            derived_from_experiment: lesson.derived_from_experiment,
            tags: record
                .tags
                .iter()
                .cloned()
                .chain(type_tag(record))
                .collect(),
            contexts: applying.chain(others).collect(),
        }
    }
}

/// Returns the tag that names the type of a record in ai-lessons; `None` for a lesson.
fn type_tag(record: &MemoryRecord) -> Option<String> {
    if LessonDetails::of(record).is_some() || record.tags.iter().any(|tag| tag.starts_with(TYPE)) {
        return None;
    }
    let word = |name: &str| detail_word(record, name);
    let form = word("type").filter(|form| ["decision", "failure"].contains(form));
    let word = word("observation_type")
        .or(form)
        .or_else(|| word("category"));
    Some([TYPE, word.unwrap_or(record.kind.name())].concat())
}

fn insert_lesson(
    database: &Connection,
    one: &OutgoingRecord,
    id: &str,
) -> Result<(), rusqlite::Error> {
    let row = LessonRow::of(&one.record);
    let updated = one
        .record
        .made_as_correction_at()
        .unwrap_or(one.record.timestamp);
    database.execute(
        "INSERT INTO lessons VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?8)",
        params![
            id,
            row.title,
            row.content,
            row.confidence,
            row.source,
            row.source_notes,
            row.created_at,
            row.derived_from_experiment,
            updated.format(TIME).to_string(),
        ],
    )?;
    for tag in &row.tags {
        database.execute("INSERT INTO lesson_tags VALUES(?1, ?2)", params![id, tag])?;
    }
    for (context, applies) in &row.contexts {
        let insert = "INSERT INTO lesson_contexts VALUES(?1, ?2, ?3)";
        database.execute(insert, params![id, context, applies])?;
    }
    if let Some(vector) = &one.vector {
        let bytes: Vec<u8> = vector
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        database.execute(
            "INSERT INTO lesson_embeddings VALUES(?1, ?2)",
            params![id, bytes],
        )?;
        let dimensions = vector.len().to_string();
        let row = params!["embedding_dimensions", dimensions];
        database.execute("INSERT OR REPLACE INTO meta VALUES(?1, ?2)", row)?;
    }
    Ok(())
}

/// Returns the word of a level in ai-lessons, which joins words by a dash.
fn level_word(level: ConfidenceLevel) -> String {
    level.name().replace('_', "-")
}
