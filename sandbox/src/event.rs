//! The formats in which events are stored, exported and published, as in choiros, and their ids.

use chrono::{DateTime, Utc};
use reprise_types::{TimestampError, parse_timestamp, system_entropy};
use serde_json::Map;
use ulid::Ulid;

use crate::prelude::*;

/// The user of events that the host itself emits.
pub const SYSTEM_USER: &str = "system";

/// An event that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// Unique id; a second event with it is a duplicate.
    pub event_id: String,
    pub timestamp: DateTime<Utc>,
    /// For example `conductor.task.started`.
    pub event_type: String,
    pub payload: Value,
    pub actor_id: String,
    /// The user; [`SYSTEM_USER`] for the host itself.
    pub user_id: String,
}

/// Why a value is not an exported event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventExportError {
    #[error("not an event: it is not a JSON object")]
    NotAnObject,
    #[error("not an event: `{0}` is missing or empty")]
    Missing(&'static str),
    #[error("not an event: {0}")]
    Timestamp(#[from] TimestampError),
}

impl NewEvent {
    /// Decodes a record of `/logs/events`, a frame of its WebSocket, or a relayed bus event, whose
    /// `committed_event` is used and removed from the payload.
    pub fn from_export(value: Value) -> Result<Self, EventExportError> {
        let Value::Object(mut record) = value else {
            return Err(EventExportError::NotAnObject);
        };
        let mut payload = record.remove("payload").unwrap_or(Value::Null);
        if let Some(Value::Object(committed)) = payload
            .as_object_mut()
            .and_then(|map| map.remove("committed_event"))
        {
            record = committed;
            let wrapped = payload.as_object().filter(|map| map.len() == 1);
            if let Some(value) = wrapped.and_then(|map| map.get("value")).cloned()
                && !value.is_object()
            {
                payload = value;
            }
        }
        let text = |names: &[&'static str]| {
            let mut texts = names.iter().filter_map(|name| record.get(*name)?.as_str());
            texts.find(|text| !text.is_empty()).map(str::to_owned)
        };
        let require_text =
            |names: &[&'static str]| text(names).ok_or(EventExportError::Missing(names[0]));
        Ok(Self {
            event_id: require_text(&["event_id", "eventId", "id"])?,
            timestamp: parse_timestamp(&require_text(&["timestamp"])?)?,
            event_type: require_text(&["event_type", "topic"])?,
            actor_id: text(&["actor_id"]).unwrap_or_default(),
            user_id: text(&["user_id"]).unwrap_or_else(|| SYSTEM_USER.to_owned()),
            payload,
        })
    }
}

/// A row of the log, whose serialised form is the record of `/logs/events`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredEvent {
    /// Position in the log, ascending.
    pub seq: u64,
    pub event_id: String,
    pub timestamp: DateTime<Utc>,
    pub actor_id: String,
    /// For example `conductor.task.started`.
    pub event_type: String,
    pub payload: Value,
    pub user_id: String,
    /// Copied from `payload.scope` when the event was stored.
    #[serde(skip)]
    pub session_id: Option<String>,
    /// Copied from `payload.scope` when the event was stored.
    #[serde(skip)]
    pub thread_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusEvent {
    /// Id of the publication.
    pub id: String,
    /// Serialised as `{"custom": "conductor.task.started"}`.
    pub event_type: EventType,
    /// Topic that is matched against the subscribers' patterns.
    pub topic: String,
    /// Any JSON; that of relayed events contains `committed_event`.
    pub payload: Value,
    /// When it was published.
    pub timestamp: DateTime<Utc>,
    pub source: String,
    /// The request to which it belongs.
    pub correlation_id: Option<String>,
}

/// The type of a bus event, in the serialised form of choiros's enum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// An event type of the log.
    Custom(String),
}

impl StoredEvent {
    /// Converts to the event that the relay publishes, with the position in the log, by which a
    /// subscriber deduplicates and catches up.
    pub fn to_bus_event(&self, publication_id: String, now: DateTime<Utc>) -> BusEvent {
        let mut payload = match &self.payload {
            Value::Object(map) => map.clone(),
            other => Map::from_iter([("value".to_owned(), other.clone())]),
        };
        payload.insert(
            "committed_event".to_owned(),
            json!({
                "seq": self.seq,
                "event_id": self.event_id,
                "event_type": self.event_type,
                "timestamp": self.timestamp.to_rfc3339(),
                "actor_id": self.actor_id,
                "user_id": self.user_id,
            }),
        );
        BusEvent {
            id: publication_id,
            event_type: EventType::Custom(self.event_type.clone()),
            topic: self.event_type.clone(),
            payload: Value::Object(payload),
            timestamp: now,
            source: self.actor_id.clone(),
            correlation_id: None,
        }
    }
}

/// A generator of ids, which are unique by 80 random bits and a counter.
#[derive(Debug)]
pub struct EventIds {
    random: u128,
}

impl EventIds {
    /// Returns a new id that sorts by `now`; times before 1970 count as 1970.
    pub fn next_id(&mut self, now: DateTime<Utc>) -> String {
        self.random = self.random.wrapping_add(1);
        let unix_ms = u64::try_from(now.timestamp_millis()).unwrap_or_default();
        Ulid::from_parts(unix_ms, self.random).to_string()
    }
}

impl Default for EventIds {
    fn default() -> Self {
        Self {
            random: system_entropy() >> 48,
        }
    }
}
