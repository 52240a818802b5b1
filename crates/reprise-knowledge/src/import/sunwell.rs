//! `.sunwell` trees of every era (B.2): each line is read by what stands in it, because one path
//! held several forms over time. Legacy files are read and never touched (S41).

mod shape;

use reprise_files::unmarked;

use super::json::whole;
use super::{Found, ImportKind};
use crate::prelude::*;
use crate::projection::keep;
use shape::{Lines as How, Made, Place};

/// Longest file that is copied before it moves in.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Files of lines, in the order in which they are read: a decision comes before the learning that
/// stands for it, so that the decision is what is kept.
const LINES: [(&str, Place); 11] = [
    ("memory/decisions.jsonl", Place::Unified),
    ("memory/failures.jsonl", Place::Unified),
    ("memory/learnings.jsonl", Place::Unified),
    ("intelligence/decisions.jsonl", Place::Intelligence),
    ("intelligence/failures.jsonl", Place::Intelligence),
    ("intelligence/dead_ends.jsonl", Place::Intelligence),
    ("intelligence/learnings.jsonl", Place::Intelligence),
    ("team/decisions.jsonl", Place::Team),
    ("team/failures.jsonl", Place::Team),
    ("memory/team/decisions.jsonl", Place::Team),
    ("memory/team/failures.jsonl", Place::Team),
];

