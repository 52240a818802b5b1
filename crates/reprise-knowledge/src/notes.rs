//! Compares notes that are imported again with what memory holds of them: a changed section
//! replaces the old one, an edited note that memory wrote replaces its record, and missing notes
//! are reported. It only reads; the caller applies the changes.

mod moved;

use std::cell::RefCell;

use crate::export::first_version;
use crate::export::notes::note_file_name;
use crate::import::{ImportItem, ItemContent, NotePath, NoteScope};
use crate::prelude::*;
use crate::project::root_of_folder;
use crate::projection::Register;
use moved::MovedNotes;
use reprise_types::normalize_tags;

/// Fields of a piece's details that tell whether it has changed.
const PIECE_FIELDS: [&str; 6] = [
    "type", "title", "headings", "content", "category", "context",
];

/// Metadata key of a version: the hash of the text that a person gave it in its note.
const EDITED_IN_NOTE_KEY: &str = "edited_in_note";

/// The changes that an import of notes makes to a memory.
#[derive(Debug, Default)]
pub struct NoteChanges {
    /// Items that are kept like those of any import.
    pub items: Vec<ImportItem>,
    /// Pieces that replace an older version.
    pub replaced: Vec<NoteReplacement>,
    /// Records of pieces that no longer exist.
    pub missing: Vec<MissingNote>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NoteReplacement {
    pub place: String,
    /// The version that it replaces.
    pub record: RecordId,
    /// The new fields, in the form that `revise` expects.
    pub changes: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingNote {
    pub record: RecordId,
    /// Path of the note.
    pub path: String,
    pub text: String,
}

/// Compares the items of an import with what `memory` holds of the same notes. Texts are compared
/// after `clean`, as memory keeps them.
pub fn compare_notes(
    memory: &Snapshot,
    read: Vec<ImportItem>,
    clean: &dyn Fn(&str) -> String,
) -> NoteChanges {
    let (mut renewal, mut renamed) = (NoteChanges::default(), HashMap::new());
    let mut scopes = Vec::new();
    let mut notes: BTreeMap<NotePath, Vec<(String, Box<NewRecord>)>> = BTreeMap::new();
    for ImportItem { place, content } in read {
        match content {
            ItemContent::Scope(scope) => scopes.push(scope),
            // A note may be empty by now.
            ItemContent::Note(of) => drop(notes.entry(of).or_default()),
            ItemContent::Record(record) => {
                match NotePath::of(record.details.as_ref(), &record.tags) {
                    Some(of) => notes.entry(of).or_default().push((place, record)),
                    None => match match_own_note(memory, place, record, clean) {
                        Ok(item) => renewal.items.push(item),
                        Err(replacement) => renewal.replaced.push(replacement),
                    },
                }
            }
            content => renewal.items.push(ImportItem { place, content }),
        }
    }
    let read: BTreeSet<NotePath> = notes.keys().cloned().collect();
    let mut known_pieces = move_to_scopes(collect_known_pieces(memory), &scopes, &read);
    let moved = MovedNotes {
        read: &notes,
        known: &known_pieces,
        scopes: &scopes,
        clean,
    };
    let moved = moved.find();
    for (of, pieces) in notes {
        let before = moved.get(&of);
        let known = known_pieces.remove(before.unwrap_or(&of));
        let known = known.unwrap_or_default();
        match_pieces(
            (pieces, known),
            before.is_some(),
            clean,
            &mut renewal,
            &mut renamed,
        );
    }
    // A folder without any note may not be mounted: nothing is reported as missing.
    for (of, known) in known_pieces.into_iter().filter(|_| !read.is_empty()) {
        let is_gone = |scope: &NoteScope| {
            let path = Path::new(&of.path);
            scope.root == of.root
                && path.starts_with(&scope.prefix)
                && !read.contains(&of)
                && fs_err::symlink_metadata(scope.base.join(path)).is_err()
        };
        if scopes.iter().any(is_gone) {
            renewal
                .missing
                .extend(known.into_iter().map(|one| to_missing_note(one.current)));
        }
    }
    for item in &mut renewal.items {
        if let ItemContent::Link(link) = &mut item.content {
            for end in [&mut link.from, &mut link.to] {
                if let Some(name) = renamed.get(end) {
                    *end = ExternalId::clone(name);
                }
            }
        }
    }
    renewal
}

/// A known piece, with the version that its note said last if memory was corrected since.
struct KnownPiece {
    current: MemoryRecord,
    note_version: Option<MemoryRecord>,
}

impl KnownPiece {
    fn of(memory: &Snapshot, current: MemoryRecord) -> Self {
        let is_corrected = current.supersedes.is_some() && !is_from_note(&current);
        let versions = is_corrected.then(|| memory.version_history(current.id));
        let note_version = versions.into_iter().flatten();
        let note_version = note_version
            .skip(1)
            .find(|one| one.supersedes.is_none() || is_from_note(one));
        Self {
            current,
            note_version,
        }
    }

    fn details(&self) -> Option<&Value> {
        self.note_version
            .as_ref()
            .unwrap_or(&self.current)
            .details
            .as_ref()
    }
}

/// Whether a person wrote the text of this version in a note.
fn is_from_note(version: &MemoryRecord) -> bool {
    version.metadata.get(EDITED_IN_NOTE_KEY) == Some(&json!(sha256_hex(version.text.as_bytes())))
}

/// Returns the metadata of a version whose text a person wrote in a note.
fn mark_from_note(before: &MemoryRecord, text: &str) -> Value {
    let mut metadata = before.metadata.clone();
    metadata.insert(
        EDITED_IN_NOTE_KEY.to_owned(),
        json!(sha256_hex(text.as_bytes())),
    );
    json!(metadata)
}

/// Collects the live pieces of notes, in the order in which they were kept.
fn collect_known_pieces(memory: &Snapshot) -> BTreeMap<NotePath, VecDeque<KnownPiece>> {
    let mut pieces: BTreeMap<NotePath, VecDeque<KnownPiece>> = BTreeMap::new();
    for record in memory.records().filter_map(Result::ok) {
        if let Some(place) = NotePath::of(record.details.as_ref(), &record.tags) {
            let known = KnownPiece::of(memory, record);
            pieces.entry(place).or_default().push_back(known);
        }
    }
    pieces
}

/// Gives the known pieces of notes in or above an imported folder of no project the paths that they
/// have in this import: whether a folder was named or one within it, they are the same notes.
fn move_to_scopes(
    known: BTreeMap<NotePath, VecDeque<KnownPiece>>,
    scopes: &[NoteScope],
    read: &BTreeSet<NotePath>,
) -> BTreeMap<NotePath, VecDeque<KnownPiece>> {
    let plain = scopes
        .iter()
        .filter(|one| one.root == root_of_folder(&one.base));
    let plain: Vec<&NoteScope> = plain.collect();
    let mut folders = BTreeSet::new();
    for scope in &plain {
        let files = read.iter().filter(|note| note.root == scope.root);
        let within =
            files.filter_map(|note| Some(scope.base.join(&note.path).parent()?.to_owned()));
        for folder in within.chain([scope.base.clone()]) {
            let above = folder.ancestors().map(Path::to_owned);
            folders.extend(above.take_while(|folder| folder != Path::new("")));
        }
    }
    let folders = folders
        .into_iter()
        .map(|folder| (root_of_folder(&folder), folder));
    let folders: HashMap<String, PathBuf> = folders.collect();
    let moved = |of: &NotePath| {
        let file = folders.get(&of.root)?.join(&of.path);
        plain.iter().find_map(|scope| {
            let path = file.strip_prefix(&scope.base).ok()?;
            let root = scope.root.clone();
            let path = path.to_string_lossy().into_owned();
            Some(NotePath { root, path })
        })
    };
    let mut pieces: BTreeMap<NotePath, VecDeque<KnownPiece>> = BTreeMap::new();
    for (of, known) in known {
        let of = moved(&of).unwrap_or(of);
        pieces.entry(of).or_default().extend(known);
    }
    pieces
}

/// Returns what a changed piece of a note writes over the memory that it had.
fn replace_piece(
    place: String,
    piece: &NewRecord,
    current: &MemoryRecord,
    clean: &dyn Fn(&str) -> String,
) -> NoteReplacement {
    let text = clean(&piece.text);
    let changes = [
        ("metadata", mark_from_note(current, &text)),
        ("text", json!(text)),
        ("details", json!(piece.details)),
        ("tags", json!(piece.tags)),
    ];
    let changes = changes.map(|(name, value)| (name.to_owned(), value));
    NoteReplacement {
        place,
        record: current.id,
        changes: changes.into_iter().collect(),
    }
}

/// Matches the pieces of one note with the known ones: an unchanged piece is repeated, a changed
/// one replaces the piece with the same headings or the same content; the rest is new or missing.
/// Every piece of a moved note gets its new place.
fn match_pieces(
    (pieces, mut known): (Vec<(String, Box<NewRecord>)>, VecDeque<KnownPiece>),
    is_moved: bool,
    clean: &dyn Fn(&str) -> String,
    renewal: &mut NoteChanges,
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
    let alike = |new: &NewRecord, old: &KnownPiece, fields: &[&str]| {
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
        let mut unmoved = known.iter().take(if is_moved { 0 } else { usize::MAX });
        match unmoved.position(|old| alike(&piece, old, &PIECE_FIELDS)) {
            Some(at) => {
                let old = known.remove(at).map(|old| old.current);
                map_renamed_piece(&piece, old.as_ref(), renamed);
                let content = repeat_piece(piece, old.as_ref());
                renewal.items.push(ImportItem { place, content });
            }
            None => changed.push((place, piece)),
        }
    }
    for fields in [["type", "content"], ["type", "headings"]] {
        for (place, piece) in std::mem::take(&mut changed) {
            let place_of = known.iter().position(|old| alike(&piece, old, &fields));
            let Some(KnownPiece {
                current,
                note_version,
            }) = place_of.and_then(|at| known.remove(at))
            else {
                changed.push((place, piece));
                continue;
            };
            map_renamed_piece(&piece, Some(&current), renamed);
            if note_version.is_some() && is_moved && fields[1] == "content" {
                // What it says was not edited; what memory says of it stays.
                let content = ItemContent::Repeated;
                renewal.items.push(ImportItem { place, content });
                continue;
            }
            if note_version.is_some() {
                let content = ItemContent::Refused(conflict_message(&current));
                renewal.items.push(ImportItem { place, content });
                continue;
            }
            renewal
                .replaced
                .push(replace_piece(place, &piece, &current, clean));
        }
    }
    for (place, record) in changed {
        let content = ItemContent::Record(record);
        renewal.items.push(ImportItem { place, content });
    }
    let rest = known.into_iter().map(|one| to_missing_note(one.current));
    renewal.missing.extend(rest);
}

/// Returns what becomes of an unchanged piece: with tags that its record lacks it is told once more
/// under the names of that record, which gains those that it never had.
fn repeat_piece(mut piece: Box<NewRecord>, old: Option<&MemoryRecord>) -> ItemContent {
    let lacks = |old: &&MemoryRecord| {
        let mut told = normalize_tags(&piece.tags).into_iter();
        !old.external_ids.is_empty() && told.any(|tag| !old.tags.contains(&tag))
    };
    let Some(old) = old.filter(lacks) else {
        return ItemContent::Repeated;
    };
    piece.external_ids.clone_from(&old.external_ids);
    ItemContent::Record(piece)
}

fn conflict_message(current: &MemoryRecord) -> String {
    format!(
        "conflict: the note was edited and its record corrected; neither was replaced. Have one say \
         what the other does (`reprise show {}`)",
        current.id
    )
}

/// Maps the new id of a piece to the one that memory knows, so that links find it.
fn map_renamed_piece(
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

fn to_missing_note(record: MemoryRecord) -> MissingNote {
    let details = record.details.as_ref();
    let path = details.and_then(|details| details["path"].as_str());
    MissingNote {
        record: record.id,
        path: path.unwrap_or_default().to_owned(),
        text: record.body.text,
    }
}

/// Compares a note that memory wrote with its record. A note is unedited if it says what the
/// version that it was written from says, whatever memory says by now.
fn match_own_note(
    memory: &Snapshot,
    place: String,
    record: Box<NewRecord>,
    clean: &dyn Fn(&str) -> String,
) -> Result<ImportItem, NoteReplacement> {
    let mut written = record
        .external_ids
        .iter()
        .filter(|name| name.namespace == ExternalId::REPRISE)
        .filter_map(|name| name.id.parse::<RecordId>().ok());
    let Some(base) = written.find_map(|id| memory.get_stored(id)?.ok()) else {
        let content = ItemContent::Record(record);
        return Ok(ImportItem { place, content });
    };
    let text = clean(&record.text);
    let tags = |tags: &[String]| tags.iter().cloned().collect::<BTreeSet<String>>();
    let says = |version: &MemoryRecord| {
        let is_text = version.text == record.text || version.text == text;
        is_text && (!record.replaces_known_id || tags(&version.tags) == tags(&record.tags))
    };
    let current = memory.current_version(base.id);
    let content = match current.and_then(|id| memory.get(id)?.ok()) {
        _ if says(&base) => ItemContent::Repeated,
        Some(current) if says(&current) => ItemContent::Repeated,
        None => ItemContent::Refused(format!(
            "the note was edited, and its record {} is forgotten; remove the note, or take \
             `reprise` out of its front matter to keep it as a new one",
            base.id
        )),
        Some(current) => {
            let versions = memory.version_history(current.id);
            let mut since = versions.iter().take_while(|version| version.id != base.id);
            if since.all(is_from_note) {
                let mut changes = Map::new();
                changes.insert("metadata".to_owned(), mark_from_note(&current, &text));
                changes.insert("text".to_owned(), json!(text));
                if record.replaces_known_id {
                    changes.insert("tags".to_owned(), json!(record.tags));
                }
                return Err(NoteReplacement {
                    place,
                    record: current.id,
                    changes,
                });
            }
            ItemContent::Refused(conflict_message(&current))
        }
    };
    Ok(ImportItem { place, content })
}

/// Finds the live records whose notes memory wrote into a folder and that are missing there.
pub fn find_deleted_notes(
    memory: &Snapshot,
    folder: &Path,
    home: &Path,
) -> Result<Vec<MissingNote>, ExportError> {
    let written = Register::read_hashes(folder, home)?;
    if written.is_empty() || fs_err::read_dir(folder).is_err() {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    for record in memory.records().filter_map(Result::ok) {
        let name = note_file_name(first_version(memory, &record).as_ref().unwrap_or(&record));
        let is_there = || fs_err::symlink_metadata(folder.join(&name)).is_ok();
        if written.has_name(Path::new(&name)) && !is_there() {
            missing.push(MissingNote {
                record: record.id,
                path: name,
                text: record.body.text,
            });
        }
    }
    Ok(missing)
}

/// Whether memory wrote notes into this folder.
pub fn has_written_notes(folder: &Path, home: &Path) -> bool {
    Register::read_hashes(folder, home).is_ok_and(|written| !written.is_empty())
}

#[cfg(test)]
mod tests;
