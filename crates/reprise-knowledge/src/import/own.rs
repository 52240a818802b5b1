//! Our own exports: JSON, a line each, YAML.

use super::json::{DOCUMENT_BYTES_MAX, Document, document, whole};
use super::rvf;
use crate::archive::{Archive, moved};
use crate::prelude::*;
use crate::values::read_yaml;

pub(super) fn is_yaml(path: &Path) -> Result<bool, ImportError> {
    let first = Lines::open(path, LINE_BYTES_MAX)?
        .next()
        .transpose()?
        .and_then(|(_, line)| line.ok());
    Ok(first.is_some_and(|first| first.trim_end() == "---"))
}

/// The whole memory of an export.
pub fn read_archive(path: &Path) -> Result<Archive, ImportError> {
    let broken = |why: String| ImportError::Broken {
        path: path.to_owned(),
        why,
    };
    Archive::of(values(path)?.map_err(broken)?).map_err(broken)
}

fn values(path: &Path) -> Result<Result<Vec<Value>, String>, ImportError> {
    if rvf::is_one(path)? {
        let lines = rvf::lines(path)?;
        return Ok(lines.ok_or_else(|| "it is no export of a memory".to_owned()));
    }
    if is_yaml(path)? {
        let text = match whole(path) {
            Err(ImportError::File(error @ FileError::TooLarge { .. })) => {
                return Ok(Err(format!("{error}, or export it as jsonl")));
            }
            whole => String::from_utf8(whole?),
        };
        return Ok(text
            .map_err(|error| error.to_string())
            .and_then(|text| yaml(&text)));
    }
    Ok(match document(path)? {
        Document::Whole(Value::Array(values)) => Ok(values),
        Document::Whole(value) => Ok(vec![value]),
        Document::Broken(why) => Err(why),
        Document::Lines => {
            let mut values = Vec::new();
            for line in Lines::open(path, LINE_BYTES_MAX)? {
                let (number, line) = line?;
                let value = line.and_then(|line| {
                    serde_json::from_str(&line).map_err(|error| error.to_string())
                });
                match value {
                    Ok(value) => values.push(value),
                    Err(why) => return Ok(Err(format!("line {number} is cut or broken: {why}"))),
                }
            }
            Ok(values)
        }
    })
}

/// The documents of a stream, each read by itself.
fn yaml(text: &str) -> Result<Vec<Value>, String> {
    if text.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(format!(
            "it is longer than {DOCUMENT_BYTES_MAX} bytes; export it as jsonl"
        ));
    }
    let documents = text
        .split("\n---\n")
        .map(|text| text.trim_start_matches("---\n"));
    let values = documents.enumerate().map(|(index, document)| {
        read_yaml(document).map_err(|why| format!("document {}: {why}", index + 1))
    });
    values.collect()
}

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let archive = read_archive(path)?;
    let (links, corrections) = (archive.joints(), archive.corrections());
    let name = giver.name(path);
    for (index, record) in archive.present.into_iter().enumerate() {
        let place = format!("{name} record {}", index + 1);
        giver.record(&place, moved(record, &corrections))?;
    }
    for joint in links {
        giver.link(&name, joint.from, joint.to, &joint.relation);
    }
    Ok(())
}
