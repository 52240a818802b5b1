//! A Markdown note for each record: its fields in front matter, its text as it is.

use std::path::Path;

use reprise_types::normal_tag;
use serde_json::{Map, Value, json};

use super::telling::Telling;
use crate::carried::{CORNER, links};
use crate::error::ExportError;

/// Characters of a file's name that come from what the record says.
const NAME_CHARS: usize = 48;

pub(super) fn write(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    fs_err::create_dir(path)?;
    for one in told {
        let (name, content) = note(one)?;
        fs_err::write(path.join(name), content)?;
    }
    Ok(())
}

/// The note of a record, and what its file is called.
pub(crate) fn note(one: &Telling) -> Result<(String, String), ExportError> {
    let record = &one.record;
    let mut line = one.line.as_object().cloned().unwrap_or_default();
    line.remove("archive");
    line.remove("text");
    let mut front = Map::new();
    front.insert("title".to_owned(), json!(headline(&record.text)));
    front.insert("tags".to_owned(), json!(record.tags));
    front.insert("created".to_owned(), json!(record.timestamp));
    front.insert(CORNER.to_owned(), Value::Object(line));
    front.insert("links".to_owned(), links(&one.links));
    let front = serde_saphyr::to_string(&front).map_err(|error| ExportError::Unwritable {
        what: record.id.to_string(),
        why: error.to_string(),
    })?;
    let name = normal_tag(headline(&record.text)).unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '-')
        .collect();
    let name: String = name.chars().take(NAME_CHARS).collect();
    let end = if front.ends_with('\n') { "" } else { "\n" };
    let content = format!("---\n{front}{end}---\n{}\n", record.text);
    Ok((format!("{name}-{}.md", record.id), content))
}

fn headline(text: &str) -> &str {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let first = first.trim_start_matches(['#', ' ']);
    &first[..first.floor_char_boundary(80)]
}
