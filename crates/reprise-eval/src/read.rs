//! From what a set publishes to the protocol's nouns. One file per form.
//!
//! Must never live here: a figure, or a rule that only makes a figure better.

mod beam;
mod devbench;
mod folder;
mod git;
mod locomo;
mod longmemeval;

use std::path::{Path, PathBuf};

use reprise_types::{ExternalId, MemoryKind, MemorySource, NewRecord};
use serde::de::DeserializeOwned;

use crate::dataset::{Dataset, Format};
use crate::error::EvalError;

pub use git::read_git;

/// Reads one line of the batch contract's ingest form; the error is a sentence about it. The wire
/// form belongs to the binary, which lends this.
pub type ReadRecord = fn(&str) -> Result<NewRecord, String>;

/// Reads the set at `path`: its file, or a folder that holds it.
pub fn read(format: Format, path: &Path, record: ReadRecord) -> Result<Dataset, EvalError> {
    let corpora = match format {
        Format::Locomo => locomo::read(&file(path, "locomo10", ".json")?)?,
        Format::Beam => beam::read(path)?,
        Format::LongMemEval => longmemeval::read(&file(path, "longmemeval_s", ".json")?)?,
        Format::DevBench => devbench::read(&file(path, "devbench", ".json")?)?,
        Format::Jsonl => folder::read(path, record)?,
        Format::Git => return read_git(path, None),
    };
    if corpora.iter().all(|corpus| corpus.questions.is_empty()) {
        return Err(EvalError::Nothing {
            path: path.to_owned(),
            expected: "questions",
        });
    }
    Ok(Dataset { format, corpora })
}

/// `path` itself, or the first file in it, by name, that starts and ends so.
fn file(path: &Path, start: &str, end: &str) -> Result<PathBuf, EvalError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let named = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(start) && name.ends_with(end))
    };
    let found = listed(path)?.into_iter().find(named);
    found.ok_or(EvalError::Nothing {
        path: path.to_owned(),
        expected: "file of that name",
    })
}

/// What is in a folder, numbers inside names in their own order: chat-2 before chat-10.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (natural(&name), name.into_owned())
    });
    Ok(paths)
}

/// A sort key in which runs of digits count as numbers.
fn natural(name: &str) -> Vec<(String, u64)> {
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

fn json<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, EvalError> {
    let bytes = fs_err::read(path)?;
    serde_json::from_slice(&bytes).map_err(|error| shape(path, expected, &error))
}

fn shape(path: &Path, expected: &'static str, error: &dyn std::fmt::Display) -> EvalError {
    EvalError::Shape {
        path: path.to_owned(),
        expected,
        message: error.to_string(),
    }
}

/// An episode of the session under this external id.
fn episode(id: &str, text: String, source: MemorySource, session: &str) -> NewRecord {
    let mut record = NewRecord::new(text, source, MemoryKind::Episode);
    session.clone_into(&mut record.session_id);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, id)];
    record
}

/// Who spoke, in a chat between a person and an assistant.
fn source_of(role: &str) -> MemorySource {
    if role == "assistant" {
        MemorySource::WorkerResult
    } else {
        MemorySource::UserInput
    }
}
