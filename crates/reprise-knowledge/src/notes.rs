//! Notes that were read before, beside what memory holds of them: a changed section takes the place
//! of the old one, an edited note that memory wrote that of its record, and what a folder no longer
//! says is named. Reads alone; whoever calls carries it out.

use std::cell::RefCell;

use crate::export::notes::{file_name, first_of};
use crate::import::{Found, Item};
use crate::prelude::*;
use crate::projection::Register;

/// What of a piece's details says whether it is as it was.
const ALL: [&str; 6] = [
    "type", "title", "headings", "content", "category", "context",
];

/// In the metadata of a version: the hash of the text that a person gave it in its note.
const IN_NOTE: &str = "edited_in_note";

/// What a reading of notes covers: files of one root, by their paths from `base` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The project, or the folder where there is none.
    pub root: String,
    pub base: PathBuf,
    /// Where the reading began, from `base` on: a folder, or a note.
    pub prefix: PathBuf,
}

/// What an import of notes does to a memory.
#[derive(Debug, Default)]
pub struct Renewal {
    /// What is kept as any import keeps it.
    pub items: Vec<Item>,
    /// What takes the place of an older version.
    pub replaced: Vec<Replacement>,
    /// Records that stand for what is no longer there.
    pub gone: Vec<Gone>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    pub place: String,
    /// The version that it takes the place of.
    pub record: RecordId,
    /// The fields that are new, as `revise` takes them.
    pub changes: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    pub record: RecordId,
    /// The note that said it.
    pub path: String,
    pub text: String,
}

/// Sorts what was read of notes by what `memory` holds of them. Texts are compared as `clean`
/// leaves them, as memory keeps them.
pub fn renew(memory: &Snapshot, read: Vec<Item>, clean: &dyn Fn(&str) -> String) -> Renewal {
    let mut held = held(memory);
    let (mut renewal, mut renamed) = (Renewal::default(), HashMap::new());
    let mut scopes = Vec::new();
    let mut notes: BTreeMap<Place, Vec<(String, Box<NewRecord>)>> = BTreeMap::new();
    for Item { place, found } in read {
        match found {
            Found::Scope(scope) => scopes.push(scope),
            // Also of a note that says nothing any more.
            Found::Note(of) => drop(notes.entry(of).or_default()),
            Found::Record(record) => match Place::of(record.details.as_ref(), &record.tags) {
                Some(of) => notes.entry(of).or_default().push((place, record)),
                None => match ours(memory, place, record, clean) {
                    Ok(item) => renewal.items.push(item),
                    Err(replacement) => renewal.replaced.push(replacement),
                },
            },
            found => renewal.items.push(Item { place, found }),
        }
    }
    let read: BTreeSet<Place> = notes.keys().cloned().collect();
    for (of, pieces) in notes {
        let known = held.remove(&of).unwrap_or_default();
        paired(pieces, known, clean, &mut renewal, &mut renamed);
    }
    // A folder without any note may just not be mounted: it says nothing of what is gone.
    for (of, known) in held.into_iter().filter(|_| !read.is_empty()) {
        let is_gone = |scope: &Scope| {
            let path = Path::new(&of.path);
            scope.root == of.root
                && path.starts_with(&scope.prefix)
                && !read.contains(&of)
                && fs_err::symlink_metadata(scope.base.join(path)).is_err()
        };
        if scopes.iter().any(is_gone) {
            renewal
                .gone
                .extend(known.into_iter().map(|one| gone(one.current)));
        }
    }
    for item in &mut renewal.items {
        if let Found::Link(joint) = &mut item.found {
            for end in [&mut joint.from, &mut joint.to] {
                if let Some(name) = renamed.get(end) {
                    *end = ExternalId::clone(name);
                }
            }
        }
    }
    renewal
}

/// A note of a root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub root: String,
    pub path: String,
}

impl Place {
    /// Where a piece of a note stands; `None` for what is none. Notes of no project that came in
    /// before roots were kept are nowhere.
    fn of(details: Option<&Value>, tags: &[String]) -> Option<Self> {
        let details = details?;
        details["type"]
            .as_str()
            .filter(|kind| kind.starts_with("note_"))?;
        let project = || tags.iter().find(|tag| tag.starts_with("project:"));
        let root = details["root"].as_str().or_else(|| Some(project()?))?;
        Some(Self {
            root: root.to_owned(),
            path: details["path"].as_str()?.to_owned(),
        })
    }
}

