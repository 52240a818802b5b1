//! Markdown: a note, a folder of notes as basic-memory and Obsidian keep them, and the files that
//! tell agents how to work in a project.
//!
//! A section is a record, and so is a list item that basic-memory calls an observation. A piece is
//! named by its file, its heading and what it says, so that what was changed comes in again.

mod note;

use std::time::SystemTime;

use reprise_types::limits::IDENTIFIER_BYTES_MAX;

use super::Found;
use crate::notes::{Place, Scope};
use crate::prelude::*;
use crate::project::Project;
pub(crate) use note::parts_of;
use note::{HEADING_BYTES_MAX, Note, Relation};

const ENDINGS: [&str; 3] = ["md", "markdown", "mdc"];
/// Longest note that is read.
const NOTE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Folders within folders.
const DEPTH_MAX: usize = 32;
/// Folders of other people's texts.
const PASSED_OVER: [&str; 3] = ["node_modules", "target", "venv"];

/// Files that tell agents how to work, with the folders that hold more of them.
const INSTRUCTIONS: [&str; 13] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    ".claude/rules",
    "AGENTS.md",
    "GEMINI.md",
    ".cursorrules",
    ".cursor/rules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "memory-bank",
    "MEMORY.md",
];

pub(super) fn is_note(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Whether a file, or something in a folder, tells agents how to work.
pub(super) fn instructs(path: &Path) -> bool {
    if path.is_dir() {
        return INSTRUCTIONS.iter().any(|name| path.join(name).exists());
    }
    INSTRUCTIONS
        .iter()
        .any(|name| path.is_file() && path.ends_with(name))
}

/// Whether a folder has a note in it.
pub(super) fn has_notes(path: &Path) -> Result<bool, ImportError> {
    Ok(!below(path, is_note)?.is_empty())
}

/// Texts in a folder that are notes only where they are named.
pub fn plain_texts(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if path.is_dir() {
        return below(path, is_plain_text);
    }
    Ok(Vec::new())
}

/// Whether a file is a text by its name, but no note.
pub fn is_plain_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "txt")
}

/// What says whether notes have changed: their names, sizes and times.
pub fn state_of_notes(path: &Path) -> Result<Vec<(PathBuf, u64, Option<SystemTime>)>, ImportError> {
    let mut files = notes(path)?;
    if path.is_dir() {
        files.extend(INSTRUCTIONS.map(|name| path.join(name)));
    }
    let looked = files.into_iter().filter_map(|file| {
        let found = fs_err::metadata(&file).ok()?;
        Some((file, found.len(), found.modified().ok()))
    });
    Ok(looked.collect())
}

/// A note, or those of a folder.
fn notes(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if path.is_dir() {
        return below(path, is_note);
    }
    Ok(vec![path.to_owned()])
}

/// Every file below a folder that is `wanted`, in the order of names; what is hidden is not looked
/// at.
fn below(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    walk(folder, DEPTH_MAX, wanted, &mut found)?;
    Ok(found)
}

