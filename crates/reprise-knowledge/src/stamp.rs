//! Times as other systems wrote them: with a zone, without one, or as a number.

use chrono::{DateTime, Utc};
use reprise_types::{NewRecord, Zone};
use serde_json::{Value, json};

/// An instant, and whether its zone had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) at: DateTime<Utc>,
    pub(crate) assumed: bool,
}

/// Reads a time; one without a zone is taken as of `zone`.
pub(crate) fn stamp(value: &Value, zone: Zone) -> Option<Stamp> {
    let named = |text: &str| DateTime::parse_from_rfc3339(text.trim()).is_ok();
    Some(Stamp {
        at: zone.moment(value)?,
        assumed: value.as_str().is_some_and(|text| !named(text)),
    })
}

/// Gives a record the time that its source names, and says in the metadata what had to be assumed.
pub(crate) fn date(record: &mut NewRecord, value: &Value, zone: Zone) {
    match stamp(value, zone) {
        Some(Stamp { at, assumed }) => {
            record.timestamp = Some(at);
            if assumed {
                let name = match zone {
                    Zone::Utc => "UTC".to_owned(),
                    Zone::Fixed(offset) => offset.to_string(),
                    Zone::Machine => "local".to_owned(),
                };
                record
                    .metadata
                    .insert("ts_assumed_tz".to_owned(), json!(name));
            }
        }
        None if value.is_null() => {}
        None => {
            record
                .metadata
                .insert("ts_unreadable".to_owned(), value.clone());
        }
    }
}
