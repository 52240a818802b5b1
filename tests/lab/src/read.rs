//! Readers of the published formats, one file each, and what they share: files of a folder in
//! order, JSON, and parts of a record.

mod beam;
mod devbench;
mod folder;
mod git;
mod locomo;
mod longmemeval;

use std::path::{Path, PathBuf};

use reprise_types::{ExternalId, MemoryKind, MemorySource, NewRecord};
use serde::de::DeserializeOwned;

use crate::dataset::{Dataset, Format, Protocol};
use crate::error::{EvalError, EvalResult};

pub use git::read_git;

/// Reads the set at `path`, its file or a folder that holds it, under its own protocol.
pub fn read(format: Format, path: &Path, record: ReadRecord) -> EvalResult<Dataset> {
    read_with_protocol(Protocol::default(), format, path, record)
}

/// Reads a data set under another protocol.
pub fn read_with_protocol(
    protocol: Protocol,
    format: Format,
    path: &Path,
    record: ReadRecord,
) -> EvalResult<Dataset> {
    if protocol.describe_changes(format).is_none() {
        return Err(EvalError::Protocol {
            set: format.name(),
            protocol: protocol.name(),
            known: Protocol::ALL
                .iter()
                .filter(|known| known.describe_changes(format).is_some())
                .map(|known| known.name())
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    let corpora = match format {
        Format::Locomo => locomo::read(&find_file(path, "locomo10", ".json")?)?,
        Format::Beam => beam::read(path, protocol)?,
        Format::LongMemEval => {
            longmemeval::read(&find_file(path, "longmemeval_s", ".json")?, protocol)?
        }
        Format::DevBench => devbench::read(&find_file(path, "devbench", ".json")?)?,
        Format::Jsonl => folder::read(path, record)?,
        Format::Git => return read_git(path, None),
    };
    if corpora.iter().all(|corpus| corpus.questions.is_empty()) {
        return Err(EvalError::nothing_found(path, "questions"));
    }
    Ok(Dataset {
        format,
        protocol,
        corpora,
    })
}

/// `path` itself, or the first file in it, by name, that starts and ends so.
fn find_file(path: &Path, start: &str, end: &str) -> EvalResult<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let named = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(start) && name.ends_with(end))
    };
    let found = list_sorted(path)?.into_iter().find(named);
    found.ok_or_else(|| EvalError::nothing_found(path, "file of that name"))
}

/// Parses one line of the batch contract's ingest format; the error is a message. Passed in by the
/// binary, which owns the format.
pub type ReadRecord = fn(&str) -> EvalResult<NewRecord, String>;

/// The entries of a folder in natural order: chat-2 before chat-10.
fn list_sorted(folder: &Path) -> EvalResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (natural_sort_key(&name), name.into_owned())
    });
    Ok(paths)
}

/// A sort key in which runs of digits count as numbers.
fn natural_sort_key(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(digits);
        let end = after.find(|c: char| !c.is_ascii_digit());
        let (number, after) = after.split_at(end.unwrap_or(after.len()));
        key.push((word.to_owned(), number.parse().unwrap_or(0)));
        rest = after;
    }
    key
}

fn read_json<T: DeserializeOwned>(path: &Path, expected: &'static str) -> EvalResult<T> {
    let bytes = fs_err::read(path)?;
    serde_json::from_slice(&bytes).map_err(|error| EvalError::wrong_shape(path, expected, &error))
}

/// An episode of the session under this external id.
fn make_episode(id: &str, text: String, source: MemorySource, session: &str) -> NewRecord {
    let mut record = NewRecord::new(text, source, MemoryKind::Episode);
    session.clone_into(&mut record.session_id);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, id)];
    record
}

/// The source of a message, by its role in a chat.
fn source_by_role(role: &str) -> MemorySource {
    if role == "assistant" {
        MemorySource::WorkerResult
    } else {
        MemorySource::UserInput
    }
}
