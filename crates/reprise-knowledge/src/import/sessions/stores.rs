//! Programs that keep their sessions in a database: `OpenCode` and Cursor.

use std::io;

use super::super::json::whole;
use super::super::sqlite::Database;
use super::tell::{Source, Teller};
use crate::prelude::*;

/// Files of one session, or of one message, that are read.
const FILES_MAX: usize = 100_000;

fn parsed(row: &Map<String, Value>, name: &str) -> Value {
    let text = text(row, name).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// One line of the form of rows.
fn turn(role: &Value, id: &Value, at: &Value, block: &Value) -> Value {
    json!({ "role": role, "id": id, "at": at, "block": block })
}

/// `opencode.db`: a row for each part of a message.
pub(super) fn opencode(
    file: &Path,
    source: &mut Source,
    giver: &mut Giver<'_>,
) -> Result<(), ImportError> {
    let database = Database::with(file, "part", "sessions")?;
    let mut sessions = Vec::new();
    let all = "SELECT id, directory FROM session WHERE parent_id IS NULL ORDER BY time_created, id";
    database.rows(all, [], |row| {
        let own = |name: &str| text(row, name).unwrap_or_default().to_owned();
        sessions.push((own("id"), own("directory")));
        Ok(())
    })?;
    let parts = "SELECT part.id AS part, message.id AS id, message.data AS message, \
         part.data AS block, part.time_created AS at \
         FROM part JOIN message ON message.id = part.message_id \
         WHERE part.session_id = ? ORDER BY message.time_created, message.id, part.id";
    for (session, folder) in sessions {
        let mut teller = Teller::new(source, &session);
        teller.stands_in(&folder);
        database.rows(parts, [&session], |row| {
            let place = format!("part {}", text(row, "part").unwrap_or_default());
            let block = parsed(row, "block");
            if block.is_null() {
                return giver.refuse(&place, "its data is no JSON");
            }
            let (id, at) = (json!(row.get("id")), json!(row.get("at")));
            let turn = turn(&parsed(row, "message")["role"], &id, &at, &block);
            teller.line(giver, &place, &turn)
        })?;
        teller.flush(giver)?;
    }
    Ok(())
}

/// A session as older versions of `OpenCode` kept it: `session/PROJECT/SESSION.json`, beside it
/// `message/SESSION/MESSAGE.json` and `part/MESSAGE/PART.json`, whose names sort by their times.
pub(super) fn opencode_files(
    file: &Path,
    source: &mut Source,
    giver: &mut Giver<'_>,
) -> Result<(), ImportError> {
    let name = giver.name(file);
    let read = |file: &Path| -> Result<Value, ImportError> {
        let read = serde_json::from_slice(&whole(file)?);
        Ok(read.map_err(io::Error::other)?)
    };
    let session = read(file)?;
    let own = |name: &str| session[name].as_str().unwrap_or_default();
    // A helper's session has its agent's above it.
    if session["parentID"].is_string() {
        return Ok(());
    }
    let storage = file.ancestors().nth(3).unwrap_or(file);
    let mut teller = Teller::new(source, own("id"));
    teller.stands_in(own("directory"));
    for message in files_of(&storage.join("message"), own("id"))? {
        let told = match read(&message) {
            Ok(told) => told,
            Err(error) => {
                let place = giver.name(&message);
                giver.refuse(&place, error.to_string())?;
                continue;
            }
        };
        let id = told["id"].as_str().unwrap_or_default();
        for part in files_of(&storage.join("part"), id)? {
            let place = format!("{name} {}", part.file_name().unwrap_or_default().display());
            match read(&part) {
                Ok(block) => {
                    let at = &told["time"]["created"];
                    let turn = turn(&told["role"], &told["id"], at, &block);
                    teller.line(giver, &place, &turn)?;
                }
                Err(error) => giver.refuse(&place, error.to_string())?,
            }
        }
    }
    teller.flush(giver)
}

/// The documents of a session or message by their names, most of them; none where it has no folder
/// among these. An id that leads elsewhere is none.
fn files_of(all: &Path, id: &str) -> io::Result<Vec<PathBuf>> {
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

/// Cursor's `state.vscdb`: a composer names its bubbles in their order.
pub(super) fn cursor(
    file: &Path,
    source: &mut Source,
    giver: &mut Giver<'_>,
) -> Result<(), ImportError> {
    let database = Database::with(file, "cursorDiskKV", "sessions")?;
    let mut composers = Vec::new();
    let all = "SELECT key, CAST(value AS TEXT) AS value FROM cursorDiskKV \
         WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key";
    database.rows(all, [], |row| {
        let key = text(row, "key").unwrap_or_default().to_owned();
        let data = parsed(row, "value");
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
        let mut teller = Teller::new(source, &session);
        let mut told = inside;
        for bubble in bubbles {
            let name = format!("bubbleId:{session}:{bubble}");
            database.rows(one, [&name], |row| {
                told.push(parsed(row, "value"));
                Ok(())
            })?;
        }
        for (number, bubble) in told.iter().enumerate() {
            let role = match bubble["type"].as_u64() {
                Some(1) => "user",
                Some(2) => "assistant",
                _ => continue,
            };
            let at = ["/createdAt", "/timingInfo/clientStartTime"];
            let at = at.iter().find_map(|place| bubble.pointer(place));
            let at = at.unwrap_or(&created);
            let turn = turn(&json!(role), &bubble["bubbleId"], at, &bubble["text"]);
            teller.line(giver, &format!("{key} turn {}", number + 1), &turn)?;
        }
        teller.flush(giver)?;
    }
    Ok(())
}
