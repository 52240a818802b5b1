//! Reads formats of one object a line: ralph's frames, which its memory store writes next to the
//! `.mv2` file, and the graph of MCP's memory server.

use reprise_types::limits::IDENTIFIER_BYTES_MAX;

use super::json::{JsonDocument, read_document};
use crate::observation::{build_frame, parse_frame};
use crate::prelude::*;

pub(super) fn read_frames(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    sink.for_each_object(path, |sink, place, mut object| {
        let carried = CarriedRecord::take_carrier(&mut object).map(|carried| {
            let is_unchanged = is_unchanged_frame(&object, &carried);
            (carried, is_unchanged)
        });
        let (record, related) = match parse_frame(object, sink.zone()) {
            Ok(read) => read,
            Err(why) => return sink.refuse(place, why),
        };
        if let Some(carried) = carried.and_then(|both| sink.choose_unchanged(both, &record)) {
            return sink.emit_carried(place, carried);
        }
        if let Some(own) = record.external_ids.first().cloned() {
            for other in related {
                sink.hold_link(place, own.clone(), other, "related_to");
            }
        }
        sink.emit_record(place, record)
    })
}

/// Whether a frame says what its record said when it was exported. Its relations are ignored: they
/// are in the record's links.
fn is_unchanged_frame(frame: &Map<String, Value>, carried: &CarriedRecord) -> bool {
    let alone = |mut frame: Value| {
        let metadata = frame.get_mut("metadata").and_then(Value::as_object_mut);
        let _related = metadata.and_then(|metadata| metadata.remove("related_ids"));
        frame
    };
    alone(Value::Object(frame.clone())) == alone(build_frame(&carried.record))
}

/// Reads the graph of MCP's memory server: entities with observations, and relations between them.
///
/// It has no ids and no times: the id of an entity is its name, that of an observation a hash of
/// its text. Each observation becomes a record of its own, which can be found, corrected and
/// forgotten. The graph may also be one object, as the server answers it.
pub(super) fn read_server_memory(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    match read_document(path)? {
        JsonDocument::Whole(Value::Object(whole))
            if whole.contains_key("entities") || whole.contains_key("relations") =>
        {
            return read_whole_graph(path, whole, sink);
        }
        // A list of the lines, as people make of the file whose name ends in `.json`.
        JsonDocument::Whole(Value::Array(items)) => {
            let name = sink.place_name(path);
            for (number, item) in (1..).zip(items) {
                let place = format!("{name} item {number}");
                match item {
                    Value::Object(object) => take_graph_line(sink, &place, &object)?,
                    _ => sink.refuse(&place, "the item is not an object")?,
                }
            }
            return Ok(());
        }
        _ => {}
    }
    sink.for_each_object(path, |sink, place, object| {
        take_graph_line(sink, place, &object)
    })
}

fn take_graph_line(
    sink: &mut ItemSink<'_>,
    place: &str,
    object: &Map<String, Value>,
) -> Result<(), ImportError> {
    match object.get("type").and_then(Value::as_str) {
        Some("entity") => emit_entity(sink, place, object),
        Some("relation") => hold_relation(sink, place, object),
        other => {
            let other = other.unwrap_or("nothing");
            let why = format!("its type is {other}, not entity or relation");
            sink.refuse(place, why)
        }
    }
}

/// Reads a graph with its entities and relations in two lists.
fn read_whole_graph(
    path: &Path,
    mut graph: Map<String, Value>,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let name = sink.place_name(path);
    for list in ["entities", "relations"] {
        let items = match graph.remove(list) {
            Some(Value::Array(items)) => items,
            Some(Value::Null) | None => Vec::new(),
            Some(_) => {
                sink.refuse(&name, format!("its `{list}` are not a list"))?;
                continue;
            }
        };
        for (number, item) in (1..).zip(items) {
            let place = format!("{name} {list} {number}");
            match item {
                Value::Object(entity) if list == "entities" => emit_entity(sink, &place, &entity)?,
                Value::Object(relation) => hold_relation(sink, &place, &relation)?,
                _ => sink.refuse(&place, "the item is not an object")?,
            }
        }
    }
    Ok(())
}

fn hold_relation(
    sink: &mut ItemSink<'_>,
    place: &str,
    object: &Map<String, Value>,
) -> Result<(), ImportError> {
    let named = |name| non_blank_text(object, name);
    let (Some(from), Some(to), Some(relation)) =
        (named("from"), named("to"), named("relationType"))
    else {
        return sink.refuse(place, "a relation needs `from`, `to` and `relationType`");
    };
    sink.hold_link(
        place,
        entity_external_id(from),
        entity_external_id(to),
        relation,
    );
    Ok(())
}

fn entity_external_id(name: &str) -> ExternalId {
    let id = if name.len() <= IDENTIFIER_BYTES_MAX {
        name.to_owned()
    } else {
        hex_id(&["entity", name])
    };
    ExternalId::new(ExternalId::SERVER_MEMORY, id)
}

fn emit_entity(
    sink: &mut ItemSink<'_>,
    place: &str,
    object: &Map<String, Value>,
) -> Result<(), ImportError> {
    let Some(entity_name) = non_blank_text(object, "name") else {
        return sink.refuse(place, "the entity has no `name`");
    };
    let kind = non_blank_text(object, "entityType").unwrap_or("entity");
    let mut record = new_finding(format!("{entity_name} ({kind})"));
    record.external_ids = vec![entity_external_id(entity_name)];
    record.details = Some(json!({ "type": "entity", "name": entity_name, "entity_type": kind }));
    sink.emit_record(place, record)?;
    let observations = match object.get("observations") {
        Some(Value::Array(observations)) => observations.as_slice(),
        None => &[],
        Some(_) => return sink.refuse(place, "the entity's `observations` are not a list"),
    };
    // Every observation repeats the name, so it is cut; the entity has the whole of it.
    let entity = entity_external_id(entity_name);
    let entity_name = &entity_name[..entity_name.floor_char_boundary(IDENTIFIER_BYTES_MAX)];
    for (index, observation) in observations.iter().enumerate() {
        let place = format!("{place} observation {}", index + 1);
        let Some(content) = observation
            .as_str()
            .filter(|content| !content.trim().is_empty())
        else {
            sink.refuse(&place, "the observation is not a text")?;
            continue;
        };
        let mut record = new_finding(format!("{entity_name}: {content}"));
        let own = ExternalId::new(
            ExternalId::SERVER_MEMORY,
            format!("observation {}", hex_id(&[entity_name, content])),
        );
        record.external_ids = vec![own.clone()];
        record.details = Some(json!({
            "type": "entity_observation",
            "entity": entity_name,
            "content": content,
            "position": index,
        }));
        sink.hold_link(&place, own, entity.clone(), "observes");
        sink.emit_record(&place, record)?;
    }
    Ok(())
}

fn new_finding(text: String) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding)
}
