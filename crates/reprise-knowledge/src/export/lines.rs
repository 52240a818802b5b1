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
use crate::sunwell::{Decision, Failure, Learning};

/// An object a line.
fn lined<T: Serialize>(lines: &[T]) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut out, line).map_err(std::io::Error::from)?;
        out.push(b'\n');
    }
    Ok(out)
}

fn write(file: &Path, content: &[u8]) -> Result<(), ExportError> {
    let mut out = fs_err::File::create_new(file)?;
    out.write_all(content)?;
    Ok(out.sync_all()?)
}

pub(super) fn frames(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let told: Vec<&Telling> = told.iter().collect();
    write(path, &frames_file(&told)?)
}

pub(crate) fn frames_file(told: &[&Telling]) -> Result<Vec<u8>, ExportError> {
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
    lined(&frames)
}

/// What is no learning, decision or failure becomes a learning of category `pattern`.
pub(super) fn sunwell(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let folder = path.join(".sunwell/memory");
    fs_err::create_dir_all(&folder)?;
    let told: Vec<&Telling> = told.iter().collect();
    for (name, content) in sunwell_files(&told)? {
        write(&folder.join(name), &content)?;
    }
    Ok(())
}

/// The three files of `.sunwell/memory`, each with its lines.
pub(crate) fn sunwell_files(
    told: &[&Telling],
) -> Result<[(&'static str, Vec<u8>); 3], ExportError> {
    let (mut learnings, mut decisions, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for one in told {
        decisions.extend(Decision::of(&one.record));
        failures.extend(Failure::of(&one.record));
        let own = Learning::of(&one.record);
        learnings.push(own.unwrap_or_else(|| Learning::foreign(&one.record)));
    }
    Ok([
        ("learnings.jsonl", lined(&learnings)?),
        ("decisions.jsonl", lined(&decisions)?),
        ("failures.jsonl", lined(&failures)?),
    ])
}
