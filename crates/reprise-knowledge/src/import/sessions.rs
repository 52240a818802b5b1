//! Sessions of agents' programs, and conversations of chats, as records of what was said and done.
//! Each file is read as a stream; what cannot be read costs itself only.

mod chats;
mod forms;
mod stores;
mod tell;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read};

use super::ImportKind;
use super::json::whole;
use crate::prelude::*;
use forms::{Form, HELPER, Speaker};
use tell::{Source, Teller};

/// Folders that are gone down into for sessions, and files that are read of one source.
pub(super) const DEPTH_MAX: u32 = 8;
const FILES_MAX: usize = 1_000_000;
/// Lines of a file that are looked at to tell whose it is.
const LINES_LOOKED_AT: usize = 20;
/// Bytes of a file that are read for that.
const LOOKED_AT_BYTES_MAX: u64 = 4 << 20;
/// The kinds whose files of lines are known by what stands in them.
const OF_LINES: [ImportKind; 3] = [
    ImportKind::ClaudeCode,
    ImportKind::Codex,
    ImportKind::Gemini,
];
/// Files of a folder whose names are looked at to tell what it is.
const LOOKED_AT_MAX: usize = 20_000;
/// Messages of one session of Gemini CLI, which writes some of them anew.
const MESSAGES_MAX: usize = 200_000;
/// Most bytes that a compressed rollout has when it is whole.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Whether a file is one of a kind's by its name and place.
fn is_named(kind: ImportKind, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = |ending: &str| name.ends_with(ending);
    let below = |folder: &str| file.iter().any(|part| part == folder);
    match kind {
        // A memory is no session.
        ImportKind::ClaudeCode => ends(".jsonl") && below("projects") && !below("memory"),
        ImportKind::Codex => name.starts_with("rollout-") && (ends(".jsonl") || ends(".jsonl.zst")),
        ImportKind::Gemini => {
            name.starts_with("session-") && below("chats") && (ends(".jsonl") || ends(".json"))
        }
        // Older versions had a file for each session, message and part.
        ImportKind::Opencode => {
            let is_session = name.starts_with("ses") && ends(".json") && below("session");
            name == "opencode.db" || is_session && below("storage")
        }
        ImportKind::Cursor => name == "state.vscdb",
        ImportKind::Chatgpt | ImportKind::ClaudeAi => chats::is_of_conversations(&name),
        _ => false,
    }
}

/// Where the sessions of a kind stand in a home directory.
pub fn session_places(kind: ImportKind) -> &'static [&'static str] {
    match kind {
        ImportKind::ClaudeCode => &[".claude/projects"],
        ImportKind::Codex => &[".codex/sessions"],
        ImportKind::Gemini => &[".gemini/tmp"],
        ImportKind::Opencode => &[
            ".local/share/opencode/opencode.db",
            ".local/share/opencode/storage",
        ],
        ImportKind::Cursor => &[
            ".config/Cursor/User/globalStorage/state.vscdb",
            "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
        ],
        _ => &[],
    }
}

/// The kind of a folder, by the first file of a session in it.
pub(super) fn of_folder(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let (mut first, mut room) = (None, LOOKED_AT_MAX);
    below(path, DEPTH_MAX, &mut |file| {
        room -= 1;
        let all = ImportKind::ALL.iter().copied();
        let mut kinds = all.filter(|kind| is_named(*kind, file));
        let kind = kinds
            .find(|kind| *kind != ImportKind::ClaudeCode || of_lines(path, file) == Some(*kind));
        first = kind.map(|kind| (kind, file.to_owned()));
        first.is_none() && room > 0
    })?;
    match first {
        Some((ImportKind::Chatgpt | ImportKind::ClaudeAi, file)) => chats::kind_of(&file),
        first => Ok(first.map(|(kind, _)| kind)),
    }
}

/// Whose transcripts were copied to a folder, by the first that is found.
pub(super) fn of_copies(path: &Path, depth: u32) -> Result<Option<ImportKind>, ImportError> {
    let (mut kind, mut room) = (None, LOOKED_AT_MAX);
    below(path, depth, &mut |file| {
        room -= 1;
        kind = of_lines(path, file);
        kind.is_none() && room > 0
    })?;
    Ok(kind)
}

/// Whose transcript a file of lines below a folder is, whatever their names are. A memory is no
/// session.
fn of_lines(folder: &Path, file: &Path) -> Option<ImportKind> {
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let is_lines = file.extension().is_some_and(|ending| ending == "jsonl");
    if !is_lines || inside.iter().any(|part| part == "memory") {
        return None;
    }
    let beginning = open_path(file, Access::Read)
        .ok()?
        .take(LOOKED_AT_BYTES_MAX);
    let mut objects = Lines::new(BufReader::new(beginning), LINE_BYTES_MAX)
        .take(LINES_LOOKED_AT)
        .filter_map(|line| object(&line.ok()?.1.ok()?).ok());
    let kind = objects.find_map(|object| of_object(&object));
    kind.filter(|kind| OF_LINES.contains(kind))
}

