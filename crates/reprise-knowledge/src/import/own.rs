//! Reads our own exports: JSON, JSON lines, YAML, and files of `rvf-runtime`.

use super::json::{JsonDocument, read_document, read_whole};
use super::rvf;
use crate::archive::{Archive, to_imported_record};
use crate::prelude::*;
use crate::values::parse_yaml;

pub(super) fn is_yaml(path: &Path) -> Result<bool, ImportError> {
    let first = LineReader::open(path, LINE_BYTES_MAX)?
        .next()
        .transpose()?
        .and_then(|(_, line)| line.ok());
    Ok(first.is_some_and(|first| first.trim_end() == "---"))
}

/// Reads the whole memory of an export.
pub fn read_archive(path: &Path) -> Result<Archive, ImportError> {
    let broken = |why: String| ImportError::Broken {
        path: path.to_owned(),
        why,
    };
    let values = if rvf::is_rvf_file(path)? {
        let lines = rvf::read_export_lines(path)?;
        lines.ok_or_else(|| broken("it is not an export of a memory".to_owned()))?
    } else if is_yaml(path)? {
        let text = match read_whole(path) {
            Err(ImportError::File(error @ FileError::TooLarge { .. })) => {
                return Err(broken(format!("{error}, or export it as jsonl")));
            }
            whole => String::from_utf8(whole?).map_err(|error| broken(error.to_string()))?,
        };
        parse_documents(&text).map_err(broken)?
    } else {
        match read_document(path)? {
            JsonDocument::Whole(Value::Array(values)) => values,
            JsonDocument::Whole(value) => vec![value],
            JsonDocument::Broken(why) => return Err(broken(why)),
            JsonDocument::Lines => {
                let mut values = Vec::new();
                for line in LineReader::open(path, LINE_BYTES_MAX)? {
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
    Archive::from_lines(values).map_err(broken)
}

/// Parses the documents of a YAML stream, each by itself.
fn parse_documents(text: &str) -> Result<Vec<Value>, String> {
    let documents = text
        .split("\n---\n")
        .map(|text| text.trim_start_matches("---\n"));
    let values = documents.enumerate().map(|(index, document)| {
        parse_yaml(document).map_err(|why| format!("document {}: {why}", index + 1))
    });
    values.collect()
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let archive = read_archive(path)?;
    let (links, corrections) = (archive.list_live_links(), archive.collect_corrections());
    let name = sink.place_name(path);
    for (index, record) in archive.live_records.into_iter().enumerate() {
        let place = format!("{name} record {}", index + 1);
        sink.emit_record(&place, to_imported_record(record, &corrections))?;
    }
    for link in links {
        sink.hold_link(&name, link.from, link.to, &link.relation);
    }
    Ok(())
}
