//! Exports of chats: `conversations.json` of `ChatGPT` and of claude.ai, in one file or several, by
//! themselves or in the ZIP that came. One conversation is held at a time, whatever the file's
//! size.

use std::io::{BufRead, BufReader, Read};

use super::super::ImportKind;
use super::tell::{Source, Teller};
use crate::prelude::*;

/// Longest conversation that is read.
const ITEM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files of one ZIP that are looked at.
const ENTRIES_MAX: usize = 100_000;
/// How a ZIP begins.
const ZIP: &[u8] = b"PK\x03\x04";
/// The parent of the first message of a conversation of claude.ai.
const NO_PARENT: &str = "00000000-0000-4000-8000-000000000000";

/// The kind of a conversation.
pub(super) fn of_object(object: &Map<String, Value>) -> Option<ImportKind> {
    if object.contains_key("mapping") {
        return Some(ImportKind::Chatgpt);
    }
    object
        .contains_key("chat_messages")
        .then_some(ImportKind::ClaudeAi)
}

/// The kind of a file of conversations, or of a ZIP of them.
pub(super) fn kind_of(path: &Path) -> Result<Option<ImportKind>, ImportError> {
    let mut kind = None;
    each_file(path, &mut |_, reader| {
        if kind.is_none() {
            // What cannot be read is of no kind.
            drop(each_item(reader, &mut |first| {
                let first = first.unwrap_or_default();
                kind = first.as_object().and_then(of_object);
                Ok(false)
            }));
        }
        Ok(())
    })?;
    Ok(kind)
}

pub(super) fn read(
    file: &Path,
    source: &mut Source,
    giver: &mut Giver<'_>,
) -> Result<(), ImportError> {
    let own = giver.name(file);
    each_file(file, &mut |inside, reader| {
        let name = if inside.is_empty() {
            own.clone()
        } else {
            format!("{own}/{inside}")
        };
        let mut number = 0_u64;
        each_item(reader, &mut |item| {
            number += 1;
            let place = format!("{name} item {number}");
            match item {
                Ok(conversation) => one(&conversation, source, giver, &place)?,
                Err(why) => giver.refuse(&place, why)?,
            }
            Ok(true)
        })
    })
}

/// The file itself, or each file of conversations of a ZIP.
fn each_file(
    path: &Path,
    each: &mut dyn FnMut(&str, &mut dyn BufRead) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut reader = BufReader::new(open_path(path, Access::Read)?);
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
        if is_of_conversations(last) {
            each(&name, &mut BufReader::new(entry))?;
        }
    }
    Ok(())
}

/// `conversations.json`, or one of several.
pub(super) fn is_of_conversations(name: &str) -> bool {
    let rest = name.strip_prefix("conversations");
    rest.is_some_and(|rest| rest.strip_suffix(".json").is_some())
}

/// One conversation: the branch that it ended with.
fn one(
    conversation: &Value,
    source: &mut Source,
    giver: &mut Giver<'_>,
    place: &str,
) -> Result<(), ImportError> {
    let named = ["conversation_id", "id", "uuid"];
    let session = named.iter().find_map(|name| conversation[*name].as_str());
    let Some(session) = session else {
        return giver.refuse(place, "the conversation has no id");
    };
    let messages = match source.kind {
        ImportKind::Chatgpt => branch(&conversation["mapping"], &conversation["current_node"]),
        _ => chain(&conversation["chat_messages"]),
    };
    let mut teller = Teller::new(source, session);
    for (number, message) in messages.into_iter().enumerate() {
        teller.line(giver, &format!("{place} turn {}", number + 1), message)?;
    }
    teller.flush(giver)
}

/// `ChatGPT`'s tree, from its current node up.
fn branch<'a>(mapping: &'a Value, current: &'a Value) -> Vec<&'a Value> {
    let count = mapping.as_object().map_or(0, Map::len);
    let (mut at, mut messages) = (current.as_str(), Vec::new());
    // A circle ends where every node was passed.
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

/// claude.ai's messages, from the last one up; all of them where none names its parent.
fn chain(messages: &Value) -> Vec<&Value> {
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

/// The items of a list, one at a time, to `each`, which answers whether to go on; a file that is no
/// list is one item. The error of an item is a sentence.
fn each_item(
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
                b',' | 0xef | 0xbb | 0xbf => continue,
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
                serde_json::from_slice(&whole).map_err(|error| format!("it is no JSON: {error}"))
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
