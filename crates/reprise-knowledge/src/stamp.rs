//! Times as other systems wrote them: with a zone, without one, or as a number.

use chrono::{DateTime, Local, NaiveDateTime, Utc};
use reprise_types::{NewRecord, Zone, parse_timestamp};
use serde_json::{Value, json};

/// An instant, and whether its zone had to be assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) at: DateTime<Utc>,
    pub(crate) assumed: bool,
}

/// Reads a time; one without a zone is taken as of `zone`. Numbers are seconds since the Unix
/// epoch, or milliseconds where they are that large.
pub(crate) fn stamp(value: &Value, zone: Zone) -> Option<Stamp> {
    if let Some(number) = value.as_f64() {
        const LARGE: f64 = 1e11;
        let seconds = if number.abs() >= LARGE {
            number / 1e3
        } else {
            number
        };
        let at = DateTime::from_timestamp_micros((seconds * 1e6) as i64)?;
        return Some(Stamp { at, assumed: false });
    }
    let text = value.as_str()?.trim();
    let at = parse_timestamp(text).ok()?;
    let assumed = DateTime::parse_from_rfc3339(text).is_err();
    if !assumed || zone == Zone::Utc {
        return Some(Stamp { at, assumed });
    }
    Some(Stamp {
        at: in_zone(at.naive_utc(), zone),
        assumed,
    })
}

fn in_zone(naive: NaiveDateTime, zone: Zone) -> DateTime<Utc> {
    let found = match zone {
        Zone::Utc => None,
        Zone::Fixed(offset) => naive
            .and_local_timezone(offset)
            .earliest()
            .map(|at| at.to_utc()),
        // An hour that summer time leaves out is read as of Greenwich.
        Zone::Machine => naive
            .and_local_timezone(Local)
            .earliest()
            .map(|at| at.to_utc()),
    };
    found.unwrap_or_else(|| naive.and_utc())
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
