//! Reads Markdown: a note, a folder of notes of basic-memory or Obsidian, and the files that tell
//! agents how to work in a project.
//!
//! Each section becomes a record, and so does each observation of basic-memory. The id of a piece
//! comes from its file, its headings and its text, so that a changed piece is imported again.

mod note;

use std::time::SystemTime;

use reprise_files::decode_utf16;
use reprise_types::limits::IDENTIFIER_BYTES_MAX;

use super::{ItemContent, NotePath, NoteScope};
use crate::prelude::*;
use crate::project::{Project, root_of_folder};
pub(crate) use note::split_front_matter;
use note::{HEADING_BYTES_MAX, NoteRelation, ParsedNote};

const ENDINGS: [&str; 3] = ["md", "markdown", "mdc"];
/// Longest note that is read.
const NOTE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most nested folders.
const DEPTH_MAX: usize = 32;
/// Folders with texts of other projects, which are skipped.
const SKIPPED_FOLDERS: [&str; 3] = ["node_modules", "target", "venv"];

/// Files that tell agents how to work, and folders of such files.
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
    MEMORY,
];
/// Also the index of a folder of an agent's memory, whose other notes are memory, too.
const MEMORY: &str = "MEMORY.md";

pub(super) fn is_note(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

/// Whether a file, or one in a folder, has instructions for agents.
pub(super) fn has_instructions(path: &Path) -> bool {
    if path.is_dir() {
        let is_project = path.join(".git").exists();
        let mut names = INSTRUCTIONS.iter();
        return names.any(|name| (is_project || *name != MEMORY) && path.join(name).exists());
    }
    INSTRUCTIONS
        .iter()
        .any(|name| path.is_file() && path.ends_with(name))
}

/// Whether a folder has a note.
pub(super) fn has_notes(path: &Path) -> Result<bool, ImportError> {
    Ok(!find_files(path, is_note)?.is_empty())
}

/// Finds the texts in a folder that are imported only if they are named.
pub fn find_plain_texts(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if path.is_dir() {
        return find_files(path, is_plain_text);
    }
    Ok(Vec::new())
}

/// Whether a file is a plain text by its name, and no note.
pub fn is_plain_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "txt")
}

/// Reads the names, sizes and times of notes, which tell whether they have changed.
pub fn read_notes_state(
    path: &Path,
) -> Result<Vec<(PathBuf, u64, Option<SystemTime>)>, ImportError> {
    let mut files = list_notes(path)?;
    if path.is_dir() {
        files.extend(INSTRUCTIONS.map(|name| path.join(name)));
    }
    let looked = files.into_iter().filter_map(|file| {
        let found = fs_err::metadata(&file).ok()?;
        Some((file, found.len(), found.modified().ok()))
    });
    Ok(looked.collect())
}

/// Lists the notes of a folder, or the path itself if it is a file.
fn list_notes(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    if path.is_dir() {
        return find_files(path, is_note);
    }
    Ok(vec![path.to_owned()])
}

/// Finds every `wanted` file below a folder, in the order of names; hidden files are skipped.
fn find_files(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    collect_files(folder, DEPTH_MAX, wanted, &mut found)?;
    Ok(found)
}