fn walk(
    folder: &Path,
    depth: usize,
    wanted: fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
) -> Result<(), ImportError> {
    let mut inside: Vec<_> = fs_err::read_dir(folder)?.collect::<Result<_, _>>()?;
    inside.sort_by_key(fs_err::DirEntry::file_name);
    for entry in inside {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if name.starts_with('.') || PASSED_OVER.contains(&&*name) {
            continue;
        }
        if kind.is_dir() && depth > 0 {
            walk(&path, depth - 1, wanted, found)?;
        } else if kind.is_file() && wanted(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// A note or a folder of them.
pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    Reader::new(path, &[]).read(path, notes(path)?, giver)
}

/// The instructions of a project, or one file of them, with what they import by `@path`.
pub(super) fn read_instructions(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let mut files = Vec::new();
    if path.is_file() {
        files.push(path.to_owned());
    }
    for name in INSTRUCTIONS.iter().filter(|_| path.is_dir()) {
        let inside = path.join(name);
        if inside.is_file() {
            files.push(inside);
        } else if inside.is_dir() {
            files.extend(below(&inside, is_note)?);
        }
    }
    Reader::new(path, &["instructions"]).read(path, files, giver)
}

struct Reader {
    root: PathBuf,
    /// The same folder as the disk calls it.
    whole: PathBuf,
    project: Option<Project>,
    tags: Vec<String>,
    /// By everything that a note is called, its first record.
    called: HashMap<String, ExternalId>,
    relations: Vec<(String, ExternalId, Relation)>,
    read: HashSet<PathBuf>,
    /// What tells its notes from those of the same name elsewhere.
    place: String,
}

impl Reader {
    fn new(path: &Path, tags: &[&str]) -> Self {
        let root = if path.is_dir() {
            path
        } else {
            // A note that is named without a folder is in this one.
            let named = path.parent().filter(|above| *above != Path::new(""));
            named.unwrap_or(Path::new("."))
        };
        let project = Project::of(root);
        let named = project.as_ref().map(Project::tag);
        let whole = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let folder = || format!("folder:{}", hex_id(&[&whole.to_string_lossy()]));
        Self {
            place: named.clone().unwrap_or_else(folder),
            root: root.to_owned(),
            whole,
            tags: tags
                .iter()
                .map(|tag| (*tag).to_owned())
                .chain(named)
                .collect(),
            project,
            called: HashMap::new(),
            relations: Vec::new(),
            read: HashSet::new(),
        }
    }

    /// `start` is the note or folder that was named.
    fn read(
        mut self,
        start: &Path,
        files: Vec<PathBuf>,
        giver: &mut Giver<'_>,
    ) -> Result<(), ImportError> {
        giver.give("", Found::Scope(self.scope(start)))?;
        let follows = self.tags.iter().any(|tag| tag == "instructions");
        let mut waiting: VecDeque<PathBuf> = files.into();
        while let Some(file) = waiting.pop_front() {
            if !self.read.insert(file.clone()) {
                continue;
            }
            let place = giver.name(&file);
            let text = match text_of(&file) {
                Ok(text) => text,
                Err(why) => {
                    giver.refuse(&place, why)?;
                    continue;
                }
            };
            if follows {
                for named in imports(&text) {
                    match self.imported(&file, &named) {
                        Some(file) => waiting.push_back(file),
                        None => giver.refuse(
                            &place,
                            format!(
                                "`@{named}` is no note within the project; import it by itself"
                            ),
                        )?,
                    }
                }
            }
            self.note(&file, &place, &text, giver)?;
        }
        for (place, from, relation) in self.relations {
            let target = self.called.get(&folded(&relation.target));
            // A target may be a note that is still to be written; the text names it all the same.
            if let Some(to) = target.filter(|to| **to != from) {
                giver.link(&place, from, to.clone(), &relation.kind);
            }
        }
        Ok(())
    }

    fn imported(&self, from: &Path, named: &str) -> Option<PathBuf> {
        let file = fs_err::canonicalize(from.parent()?.join(named)).ok()?;
        let root = fs_err::canonicalize(&self.root).ok()?;
        let inside = file.strip_prefix(root).ok()?;
        (file.is_file() && is_note(&file)).then(|| self.root.join(inside))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a note's parts in the order in which they come in"
    )]
    fn note(
        &mut self,
        file: &Path,
        place: &str,
        text: &str,
        giver: &mut Giver<'_>,
    ) -> Result<(), ImportError> {
        let Note {
            front,
            sections,
            observations,
            relations,
        } = Note::read(text);
        if let Some(line) = front.get(CORNER) {
            return own_note(giver, place, line, &front, parts_of(text).1);
        }
        // The list of a bundle's notes (OKF 0.1).
        if front.contains_key("okf_version") && file.ends_with("index.md") {
            return Ok(());
        }
        let path = self.path_of(file);
        let root = self.place.clone();
        let of = path.clone();
        giver.give("", Found::Note(Place { root, path: of }))?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let title = spoken(front.get("title")).or_else(|| spoken(front.get("name")));
        let title = title.filter(|title| title.len() <= HEADING_BYTES_MAX);
        let title = title.unwrap_or_else(|| stem.clone().into_owned());
        let own = ["tags", "tag"].iter();
        let own = own.flat_map(|name| words(front.get(*name)));
        let labels = distinct(self.tags.iter().cloned().chain(own));
        // `said` names it among those below the same headings.
        let piece =
            |text: &str, said: &str, headings: &[String], tags: Vec<String>, mut own: Value| {
                let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
                record.external_ids = vec![name(&path, headings, said)];
                record.tags = distinct(labels.iter().cloned().chain(tags));
                own["root"] = json!(self.place);
                own["path"] = json!(path);
                own["title"] = json!(title);
                own["headings"] = json!(headings);
                record.details = Some(own);
                record
            };
        let mut pieces: Vec<(usize, &str, NewRecord)> = Vec::new();
        for section in sections {
            let head = breadcrumbs(&title, &section.headings);
            let said = section.text.as_str();
            let text = [head.as_str(), "\n\n", said].concat();
            let own = json!({ "type": "note_section", "content": said });
            let record = piece(text.trim_end(), said, &section.headings, section.tags, own);
            pieces.push((section.line, "part_of", record));
        }
        for observed in observations {
            let text = format!("{title}: {}", observed.content);
            let category = observed.category.as_deref().unwrap_or_default();
            let context = observed.context.as_deref().unwrap_or_default();
            let said = [category, &*observed.content, context].join("\n");
            let own = json!({
                "type": "note_observation", "category": observed.category,
                "content": observed.content, "tags": observed.tags, "context": observed.context,
            });
            let record = piece(&text, &said, &observed.headings, observed.tags, own);
            pieces.push((observed.line, "observes", record));
        }
        if pieces.is_empty() {
            if front.is_empty() {
                return giver.refuse(place, "the note is empty");
            }
            let own = json!({ "type": "note_section", "content": "" });
            let record = piece(&title, &title, &[], Vec::new(), own);
            pieces.push((1, "part_of", record));
        }
        pieces.sort_by_key(|(line, ..)| *line);
        let own = pieces[0].2.external_ids[0].clone();
        let known_as = [
            spoken(front.get("permalink")),
            Some(title),
            Some(stem.into_owned()),
        ];
        let bare = Path::new(&path)
            .with_extension("")
            .to_string_lossy()
            .into_owned();
        for called in known_as.into_iter().flatten().chain([path.clone(), bare]) {
            self.called
                .entry(folded(&called))
                .or_insert_with(|| own.clone());
        }
        let written = [
            "modified",
            "updated",
            "updated_at",
            "created",
            "created_at",
            "date",
        ];
        let written = written.iter().find_map(|name| front.get(*name)).cloned();
        for (index, (line, relation, mut record)) in pieces.into_iter().enumerate() {
            let place = format!("{place}:{line}");
            match &written {
                Some(written) => date(&mut record, written, giver.zone()),
                None => date_of_file(&mut record, file),
            }
            record.provenance.source_refs = vec![path.clone()];
            if index == 0
                && !front.is_empty()
                && let Some(details) = &mut record.details
            {
                details["front"] = json!(front);
            }
            let piece = record.external_ids[0].clone();
            if index > 0 && piece != own {
                giver.link(&place, piece, own.clone(), relation);
            }
            giver.record(&place, record)?;
        }
        for relation in relations {
            let place = format!("{place}:{}", relation.line);
            self.relations.push((place, own.clone(), relation));
        }
        Ok(())
    }

    fn scope(&self, start: &Path) -> Scope {
        let start = fs_err::canonicalize(start).unwrap_or_else(|_| start.to_owned());
        let prefix = PathBuf::from(self.path_of(&start));
        let above = start.ancestors().nth(prefix.components().count());
        Scope {
            root: self.place.clone(),
            base: above.unwrap_or(&start).to_owned(),
            prefix,
        }
    }

    /// A file as its project calls it, or else the folder that was named.
    fn path_of(&self, file: &Path) -> String {
        let inside = self
            .project
            .as_ref()
            .and_then(|project| project.inside(file));
        let below = |root: &PathBuf| file.strip_prefix(root).ok().map(Path::to_owned);
        let inside = inside.or_else(|| [&self.root, &self.whole].into_iter().find_map(below));
        let inside = inside.as_deref().unwrap_or(file);
        inside
            .iter()
            .map(|part| part.to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    }
}

/// A note that we wrote ourselves: the record as it was, and its links.
fn own_note(
    giver: &mut Giver<'_>,
    place: &str,
    line: &Value,
    front: &Map<String, Value>,
    text: &str,
) -> Result<(), ImportError> {
    let Some(corner) = line.as_object() else {
        return giver.refuse(
            place,
            format!("the note's `{CORNER}` is no record of an export; name it otherwise"),
        );
    };
    let mut corner = corner.clone();
    corner.insert("text".to_owned(), json!(text));
    let links = front.get("links").cloned();
    corner.insert("links".to_owned(), links.unwrap_or_default());
    let tags = front.get("tags").map(|tags| json!(words(Some(tags))));
    let is_retagged = tags.filter(|tags| corner.get("tags") != Some(tags));
    match Carried::read(Value::Object(corner)) {
        Ok(mut carried) => {
            if let Some(tags) = is_retagged {
                carried.retag(words(Some(&tags)));
            }
            giver.own(place, carried)
        }
        Err(why) => giver.refuse(place, format!("the note is none of an export: {why}")),
    }
}

fn text_of(file: &Path) -> Result<String, String> {
    let bytes = match read_named(file, NOTE_BYTES_MAX) {
        Ok(bytes) => bytes.ok_or("the note is gone")?,
        Err(FileError::TooLarge { .. }) => {
            return Err(format!(
                "the note is longer than {NOTE_BYTES_MAX} bytes; split it"
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    String::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1))
}

/// The name of a piece: where it stands, and what it says.
fn name(path: &str, headings: &[String], said: &str) -> ExternalId {
    let below = headings
        .last()
        .and_then(|heading| normal_tag(heading))
        .unwrap_or_default();
    let said = hex_id(&[&headings.join("\n"), said]);
    let whole = format!("{path}#{below}@{}", &said[..8]);
    let fits = whole.len() <= IDENTIFIER_BYTES_MAX;
    ExternalId::new(
        ExternalId::NOTES,
        if fits { whole } else { hex_id(&[path, &said]) },
    )
}

fn breadcrumbs(title: &str, headings: &[String]) -> String {
    let mut crumbs: Vec<&str> = vec![title];
    crumbs.extend(headings.iter().map(String::as_str));
    crumbs.dedup();
    crumbs.join(" > ")
}

/// A scalar of front matter as a person reads it.
fn spoken(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| spoken(Some(item)));
            items.collect::<Vec<_>>().join(", ")
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Tags as a list, or as one text with commas.
fn words(value: Option<&Value>) -> Vec<String> {
    let words = match value {
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(|item| spoken(Some(item))).collect(),
        _ => Vec::new(),
    };
    let words = words
        .iter()
        .map(|word| word.trim().trim_start_matches('#').to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

fn date_of_file(record: &mut NewRecord, file: &Path) {
    let changed = fs_err::metadata(file).and_then(|metadata| metadata.modified());
    if let Ok(changed) = changed {
        record.timestamp = Some(changed.into());
        record.metadata.insert("ts_from".to_owned(), json!("file"));
    }
}

/// One spelling of what a note is called.
fn folded(name: &str) -> String {
    let name = name.replace("::", "/");
    normal_tag(name.trim_start_matches("memory://"))
        .unwrap_or_default()
        .replace('_', "-")
}

/// The paths that a file of instructions imports by `@path`, outside of code.
fn imports(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut named = Vec::new();
    let mut in_code = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(said) if !in_code => {
                let words = said
                    .split_whitespace()
                    .filter_map(|word| word.strip_prefix('@'));
                let paths = words.map(|word| word.trim_end_matches([',', '.', ')', ';', ':']));
                named.extend(
                    paths
                        .filter(|path| is_note(Path::new(path)))
                        .map(str::to_owned),
                );
            }
            _ => {}
        }
    }
    named
}
