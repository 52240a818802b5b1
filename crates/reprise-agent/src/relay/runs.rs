//! Signals of runs in events (M64): beginning, step, end, approval.
//!
//! Pure functions of the event and its mapping.

use chrono::{DateTime, Utc};
use reprise_redact::Redactor;
use reprise_types::{FailKind, RecordId};

use super::decode::Event;
use super::map::MappedEvent;
use super::template::text_at;

/// Most records cited by one event.
const CITED_MAX: usize = 32;
/// Characters of a record's text that a quotation must match, or all of a shorter text,
const QUOTED_CHARACTERS: usize = 120;
/// unless it is shorter than this, which could match by chance.
const QUOTED_CHARACTERS_MIN: usize = 24;
/// Characters of a record's id.
const ID_CHARACTERS: usize = 26;

/// A signal of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunSignal {
    pub(super) run_id: String,
    pub(super) at: Option<DateTime<Utc>>,
    pub(super) what: RunTurn,
    /// Records whose ids occur in the event: implicit credit.
    pub(super) cited: Vec<RecordId>,
    /// The event's text on one line in lower case; quoting a record gives implicit credit too.
    pub(super) said: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunTurn {
    /// It began; its query is the text of the event's first record.
    Began,
    Acted {
        action: String,
    },
    /// It ended, completed or failed.
    Ended {
        fail: Option<FailKind>,
    },
    /// A person approved its result.
    Approved,
}

/// The signal of `event` for the run of its records; `None` without one.
pub(super) fn signal(event: &Event, mapped: &MappedEvent) -> Option<RunSignal> {
    let run_id = mapped
        .records
        .iter()
        .find_map(|record| record.provenance.run_id.clone())?;
    let what = match mapped.documented.as_str() {
        "conductor.run.started" => RunTurn::Began,
        "conductor.assignment.dispatched" | "worker.report.received" => RunTurn::Acted {
            action: mapped.topic.clone(),
        },
        "conductor.run.completed" => RunTurn::Ended { fail: None },
        "conductor.run.failed" => {
            let named = ["failure_kind", "data.failure_kind"]
                .iter()
                .find_map(|path| text_at(&event.payload, path));
            let fail = Some(fail_kind(named.as_deref().unwrap_or_default()));
            RunTurn::Ended { fail }
        }
        _ => return None,
    };
    let texts = || mapped.records.iter().map(|record| record.text.as_str());
    Some(RunSignal {
        run_id,
        at: event.timestamp,
        what,
        cited: cited(texts()),
        said: one_line(&texts().collect::<Vec<_>>().join("\n")),
    })
}

/// The signal of an approval.
pub(super) fn approval(run_id: &str, event: &Event) -> RunSignal {
    RunSignal {
        // As its records have it.
        run_id: Redactor::new().name_of(run_id).into_owned(),
        at: event.timestamp,
        what: RunTurn::Approved,
        cited: Vec::new(),
        said: String::new(),
    }
}

/// Whether `said` quotes the beginning of a record's text (see [`RunSignal::said`]).
pub(super) fn quoted(said: &str, text: &str) -> bool {
    let text: String = one_line(text).chars().take(QUOTED_CHARACTERS).collect();
    text.chars().count() >= QUOTED_CHARACTERS_MIN && said.contains(text.trim_end())
}

/// Normalises case and line breaks.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Classifies the host's name of a failure: outside causes, or the run's own (C34).
fn fail_kind(named: &str) -> FailKind {
    let known = named.parse().ok();
    known.unwrap_or(match named {
        "timeout" | "network_error" | "connection" => FailKind::Network,
        "provider_error" | "model_error" | "overloaded" => FailKind::Provider,
        "quota" | "rate_limited" => FailKind::RateLimit,
        "unauthorized" | "forbidden" => FailKind::Auth,
        _ => FailKind::Task,
    })
}

/// Record ids that occur in the texts as separate words, each once.
fn cited<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<RecordId> {
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    let mut ids = Vec::new();
    for word in words.filter(|word| word.len() == ID_CHARACTERS) {
        if let Ok(id) = word.parse::<RecordId>()
            && !ids.contains(&id)
            && ids.len() < CITED_MAX
        {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_as_words_and_once() {
        let id = RecordId::from_u128(1 << 100);
        let text = format!("as in {id}, and [{id}]: see x{id} or {}", "0".repeat(27));
        assert_eq!(cited([text.as_str(), "nothing"].into_iter()), [id]);
    }

    #[test]
    fn a_text_is_quoted_in_other_lines_and_letters_but_not_by_chance() {
        let said = one_line("As before: Put ONE mutex\n per user into  the session manager. Done.");
        assert!(quoted(
            &said,
            "put one mutex per user\ninto the session manager."
        ));
        let long = format!(
            "put one mutex per user into the session manager. {}",
            "x ".repeat(90)
        );
        assert!(!quoted(&said, &long), "most of it is not there");
        assert!(!quoted(&said, "one mutex"), "too short to tell");
    }

    #[test]
    fn failures_from_outside_are_told_apart() {
        assert_eq!(fail_kind("rate_limit"), FailKind::RateLimit);
        assert_eq!(fail_kind("timeout"), FailKind::Network);
        assert_eq!(fail_kind("tests failed"), FailKind::Task);
        assert_eq!(fail_kind(""), FailKind::Task);
    }
}