fn collect_files(
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
        if name.starts_with('.') || SKIPPED_FOLDERS.contains(&&*name) {
            continue;
        }
        if kind.is_dir() && depth > 0 {
            collect_files(&path, depth - 1, wanted, found)?;
        } else if kind.is_file() && wanted(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Reads a note or a folder of notes.
pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    NotesReader::new(path, &[]).read(path, list_notes(path)?, sink)
}

/// Reads the instructions of a project, or one file of them, with the files that they import by
/// `@path`.
pub(super) fn read_instructions(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let mut files = Vec::new();
    if path.is_file() {
        files.push(path.to_owned());
    }
    for name in INSTRUCTIONS.iter().filter(|_| path.is_dir()) {
        let inside = path.join(name);
        if inside.is_file() {
            files.push(inside);
        } else if inside.is_dir() {
            files.extend(find_files(&inside, is_note)?);
        }
    }
    NotesReader::new(path, &["instructions"]).read(path, files, sink)
}

struct NotesReader {
    root: PathBuf,
    /// The canonical path of `root`.
    whole: PathBuf,
    project: Option<Project>,
    tags: Vec<String>,
    /// The first record of each note, by every name of the note.
    called: HashMap<String, ExternalId>,
    relations: Vec<(String, ExternalId, NoteRelation)>,
    read: HashSet<PathBuf>,
    /// The project or folder, which distinguishes notes of the same name.
    place: String,
}

impl NotesReader {
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
        let folder = || root_of_folder(&whole);
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

    /// Reads the files and passes on their items; `start` is the note or folder that was named.
    fn read(
        mut self,
        start: &Path,
        files: Vec<PathBuf>,
        sink: &mut ItemSink<'_>,
    ) -> Result<(), ImportError> {
        sink.emit("", ItemContent::Scope(self.scope(start)))?;
        let follows = self.tags.iter().any(|tag| tag == "instructions");
        let mut waiting: VecDeque<PathBuf> = files.into();
        while let Some(file) = waiting.pop_front() {
            if !self.read.insert(file.clone()) {
                continue;
            }
            let place = sink.place_name(&file);
            let text = match read_text(&file) {
                Ok(text) => text,
                Err(why) => {
                    sink.refuse(&place, why)?;
                    continue;
                }
            };
            if follows {
                for named in find_imports(&text) {
                    match self.resolve_import(&file, &named) {
                        Some(file) => waiting.push_back(file),
                        None => sink.refuse(
                            &place,
                            format!("`@{named}` is not a note of the project; import it by itself"),
                        )?,
                    }
                }
            }
            self.read_note(&file, &place, &text, sink)?;
        }
        for (place, from, relation) in self.relations {
            let target = self.called.get(&fold_name(&relation.target));
            // A target may be a note that does not exist yet; the text names it nevertheless.
            if let Some(to) = target.filter(|to| **to != from) {
                sink.hold_link(&place, from, to.clone(), &relation.kind);
            }
        }
        Ok(())
    }

    fn resolve_import(&self, from: &Path, named: &str) -> Option<PathBuf> {
        let file = fs_err::canonicalize(from.parent()?.join(named)).ok()?;
        let root = fs_err::canonicalize(&self.root).ok()?;
        let inside = file.strip_prefix(root).ok()?;
        (file.is_file() && is_note(&file)).then(|| self.root.join(inside))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a note's parts in the order in which they come in"
    )]
    fn read_note(
        &mut self,
        file: &Path,
        place: &str,
        text: &str,
        sink: &mut ItemSink<'_>,
    ) -> Result<(), ImportError> {
        let ParsedNote {
            front,
            sections,
            observations,
            relations,
        } = ParsedNote::parse(text);
        if let Some(line) = front.get(CARRIER_FIELD) {
            return emit_own_note(sink, place, line, &front, split_front_matter(text).1);
        }
        // The list of a bundle of notes (OKF 0.1 and 0.2) is no note.
        if front.contains_key("okf_version") && file.ends_with("index.md") {
            return Ok(());
        }
        let path = self.relative_path(file);
        let root = self.place.clone();
        let of = path.clone();
        sink.emit("", ItemContent::Note(NotePath { root, path: of }))?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let title = scalar_text(front.get("title")).or_else(|| scalar_text(front.get("name")));
        let title = title.filter(|title| title.len() <= HEADING_BYTES_MAX);
        let title = title.unwrap_or_else(|| stem.clone().into_owned());
        let own = ["tags", "tag"].iter();
        let own = own.flat_map(|name| parse_words(front.get(*name)));
        let labels = deduplicate_texts(self.tags.iter().cloned().chain(own));
        // `key` distinguishes the pieces below the same headings.
        let piece =
            |text: &str, key: &str, headings: &[String], tags: Vec<String>, mut own: Value| {
                let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
                record.external_ids = vec![piece_external_id(&path, headings, key)];
                record.tags = deduplicate_texts(labels.iter().cloned().chain(tags));
                own["root"] = json!(self.place);
                own["path"] = json!(path);
                own["title"] = json!(title);
                own["headings"] = json!(headings);
                record.details = Some(own);
                record
            };
        let mut pieces: Vec<(usize, &str, NewRecord)> = Vec::new();
        for section in sections {
            let head = join_breadcrumbs(&title, &section.headings);
            let content = section.text.as_str();
            let text = [head.as_str(), "\n\n", content].concat();
            let own = json!({ "type": "note_section", "content": content });
            let record = piece(
                text.trim_end(),
                content,
                &section.headings,
                section.tags,
                own,
            );
            pieces.push((section.line, "part_of", record));
        }
        for observed in observations {
            let text = format!("{title}: {}", observed.content);
            let category = observed.category.as_deref().unwrap_or_default();
            let context = observed.context.as_deref().unwrap_or_default();
            let key = [category, &*observed.content, context].join("\n");
            let own = json!({
                "type": "note_observation", "category": observed.category,
                "content": observed.content, "tags": observed.tags, "context": observed.context,
            });
            let record = piece(&text, &key, &observed.headings, observed.tags, own);
            pieces.push((observed.line, "observes", record));
        }
        if pieces.is_empty() {
            if front.is_empty() {
                return sink.refuse(place, "the note is empty");
            }
            let own = json!({ "type": "note_section", "content": "" });
            let record = piece(&title, &title, &[], Vec::new(), own);
            pieces.push((1, "part_of", record));
        }
        pieces.sort_by_key(|(line, ..)| *line);
        let own = pieces[0].2.external_ids[0].clone();
        let known_as = [
            scalar_text(front.get("permalink")),
            Some(title),
            Some(stem.into_owned()),
        ];
        let bare = Path::new(&path)
            .with_extension("")
            .to_string_lossy()
            .into_owned();
        for called in known_as.into_iter().flatten().chain([path.clone(), bare]) {
            self.called
                .entry(fold_name(&called))
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
                Some(written) => set_time(&mut record, written, sink.zone()),
                None => set_time_of_file(&mut record, file),
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
                sink.hold_link(&place, piece, own.clone(), relation);
            }
            sink.emit_record(&place, record)?;
        }
        for relation in relations {
            let place = format!("{place}:{}", relation.line);
            self.relations.push((place, own.clone(), relation));
        }
        Ok(())
    }

    fn scope(&self, start: &Path) -> NoteScope {
        let start = fs_err::canonicalize(start).unwrap_or_else(|_| start.to_owned());
        let prefix = PathBuf::from(self.relative_path(&start));
        let above = start.ancestors().nth(prefix.components().count());
        NoteScope {
            root: self.place.clone(),
            base: above.unwrap_or(&start).to_owned(),
            prefix,
        }
    }

    /// Returns the path of a file relative to its project, or else to the folder that was named.
    fn relative_path(&self, file: &Path) -> String {
        let inside = self
            .project
            .as_ref()
            .and_then(|project| project.relative_path(file));
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

/// Passes on the record and links of a note that we wrote ourselves.
fn emit_own_note(
    sink: &mut ItemSink<'_>,
    place: &str,
    line: &Value,
    front: &Map<String, Value>,
    text: &str,
) -> Result<(), ImportError> {
    let Some(carrier) = line.as_object() else {
        return sink.refuse(
            place,
            format!("the note's `{CARRIER_FIELD}` is not a record of an export; rename that field"),
        );
    };
    let mut carrier = carrier.clone();
    carrier.insert("text".to_owned(), json!(text));
    let links = front.get("links").cloned();
    carrier.insert("links".to_owned(), links.unwrap_or_default());
    let tags = front.get("tags").map(|tags| json!(parse_words(Some(tags))));
    let is_retagged = tags.filter(|tags| carrier.get("tags") != Some(tags));
    match CarriedRecord::parse_carrier(Value::Object(carrier)) {
        Ok(mut carried) => {
            if let Some(tags) = is_retagged {
                carried.replace_tags(parse_words(Some(&tags)));
            }
            sink.emit_carried(place, carried)
        }
        Err(why) => sink.refuse(place, format!("the note is not from an export: {why}")),
    }
}

fn read_text(file: &Path) -> Result<String, String> {
    let bytes = match read_if_exists(file, NOTE_BYTES_MAX) {
        Ok(bytes) => bytes.ok_or("the note is gone")?,
        Err(FileError::TooLarge { .. }) => {
            return Err(format!(
                "the note is longer than {NOTE_BYTES_MAX} bytes; split it"
            ));
        }
        Err(error) => return Err(error.to_string()),
    };
    if let Some(text) = decode_utf16(&bytes) {
        return Ok(text);
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1))
}

