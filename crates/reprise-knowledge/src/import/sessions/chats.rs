//! Reads exports of chats: `conversations.json` of `ChatGPT` and of claude.ai, in one file or
//! several, alone or in the downloaded ZIP. Only one conversation at a time is in memory.

use std::io::{BufRead, BufReader, Read};

use super::super::ImportKind;
use super::recorder::{SessionRecorder, SessionSource};
use crate::prelude::*;

/// Longest conversation that is read.
const ITEM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most files of one ZIP that are examined.
const ENTRIES_MAX: usize = 100_000;
/// First bytes of a ZIP.
const ZIP: &[u8] = b"PK\x03\x04";
/// The parent of the first message of a conversation of claude.ai.
const NO_PARENT: &str = "00000000-0000-4000-8000-000000000000";

/// Recognises the kind of a conversation.
pub(super) fn recognise_conversation(object: &Map<String, Value>) -> Option<ImportKind> {
    if object.contains_key("mapping") {
        return Some(ImportKind::Chatgpt);
    }
    object
        .contains_key("chat_messages")
        .then_some(ImportKind::ClaudeAi)
}

/// Recognises the kind of a file of conversations, or of a ZIP of them.
pub(super) fn recognise_export(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let mut kind = None;
    for_each_file(path, &mut |_, reader| {
        if kind.is_none() {
            // An unreadable file is of no kind.
            drop(for_each_item(reader, &mut |first| {
                let first = first.unwrap_or_default();
                kind = first.as_object().and_then(recognise_conversation);
                Ok(false)
            }));
        }
        Ok(())
    })?;
    Ok(kind)
}

pub(super) fn read(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let own = sink.place_name(file);
    for_each_file(file, &mut |inside, reader| {
        let name = if inside.is_empty() {
            own.clone()
        } else {
            format!("{own}/{inside}")
        };
        let mut number = 0_u64;
        for_each_item(reader, &mut |item| {
            number += 1;
            let place = format!("{name} item {number}");
            match item {
                Ok(conversation) => read_conversation(&conversation, source, sink, &place)?,
                Err(why) => sink.refuse(&place, why)?,
            }
            Ok(true)
        })
    })
}

/// Passes the file itself, or each file of conversations in a ZIP, to `each`.
fn for_each_file(
    path: &Path,
    each: &mut dyn FnMut(&str, &mut dyn BufRead) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut reader = BufReader::new(open_path(path, OpenMode::Read)?);
    if !reader.fill_buf()?.starts_with(ZIP) {
        return each("", &mut reader);
    }
    let broken = |error: zip::result::ZipError| ImportError::Broken {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let mut archive = zip::ZipArchive::new(reader).map_err(broken)?;
    for number in 0..archive.len().min(ENTRIES_MAX) {
        let entry = archive.by_index(number).map_err(broken)?;
        let name = entry.name().map_err(broken)?.into_owned();
        let last = name.rsplit('/').next().unwrap_or_default();
        if is_conversations_file(last) {
            each(&name, &mut BufReader::new(entry))?;
        }
    }
    Ok(())
}

/// Whether a file is called `conversations.json`, or is one of several such files.
pub(super) fn is_conversations_file(name: &str) -> bool {
    let rest = name.strip_prefix("conversations");
    rest.is_some_and(|rest| rest.strip_suffix(".json").is_some())
}

/// Reads one conversation: the branch with which it ended.
fn read_conversation(
    conversation: &Value,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
    place: &str,
) -> Result<(), ImportError> {
    let named = ["conversation_id", "id", "uuid"];
    let session = named.iter().find_map(|name| conversation[*name].as_str());
    let Some(session) = session else {
        return sink.refuse(place, "the conversation has no id");
    };
    let messages = match source.kind {
        ImportKind::Chatgpt => {
            select_branch(&conversation["mapping"], &conversation["current_node"])
        }
        _ => select_chain(&conversation["chat_messages"]),
    };
    let mut recorder = SessionRecorder::new(source, session);
    for (number, message) in messages.into_iter().enumerate() {
        recorder.add_line(sink, &format!("{place} turn {}", number + 1), message)?;
    }
    recorder.emit_pending(sink)
}

/// Returns the messages of `ChatGPT`'s tree from its current node up, or those of its newest branch
/// if the export does not name a node that it has.
fn select_branch<'a>(mapping: &'a Value, current: &'a Value) -> Vec<&'a Value> {
    let count = mapping.as_object().map_or(0, Map::len);
    let current = current
        .as_str()
        .filter(|current| mapping[*current].is_object());
    let (mut at, mut messages) = (current.or_else(|| newest_node(mapping)), Vec::new());
    // The limit ends a cycle of parents.
    for _ in 0..count {
        let Some(node) = at.and_then(|at| mapping.get(at)) else {
            break;
        };
        messages.extend(node.get("message").filter(|message| message.is_object()));
        at = node["parent"].as_str();
    }
    messages.reverse();
    messages
}

/// Returns the name of the node whose message is the newest; of messages without a time the last.
fn newest_node(mapping: &Value) -> Option<&str> {
    let nodes = mapping.as_object().into_iter().flatten();
    let nodes = nodes.filter(|(_, node)| node["message"]["content"].is_object());
    let time = |node: &Value| node["message"]["create_time"].as_f64().unwrap_or_default();
    let newest = nodes.max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b)));
    newest.map(|(name, _)| name.as_str())
}

