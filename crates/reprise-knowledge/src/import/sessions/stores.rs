//! Reads sessions of programs that store them in a database: `OpenCode` and Cursor.

use std::io;

use super::super::json::read_whole;
use super::super::sqlite::Database;
use super::recorder::{SessionRecorder, SessionSource};
use crate::prelude::*;

/// Most files of one session or message that are read.
const FILES_MAX: usize = 100_000;

fn parse_column(row: &Map<String, Value>, name: &str) -> Value {
    let text = non_blank_text(row, name).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// Builds one line of the format of rows.
fn build_turn(role: &Value, id: &Value, at: &Value, block: &Value) -> Value {
    json!({ "role": role, "id": id, "at": at, "block": block })
}

/// Reads `opencode.db`, which has a row for each part of a message.
pub(super) fn read_opencode(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let database = Database::open_with_table(file, "part", "sessions")?;
    let mut sessions = Vec::new();
    let all = "SELECT id, directory FROM session WHERE parent_id IS NULL ORDER BY time_created, id";
    database.for_each_row(all, [], |row| {
        let own = |name: &str| non_blank_text(row, name).unwrap_or_default().to_owned();
        sessions.push((own("id"), own("directory")));
        Ok(())
    })?;
    let parts = "SELECT part.id AS part, message.id AS id, message.data AS message, \
         part.data AS block, part.time_created AS at \
         FROM part JOIN message ON message.id = part.message_id \
         WHERE part.session_id = ? ORDER BY message.time_created, message.id, part.id";
    for (session, folder) in sessions {
        let mut recorder = SessionRecorder::new(source, &session);
        recorder.set_folder(&folder);
        database.for_each_row(parts, [&session], |row| {
            let place = format!("part {}", non_blank_text(row, "part").unwrap_or_default());
            let block = parse_column(row, "block");
            if block.is_null() {
                return sink.refuse(&place, "its data is not valid JSON");
            }
            let (id, at) = (json!(row.get("id")), json!(row.get("at")));
            let turn = build_turn(&parse_column(row, "message")["role"], &id, &at, &block);
            recorder.add_line(sink, &place, &turn)
        })?;
        recorder.emit_pending(sink)?;
    }
    Ok(())
}

/// Reads a session of older versions of `OpenCode`: `session/PROJECT/SESSION.json`, with
/// `message/SESSION/MESSAGE.json` and `part/MESSAGE/PART.json`, whose names sort by their times.
pub(super) fn read_opencode_files(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let name = sink.place_name(file);
    let read = |file: &Path| -> Result<Value, ImportError> {
        let read = serde_json::from_slice(&read_whole(file)?);
        Ok(read.map_err(io::Error::other)?)
    };
    let session = read(file)?;
    let own = |name: &str| session[name].as_str().unwrap_or_default();
    // The session of a helper names that of its agent as parent.
    if session["parentID"].is_string() {
        return Ok(());
    }
    let storage = file.ancestors().nth(3).unwrap_or(file);
    let mut recorder = SessionRecorder::new(source, own("id"));
    recorder.set_folder(own("directory"));
    for message in list_documents(&storage.join("message"), own("id"))? {
        let content = match read(&message) {
            Ok(content) => content,
            Err(error) => {
                let place = sink.place_name(&message);
                sink.refuse(&place, error.to_string())?;
                continue;
            }
        };
        let id = content["id"].as_str().unwrap_or_default();
        for part in list_documents(&storage.join("part"), id)? {
            let place = format!("{name} {}", part.file_name().unwrap_or_default().display());
            match read(&part) {
                Ok(block) => {
                    let at = &content["time"]["created"];
                    let turn = build_turn(&content["role"], &content["id"], at, &block);
                    recorder.add_line(sink, &place, &turn)?;
                }
                Err(error) => sink.refuse(&place, error.to_string())?,
            }
        }
    }
    recorder.emit_pending(sink)
}

/// Lists the documents of a session or message by name, up to a limit; none if it has no folder, or
/// if its id is a path that leads elsewhere.
fn list_documents(all: &Path, id: &str) -> io::Result<Vec<PathBuf>> {
    if Path::new(id).file_name().is_none_or(|name| name != id) {
        return Ok(Vec::new());
    }
    let entries = match fs_err::read_dir(all.join(id)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries.take(FILES_MAX) {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads `state.vscdb` of Cursor, in which a composer lists its bubbles in their order.
pub(super) fn read_cursor(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let database = Database::open_with_table(file, "cursorDiskKV", "sessions")?;
    let mut composers = Vec::new();
    let all = "SELECT key, CAST(value AS TEXT) AS value FROM cursorDiskKV \
         WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key";
    database.for_each_row(all, [], |row| {
        let key = non_blank_text(row, "key").unwrap_or_default().to_owned();
        let data = parse_column(row, "value");
        let heads = data["fullConversationHeadersOnly"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let bubbles = heads.iter().filter_map(|head| head["bubbleId"].as_str());
        let bubbles: Vec<String> = bubbles.map(str::to_owned).collect();
        let inside = data["conversation"].as_array().cloned().unwrap_or_default();
        composers.push((key, data["createdAt"].clone(), bubbles, inside));
        Ok(())
    })?;
    let one = "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?";
    for (key, created, bubbles, inside) in composers {
        let session = key.trim_start_matches("composerData:").to_owned();
        let mut recorder = SessionRecorder::new(source, &session);
        let mut turns = inside;
        for bubble in bubbles {
            let name = format!("bubbleId:{session}:{bubble}");
            database.for_each_row(one, [&name], |row| {
                turns.push(parse_column(row, "value"));
                Ok(())
            })?;
        }
        for (number, bubble) in turns.iter().enumerate() {
            let role = match bubble["type"].as_u64() {
                Some(1) => "user",
                Some(2) => "assistant",
                _ => continue,
            };
            let at = ["/createdAt", "/timingInfo/clientStartTime"];
            let at = at.iter().find_map(|place| bubble.pointer(place));
            let at = at.unwrap_or(&created);
            let turn = build_turn(&json!(role), &bubble["bubbleId"], at, &bubble["text"]);
            recorder.add_line(sink, &format!("{key} turn {}", number + 1), &turn)?;
        }
        recorder.emit_pending(sink)?;
    }
    Ok(())
}
