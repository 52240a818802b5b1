//! The graph of MCP's memory server: entities with observations, relations between them.
//!
//! It has no ids and no times: an entity is named by its name, an observation by what it says. Each
//! observation becomes a record of its own, so that one can be found, corrected and forgotten.

use reprise_types::limits::IDENTIFIER_BYTES_MAX;

use crate::prelude::*;

const OBSERVES: &str = "observes";

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
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
        giver.link(&place, own, entity.clone(), OBSERVES);
        giver.record(&place, record)?;
    }
    Ok(())
}

fn finding(text: String) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding)
}
