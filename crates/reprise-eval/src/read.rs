//! Readers of the published formats, one file each.

mod beam;
mod devbench;
mod folder;
mod git;
mod locomo;
mod longmemeval;
mod shape;

use std::path::{Path, PathBuf};

use crate::dataset::{Dataset, Format, Protocol};
use crate::error::{EvalError, Result};

use shape::listed;

pub use git::read_git;
pub use shape::ReadRecord;

/// Reads the set at `path`, its file or a folder that holds it, under its own protocol.
pub fn read(format: Format, path: &Path, record: ReadRecord) -> Result<Dataset> {
    read_by(Protocol::default(), format, path, record)
}

/// The same under another protocol.
pub fn read_by(
    protocol: Protocol,
    format: Format,
    path: &Path,
    record: ReadRecord,
) -> Result<Dataset> {
    if protocol.changes(format).is_none() {
        return Err(EvalError::Protocol {
            set: format.name(),
            protocol: protocol.name(),
            known: Protocol::ALL
                .iter()
                .filter(|known| known.changes(format).is_some())
                .map(|known| known.name())
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    let corpora = match format {
        Format::Locomo => locomo::read(&file(path, "locomo10", ".json")?)?,
        Format::Beam => beam::read(path, protocol)?,
        Format::LongMemEval => longmemeval::read(&file(path, "longmemeval_s", ".json")?, protocol)?,
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
    Ok(Dataset {
        format,
        protocol,
        corpora,
    })
}

/// `path` itself, or the first file in it, by name, that starts and ends so.
fn file(path: &Path, start: &str, end: &str) -> Result<PathBuf> {
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
