//! Forms of an object a line: ralph's frames, Sunwell's learnings, decisions and failures.

use super::Telling;
use crate::carried::corner;
use crate::observation::frame_of;
use crate::prelude::*;
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

/// The frames; as `whole` ones each with what a frame has no place for.
pub(crate) fn frames_file(told: &[&Telling], whole: bool) -> Result<Vec<u8>, ExportError> {
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
            if whole {
                frame["metadata"][CORNER] = corner(&one.line, &one.links);
            }
            frame
        })
        .collect();
    lined(&frames)
}

/// The three files of `.sunwell/memory`, each with its lines; as `whole` ones each with what a line
/// has no place for. What is no learning, decision or failure becomes a learning of category
/// `pattern`.
pub(crate) fn sunwell_files(
    told: &[&Telling],
    whole: bool,
) -> Result<[(&'static str, Vec<u8>); 3], ExportError> {
    let (mut learnings, mut decisions, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for one in told {
        let carry = |metadata: &mut Map<String, Value>| {
            if whole {
                metadata.insert(CORNER.to_owned(), corner(&one.line, &one.links));
            }
        };
        let (decision, failure) = (Decision::of(&one.record), Failure::of(&one.record));
        let own = Learning::of(&one.record);
        let mut learning = own.unwrap_or_else(|| Learning::foreign(&one.record));
        // The line of a decision or failure has it where there is one.
        if decision.is_none() && failure.is_none() {
            carry(&mut learning.metadata);
        }
        learnings.push(learning);
        decisions.extend(decision.map(|mut decision| {
            carry(&mut decision.metadata);
            decision
        }));
        failures.extend(failure.map(|mut failure| {
            carry(&mut failure.metadata);
            failure
        }));
    }
    Ok([
        ("learnings.jsonl", lined(&learnings)?),
        ("decisions.jsonl", lined(&decisions)?),
        ("failures.jsonl", lined(&failures)?),
    ])
}
