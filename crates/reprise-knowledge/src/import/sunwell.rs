//! Reads `.sunwell` trees of every version: the format of each line is recognised by its fields,
//! because one path had several formats over time. Legacy files are never changed.

mod shape;

use reprise_files::strip_byte_order_mark;

use super::json::read_whole;
use super::{ImportKind, ItemContent};
use crate::prelude::*;
use crate::projection::keep_copies;
use shape::{LineContext as How, ShapedLine, SunwellStore};

/// Longest file that is copied before an import.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Files of lines, in the order in which they are read: a decision comes before its learning, so
/// that the decision is kept.
const LINES: [(&str, SunwellStore); 11] = [
    ("memory/decisions.jsonl", SunwellStore::Unified),
    ("memory/failures.jsonl", SunwellStore::Unified),
    ("memory/learnings.jsonl", SunwellStore::Unified),
    ("intelligence/decisions.jsonl", SunwellStore::Intelligence),
    ("intelligence/failures.jsonl", SunwellStore::Intelligence),
    ("intelligence/dead_ends.jsonl", SunwellStore::Intelligence),
    ("intelligence/learnings.jsonl", SunwellStore::Intelligence),
    ("team/decisions.jsonl", SunwellStore::Team),
    ("team/failures.jsonl", SunwellStore::Team),
    ("memory/team/decisions.jsonl", SunwellStore::Team),
    ("memory/team/failures.jsonl", SunwellStore::Team),
];

/// Returns the state directory of a project, or the path itself if it is one.
pub(super) fn state_folder(path: &Path) -> Option<PathBuf> {
    let holds = |folder: &Path| {
        let lines = LINES.iter().map(|(name, _)| *name);
        lines
            .chain(["learnings", "plans", "memory/checkpoints"])
            .any(|name| folder.join(name).exists())
    };
    let inside = path.join(".sunwell");
    if inside.is_dir() {
        let project = read_whole(&inside.join("project.toml")).unwrap_or_default();
        let project = String::from_utf8_lossy(&project);
        let project: toml_edit::DocumentMut = project.parse().unwrap_or_default();
        let moved = project.get("state_dir").and_then(toml_edit::Item::as_str);
        let moved = moved
            .map(|folder| path.join(folder))
            .filter(|folder| folder.is_dir());
        return Some(moved.unwrap_or(inside));
    }
    let is_named = path.file_name().is_some_and(|name| name == ".sunwell");
    (path.is_dir() && (is_named || holds(path))).then(|| path.to_owned())
}

#[derive(Default)]
struct StateReader {
    known: HashMap<String, ExternalId>,
    /// Decisions with their places, and the legacy ids of those that they replace.
    superseded: Vec<(String, ExternalId, String)>,
    /// Whether the unified store has a learning or a decision, so that it replaces older files.
    is_unified: bool,
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let mut reader = StateReader::default();
    if path.is_file() {
        let place = if path.iter().any(|part| part == "team") {
            SunwellStore::Team
        } else if path.iter().any(|part| part == "intelligence") {
            SunwellStore::Intelligence
        } else {
            SunwellStore::Unified
        };
        if path.extension().is_some_and(|ending| ending == "json") {
            reader.read_document(path, sink)?;
        } else {
            reader.read_lines(path, place, sink)?;
        }
        return reader.emit_supersessions(sink);
    }
    let Some(root) = state_folder(path) else {
        return Err(ImportError::NotOfKind {
            path: path.to_owned(),
            kind: "Sunwell state",
            why: "there is no `.sunwell` with learnings, decisions, failures or plans".to_owned(),
        });
    };
    for (name, place) in LINES {
        let file = root.join(name);
        if name == "memory/learnings.jsonl"
            && let Some(newest) =
                list_files(&root.join("memory/checkpoints"), ".checkpoint.json")?.pop()
        {
            reader.read_document(&newest, sink)?;
        }
        if file.is_file() {
            reader.read_lines(&file, place, sink)?;
        }
    }
    for folder in ["learnings", "plans"] {
        for file in list_files(&root.join(folder), ".json")? {
            reader.read_document(&file, sink)?;
        }
    }
    reader.emit_supersessions(sink)
}

/// Copies every file of a tree that an import reads, or the one that was named.
pub(super) fn back_up(
    path: &Path,
    home: &Path,
    clean: &dyn Fn(String) -> String,
) -> Result<Option<PathBuf>, ImportError> {
    let root = match (path.is_file(), path.parent(), state_folder(path)) {
        (true, Some(folder), _) => folder.to_owned(),
        (_, _, Some(root)) => root,
        _ => return Ok(None),
    };
    let mut all = vec![path.to_owned()];
    if !path.is_file() {
        all = LINES.iter().map(|(name, _)| root.join(name)).collect();
        for folder in ["learnings", "plans", "memory/checkpoints"] {
            all.extend(list_files(&root.join(folder), ".json")?);
        }
    }
    let names = all.iter().filter_map(|file| file.strip_prefix(&root).ok());
    let names: Vec<PathBuf> = names.map(Path::to_owned).collect();
    let read = |name: &Path| {
        let read = read_if_exists(&root.join(name), FILE_BYTES_MAX)?;
        let text = read.map(|read| String::from_utf8_lossy(&read).into_owned());
        Ok(text.map(clean).map(String::into_bytes))
    };
    Ok(keep_copies(home, ImportKind::Sunwell.name(), &names, read)?)
}

