//! Whose form a path is in, by its names and by what stands at its beginning.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::item::ImportKind;
use super::sqlite::Database;
use super::{ai_lessons, sunwell};
use crate::error::ImportError;
use crate::lines::Lines;

/// Lines of a file that are looked at.
const LINES_LOOKED_AT: usize = 20;

/// Whose form a path is in.
pub fn recognise(path: &Path) -> Result<ImportKind, ImportError> {
    let metadata = fs_err::metadata(path)?;
    let kind = if metadata.is_dir() {
        folder(path)
    } else {
        file(path)?
    };
    kind.ok_or_else(|| ImportError::Unknown {
        path: path.to_owned(),
        known: ImportKind::known(),
    })
}

fn folder(path: &Path) -> Option<ImportKind> {
    if sunwell::state_folder(path).is_some() {
        return Some(ImportKind::Sunwell);
    }
    ai_lessons::database(path)
        .is_file()
        .then_some(ImportKind::AiLessons)
}

fn file(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let mut beginning = Vec::new();
    fs_err::File::open(path)?
        .take(4096)
        .read_to_end(&mut beginning)?;
    if beginning.starts_with(b"SQLite format 3\0") {
        let tables = Database::open(path)?.tables()?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        return Ok(has("lessons").then_some(ImportKind::AiLessons));
    }
    if matches!(beginning.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return json(path);
    }
    Ok(None)
}

fn json(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    for line in Lines::open(path)?.take(LINES_LOOKED_AT) {
        let (_, line) = line?;
        let object = line.ok().and_then(|line| crate::lines::object(&line).ok());
        let Some(object) = object else { continue };
        let has = |names: &[&str]| names.iter().any(|name| object.contains_key(*name));
        let kind = object.get("type").and_then(Value::as_str);
        if matches!(kind, Some("entity" | "relation")) {
            return Ok(Some(ImportKind::ServerMemory));
        }
        if has(&["frame_type"]) {
            return Ok(Some(ImportKind::Frames));
        }
        if has(&["fact", "approach", "choice"]) || (has(&["decision"]) && has(&["rationale"])) {
            return Ok(Some(ImportKind::Sunwell));
        }
    }
    let whole: Option<Value> =
        serde_json::from_reader(std::io::BufReader::new(fs_err::File::open(path)?)).ok();
    Ok(whole.and_then(|whole| {
        let first = whole.get(0).unwrap_or(&whole);
        let has = |name: &str| first.get(name).is_some();
        if has("task_description") || (has("goal") && has("tasks")) || has("entries") {
            return Some(ImportKind::Sunwell);
        }
        None
    }))
}
