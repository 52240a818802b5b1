//! Writes formats of one object a line: ralph's frames, and Sunwell's learnings, decisions and
//! failures.

use super::OutgoingRecord;
use crate::carried::build_carrier;
use crate::observation::build_frame;
use crate::prelude::*;
use crate::sunwell::{SunwellDecision, SunwellFailure, SunwellLearning};

/// Encodes one object a line.
fn encode_lines<T: Serialize>(lines: &[T]) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut out, line).map_err(std::io::Error::from)?;
        out.push(b'\n');
    }
    Ok(out)
}

/// Encodes the frames; if they are `whole`, each carries its record's line.
pub(crate) fn encode_frames(
    records: &[&OutgoingRecord],
    whole: bool,
) -> Result<Vec<u8>, ExportError> {
    let names: HashMap<RecordId, String> = records
        .iter()
        .map(|one| (one.record.id, one.id_in_system(ExternalId::FRAMES)))
        .collect();
    let frames: Vec<Value> = records
        .iter()
        .map(|one| {
            let mut frame = build_frame(&one.record);
            // A record that was imported as a frame names them itself.
            let own_related = frame["metadata"]
                .get("related_ids")
                .and_then(Value::as_array);
            if own_related.is_none_or(Vec::is_empty) && !one.links.is_empty() {
                let related = one.links.iter().filter_map(|(to, _)| names.get(to));
                frame["metadata"]["related_ids"] = json!(related.collect::<Vec<_>>());
            }
            if whole {
                frame["metadata"][CARRIER_FIELD] = build_carrier(&one.line, &one.links);
            }
            frame
        })
        .collect();
    encode_lines(&frames)
}

/// Encodes the three files of `.sunwell/memory`; if they are `whole`, each line carries its
/// record's line. Any other record becomes a learning of category `pattern`.
pub(crate) fn encode_sunwell_files(
    records: &[&OutgoingRecord],
    whole: bool,
) -> Result<[(&'static str, Vec<u8>); 3], ExportError> {
    let (mut learnings, mut decisions, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for one in records {
        let carry = |metadata: &mut Map<String, Value>| {
            if whole {
                metadata.insert(
                    CARRIER_FIELD.to_owned(),
                    build_carrier(&one.line, &one.links),
                );
            }
        };
        let (decision, failure) = (
            SunwellDecision::of(&one.record),
            SunwellFailure::of(&one.record),
        );
        let own = SunwellLearning::of(&one.record);
        let mut learning = own.unwrap_or_else(|| SunwellLearning::from_foreign(&one.record));
        // The line of a decision or failure carries it instead.
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
        ("learnings.jsonl", encode_lines(&learnings)?),
        ("decisions.jsonl", encode_lines(&decisions)?),
        ("failures.jsonl", encode_lines(&failures)?),
    ])
}
