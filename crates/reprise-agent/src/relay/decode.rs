//! Decoding of the envelope forms in which hosts deliver an event: the API and JSONL record, the
//! bus event with its `committed_event`, the documented top-level envelope, and the WebSocket
//! frame.

use chrono::{DateTime, Utc};
use reprise_types::limits::IDENTIFIER_BYTES_MAX;
use reprise_types::parse_timestamp;
use serde_json::{Map, Value};

/// An event of the host, decoded from any envelope form.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    pub event_id: String,
    /// For example `conductor.task.started`.
    pub event_type: String,
    /// Position in the host's log, if the form carries one.
    pub seq: Option<u64>,
    /// When it happened; `None` if the form does not say.
    pub timestamp: Option<DateTime<Utc>>,
    /// The emitting actor, or empty.
    pub actor_id: String,
    /// The user as the host wrote it, which is stored for information and never used to choose a
    /// memory.
    pub user_id: String,
    /// Session of the stored row, if the form carries one.
    pub session_id: Option<String>,
    /// The payload, without the envelope.
    pub payload: Value,
}

/// Why a value is not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("the event is not a JSON object; send one object per event")]
    NotAnObject,
    /// None of the known fields has a type.
    #[error("the event has no `event_type` or `topic`; send it as the host's log exports it")]
    NoType,
    /// None of the known fields has an id.
    #[error(
        "the `{event_type}` event has no `event_id`; without it a replay could not be recognised"
    )]
    NoId { event_type: String },
    /// An identifier or type is longer than the limit.
    #[error("the event's `{field}` has {got} bytes, the limit is {IDENTIFIER_BYTES_MAX}")]
    TooLong { field: &'static str, got: usize },
    /// The time has no known format.
    #[error("{message}")]
    Timestamp { message: String },
}

impl HostEvent {
    /// Decodes any known form. If a bus event carries `committed_event`, the id, type, time and
    /// actor are taken from there.
    pub fn decode(value: Value) -> Result<Self, EventError> {
        let Value::Object(mut outer) = value else {
            return Err(EventError::NotAnObject);
        };
        let mut payload = outer.remove("payload").unwrap_or(Value::Null);
        let committed = remove_committed_event(&mut payload);
        let inner = committed.as_ref();
        let pick = |names: &[&str]| {
            inner
                .and_then(|map| find_text(map, names))
                .or_else(|| find_text(&outer, names))
        };
        let event_type = inner
            .and_then(|map| find_text(map, &["event_type"]))
            .or_else(|| find_text(&outer, &["topic"]))
            .or_else(|| decode_type(outer.get("event_type")?))
            .ok_or(EventError::NoType)?;
        let event_type = check_length("event_type", event_type)?;
        let Some(event_id) = pick(&["event_id", "eventId", "id"]) else {
            return Err(EventError::NoId { event_type });
        };
        let timestamp = pick(&["timestamp"])
            .or_else(|| find_text(payload.as_object()?, &["timestamp"]))
            .map(|text| parse_timestamp(&text))
            .transpose()
            .map_err(|error| EventError::Timestamp {
                message: error.to_string(),
            })?;
        Ok(Self {
            event_id: check_length("event_id", event_id)?,
            event_type,
            seq: read_seq(inner).or_else(|| read_seq(Some(&outer))),
            timestamp,
            actor_id: check_length(
                "actor_id",
                pick(&["actor_id", "source"]).unwrap_or_default(),
            )?,
            user_id: pick(&["user_id"]).unwrap_or_default(),
            session_id: find_text(&outer, &["session_id"]),
            payload,
        })
    }

    /// Returns the log position of a value that may not be a readable event, so that a reader can
    /// skip it.
    pub fn find_seq(value: &Value) -> Option<u64> {
        value
            .pointer("/payload/committed_event/seq")
            .or_else(|| value.get("seq"))
            .and_then(Value::as_u64)
    }
}

fn read_seq(map: Option<&Map<String, Value>>) -> Option<u64> {
    map?.get("seq")?.as_u64()
}

fn check_length(field: &'static str, text: String) -> Result<String, EventError> {
    if text.len() > IDENTIFIER_BYTES_MAX {
        return Err(EventError::TooLong {
            field,
            got: text.len(),
        });
    }
    Ok(text)
}

/// Removes and returns `committed_event`, and unwraps `{"value": ...}`, in which payloads that are
/// no objects are wrapped.
fn remove_committed_event(payload: &mut Value) -> Option<Map<String, Value>> {
    let map = payload.as_object_mut()?;
    let Some(Value::Object(committed)) = map.remove("committed_event") else {
        return None;
    };
    if map.len() == 1
        && let Some(value) = map.get_mut("value")
        && !value.is_object()
    {
        *payload = value.take();
    }
    Some(committed)
}

/// Decodes an event type from `"a.b"`, or from `{"custom": "a.b"}`, the form of an enum with a
/// payload.
fn decode_type(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(map) => find_text(map, &["custom", "Custom"]),
        _ => None,
    }
}

/// Returns the text of the first of these fields that has one.
fn find_text(map: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| map.get(*name)?.as_str())
        .find(|text| !text.is_empty())
        .map(str::to_owned)
}
