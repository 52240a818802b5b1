//! Reads sessions of coding agents, and conversations of chats, as records of what was said and
//! done. Each file is read as a stream; a broken part is refused and the rest is read.

mod chats;
mod copies;
mod forms;
mod recorder;
mod stores;
#[cfg(test)]
mod tests;
mod trajectories;
mod turn;

use std::io::{BufRead, BufReader, Read};

use super::ImportKind;
use super::json::read_whole;
use crate::prelude::*;
use copies::{CopiedRows, find_imported_elsewhere, put_originals_first};
use forms::{CODEX_SUBAGENT, CURSOR_TRANSCRIPT, GEMINI_SUBAGENT, HELPER, SessionFormat, Speaker};
use recorder::{SessionRecorder, SessionSource};
use reprise_types::limits::IDENTIFIER_BYTES_MAX;
pub use turn::SessionTurn;

/// Most nested folders that are searched for sessions.
pub(super) const DEPTH_MAX: u32 = 8;
const FILES_MAX: usize = 1_000_000;
/// Lines of a file that are examined to recognise its kind.
const LINES_LOOKED_AT: usize = 20;
/// Bytes of a file that are read to recognise its kind.
const LOOKED_AT_BYTES_MAX: u64 = 4 << 20;
/// The kinds whose files of lines are recognised by their content.
const OF_LINES: [ImportKind; 5] = [
    ImportKind::ClaudeCode,
    ImportKind::Codex,
    ImportKind::Gemini,
    ImportKind::Copilot,
    ImportKind::Cursor,
];
/// Longest name of a session; the names of its rows begin with it.
const SESSION_NAME_BYTES_MAX: usize = IDENTIFIER_BYTES_MAX / 2;
/// Name of the file of a session of Copilot CLI, whose folder is named after the session.
const COPILOT_FILE: &str = "events.jsonl";
/// Files of a folder whose names are examined to recognise its kind.
const LOOKED_AT_MAX: usize = 20_000;
/// Most messages of one session of Gemini CLI, which writes some of them again.
const MESSAGES_MAX: usize = 200_000;
/// Most bytes of a rollout after decompression.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Whether a file is a session of a kind by its path.
fn has_session_name(kind: ImportKind, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = |ending: &str| name.ends_with(ending);
    let below = |folder: &str| file.iter().any(|part| part == folder);
    match kind {
        // The memory of Claude Code is no session.
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
        // The prompts of a subagent come from its agent.
        ImportKind::Cursor => {
            let is_transcript = ends(".jsonl") && below("agent-transcripts");
            name == "state.vscdb" || is_transcript && !below("subagents")
        }
        ImportKind::Copilot => name == COPILOT_FILE && below("session-state"),
        ImportKind::Chatgpt | ImportKind::ClaudeAi => chats::is_conversations_file(&name),
        ImportKind::Trajectory => trajectories::is_trajectory_name(&name),
        _ => false,
    }
}

/// Returns the paths of the sessions of a kind in a home directory.
pub fn default_session_locations(kind: ImportKind) -> &'static [&'static str] {
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
            ".cursor/projects",
        ],
        ImportKind::Copilot => &[".copilot/session-state"],
        _ => &[],
    }
}

/// Recognises the kind of a folder, by the first file of a session in it.
pub(super) fn recognise_folder(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let (mut first, mut room) = (None, LOOKED_AT_MAX);
    visit_files(path, DEPTH_MAX, &mut |file| {
        room -= 1;
        let all = ImportKind::ALL.iter().copied();
        let mut kinds = all.filter(|kind| has_session_name(*kind, file));
        let kind = kinds.find(|kind| {
            *kind != ImportKind::ClaudeCode || recognise_transcript(path, file) == Some(*kind)
        });
        first = kind.map(|kind| (kind, file.to_owned()));
        first.is_none() && room > 0
    })?;
    match first {
        Some((ImportKind::Chatgpt | ImportKind::ClaudeAi, file)) => chats::recognise_export(&file),
        first => Ok(first.map(|(kind, _)| kind)),
    }
}

/// Recognises the kind of transcripts that were copied to a folder, by the first one.
pub(super) fn recognise_folder_of_transcripts(
    path: &Path,
    depth: u32,
) -> Result<Option<ImportKind>, ImportError> {
    let (mut kind, mut room) = (None, LOOKED_AT_MAX);
    visit_files(path, depth, &mut |file| {
        room -= 1;
        kind = recognise_transcript(path, file);
        kind.is_none() && room > 0
    })?;
    Ok(kind)
}

