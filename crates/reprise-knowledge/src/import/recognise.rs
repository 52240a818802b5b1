//! Whose form a path is in, by its names and by what stands at its beginning.

use super::json::{Document, document};
use super::sqlite::{self, Database};
use super::{ImportKind, ai_lessons, claude_mem, markdown, mem0, own, rvf, sessions, sunwell};
use crate::archive;
use crate::prelude::*;

/// Lines of a file that are looked at.
const LINES_LOOKED_AT: usize = 20;
/// How deep transcripts lie in a copy of a folder of them, which may have notes beside them.
const COPIED: u32 = 1;

/// Whose form a path is in.
pub fn recognise(path: &Path) -> Result<ImportKind, ImportError> {
    let first = recognise_all(path)?.first().copied();
    first.ok_or_else(|| ImportError::Unknown {
        path: path.to_owned(),
        known: ImportKind::known(),
    })
}

/// Every form that a path is in, the likeliest first: a project may be a repository with
/// instructions in it.
pub fn recognise_all(path: &Path) -> Result<Vec<ImportKind>, ImportError> {
    if fs_err::metadata(path)?.is_dir() {
        folder(path)
    } else {
        Ok(file(path)?.into_iter().collect())
    }
}

fn folder(path: &Path) -> Result<Vec<ImportKind>, ImportError> {
    let mut kinds = Vec::new();
    let is_project = path.join(".git").exists();
    if !is_project && let Some(kind) = sessions::of_folder(path)? {
        kinds.push(kind);
    }
    for (holds, kind) in [
        (sunwell::state_folder(path).is_some(), ImportKind::Sunwell),
        (ai_lessons::database(path).is_file(), ImportKind::AiLessons),
        (claude_mem::database(path).is_file(), ImportKind::ClaudeMem),
        (mem0::history(path).is_file(), ImportKind::Mem0),
        (path.join(".git").exists() || is_bare(path), ImportKind::Git),
        (markdown::instructs(path), ImportKind::Instructions),
    ] {
        kinds.extend(holds.then_some(kind));
    }
    let copied = match kinds.as_slice() {
        [] => sessions::of_copies(path, COPIED)?,
        _ => None,
    };
    let notes = markdown::has_notes(path)?.then_some(ImportKind::Markdown);
    // The notes of a copy stand further down in it.
    if holds_notes(path)? {
        kinds.extend(notes.into_iter().chain(copied));
    } else {
        kinds.extend(copied.into_iter().chain(notes));
    }
    if kinds.is_empty() {
        kinds.extend(sessions::of_copies(path, sessions::DEPTH_MAX)?);
    }
    Ok(kinds)
}

/// Whether notes stand in a folder itself.
fn holds_notes(path: &Path) -> Result<bool, ImportError> {
    let mut entries = fs_err::read_dir(path)?.flatten();
    Ok(entries.any(|entry| markdown::is_note(&entry.path())))
}

fn is_bare(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

fn file(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    if markdown::instructs(path) {
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
        let found = known.into_iter().find(|(table, _)| database.has(table));
        return Ok(found.map(|(_, kind)| kind));
    }
    if rvf::is_one(path)? {
        let own = rvf::lines(path)?.map(|_| ImportKind::Reprise);
        return Ok(own.or(Some(ImportKind::Rvf)));
    }
    if let Some(kind) = sessions::of_file(path)? {
        return Ok(Some(kind));
    }
    if own::is_yaml(path)? {
        return Ok(Some(ImportKind::Reprise));
    }
    json(path)
}

fn json(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    for line in Lines::open(path, LINE_BYTES_MAX)?.take(LINES_LOOKED_AT) {
        let (_, line) = line?;
        let object = line.ok().and_then(|line| object(&line).ok());
        let kind = object.and_then(|object| of_object(&object));
        if kind.is_some() {
            return Ok(kind);
        }
    }
    let Document::Whole(whole) = document(path)? else {
        return Ok(None);
    };
    let lists = [Some(&whole), whole.get("results"), whole.get("memories")];
    let first = lists
        .into_iter()
        .flatten()
        .find_map(|list| list.get(0))
        .unwrap_or(&whole);
    Ok(first.as_object().and_then(of_object))
}

fn of_object(object: &Map<String, Value>) -> Option<ImportKind> {
    let has = |names: &[&str]| names.iter().all(|name| object.contains_key(*name));
    let kind = object.get("type").and_then(Value::as_str);
    if matches!(kind, Some("entity" | "relation")) {
        return Some(ImportKind::ServerMemory);
    }
    if let Some(kind) = sessions::of_object(object) {
        return Some(kind);
    }
    if archive::is_line(object) {
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
    mem0::is_one(object).then_some(ImportKind::Mem0)
}
