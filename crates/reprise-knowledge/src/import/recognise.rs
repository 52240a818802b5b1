//! Recognises the kind of a source by its names and its first bytes.

use super::json::{JsonDocument, read_document};
use super::sqlite::{self, Database};
use super::{ImportKind, ai_lessons, claude_mem, markdown, mem0, own, rvf, sessions, sunwell};
use crate::archive;
use crate::prelude::*;

/// Lines of a file that are examined.
const LINES_LOOKED_AT: usize = 20;
/// Depth of the transcripts in a copy of their folder, which may also have notes.
const COPY_DEPTH: u32 = 1;

/// Recognises the likeliest kind of a source.
pub fn recognise(path: &Path) -> Result<ImportKind, ImportError> {
    let first = recognise_all(path)?.first().copied();
    first.ok_or_else(|| ImportError::Unknown {
        path: path.to_owned(),
        known: ImportKind::all_words(),
    })
}

/// Recognises every kind that a source may be, the likeliest first: a repository may also have
/// instructions for agents.
pub fn recognise_all(path: &Path) -> Result<Vec<ImportKind>, ImportError> {
    if fs_err::metadata(path)?.is_dir() {
        recognise_folder(path)
    } else {
        Ok(recognise_file(path)?.into_iter().collect())
    }
}

fn recognise_folder(path: &Path) -> Result<Vec<ImportKind>, ImportError> {
    let mut kinds = Vec::new();
    let is_project = path.join(".git").exists();
    if !is_project && let Some(kind) = sessions::recognise_folder(path)? {
        kinds.push(kind);
    }
    for (holds, kind) in [
        (sunwell::state_folder(path).is_some(), ImportKind::Sunwell),
        (
            ai_lessons::find_database_file(path).is_file(),
            ImportKind::AiLessons,
        ),
        (
            claude_mem::database_file(path).is_file(),
            ImportKind::ClaudeMem,
        ),
        (mem0::history_file(path).is_file(), ImportKind::Mem0),
        (
            path.join(".git").exists() || is_bare_repository(path),
            ImportKind::Git,
        ),
        (markdown::has_instructions(path), ImportKind::Instructions),
    ] {
        kinds.extend(holds.then_some(kind));
    }
    let copied = match kinds.as_slice() {
        [] => sessions::recognise_folder_of_transcripts(path, COPY_DEPTH)?,
        _ => None,
    };
    let notes = markdown::has_notes(path)?.then_some(ImportKind::Markdown);
    // The notes of a copied folder are deeper in it.
    if has_notes_at_top(path)? {
        kinds.extend(notes.into_iter().chain(copied));
    } else {
        kinds.extend(copied.into_iter().chain(notes));
    }
    if kinds.is_empty() {
        kinds.extend(sessions::recognise_folder_of_transcripts(
            path,
            sessions::DEPTH_MAX,
        )?);
    }
    Ok(kinds)
}

/// Whether a folder has notes at its top level.
fn has_notes_at_top(path: &Path) -> Result<bool, ImportError> {
    let mut entries = fs_err::read_dir(path)?.flatten();
    Ok(entries.any(|entry| markdown::is_note(&entry.path())))
}

fn is_bare_repository(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

fn recognise_file(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    if markdown::has_instructions(path) {
        return Ok(Some(ImportKind::Instructions));
    }
    if markdown::is_note(path) {
        return Ok(Some(ImportKind::Markdown));
    }
    if sqlite::is_database(path)? {
        let database = Database::open(path)?;
        let known = [
            ("lessons", ImportKind::AiLessons),
            ("sdk_sessions", ImportKind::ClaudeMem),
            ("history", ImportKind::Mem0),
            ("cursorDiskKV", ImportKind::Cursor),
            ("part", ImportKind::Opencode),
        ];
        let found = known
            .into_iter()
            .find(|(table, _)| database.has_table(table));
        return Ok(found.map(|(_, kind)| kind));
    }
    if rvf::is_rvf_file(path)? {
        let own = rvf::read_export_lines(path)?.map(|_| ImportKind::Reprise);
        return Ok(own.or(Some(ImportKind::Rvf)));
    }
    if let Some(kind) = sessions::recognise_file(path)? {
        return Ok(Some(kind));
    }
    if own::is_yaml(path)? {
        return Ok(Some(ImportKind::Reprise));
    }
    recognise_json(path)
}

fn recognise_json(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    for line in LineReader::open(path, LINE_BYTES_MAX)?.take(LINES_LOOKED_AT) {
        let (_, line) = line?;
        let object = line.ok().and_then(|line| parse_json_object(&line).ok());
        let kind = object.and_then(|object| recognise_object(&object));
        if kind.is_some() {
            return Ok(kind);
        }
    }
    let JsonDocument::Whole(whole) = read_document(path)? else {
        return Ok(None);
    };
    let lists = [Some(&whole), whole.get("results"), whole.get("memories")];
    let first = lists
        .into_iter()
        .flatten()
        .find_map(|list| list.get(0))
        .unwrap_or(&whole);
    Ok(first.as_object().and_then(recognise_object))
}

fn recognise_object(object: &Map<String, Value>) -> Option<ImportKind> {
    let has = |names: &[&str]| names.iter().all(|name| object.contains_key(*name));
    let kind = object.get("type").and_then(Value::as_str);
    if matches!(kind, Some("entity" | "relation")) || has(&["entities", "relations"]) {
        return Some(ImportKind::ServerMemory);
    }
    if let Some(kind) = sessions::recognise_object(object) {
        return Some(kind);
    }
    if archive::is_archive_line(object) {
        return Some(ImportKind::Reprise);
    }
    if has(&["frame_type"]) {
        return Some(ImportKind::Frames);
    }
    if ["fact", "approach", "choice", "task_description", "entries"]
        .iter()
        .any(|name| has(&[name]))
        || has(&["decision", "rationale"])
        || has(&["goal", "tasks"])
    {
        return Some(ImportKind::Sunwell);
    }
    mem0::is_memory(object).then_some(ImportKind::Mem0)
}