/// Recognises the kind of a file of lines by its content. The memory of Claude Code is no session.
fn recognise_transcript(folder: &Path, file: &Path) -> Option<ImportKind> {
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let is_lines = file.extension().is_some_and(|ending| ending == "jsonl");
    if !is_lines || inside.iter().any(|part| part == "memory") {
        return None;
    }
    let beginning = open_path(file, OpenMode::Read)
        .ok()?
        .take(LOOKED_AT_BYTES_MAX);
    let mut objects = LineReader::new(BufReader::new(beginning), LINE_BYTES_MAX)
        .take(LINES_LOOKED_AT)
        .filter_map(|line| Some(parse_json_line(&line.ok()?.1.ok()?).objects))
        .flatten();
    let kind = objects.find_map(|object| recognise_object(&object));
    // The prompts of a subagent of Cursor come from its agent.
    let is_helper = || inside.iter().any(|part| part == "subagents");
    kind.filter(|kind| OF_LINES.contains(kind) && !(*kind == ImportKind::Cursor && is_helper()))
}

/// Recognises the kind of a file that is no database, by its beginning.
pub(super) fn recognise_file(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".jsonl.zst") && name.starts_with("rollout-") {
        return Ok(Some(ImportKind::Codex));
    }
    chats::recognise_export(path)
}

/// Recognises the kind of a line.
pub(super) fn recognise_object(object: &Map<String, Value>) -> Option<ImportKind> {
    let has = |name: &str| object.contains_key(name);
    if has("sessionId") && has("projectHash") {
        return Some(ImportKind::Gemini);
    }
    if non_blank_text(object, "type") == Some("session_meta") && has("payload") {
        return Some(ImportKind::Codex);
    }
    if non_blank_text(object, "type") == Some("session.start") && has("data") {
        return Some(ImportKind::Copilot);
    }
    if has("sessionId") && has("type") && (has("uuid") || has("operation")) {
        return Some(ImportKind::ClaudeCode);
    }
    let is_turn = matches!(non_blank_text(object, "role"), Some("user" | "assistant"));
    if object.len() == 2 && is_turn && object.get("message").is_some_and(Value::is_object) {
        return Some(ImportKind::Cursor);
    }
    if trajectories::is_trajectory(object) {
        return Some(ImportKind::Trajectory);
    }
    chats::recognise_conversation(object)
}

