//! Frames as ralph's memory store writes them, in and out, without loss.

use super::{CORE, ObservationType, frame_external_id, nest_reserved_keys, unnest_reserved_keys};
use crate::prelude::*;

/// The record of a frame, and the frames that it names as related.
pub(crate) fn parse_frame(
    mut frame: Map<String, Value>,
    zone: Zone,
) -> Result<(NewRecord, Vec<ExternalId>), String> {
    let content = non_blank_text(&frame, "content")
        .ok_or("the frame has no `content`")?
        .to_owned();
    let id = non_blank_text(&frame, "id")
        .ok_or("the frame has no `id`")?
        .to_owned();
    let frame_type = non_blank_text(&frame, "frame_type")
        .unwrap_or("general")
        .to_owned();
    let mut metadata = match frame.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        Some(Value::Null) | None => Map::new(),
        Some(_) => return Err("the frame's `metadata` is not an object".to_owned()),
    };
    let observed = non_blank_text(&metadata, "observation_type").unwrap_or(&frame_type);
    let observed = ObservationType::of(observed);
    let (source, kind) = match observed {
        Some(ObservationType::Preference) => (MemorySource::UserInput, MemoryKind::Pattern),
        Some(observed) => (MemorySource::WorkerResult, observed.kind()),
        None => (MemorySource::WorkerResult, MemoryKind::Episode),
    };
    let mut record = NewRecord::new(content.clone(), source, kind);
    record.external_ids = vec![frame_external_id(&id)];
    non_blank_text(&frame, "session_id")
        .unwrap_or_default()
        .clone_into(&mut record.session_id);
    record.confidence = metadata
        .get("confidence")
        .and_then(Value::as_f64)
        .filter(|confidence| (0.0..=1.0).contains(confidence))
        .map(|confidence| confidence as f32);
    record.quality_score = match metadata.get("success").and_then(Value::as_bool) {
        Some(true) => Some(1.0),
        Some(false) => Some(0.0),
        None => (observed == Some(ObservationType::Error)).then_some(0.0),
    };
    let mut tags: Vec<String> = list_texts(frame.get("tags")).map(str::to_owned).collect();
    tags.dedup();
    tags.truncate(LIST_ITEMS_MAX);
    record.tags = tags;
    if let Some(written) = frame.get("timestamp") {
        set_time(&mut record, written, zone);
    }
    let related = list_texts(metadata.get("related_ids"));
    let related = related
        .filter(|other| *other != id)
        .map(frame_external_id)
        .collect();
    // What the record itself holds is not kept twice.
    for name in ["id", "content", "session_id"] {
        frame.remove(name);
    }
    if metadata.get("content") == Some(&json!(content)) {
        metadata.insert("content".to_owned(), json!(true));
    }
    let take = |metadata: &mut Map<String, Value>, name: &str| metadata.get(name).cloned();
    let reserved = reserved_keys();
    let own = metadata.iter();
    let own = own.filter(|(name, _)| !reserved.contains(&name.as_str()));
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    let own = unnest_reserved_keys(own.collect(), &reserved);
    record.details = Some(json!({
        "type": "observation",
        "observation_type": observed.map(ObservationType::name),
        "source": take(&mut metadata, "source"),
        "related_ids": take(&mut metadata, "related_ids").unwrap_or_else(|| json!([])),
        "tags": take(&mut metadata, "tags").unwrap_or_else(|| json!([])),
        "metadata": own,
        "frame": frame,
        "frame_metadata": metadata,
    }));
    Ok((record, related))
}

/// Keys that the original's store adds to the metadata of every frame.
const FRAME: [&str; 4] = ["frame_id", "frame_type", "timestamp", "session_id"];

/// Keys of a frame's metadata that are not its writer's.
fn reserved_keys() -> Vec<&'static str> {
    CORE.into_iter().chain(FRAME).collect()
}

/// A record as a frame; what came as one goes out as it came.
pub fn build_frame(record: &MemoryRecord) -> Value {
    let external = record.find_external_id(ExternalId::FRAMES);
    let id = external.map_or_else(|| record.id.to_string(), str::to_owned);
    let part = |name: &str| {
        let details = record.details.as_ref();
        details
            .and_then(|details| details.get(name)?.as_object())
            .cloned()
    };
    if let (Some(mut frame), Some(mut metadata)) = (part("frame"), part("frame_metadata")) {
        if metadata.get("content") == Some(&json!(true)) {
            metadata.insert("content".to_owned(), json!(record.text));
        }
        frame.insert("id".to_owned(), json!(id));
        frame.insert("content".to_owned(), json!(record.text));
        frame.insert("metadata".to_owned(), Value::Object(metadata));
        if !record.session_id.is_empty() {
            frame.insert("session_id".to_owned(), json!(record.session_id));
        }
        return Value::Object(frame);
    }
    let at = record.timestamp.to_rfc3339();
    let (frame_type, mut metadata) = match super::Observation::of(record) {
        Some(observation) => (
            observation.observation_type.name(),
            serde_json::to_value(observation.to_dict_without(&reserved_keys())).unwrap_or_default(),
        ),
        None => (
            "general",
            json!(nest_reserved_keys(record.metadata.clone(), &FRAME)),
        ),
    };
    metadata["frame_id"] = json!(id);
    metadata["frame_type"] = json!(frame_type);
    metadata["timestamp"] = json!(at);
    let mut tags = vec![frame_type.to_owned()];
    tags.extend(record.tags.iter().cloned());
    let mut session = Value::Null;
    if !record.session_id.is_empty() {
        session = json!(record.session_id);
        metadata["session_id"] = session.clone();
        tags.push(format!("session:{}", record.session_id));
    }
    if let Some(confidence) = record.confidence {
        metadata["confidence"] = json!(to_exact_decimal(confidence));
    }
    json!({
        "id": id,
        "content": record.text,
        "frame_type": frame_type,
        "metadata": metadata,
        "timestamp": at,
        "session_id": session,
        "tags": tags,
    })
}