/// A piece as it is known, and as its note said it last: another version where memory was
/// corrected.
struct Known {
    current: MemoryRecord,
    said: Option<MemoryRecord>,
}

impl Known {
    fn of(memory: &Snapshot, current: MemoryRecord) -> Self {
        let is_corrected = current.supersedes.is_some() && !is_from_note(&current);
        let versions = is_corrected.then(|| memory.versions(current.id));
        let said = versions.into_iter().flatten();
        let said = said
            .skip(1)
            .find(|one| one.supersedes.is_none() || is_from_note(one));
        Self { current, said }
    }

    fn details(&self) -> Option<&Value> {
        self.said.as_ref().unwrap_or(&self.current).details.as_ref()
    }
}

/// Whether a person gave this version its text in a note.
fn is_from_note(version: &MemoryRecord) -> bool {
    version.metadata.get(IN_NOTE) == Some(&json!(sha256_hex(version.text.as_bytes())))
}

/// The metadata of a version that says so.
fn from_note(before: &MemoryRecord, text: &str) -> Value {
    let mut metadata = before.metadata.clone();
    metadata.insert(IN_NOTE.to_owned(), json!(sha256_hex(text.as_bytes())));
    json!(metadata)
}

/// The live pieces of notes, in the order in which they were kept.
fn held(memory: &Snapshot) -> BTreeMap<Place, VecDeque<Known>> {
    let mut held: BTreeMap<Place, VecDeque<Known>> = BTreeMap::new();
    for record in memory.records().filter_map(Result::ok) {
        if let Some(place) = Place::of(record.details.as_ref(), &record.tags) {
            let known = Known::of(memory, record);
            held.entry(place).or_default().push_back(known);
        }
    }
    held
}

/// The pieces of one note: what is as it was stays, what has changed takes the place of what stood
/// under the same headings, or said the same under others; the rest is new, or gone.
fn paired(
    pieces: Vec<(String, Box<NewRecord>)>,
    mut known: VecDeque<Known>,
    clean: &dyn Fn(&str) -> String,
    renewal: &mut Renewal,
    renamed: &mut HashMap<ExternalId, ExternalId>,
) {
    // A text is cleaned once, however many it is compared with.
    let cleaned: RefCell<HashMap<String, String>> = RefCell::default();
    let says = |new: &String, old: &String| {
        if new == old {
            return true;
        }
        let mut cleaned = cleaned.borrow_mut();
        if let Some(known) = cleaned.get(new) {
            return known == old;
        }
        let known = clean(new);
        let is_it = known == *old;
        cleaned.insert(new.clone(), known);
        is_it
    };
    let alike = |new: &NewRecord, old: &Known, fields: &[&str]| {
        let both = new.details.as_ref().zip(old.details());
        both.is_some_and(|(new, old)| {
            fields
                .iter()
                .all(|field| match (&new[*field], &old[*field]) {
                    (Value::String(new), Value::String(old)) => says(new, old),
                    (new, old) => new == old,
                })
        })
    };
    let mut changed = Vec::new();
    for (place, piece) in pieces {
        match known.iter().position(|old| alike(&piece, old, &ALL)) {
            Some(at) => {
                let old = known.remove(at);
                rename(&piece, old.map(|old| old.current).as_ref(), renamed);
                let found = Found::Repeated;
                renewal.items.push(Item { place, found });
            }
            None => changed.push((place, piece)),
        }
    }
    for fields in [["type", "content"], ["type", "headings"]] {
        for (place, piece) in std::mem::take(&mut changed) {
            let place_of = known.iter().position(|old| alike(&piece, old, &fields));
            let Some(Known { current, said }) = place_of.and_then(|at| known.remove(at)) else {
                changed.push((place, piece));
                continue;
            };
            rename(&piece, Some(&current), renamed);
            if said.is_some() {
                let found = Found::Refused(conflict(&current));
                renewal.items.push(Item { place, found });
                continue;
            }
            let text = clean(&piece.text);
            let changes = [
                ("metadata", from_note(&current, &text)),
                ("text", json!(text)),
                ("details", json!(piece.details)),
                ("tags", json!(piece.tags)),
            ];
            let changes = changes.map(|(name, value)| (name.to_owned(), value));
            renewal.replaced.push(Replacement {
                place,
                record: current.id,
                changes: changes.into_iter().collect(),
            });
        }
    }
    for (place, record) in changed {
        let found = Found::Record(record);
        renewal.items.push(Item { place, found });
    }
    let rest = known.into_iter().map(|one| gone(one.current));
    renewal.gone.extend(rest);
}