fn list_files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = Vec::new();
    if folder.is_dir() {
        for entry in fs_err::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() && path.to_string_lossy().ends_with(ending) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a list of finished tasks, a checkpoint of the journal, or a plan.
fn read_any_document(
    sink: &mut ItemSink<'_>,
    name: &str,
    value: Value,
    how: &How,
) -> Result<(), ImportError> {
    match value {
        Value::Array(tasks) => {
            for (index, task) in tasks.iter().enumerate() {
                let place = format!("{name} item {}", index + 1);
                sink.emit_result(&place, shape::shape_task(task, how))?;
            }
            Ok(())
        }
        Value::Object(object) if object.get("entries").is_some_and(Value::is_array) => {
            let how = How {
                is_replaced: false,
                ..*how
            };
            for (index, entry) in list_items(object.get("entries")).enumerate() {
                let place = format!("{name} entry {}", index + 1);
                let read = entry
                    .as_object()
                    .ok_or_else(|| "it is not an object".to_owned());
                let read = read.and_then(|entry| shape::shape_line(entry, &how));
                sink.emit_result(&place, read.map(|made| made.record))?;
            }
            Ok(())
        }
        Value::Object(object) if non_blank_text(&object, "goal").is_some() => {
            sink.emit_result(name, shape::shape_plan(object, how))
        }
        _ => sink.refuse(name, "it is neither a list of tasks nor a plan"),
    }
}

impl StateReader {
    fn line_context(&self, file: &Path, place: SunwellStore, sink: &ItemSink<'_>) -> How {
        let named = file.file_stem().unwrap_or_default().to_string_lossy();
        let changed = fs_err::metadata(file).and_then(|file| file.modified());
        How {
            place,
            decides: named.starts_with("decisions"),
            zone: sink.zone(),
            changed: changed.ok().map(Into::into),
            is_replaced: self.is_unified && place == SunwellStore::Intelligence,
        }
    }

    fn read_document(&mut self, file: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
        let name = sink.place_name(file);
        let whole = match read_whole(file) {
            Err(ImportError::File(error)) => return sink.refuse(&name, error.to_string()),
            whole => whole?,
        };
        let how = How {
            // A checkpoint of the journal belongs to the unified store, tasks to the older one.
            place: SunwellStore::Unified,
            is_replaced: self.is_unified,
            ..self.line_context(file, SunwellStore::Intelligence, sink)
        };
        match serde_json::from_slice(strip_byte_order_mark(&whole)) {
            Ok(value) => read_any_document(sink, &name, value, &how),
            Err(error) => sink.refuse(&name, format!("it is not valid JSON: {error}")),
        }
    }

    fn read_lines(
        &mut self,
        file: &Path,
        place: SunwellStore,
        sink: &mut ItemSink<'_>,
    ) -> Result<(), ImportError> {
        let last = find_last_lines(file)?;
        let how = self.line_context(file, place, sink);
        sink.for_each_object(file, |sink, at, mut object| {
            let carried = shape::take_embedded_export(&mut object);
            let ShapedLine {
                record,
                supersedes,
                is_unified,
            } = match shape::shape_line(&object, &how) {
                Ok(made) => made,
                Err(why) => return sink.refuse(at, why),
            };
            self.is_unified |= is_unified;
            let legacy = non_blank_text(&object, "id").map(str::to_owned);
            let is_at = |last: &u64| at.ends_with(&format!(":{last}"));
            if legacy
                .as_ref()
                .and_then(|id| last.get(id))
                .is_some_and(|last| !is_at(last))
            {
                return sink.emit(at, ItemContent::Repeated);
            }
            if let Some(own) = record.external_ids.first() {
                if let Some(supersedes) = supersedes {
                    self.superseded
                        .push((at.to_owned(), own.clone(), supersedes));
                }
                self.known
                    .extend(legacy.map(|legacy| (legacy, own.clone())));
            }
            match carried.and_then(|both| sink.choose_unchanged(both, &record)) {
                Some(carried) => sink.emit_carried(at, carried),
                None => sink.emit_record(at, record),
            }
        })
    }

    fn emit_supersessions(self, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
        for (place, own, older) in self.superseded {
            match self.known.get(&older) {
                Some(older) if *older != own => {
                    sink.hold_link(&place, own, older.clone(), "supersedes");
                }
                Some(_) => sink.refuse(&place, "it supersedes itself; the link is left out")?,
                None => sink.refuse(
                    &place,
                    format!("it supersedes `{older}`, which is not here; the link is left out"),
                )?,
            }
        }
        Ok(())
    }
}

/// Returns the last line of each id, which is the valid one in a journal.
fn find_last_lines(file: &Path) -> Result<HashMap<String, u64>, ImportError> {
    let mut last = HashMap::new();
    for line in LineReader::open(file, LINE_BYTES_MAX)? {
        let (number, line) = line?;
        let object = line.ok().and_then(|line| parse_json_object(&line).ok());
        let id = object
            .as_ref()
            .and_then(|object: &Map<String, Value>| non_blank_text(object, "id"));
        last.extend(id.map(|id| (id.to_owned(), number)));
    }
    Ok(last)
}