/// Returns the messages of claude.ai from the last one up, or all if none names its parent.
fn select_chain(messages: &Value) -> Vec<&Value> {
    let all = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let numbered = all.iter().enumerate();
    let named = numbered.filter_map(|(at, one)| Some((one["uuid"].as_str()?, at)));
    let places: HashMap<&str, usize> = named.collect();
    if !all.iter().any(|one| one["parent_message_uuid"].is_string()) {
        return all.iter().collect();
    }
    let (mut at, mut chain) = (all.len().checked_sub(1), Vec::new());
    for _ in 0..all.len() {
        let Some(message) = at.and_then(|at| all.get(at)) else {
            break;
        };
        chain.push(message);
        let parent = message["parent_message_uuid"].as_str();
        let parent = parent.filter(|parent| *parent != NO_PARENT);
        at = parent.and_then(|parent| places.get(parent).copied());
    }
    chain.reverse();
    chain
}

/// Parses an item, with what a strict parser refuses in it replaced.
fn parse_item(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let repaired = repair_json(&String::from_utf8_lossy(bytes));
    serde_json::from_str(&repaired).map_err(|error| format!("it is not valid JSON: {error}"))
}

/// Passes the items of a list to `each`, one at a time; `each` returns whether to go on. A file
/// that is no list is one item. The error of an item is a sentence.
fn for_each_item(
    reader: &mut dyn BufRead,
    each: &mut dyn FnMut(Result<Value, String>) -> Result<bool, ImportError>,
) -> Result<(), ImportError> {
    let (mut item, mut depth, mut in_text, mut escaped) = (Vec::new(), 0_u32, false, false);
    let (mut is_begun, mut is_long) = (false, false);
    for byte in reader.bytes() {
        let byte = byte?;
        if depth == 0 {
            match byte {
                b'{' => {}
                b'[' if !is_begun => {
                    is_begun = true;
                    continue;
                }
                b']' if is_begun => return Ok(()),
                b',' | 0 | 0xef | 0xbb | 0xbf => continue,
                // An entry that is `null` is left out.
                b'n' | b'u' | b'l' if is_begun => continue,
                byte if byte.is_ascii_whitespace() => continue,
                _ => return each(Err("it is no list of conversations".to_owned())).map(drop),
            }
        }
        is_long |= item.len() == ITEM_BYTES_MAX;
        if !is_long {
            item.push(byte);
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let whole = std::mem::take(&mut item);
            let read = if std::mem::take(&mut is_long) {
                Err(format!(
                    "it is longer than {ITEM_BYTES_MAX} bytes and is left out"
                ))
            } else {
                parse_item(&whole)
            };
            if !each(read)? {
                return Ok(());
            }
        }
    }
    if item.is_empty() {
        return Ok(());
    }
    each(Err("the file is cut here; export it again".to_owned())).map(drop)
}