fn conflict(current: &MemoryRecord) -> String {
    format!(
        "conflict: the note was edited and its record corrected; neither was replaced. Have one say \
         what the other does (`reprise show {}`)",
        current.id
    )
}

/// Links lead to a piece by the name under which it is known.
fn rename(
    piece: &NewRecord,
    old: Option<&MemoryRecord>,
    renamed: &mut HashMap<ExternalId, ExternalId>,
) {
    let is_note = |name: &&ExternalId| name.namespace == ExternalId::NOTES;
    let known = old.and_then(|old| old.external_ids.iter().find(is_note));
    if let (Some(new), Some(known)) = (piece.external_ids.first(), known)
        && new != known
    {
        renamed.insert(new.clone(), known.clone());
    }
}

fn gone(record: MemoryRecord) -> Gone {
    let details = record.details.as_ref();
    let path = details.and_then(|details| details["path"].as_str());
    Gone {
        record: record.id,
        path: path.unwrap_or_default().to_owned(),
        text: record.body.text,
    }
}

/// A note that memory wrote, which `updates` where a person gave it other tags. The version that it
/// was written from is what it said before a person came: what still says that is untouched,
/// whatever memory says by now.
fn ours(
    memory: &Snapshot,
    place: String,
    record: Box<NewRecord>,
    clean: &dyn Fn(&str) -> String,
) -> Result<Item, Replacement> {
    let mut written = record
        .external_ids
        .iter()
        .filter(|name| name.namespace == ExternalId::REPRISE)
        .filter_map(|name| name.id.parse::<RecordId>().ok());
    let Some(base) = written.find_map(|id| memory.version(id)?.ok()) else {
        let found = Found::Record(record);
        return Ok(Item { place, found });
    };
    let text = clean(&record.text);
    let tags = |tags: &[String]| tags.iter().cloned().collect::<BTreeSet<String>>();
    let says = |version: &MemoryRecord| {
        let is_text = version.text == record.text || version.text == text;
        is_text && (!record.updates || tags(&version.tags) == tags(&record.tags))
    };
    let current = memory.current(base.id);
    let found = match current.and_then(|id| memory.get(id)?.ok()) {
        _ if says(&base) => Found::Repeated,
        Some(current) if says(&current) => Found::Repeated,
        None => Found::Refused(format!(
            "the note was edited, and its record {} is forgotten; remove the note, or take \
             `reprise` out of its front matter to keep it as a new one",
            base.id
        )),
        Some(current) => {
            let versions = memory.versions(current.id);
            let mut since = versions.iter().take_while(|version| version.id != base.id);
            if since.all(is_from_note) {
                let mut changes = Map::new();
                changes.insert("metadata".to_owned(), from_note(&current, &text));
                changes.insert("text".to_owned(), json!(text));
                if record.updates {
                    changes.insert("tags".to_owned(), json!(record.tags));
                }
                return Err(Replacement {
                    place,
                    record: current.id,
                    changes,
                });
            }
            Found::Refused(conflict(&current))
        }
    };
    Ok(Item { place, found })
}

/// Live records whose notes memory wrote into a folder, where they are not any more.
pub fn deleted(memory: &Snapshot, folder: &Path, home: &Path) -> Result<Vec<Gone>, ExportError> {
    let written = Register::read_of(folder, home)?;
    if written.is_empty() || fs_err::read_dir(folder).is_err() {
        return Ok(Vec::new());
    }
    let mut gone = Vec::new();
    for record in memory.records().filter_map(Result::ok) {
        let name = file_name(first_of(memory, &record).as_ref().unwrap_or(&record));
        let is_there = || fs_err::symlink_metadata(folder.join(&name)).is_ok();
        if written.names(Path::new(&name)) && !is_there() {
            gone.push(Gone {
                record: record.id,
                path: name,
                text: record.body.text,
            });
        }
    }
    Ok(gone)
}

/// Whether a projection of memory stands in this folder, or an export of it.
pub fn is_written(folder: &Path, home: &Path) -> bool {
    Register::read_of(folder, home).is_ok_and(|written| !written.is_empty())
}

#[cfg(test)]
mod tests;
