//! Forms of an object a line: ralph's frames, as its memory store writes them beside the `.mv2`
//! file, and the graph of MCP's memory server.

use reprise_types::limits::IDENTIFIER_BYTES_MAX;

use crate::observation::{frame, frame_of};
use crate::prelude::*;

pub(super) fn frames(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    giver.objects(path, |giver, place, mut object| {
        let carried = Carried::take(&mut object).map(|carried| {
            let is_unchanged = is_of(&object, &carried);
            (carried, is_unchanged)
        });
        let (record, related) = match frame(object, giver.zone()) {
            Ok(read) => read,
            Err(why) => return giver.refuse(place, why),
        };
        if let Some(carried) = carried.and_then(|both| giver.unchanged(both, &record)) {
            return giver.own(place, carried);
        }
        if let Some(own) = record.external_ids.first().cloned() {
            for other in related {
                giver.link(place, own.clone(), other, "related_to");
            }
        }
        giver.record(place, record)
    })
}

/// Whether a frame says what its record said when it was exported. What it is related to stands in
/// the record's links.
fn is_of(frame: &Map<String, Value>, carried: &Carried) -> bool {
    let alone = |mut frame: Value| {
        let metadata = frame.get_mut("metadata").and_then(Value::as_object_mut);
        let _related = metadata.and_then(|metadata| metadata.remove("related_ids"));
        frame
    };
    alone(Value::Object(frame.clone())) == alone(frame_of(&carried.record))
}

/// The graph of MCP's memory server: entities with observations, relations between them.
///
/// It has no ids and no times: an entity is named by its name, an observation by what it says. Each
/// observation becomes a record of its own, so that one can be found, corrected and forgotten.
pub(super) fn server_memory(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    giver.objects(path, |giver, place, object| {
        match object.get("type").and_then(Value::as_str) {
            Some("entity") => entity(giver, place, &object),
            Some("relation") => {
                let named = |name| text(&object, name);
                match (named("from"), named("to"), named("relationType")) {
                    (Some(from), Some(to), Some(relation)) => {
                        giver.link(place, name(from), name(to), relation);
                        Ok(())
                    }
                    _ => giver.refuse(place, "a relation needs `from`, `to` and `relationType`"),
                }
            }
            other => {
                let other = other.unwrap_or("nothing");
                let why = format!("its type is {other}, not entity or relation");
                giver.refuse(place, why)
            }
        }
    })
}

fn name(name: &str) -> ExternalId {
    let id = if name.len() <= IDENTIFIER_BYTES_MAX {
        name.to_owned()
    } else {
        hex_id(&["entity", name])
    };
    ExternalId::new(ExternalId::SERVER_MEMORY, id)
}

fn entity(
    giver: &mut Giver<'_>,
    place: &str,
    object: &Map<String, Value>,
) -> Result<(), ImportError> {
    let Some(called) = text(object, "name") else {
        return giver.refuse(place, "the entity has no `name`");
    };
    let kind = text(object, "entityType").unwrap_or("entity");
    let mut record = finding(format!("{called} ({kind})"));
    record.external_ids = vec![name(called)];
    record.details = Some(json!({ "type": "entity", "name": called, "entity_type": kind }));
    giver.record(place, record)?;
    let observations = match object.get("observations") {
        Some(Value::Array(observations)) => observations.as_slice(),
        None => &[],
        Some(_) => return giver.refuse(place, "the entity's `observations` are no list"),
    };
    // Every observation repeats it; the whole of it is the entity's.
    let entity = name(called);
    let called = &called[..called.floor_char_boundary(IDENTIFIER_BYTES_MAX)];
    for (index, observation) in observations.iter().enumerate() {
        let place = format!("{place} observation {}", index + 1);
        let Some(said) = observation.as_str().filter(|said| !said.trim().is_empty()) else {
            giver.refuse(&place, "the observation is no text")?;
            continue;
        };
        let mut record = finding(format!("{called}: {said}"));
        let own = ExternalId::new(
            ExternalId::SERVER_MEMORY,
            format!("observation {}", hex_id(&[called, said])),
        );
        record.external_ids = vec![own.clone()];
        record.details = Some(json!({
            "type": "entity_observation",
            "entity": called,
            "content": said,
            "position": index,
        }));
        giver.link(&place, own, entity.clone(), "observes");
        giver.record(&place, record)?;
    }
    Ok(())
}

fn finding(text: String) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding)
}
