//! Our own exports: JSON, a line each, YAML.

use super::json::{Document, document, whole};
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
    let values = if rvf::is_one(path)? {
        let lines = rvf::lines(path)?;
        lines.ok_or_else(|| broken("it is no export of a memory".to_owned()))?
    } else if is_yaml(path)? {
        let text = match whole(path) {
            Err(ImportError::File(error @ FileError::TooLarge { .. })) => {
                return Err(broken(format!("{error}, or export it as jsonl")));
            }
            whole => String::from_utf8(whole?).map_err(|error| broken(error.to_string()))?,
        };
        yaml(&text).map_err(broken)?
    } else {
        match document(path)? {
            Document::Whole(Value::Array(values)) => values,
            Document::Whole(value) => vec![value],
            Document::Broken(why) => return Err(broken(why)),
            Document::Lines => {
                let mut values = Vec::new();
                for line in Lines::open(path, LINE_BYTES_MAX)? {
                    let (number, line) = line?;
                    let value = line.and_then(|line| {
                        serde_json::from_str(&line).map_err(|error| error.to_string())
                    });
                    let cut =
                        |why: String| broken(format!("line {number} is cut or broken: {why}"));
                    values.push(value.map_err(cut)?);
                }
                values
            }
        }
    };
    Archive::of(values).map_err(broken)
}

/// The documents of a stream, each read by itself.
fn yaml(text: &str) -> Result<Vec<Value>, String> {
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
