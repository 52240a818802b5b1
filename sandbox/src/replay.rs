//! Replay of an exported event log (`/logs/events.jsonl`) into the store, once or as it grows.
//!
//! Bad lines are reported and skipped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use tokio::sync::mpsc;

use crate::event_store::AppendOutcome;
use crate::prelude::*;

const BATCH: usize = 500;
/// Most batches that are read ahead of the store.
const BATCHES_AHEAD_MAX: usize = 2;
/// Longest line; an event holds at most a few outputs of 16 KiB.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most bad lines that are reported individually; further ones are only counted.
const BAD_LINES_MAX: usize = 100;
/// Interval at which a followed log is polled.
const FOLLOW_POLL: Duration = Duration::from_millis(500);
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

/// Why a replay ended early; events stored before that stay stored.
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

/// Stores every event of a JSONL file, in order. Bad lines are reported and skipped. A second
/// replay of the file inserts nothing.
pub async fn replay_jsonl(
    path: &Path,
    store: &ActorRef<EventStoreMsg>,
) -> Result<ReplayCounts, ReplayError> {
    Ok(replay_from(path, 0, true, store).await?.0)
}

/// Stores every event of a JSONL file, and then the events that are appended to it, as long as the
/// store runs. It waits for a file that does not exist yet. A file that has become shorter is
/// another one, and is read from its beginning.
pub async fn follow_jsonl(path: &Path, store: &ActorRef<EventStoreMsg>) -> ReplayError {
    let mut from = 0;
    loop {
        match std::fs::metadata(path) {
            Ok(file) if file.len() != from => {
                if file.len() < from {
                    from = 0;
                }
                match replay_from(path, from, false, store).await {
                    Ok((counts, read)) => {
                        from = read;
                        for bad in &counts.bad_lines {
                            tracing::warn!(why = bad.why, "a line of the log was passed over");
                        }
                    }
                    Err(error @ ReplayError::Read { .. }) => tracing::warn!(%error, "tried again"),
                    Err(error) => return error,
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the log is not there yet"),
        }
        tokio::time::sleep(FOLLOW_POLL).await;
    }
}

/// Stores the events of a file from the byte `from`, the beginning of a line; returns the counts,
/// and the byte after the last line read. `last_line` tells whether a last line without a line
/// break counts; in a log that grows, such a line is not complete yet.
async fn replay_from(
    path: &Path,
    from: u64,
    last_line: bool,
    store: &ActorRef<EventStoreMsg>,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let (sender, mut batches) = mpsc::channel(BATCHES_AHEAD_MAX);
    let reader = {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || read_lines(&path, from, last_line, &sender))
    };
    let no_answer = |error: &dyn std::fmt::Display| ReplayError::Gone {
        message: error.to_string(),
    };
    let (mut inserted, mut duplicates) = (0, 0);
    while let Some(events) = batches.recv().await {
        let answers = call_t!(
            store,
            |reply| EventStoreMsg::Append { events, reply },
            APPEND_MS
        )
        .map_err(|error| no_answer(&error))??;
        for answer in answers {
            match answer {
                AppendOutcome::Inserted { .. } => inserted += 1,
                AppendOutcome::Duplicate { .. } => duplicates += 1,
            }
        }
    }
    let (counts, read) = reader.await.map_err(|error| no_answer(&error))??;
    let counts = ReplayCounts {
        inserted,
        duplicates,
        ..counts
    };
    Ok((counts, read))
}

fn read_lines(
    path: &Path,
    from: u64,
    last_line: bool,
    batches: &mpsc::Sender<Vec<NewEvent>>,
) -> Result<(ReplayCounts, u64), ReplayError> {
    let unreadable = |error: std::io::Error| ReplayError::Read {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    file.seek(SeekFrom::Start(from)).map_err(unreadable)?;
    let mut reader = BufReader::new(file);
    let mut counts = ReplayCounts::default();
    let mut batch = Vec::with_capacity(BATCH);
    let mut number = 0;
    let mut read = from;
    let mut line = Vec::new();
    loop {
        let (bytes, is_whole) = read_line(&mut reader, &mut line).map_err(unreadable)?;
        if bytes == 0 || !(is_whole || last_line) {
            break;
        }
        read += bytes;
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        counts.lines += 1;
        match parse_line(&line) {
            Ok(event) => batch.push(event),
            Err(why) => {
                counts.bad += 1;
                if counts.bad_lines.len() < BAD_LINES_MAX {
                    counts.bad_lines.push(BadLine { number, why });
                }
            }
        }
        if batch.len() == BATCH {
            // This fails only if the replay was cancelled.
            if batches.blocking_send(std::mem::take(&mut batch)).is_err() {
                return Ok((counts, read));
            }
        }
    }
    if !batch.is_empty() {
        let _given_up = batches.blocking_send(batch).is_err();
    }
    Ok((counts, read))
}

/// Reads the next line, without its line break, into `line`. Of a line that is longer than the
/// limit, it keeps one byte more than the limit and skips the rest. Returns the number of bytes
/// read, which is 0 at the end of the file, and whether a line break ended them.
fn read_line(reader: &mut BufReader<File>, line: &mut Vec<u8>) -> std::io::Result<(u64, bool)> {
    line.clear();
    let bytes_max = LINE_BYTES_MAX as u64 + 1;
    let mut read = reader.by_ref().take(bytes_max).read_until(b'\n', line)? as u64;
    let mut is_whole = line.last() == Some(&b'\n');
    if is_whole {
        line.pop();
    } else if line.len() > LINE_BYTES_MAX {
        let skipped = skip_line(reader)?;
        (read, is_whole) = (read + skipped.0, skipped.1);
    }
    Ok((read, is_whole))
}

fn skip_line(reader: &mut BufReader<File>) -> std::io::Result<(u64, bool)> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((skipped, false));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        skipped += used as u64;
        if end.is_some() {
            return Ok((skipped, true));
        }
    }
}

fn parse_line(line: &[u8]) -> Result<NewEvent, String> {
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
