//! Forms of an object a line: ralph's frames, Sunwell's learnings, decisions and failures.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use reprise_types::{ExternalId, RecordId};
use serde::Serialize;
use serde_json::{Value, json};

use super::telling::Telling;
use crate::error::ExportError;
use crate::observation::frame_of;
use crate::sunwell::{Category, Decision, Failure, Learning};

fn write<T: Serialize>(file: &Path, lines: &[T]) -> Result<(), ExportError> {
    let mut out = std::io::BufWriter::new(fs_err::File::create_new(file)?);
    for line in lines {
        serde_json::to_writer(&mut out, line).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?
        .sync_all()?;
    Ok(())
}

pub(super) fn frames(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let names: HashMap<RecordId, String> = told
        .iter()
        .map(|one| (one.record.id, one.name(ExternalId::FRAMES)))
        .collect();
    let frames: Vec<Value> = told
        .iter()
        .map(|one| {
            let mut frame = frame_of(&one.record);
            // What came as a frame names them itself.
            let named = frame["metadata"]
                .get("related_ids")
                .and_then(Value::as_array);
            if named.is_none_or(Vec::is_empty) && !one.links.is_empty() {
                let related = one.links.iter().filter_map(|(to, _)| names.get(to));
                frame["metadata"]["related_ids"] = json!(related.collect::<Vec<_>>());
            }
            frame
        })
        .collect();
    write(path, &frames)
}

/// What is no learning, decision or failure becomes a learning of category `pattern`.
pub(super) fn sunwell(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let folder = path.join(".sunwell/memory");
    fs_err::create_dir_all(&folder)?;
    let (mut learnings, mut decisions, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for one in told {
        decisions.extend(Decision::of(&one.record));
        failures.extend(Failure::of(&one.record));
        learnings.push(Learning::of(&one.record).unwrap_or_else(|| foreign(one)));
    }
    write(&folder.join("learnings.jsonl"), &learnings)?;
    write(&folder.join("decisions.jsonl"), &decisions)?;
    write(&folder.join("failures.jsonl"), &failures)
}

fn foreign(one: &Telling) -> Learning {
    let record = &one.record;
    let mut learning = Learning::new(record.text.clone(), Category::Pattern, record.timestamp);
    learning.confidence = record
        .confidence
        .map_or(learning.confidence, crate::exact::exact);
    for (name, value) in [
        ("kind", json!(record.kind)),
        ("source", json!(record.source)),
        ("session_id", json!(record.session_id)),
        ("tags", json!(record.tags)),
        ("reprise_id", json!(record.id)),
    ] {
        learning.metadata.insert(name.to_owned(), value);
    }
    learning
}