/// The kind of a file that is no database, by its beginning.
pub(super) fn of_file(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".jsonl.zst") && name.starts_with("rollout-") {
        return Ok(Some(ImportKind::Codex));
    }
    chats::kind_of(path)
}

/// The kind of a line.
pub(super) fn of_object(object: &Map<String, Value>) -> Option<ImportKind> {
    let has = |name: &str| object.contains_key(name);
    if has("sessionId") && has("projectHash") {
        return Some(ImportKind::Gemini);
    }
    if text(object, "type") == Some("session_meta") && has("payload") {
        return Some(ImportKind::Codex);
    }
    if has("sessionId") && has("type") && (has("uuid") || has("operation")) {
        return Some(ImportKind::ClaudeCode);
    }
    chats::of_object(object)
}

pub(super) fn read(
    path: &Path,
    kind: ImportKind,
    giver: &mut Giver<'_>,
) -> Result<(), ImportError> {
    let Some(form) = Form::of(kind) else {
        return Ok(());
    };
    let all = if path.is_dir() {
        files(path, kind)?
    } else {
        vec![path.to_owned()]
    };
    if all.is_empty() {
        return Err(ImportError::NotOfKind {
            path: path.to_owned(),
            kind: "sessions",
            why: format!("there is no file of {kind} below it"),
        });
    }
    let source = &mut Source {
        kind,
        form,
        projects: BTreeMap::new(),
    };
    for file in all {
        // What a helper was told its agent wrote; what it did belongs to the session of its agent.
        let is_helpers = is_helpers(kind, &file);
        source.form = if is_helpers { &HELPER } else { form };
        let done = match kind {
            ImportKind::Opencode if file.extension().is_some_and(|ending| ending == "json") => {
                stores::opencode_files(&file, source, giver)
            }
            ImportKind::Opencode => stores::opencode(&file, source, giver),
            ImportKind::Cursor => stores::cursor(&file, source, giver),
            ImportKind::Gemini => gemini(&file, source, giver),
            ImportKind::Chatgpt | ImportKind::ClaudeAi => chats::read(&file, source, giver),
            _ => lines(&file, source, giver),
        };
        match done {
            Err(ImportError::Stopped) => return Err(ImportError::Stopped),
            Err(error) => {
                let name = giver.name(&file);
                giver.refuse(&name, error.to_string())?;
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

/// The files of a kind below a folder, in one order.
fn files(folder: &Path, kind: ImportKind) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    let is_of_lines = OF_LINES.contains(&kind);
    below(folder, DEPTH_MAX, &mut |file| {
        if is_named(kind, file) || is_of_lines && of_lines(folder, file) == Some(kind) {
            found.push(file.to_owned());
        }
        found.len() < FILES_MAX
    })?;
    // Of a rollout that is there twice the plain one counts.
    let plain: HashSet<PathBuf> = found.iter().cloned().collect();
    found.retain(|file| {
        file.extension().is_none_or(|ending| ending != "zst")
            || !plain.contains(&file.with_extension(""))
    });
    Ok(found)
}

/// Every file below a folder, in one order, to `each`, which answers whether to go on; no link is
/// followed, and a folder that may not be read hides its own files only.
pub(crate) fn below(
    folder: &Path,
    depth: u32,
    each: &mut dyn FnMut(&Path) -> bool,
) -> Result<bool, ImportError> {
    let mut entries = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.path(), entry.file_type()?));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, file_type) in entries {
        let goes_on = if file_type.is_dir() && depth > 0 {
            below(&path, depth - 1, each).unwrap_or(true)
        } else {
            !file_type.is_file() || each(&path)
        };
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The lines of a transcript or rollout, unpacked where it is packed.
fn open(file: &Path) -> Result<Lines<Box<dyn BufRead>>, ImportError> {
    let opened = open_path(file, Access::Read)?;
    let is_packed = file.extension().is_some_and(|ending| ending == "zst");
    let reader: Box<dyn BufRead> = if is_packed {
        let unpacked = zstd::Decoder::new(opened)?.take(UNPACKED_BYTES_MAX);
        Box::new(BufReader::new(unpacked))
    } else {
        Box::new(BufReader::new(opened))
    };
    Ok(Lines::new(reader, LINE_BYTES_MAX))
}

/// Whether a file is of a helper of Claude Code.
fn is_helpers(kind: ImportKind, file: &Path) -> bool {
    kind == ImportKind::ClaudeCode && file.iter().any(|part| part == "subagents")
}

/// Claude Code's and Codex' files: an object a line, in the order of what happened.
fn lines(file: &Path, source: &mut Source, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let form = source.form;
    let mut dead = match source.kind {
        ImportKind::ClaudeCode if !is_helpers(source.kind, file) => rewound(file, form)?,
        _ => HashSet::new(),
    };
    let name = giver.name(file);
    let stem = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    let mut teller = Teller::new(source, stem);
    let mut is_first = true;
    for line in open(file)? {
        let (number, line) = line?;
        let place = format!("{name}:{number}");
        let value = match line.and_then(|line| object(&line)) {
            Ok(object) => Value::Object(object),
            Err(why) => {
                giver.refuse(&place, why)?;
                continue;
            }
        };
        let own = |key: &str| value[key].as_str();
        if own("parentUuid").is_some_and(|parent| dead.contains(parent))
            || own("uuid").is_some_and(|own| dead.contains(own))
        {
            dead.extend(own("uuid").map(str::to_owned));
            continue;
        }
        if std::mem::take(&mut is_first) {
            let mut places = form.session.iter();
            let named = places.find_map(|place| value.pointer(place)?.as_str());
            named.unwrap_or(stem).clone_into(&mut teller.session);
        }
        teller.line(giver, &place, &value)?;
    }
    teller.flush(giver)
}

/// Prompts of Claude Code that were taken back: one with the same parent came after it.
fn rewound(file: &Path, form: &Form) -> Result<HashSet<String>, ImportError> {
    let (mut last, mut dead) = (HashMap::new(), HashSet::new());
    for line in open(file)? {
        let Ok(object) = line?.1.and_then(|line| object(&line)) else {
            continue;
        };
        let value = Value::Object(object);
        let is_prompt = form
            .line(&value)
            .is_some_and(|line| line.speaker == Speaker::Person)
            && !value
                .pointer("/message/content/0/tool_use_id")
                .is_some_and(Value::is_string);
        let (Some(parent), Some(own)) = (value["parentUuid"].as_str(), value["uuid"].as_str())
        else {
            continue;
        };
        if is_prompt {
            dead.extend(last.insert(parent.to_owned(), own.to_owned()));
        }
    }
    Ok(dead)
}

/// A session of Gemini CLI, which writes a message anew under its id, cuts back to one, and puts
/// others in the place of all.
fn gemini(file: &Path, source: &mut Source, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let name = giver.name(file);
    let stem = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (mut session, mut messages) = (stem, Messages::default());
    if file.extension().is_some_and(|ending| ending == "json") {
        // As older versions wrote it: one document.
        let read: Value = match serde_json::from_slice(&whole(file)?) {
            Ok(read) => read,
            Err(error) => return giver.refuse(&name, format!("it is no JSON: {error}")),
        };
        session = read["sessionId"].as_str().map_or(session, str::to_owned);
        messages.replace(&read["messages"], 0);
    } else {
        for line in open(file)? {
            let (number, line) = line?;
            let value = match line.and_then(|line| object(&line)) {
                Ok(object) => Value::Object(object),
                Err(why) => {
                    giver.refuse(&format!("{name}:{number}"), why)?;
                    continue;
                }
            };
            if let Some(named) = value["sessionId"].as_str() {
                named.clone_into(&mut session);
            }
            if let Some(back) = value["$rewindTo"].as_str() {
                messages.cut(back);
            } else if value["$set"]["messages"].is_array() {
                messages.replace(&value["$set"]["messages"], number);
            } else if value["id"].is_string() {
                messages.put(number, value);
            }
            if messages.list.len() > MESSAGES_MAX {
                return giver.refuse(&name, format!("it has more than {MESSAGES_MAX} messages"));
            }
        }
    }
    let mut teller = Teller::new(source, &session);
    if let Some(cwd) = folder_of(file) {
        teller.stands_in(&cwd);
    }
    for (number, value) in messages.list {
        teller.line(giver, &format!("{name}:{number}"), &value)?;
    }
    teller.flush(giver)
}

/// Messages in their order, each under its id.
#[derive(Default)]
struct Messages {
    list: Vec<(u64, Value)>,
    places: BTreeMap<String, usize>,
}

impl Messages {
    fn put(&mut self, number: u64, value: Value) {
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        let next = self.list.len();
        let place = *self.places.entry(id).or_insert(next);
        match self.list.get_mut(place) {
            Some(slot) => *slot = (number, value),
            None => self.list.push((number, value)),
        }
    }

    fn replace(&mut self, all: &Value, number: u64) {
        (self.list, self.places) = Default::default();
        for value in all.as_array().into_iter().flatten() {
            self.put(number, value.clone());
        }
    }

    fn cut(&mut self, back: &str) {
        if let Some(place) = self.places.get(back).copied() {
            self.list.truncate(place + 1);
            self.places.retain(|_, at| *at <= place);
        }
    }
}

/// The folder of a project of Gemini CLI, by the name that `projects.json` gives it.
fn folder_of(file: &Path) -> Option<String> {
    let project = file.parent()?.parent()?;
    let home = project.parent()?.parent()?;
    let known: Value = serde_json::from_slice(&whole(&home.join("projects.json")).ok()?).ok()?;
    let name = project.file_name()?.to_str()?;
    let mut all = known["projects"].as_object()?.iter();
    all.find_map(|(folder, of)| (of == name).then(|| folder.clone()))
}
