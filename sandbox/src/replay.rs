//! Replay of an exported event log (`/logs/events.jsonl`) into the store.
//!
//! Bad lines are reported and skipped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ractor::{ActorRef, call_t};
use tokio::sync::mpsc;

use crate::event::NewEvent;
use crate::event_store::{Appended, EventStoreError, EventStoreMsg};

const BATCH: usize = 500;
/// Batches read ahead of the store.
const AHEAD: usize = 2;
/// Longest line; an event holds at most a few outputs of 16 KiB.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bad lines reported individually; further ones are only counted.
const BAD_LINES_MAX: usize = 100;
/// Time limit for storing a batch.
const APPEND_MS: u64 = 60_000;

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Lines that were not blank.
    pub lines: u64,
    pub inserted: u64,
    /// Events that were stored before.
    pub duplicates: u64,
    /// Lines that are not an event.
    pub bad: u64,
    /// The first hundred bad lines.
    pub bad_lines: Vec<BadLine>,
}

/// A line that is not an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line number, from 1.
    pub number: u64,
    pub why: String,
}

/// Why a replay ended early. What was stored before stays stored.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("the event file {path} cannot be read ({message}); pass an export of the host's log")]
    Read { path: PathBuf, message: String },
    #[error(transparent)]
    Store(#[from] EventStoreError),
    #[error("the event store does not answer ({message}); restart the host and replay again")]
    Gone { message: String },
}

/// Stores every event of a JSONL file, in order. Bad lines are reported and skipped; a second
/// replay of the same file inserts nothing.
pub async fn replay_jsonl(
    path: &Path,
    store: &ActorRef<EventStoreMsg>,
) -> Result<ReplayCounts, ReplayError> {
    let (sender, mut batches) = mpsc::channel(AHEAD);
    let reader = {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || read_lines(&path, &sender))
    };
    let mut inserted = 0;
    let mut duplicates = 0;
    while let Some(events) = batches.recv().await {
        let answers = call_t!(
            store,
            |reply| EventStoreMsg::Append { events, reply },
            APPEND_MS
        )
        .map_err(|error| ReplayError::Gone {
            message: error.to_string(),
        })??;
        for answer in answers {
            match answer {
                Appended::Inserted { .. } => inserted += 1,
                Appended::Duplicate { .. } => duplicates += 1,
            }
        }
    }
    let mut counts = reader.await.map_err(|error| ReplayError::Gone {
        message: error.to_string(),
    })??;
    counts.inserted = inserted;
    counts.duplicates = duplicates;
    Ok(counts)
}

fn read_lines(
    path: &Path,
    batches: &mpsc::Sender<Vec<NewEvent>>,
) -> Result<ReplayCounts, ReplayError> {
    let unreadable = |error: std::io::Error| ReplayError::Read {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut counts = ReplayCounts::default();
    let mut batch = Vec::with_capacity(BATCH);
    let mut number = 0;
    let mut line = Vec::new();
    while next_line(&mut reader, &mut line).map_err(unreadable)? {
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        counts.lines += 1;
        match parse(&line) {
            Ok(event) => batch.push(event),
            Err(why) => {
                counts.bad += 1;
                if counts.bad_lines.len() < BAD_LINES_MAX {
                    counts.bad_lines.push(BadLine { number, why });
                }
            }
        }
        if batch.len() == BATCH {
            // Fails only where the replay was cancelled.
            if batches.blocking_send(std::mem::take(&mut batch)).is_err() {
                return Ok(counts);
            }
        }
    }
    if !batch.is_empty() {
        let _given_up = batches.blocking_send(batch).is_err();
    }
    Ok(counts)
}

/// Reads the next line, without its line break, into `line`; of a longer line than the limit one
/// byte more than the limit, skipping the rest. `false` at the end of the file.
fn next_line(reader: &mut BufReader<File>, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let most = LINE_BYTES_MAX as u64 + 1;
    let read = reader.by_ref().take(most).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LINE_BYTES_MAX {
        skip_line(reader)?;
    }
    Ok(read > 0)
}

fn skip_line(reader: &mut BufReader<File>) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

fn parse(line: &[u8]) -> Result<NewEvent, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("the line has more than {LINE_BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(line)
        .map_err(|error| format!("not UTF-8 from byte {} on", error.valid_up_to() + 1))?;
    let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    NewEvent::from_export(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
