//! What events say of runs (M64): beginning, step, end, approval.
//!
//! Pure functions of the event and its mapping.

use chrono::{DateTime, Utc};
use reprise_engine::{LinkEnd, Overheard, RunTurn, RunWrite};
use reprise_redact::Redactor;
use reprise_types::{
    Credit, FailKind, RecordId, Revision, RunBeginning, RunEnding, RunStep, one_line,
};

use super::decode::Event;
use super::map::MappedEvent;
use super::template::text_at;

/// Most records cited by one event.
const CITED_MAX: usize = 32;
/// Characters of a record's id.
const ID_CHARACTERS: usize = 26;

/// What `event` says of the run of its records, the first of which has this place in its batch;
/// `None` where it says nothing.
pub(super) fn said(
    event: &Event,
    mapped: &MappedEvent,
    place: usize,
    at: DateTime<Utc>,
) -> Option<RunWrite> {
    let mut runs = mapped.records.iter();
    let run_id = runs.find_map(|record| record.provenance.run_id.clone())?;
    let mut question = None;
    let turn = match mapped.documented.as_str() {
        "conductor.run.started" => {
            question = Some(place);
            RunTurn::Begin(RunBeginning {
                run_id,
                query: None,
                recall_id: None,
            })
        }
        "conductor.assignment.dispatched" | "worker.report.received" => RunTurn::Step {
            step: RunStep {
                run_id,
                action: mapped.topic.clone(),
                ..RunStep::default()
            },
            result: Some(LinkEnd::New(place)),
        },
        "conductor.run.completed" => ended(run_id, None),
        "conductor.run.failed" => {
            let mut named = ["failure_kind", "data.failure_kind"].iter();
            let named = named.find_map(|path| text_at(&event.payload, path));
            ended(
                run_id,
                Some(fail_kind(named.as_deref().unwrap_or_default())),
            )
        }
        _ => return None,
    };
    let texts = || mapped.records.iter().map(|record| record.text.as_str());
    let overheard = Some(Overheard {
        question,
        cited: cited(texts()),
        said: one_line(&texts().collect::<Vec<_>>().join("\n")).to_lowercase(),
    });
    Some(RunWrite {
        at,
        turn,
        overheard,
    })
}

fn ended(run_id: String, fail: Option<FailKind>) -> RunTurn {
    RunTurn::End(RunEnding {
        run_id,
        used: Vec::new(),
        credit: Credit::Implicit,
        quality: None,
        fail,
    })
}

/// What an approval says.
pub(super) fn approval(run_id: &str, at: DateTime<Utc>) -> RunWrite {
    let turn = RunTurn::Revise {
        // As its records have it.
        run_id: Redactor::new().name_of(run_id).into_owned(),
        revision: Revision::Approved,
        quality: None,
    };
    RunWrite::told(at, turn)
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
    fn failures_from_outside_are_told_apart() {
        assert_eq!(fail_kind("rate_limit"), FailKind::RateLimit);
        assert_eq!(fail_kind("timeout"), FailKind::Network);
        assert_eq!(fail_kind("tests failed"), FailKind::Task);
        assert_eq!(fail_kind(""), FailKind::Task);
    }
}