/// The state directory of a project, or the path itself where it is one.
pub(super) fn state_folder(path: &Path) -> Option<PathBuf> {
    let holds = |folder: &Path| {
        let lines = LINES.iter().map(|(name, _)| *name);
        lines
            .chain(["learnings", "plans", "memory/checkpoints"])
            .any(|name| folder.join(name).exists())
    };
    let inside = path.join(".sunwell");
    if inside.is_dir() {
        let project = whole(&inside.join("project.toml")).unwrap_or_default();
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
struct Reader {
    known: HashMap<String, ExternalId>,
    /// Decisions with their places, and the legacy ids of those that they take the place of.
    superseded: Vec<(String, ExternalId, String)>,
    /// The unified store holds a learning or a decision: older files are read beside it (S49).
    is_unified: bool,
}

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let mut reader = Reader::default();
    if path.is_file() {
        let place = if path.iter().any(|part| part == "team") {
            Place::Team
        } else if path.iter().any(|part| part == "intelligence") {
            Place::Intelligence
        } else {
            Place::Unified
        };
        if path.extension().is_some_and(|ending| ending == "json") {
            reader.document(path, giver)?;
        } else {
            reader.lines(path, place, giver)?;
        }
        return reader.finish(giver);
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
            && let Some(newest) = files(&root.join("memory/checkpoints"), ".checkpoint.json")?.pop()
        {
            reader.document(&newest, giver)?;
        }
        if file.is_file() {
            reader.lines(&file, place, giver)?;
        }
    }
    for folder in ["learnings", "plans"] {
        for file in files(&root.join(folder), ".json")? {
            reader.document(&file, giver)?;
        }
    }
    reader.finish(giver)
}

/// Copies of every file that is read of a tree, or of the one that is named.
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
            all.extend(files(&root.join(folder), ".json")?);
        }
    }
    let names = all.iter().filter_map(|file| file.strip_prefix(&root).ok());
    let names: Vec<PathBuf> = names.map(Path::to_owned).collect();
    let read = |name: &Path| {
        let read = read_named(&root.join(name), FILE_BYTES_MAX)?;
        let text = read.map(|read| String::from_utf8_lossy(&read).into_owned());
        Ok(text.map(clean).map(String::into_bytes))
    };
    Ok(keep(home, ImportKind::Sunwell.name(), &names, read)?)
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, ImportError> {
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

/// A list of finished tasks, a checkpoint of the journal, or a plan.
fn any_document(
    giver: &mut Giver<'_>,
    name: &str,
    value: Value,
    how: &How,
) -> Result<(), ImportError> {
    match value {
        Value::Array(tasks) => {
            for (index, task) in tasks.iter().enumerate() {
                let place = format!("{name} item {}", index + 1);
                giver.result(&place, shape::task(task, how))?;
            }
            Ok(())
        }
        Value::Object(object) if object.get("entries").is_some_and(Value::is_array) => {
            let how = How {
                is_replaced: false,
                ..*how
            };
            for (index, entry) in items(object.get("entries")).enumerate() {
                let place = format!("{name} entry {}", index + 1);
                let read = entry
                    .as_object()
                    .ok_or_else(|| "it is no object".to_owned());
                let read = read.and_then(|entry| shape::line(entry, &how));
                giver.result(&place, read.map(|made| made.record))?;
            }
            Ok(())
        }
        Value::Object(object) if text(&object, "goal").is_some() => {
            giver.result(name, shape::plan(object, how))
        }
        _ => giver.refuse(name, "it is neither a list of tasks nor a plan"),
    }
}

impl Reader {
    fn how(&self, file: &Path, place: Place, giver: &Giver<'_>) -> How {
        let named = file.file_stem().unwrap_or_default().to_string_lossy();
        let changed = fs_err::metadata(file).and_then(|file| file.modified());
        How {
            place,
            decides: named.starts_with("decisions"),
            zone: giver.zone(),
            changed: changed.ok().map(Into::into),
            is_replaced: self.is_unified && place == Place::Intelligence,
        }
    }

    fn document(&mut self, file: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        let name = giver.name(file);
        let whole = match whole(file) {
            Err(ImportError::File(error)) => return giver.refuse(&name, error.to_string()),
            whole => whole?,
        };
        let how = How {
            // A checkpoint of the journal stands in the unified store, and tasks before it.
            place: Place::Unified,
            is_replaced: self.is_unified,
            ..self.how(file, Place::Intelligence, giver)
        };
        match serde_json::from_slice(unmarked(&whole)) {
            Ok(value) => any_document(giver, &name, value, &how),
            Err(error) => giver.refuse(&name, format!("it is no JSON: {error}")),
        }
    }

    fn lines(
        &mut self,
        file: &Path,
        place: Place,
        giver: &mut Giver<'_>,
    ) -> Result<(), ImportError> {
        let last = last_lines(file)?;
        let how = self.how(file, place, giver);
        giver.objects(file, |giver, at, mut object| {
            let carried = shape::carried(&mut object);
            let Made {
                record,
                supersedes,
                is_unified,
            } = match shape::line(&object, &how) {
                Ok(made) => made,
                Err(why) => return giver.refuse(at, why),
            };
            self.is_unified |= is_unified;
            let legacy = text(&object, "id").map(str::to_owned);
            let is_at = |last: &u64| at.ends_with(&format!(":{last}"));
            if legacy
                .as_ref()
                .and_then(|id| last.get(id))
                .is_some_and(|last| !is_at(last))
            {
                return giver.give(at, Found::Repeated);
            }
            if let Some(own) = record.external_ids.first() {
                if let Some(supersedes) = supersedes {
                    self.superseded
                        .push((at.to_owned(), own.clone(), supersedes));
                }
                self.known
                    .extend(legacy.map(|legacy| (legacy, own.clone())));
            }
            match carried.and_then(|both| giver.unchanged(both, &record)) {
                Some(carried) => giver.own(at, carried),
                None => giver.record(at, record),
            }
        })
    }

    fn finish(self, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        for (place, own, older) in self.superseded {
            match self.known.get(&older) {
                Some(older) if *older != own => {
                    giver.link(&place, own, older.clone(), "supersedes");
                }
                Some(_) => giver.refuse(&place, "it supersedes itself; the link is left out")?,
                None => giver.refuse(
                    &place,
                    format!("it supersedes `{older}`, which is not here; the link is left out"),
                )?,
            }
        }
        Ok(())
    }
}

/// The line on which each id stands last: in a journal that one counts.
fn last_lines(file: &Path) -> Result<HashMap<String, u64>, ImportError> {
    let mut last = HashMap::new();
    for line in Lines::open(file, LINE_BYTES_MAX)? {
        let (number, line) = line?;
        let object = line.ok().and_then(|line| object(&line).ok());
        let id = object
            .as_ref()
            .and_then(|object: &Map<String, Value>| text(object, "id"));
        last.extend(id.map(|id| (id.to_owned(), number)));
    }
    Ok(last)
}