pub(super) fn read(
    path: &Path,
    kind: ImportKind,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let Some(form) = SessionFormat::find_for_kind(kind) else {
        return Ok(());
    };
    let all = if path.is_dir() {
        list_session_files(path, kind)?
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
    let source = &mut SessionSource {
        kind,
        form,
        projects: BTreeMap::new(),
        copied: CopiedRows::default(),
    };
    for file in all {
        // The prompts of a helper come from its agent; its work belongs to the session of its
        // agent.
        let is_helpers = is_helper_file(kind, &file);
        source.form = if is_helpers { &HELPER } else { form };
        let done = match kind {
            ImportKind::Opencode if file.extension().is_some_and(|ending| ending == "json") => {
                stores::read_opencode_files(&file, source, sink)
            }
            ImportKind::Opencode => stores::read_opencode(&file, source, sink),
            ImportKind::Cursor if file.extension().is_some_and(|ending| ending == "jsonl") => {
                source.form = &CURSOR_TRANSCRIPT;
                read_lines(&file, source, sink)
            }
            ImportKind::Cursor => stores::read_cursor(&file, source, sink),
            ImportKind::Gemini => read_gemini(&file, source, sink),
            ImportKind::Chatgpt | ImportKind::ClaudeAi => chats::read(&file, source, sink),
            ImportKind::Trajectory => trajectories::read(&file, source, sink),
            _ => read_lines(&file, source, sink),
        };
        match done {
            Err(ImportError::Stopped) => return Err(ImportError::Stopped),
            Err(error) => {
                let name = sink.place_name(&file);
                sink.refuse(&name, error.to_string())?;
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Lists the session files of a kind below a folder, in a fixed order.
fn list_session_files(folder: &Path, kind: ImportKind) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    let is_of_lines = OF_LINES.contains(&kind);
    visit_files(folder, DEPTH_MAX, &mut |file| {
        if has_session_name(kind, file)
            || is_of_lines && recognise_transcript(folder, file) == Some(kind)
        {
            found.push(file.to_owned());
        }
        found.len() < FILES_MAX
    })?;
    if kind == ImportKind::Codex {
        let imported = find_imported_elsewhere(folder);
        found.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            !imported.iter().any(|id| name.contains(id.as_str()))
        });
    }
    if kind == ImportKind::ClaudeCode {
        put_originals_first(&mut found);
    }
    // If a rollout is there twice, the uncompressed one is read.
    let plain: HashSet<PathBuf> = found.iter().cloned().collect();
    found.retain(|file| {
        file.extension().is_none_or(|ending| ending != "zst")
            || !plain.contains(&file.with_extension(""))
    });
    Ok(found)
}

/// Passes every file below a folder to `each`, in a fixed order; `each` returns whether to go on.
/// No link is followed, and an unreadable folder is skipped.
pub(crate) fn visit_files(
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
            visit_files(&path, depth - 1, each).unwrap_or(true)
        } else {
            !file_type.is_file() || each(&path)
        };
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Opens the lines of a transcript or rollout, and decompresses it if necessary.
fn open_lines(file: &Path) -> Result<LineReader<Box<dyn BufRead>>, ImportError> {
    let opened = open_path(file, OpenMode::Read)?;
    let is_packed = file.extension().is_some_and(|ending| ending == "zst");
    let reader: Box<dyn BufRead> = if is_packed {
        let unpacked = zstd::Decoder::new(opened)?.take(UNPACKED_BYTES_MAX);
        Box::new(BufReader::new(unpacked))
    } else {
        Box::new(BufReader::new(opened))
    };
    Ok(LineReader::new(reader, LINE_BYTES_MAX))
}

/// Whether a file is a session of a helper (subagent) of Claude Code.
fn is_helper_file(kind: ImportKind, file: &Path) -> bool {
    kind == ImportKind::ClaudeCode && file.iter().any(|part| part == "subagents")
}

/// Reads files of Claude Code, Codex, Copilot CLI and Cursor: an object a line, in chronological
/// order.
fn read_lines(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let form = source.form;
    let mut dead = match source.kind {
        ImportKind::ClaudeCode if !is_helper_file(source.kind, file) => find_rewound(file, form)?,
        _ => HashSet::new(),
    };
    let name = sink.place_name(file);
    let of_session = match source.kind {
        ImportKind::Copilot => file.parent().unwrap_or(file),
        _ => file,
    };
    let stem = of_session.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    let mut recorder = SessionRecorder::new(source, stem);
    if form.at.is_empty() {
        recorder.set_time_of_file(file);
    }
    let mut is_first = true;
    recorder.source.copied.begin_file();
    for line in open_lines(file)? {
        let (number, line) = line?;
        let place = format!("{name}:{number}");
        for object in sink.read_objects_of_line(&place, line)? {
            let value = Value::Object(object);
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
                let named = named.filter(|name| is_session_name(name));
                named.unwrap_or(stem).clone_into(&mut recorder.session);
            }
            let from = value.pointer("/payload/thread_source");
            if from.is_some_and(|from| from == "subagent")
                || value.pointer("/payload/source/subagent").is_some()
            {
                recorder.source.form = &CODEX_SUBAGENT;
            }
            if !recorder.source.copied.is_copy(&recorder.session, &value) {
                recorder.add_line(sink, &place, &value)?;
            }
        }
    }
    recorder.emit_pending(sink)
}

/// Finds the prompts of Claude Code that were rewound: a later one has the same parent.
fn find_rewound(file: &Path, form: &SessionFormat) -> Result<HashSet<String>, ImportError> {
    let (mut last, mut dead) = (HashMap::new(), HashSet::new());
    for line in open_lines(file)? {
        let objects = line?.1.map(|line| parse_json_line(&line).objects);
        for value in objects.into_iter().flatten().map(Value::Object) {
            let is_prompt = form
                .find_rule(&value)
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
    }
    Ok(dead)
}

/// Whether a text can name a session, so that every row of it has a name, too. An odd one would
/// cost all rows.
fn is_session_name(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= SESSION_NAME_BYTES_MAX
}

/// Reads a session of Gemini CLI, which may write a message again under its id, rewind to a
/// message, and replace all messages.
fn read_gemini(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let name = sink.place_name(file);
    let stem = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (mut session, mut messages) = (stem, Messages::default());
    let mut is_named = false;
    if file.extension().is_some_and(|ending| ending == "json") {
        // Older versions wrote one document.
        let read: Value = match serde_json::from_slice(&read_whole(file)?) {
            Ok(read) => read,
            Err(error) => return sink.refuse(&name, format!("it is not valid JSON: {error}")),
        };
        let named = read["sessionId"].as_str();
        let named = named.filter(|name| is_session_name(name));
        session = named.map_or(session, str::to_owned);
        messages.replace_all(&read["messages"], 0);
    } else {
        for line in open_lines(file)? {
            let (number, line) = line?;
            for object in sink.read_objects_of_line(&format!("{name}:{number}"), line)? {
                let value = Value::Object(object);
                let named = value["sessionId"].as_str();
                // A later name would be that of another session, or of an odd line.
                if let Some(named) = named.filter(|name| !is_named && is_session_name(name)) {
                    named.clone_into(&mut session);
                    is_named = true;
                }
                if value["kind"] == "subagent" {
                    source.form = &GEMINI_SUBAGENT;
                }
                if let Some(back) = value["$rewindTo"].as_str() {
                    messages.rewind_to(back);
                } else if value["$set"]["messages"].is_array() {
                    messages.replace_all(&value["$set"]["messages"], number);
                } else if messages.is_update(&value) {
                    messages.apply_update(&value);
                } else if value["id"].is_string() {
                    messages.insert(number, value);
                }
            }
            if messages.list.len() > MESSAGES_MAX {
                return sink.refuse(&name, format!("it has more than {MESSAGES_MAX} messages"));
            }
        }
    }
    let mut recorder = SessionRecorder::new(source, &session);
    if let Some(cwd) = find_project_folder(file) {
        recorder.set_folder(&cwd);
    }
    for (number, value) in messages.list {
        recorder.add_line(sink, &format!("{name}:{number}"), &value)?;
    }
    recorder.emit_pending(sink)
}

/// Whether a part of a message says or does anything: a text, or blocks that do.
fn has_words(part: &Value) -> bool {
    match part {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(blocks) => blocks.iter().any(has_words),
        Value::Object(block) => {
            let known = ["text", "name", "functionResponse", "functionCall"];
            known.iter().any(|name| block.contains_key(*name))
        }
        _ => false,
    }
}

/// Messages of a session in their order, by their ids.
#[derive(Default)]
struct Messages {
    list: Vec<(u64, Value)>,
    places: BTreeMap<String, usize>,
}

impl Messages {
    fn insert(&mut self, number: u64, value: Value) {
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        let next = self.list.len();
        let place = *self.places.entry(id).or_insert(next);
        match self.list.get_mut(place) {
            Some(slot) => {
                let before = std::mem::replace(slot, (number, value)).1;
                // An older or a damaged state of the message takes nothing away.
                for name in ["content", "toolCalls"] {
                    if has_words(&before[name]) && !has_words(&slot.1[name]) {
                        slot.1[name] = before[name].clone();
                    }
                }
            }
            None => self.list.push((number, value)),
        }
    }

    /// Whether a line changes parts of a message and is no message of its own.
    fn is_update(&self, value: &Value) -> bool {
        let is_known = value["id"]
            .as_str()
            .is_some_and(|id| self.places.contains_key(id));
        // A line without a type of its own is no whole message either.
        let is_part = value["content"].is_null() || !value["type"].is_string();
        value["type"] == "message_update" || is_known && is_part
    }

    /// Changes the fields that an update names; the others stay as they are.
    fn apply_update(&mut self, update: &Value) {
        let id = update["id"]
            .as_str()
            .or_else(|| update["messageId"].as_str());
        let place = id.and_then(|id| self.places.get(id));
        let Some((_, message)) = place.and_then(|place| self.list.get_mut(*place)) else {
            return;
        };
        let fields = update.as_object().into_iter().flatten();
        let says = |value: &Value| !value.is_null() && value != "";
        for (name, value) in fields.filter(|(name, value)| *name != "type" && says(value)) {
            message[name] = value.clone();
        }
    }

    fn replace_all(&mut self, all: &Value, number: u64) {
        (self.list, self.places) = Default::default();
        for value in all.as_array().into_iter().flatten() {
            self.insert(number, value.clone());
        }
    }

    fn rewind_to(&mut self, back: &str) {
        if let Some(place) = self.places.get(back).copied() {
            self.list.truncate(place + 1);
            self.places.retain(|_, at| *at <= place);
        }
    }
}

/// Finds the folder of a project of Gemini CLI, by its name in `projects.json`.
fn find_project_folder(file: &Path) -> Option<String> {
    let project = file.parent()?.parent()?;
    let home = project.parent()?.parent()?;
    let known: Value =
        serde_json::from_slice(&read_whole(&home.join("projects.json")).ok()?).ok()?;
    let name = project.file_name()?.to_str()?;
    let mut all = known["projects"].as_object()?.iter();
    all.find_map(|(folder, of)| (of == name).then(|| folder.clone()))
}