/// Returns the id of a piece, from its path, headings and text.
fn piece_external_id(path: &str, headings: &[String], key: &str) -> ExternalId {
    let below = headings
        .last()
        .and_then(|heading| normalize_tag(heading))
        .unwrap_or_default();
    let key = hex_id(&[&headings.join("\n"), key]);
    let whole = format!("{path}#{below}@{}", &key[..8]);
    let fits = whole.len() <= IDENTIFIER_BYTES_MAX;
    ExternalId::new(
        ExternalId::NOTES,
        if fits { whole } else { hex_id(&[path, &key]) },
    )
}

fn join_breadcrumbs(title: &str, headings: &[String]) -> String {
    let mut crumbs: Vec<&str> = vec![title];
    crumbs.extend(headings.iter().map(String::as_str));
    crumbs.dedup();
    crumbs.join(" > ")
}

/// Returns a value of front matter as text.
fn scalar_text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| scalar_text(Some(item)));
            items.collect::<Vec<_>>().join(", ")
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Parses tags, which are a list or one text with commas.
fn parse_words(value: Option<&Value>) -> Vec<String> {
    let words = match value {
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| scalar_text(Some(item)))
            .collect(),
        _ => Vec::new(),
    };
    let words = words
        .iter()
        .map(|word| word.trim().trim_start_matches('#').to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

fn set_time_of_file(record: &mut NewRecord, file: &Path) {
    let changed = fs_err::metadata(file).and_then(|metadata| metadata.modified());
    if let Ok(changed) = changed {
        record.timestamp = Some(changed.into());
        record.metadata.insert("ts_from".to_owned(), json!("file"));
    }
}

/// Normalizes the name of a note.
fn fold_name(name: &str) -> String {
    let name = name.replace("::", "/");
    normalize_tag(name.trim_start_matches("memory://"))
        .unwrap_or_default()
        .replace('_', "-")
}

/// Finds the paths that a file of instructions imports by `@path`, outside of code.
fn find_imports(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut paths_found = Vec::new();
    let mut in_code = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(span) if !in_code => {
                let words = span
                    .split_whitespace()
                    .filter_map(|word| word.strip_prefix('@'));
                let paths = words.map(|word| word.trim_end_matches([',', '.', ')', ';', ':']));
                paths_found.extend(
                    paths
                        .filter(|path| is_note(Path::new(path)))
                        .map(str::to_owned),
                );
            }
            _ => {}
        }
    }
    paths_found
}
