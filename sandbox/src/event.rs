//! The shapes in which the host's events are stored, exported and published: choiros' own.
//!
//! Lives here: field names and conversions. Must never live here: what an event means.

use chrono::{DateTime, Utc};
use reprise_types::parse_timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The user of events that the host itself emits.
pub const SYSTEM_USER: &str = "system";

/// An event before it is stored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NewEvent {
    /// A second event with the same id is a duplicate.
    #[serde(alias = "eventId", alias = "id")]
    pub event_id: String,
    /// When it happened.
    #[serde(deserialize_with = "instant")]
    pub timestamp: DateTime<Utc>,
    /// For example `conductor.task.started`.
    pub event_type: String,
    /// Any JSON.
    #[serde(default)]
    pub payload: Value,
    /// Who emitted it.
    #[serde(default)]
    pub actor_id: String,
    /// For whom; [`SYSTEM_USER`] for the host itself.
    #[serde(default = "system_user")]
    pub user_id: String,
}

fn system_user() -> String {
    SYSTEM_USER.to_owned()
}

fn instant<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_timestamp(&text).map_err(serde::de::Error::custom)
}

/// A row of the log; serialised it is the record of `/logs/events`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredEvent {
    /// Position in the log, ascending.
    pub seq: u64,
    /// ULID.
    pub event_id: String,
    /// When it happened.
    pub timestamp: DateTime<Utc>,
    /// Who emitted it.
    pub actor_id: String,
    /// For example `conductor.task.started`.
    pub event_type: String,
    /// Any JSON.
    pub payload: Value,
    /// For whom.
    pub user_id: String,
    /// Copied from `payload.scope` when the event was stored.
    #[serde(skip)]
    pub session_id: Option<String>,
    /// Copied from `payload.scope` when the event was stored.
    #[serde(skip)]
    pub thread_id: Option<String>,
}

/// What travels on the bus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusEvent {
    /// The publication's own id.
    pub id: String,
    /// Written as `{"custom": "conductor.task.started"}`.
    pub event_type: EventType,
    /// What subscribers' patterns are held against.
    pub topic: String,
    /// Any JSON; relayed events carry `committed_event` in it.
    pub payload: Value,
    /// When it was published.
    pub timestamp: DateTime<Utc>,
    /// Who emitted it.
    pub source: String,
    /// The request it belongs to.
    pub correlation_id: Option<String>,
}

/// The type of a bus event, as the host's enum is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// A type that the log names.
    Custom(String),
}

impl StoredEvent {
    /// The event as the relay publishes it: enriched with where it stands in the log, which is what
    /// a subscriber deduplicates and catches up by.
    #[must_use]
    pub fn to_bus(&self, publication_id: String, now: DateTime<Utc>) -> BusEvent {
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
