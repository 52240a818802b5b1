//! Events of runs: beginning, step, end and approval, as pure functions of a host's event and its
//! mapping.

use chrono::{DateTime, Utc};
use reprise_engine::{InferredUse, LinkEnd, RunAction, RunWrite};
use reprise_redact::Redactor;
use reprise_types::{
    Credit, FailKind, RecordId, Revision, RunBeginning, RunEnding, RunStep, to_one_line,
};

use super::decode::HostEvent;
use super::map::MappedEvent;
use super::template::text_at;

/// Most records cited by one event.
const CITED_MAX: usize = 32;
/// Characters of a record's id.
const ID_CHARACTERS: usize = 26;

/// Builds the run write of an event; `None` if the event tells nothing about a run. `place` is
/// that of the event's first record in its batch.
pub(super) fn build_run_write(
    event: &HostEvent,
    mapped: &MappedEvent,
    place: usize,
    at: DateTime<Utc>,
) -> Option<RunWrite> {
    let mut runs = mapped.records.iter();
    let run_id = runs.find_map(|record| record.provenance.run_id.clone())?;
    let mut question = None;
    let action = match mapped.documented.as_str() {
        "conductor.run.started" => {
            question = Some(place);
            RunAction::Begin(RunBeginning {
                run_id,
                query: None,
                recall_id: None,
            })
        }
        "conductor.assignment.dispatched" | "worker.report.received" => RunAction::Step {
            step: RunStep {
                run_id,
                action: describe_step(mapped),
                ..RunStep::default()
            },
            result: Some(LinkEnd::New(place)),
        },
        "conductor.run.completed" => run_end_action(run_id, None),
        "conductor.run.failed" => {
            let mut named = ["failure_kind", "data.failure_kind"].iter();
            let named = named.find_map(|path| text_at(&event.payload, path));
            run_end_action(
                run_id,
                Some(classify_failure(named.as_deref().unwrap_or_default())),
            )
        }
        _ => return None,
    };
    let texts = || mapped.records.iter().map(|record| record.text.as_str());
    let inferred_use = Some(InferredUse {
        question,
        cited: find_cited_ids(texts()),
        text: to_one_line(&texts().collect::<Vec<_>>().join("\n")).to_lowercase(),
    });
    Some(RunWrite {
        at,
        action,
        inferred_use,
    })
}

/// Returns what a step did, in the words of its event.
fn describe_step(mapped: &MappedEvent) -> String {
    let text = mapped
        .records
        .first()
        .map(|record| to_one_line(&record.text));
    text.unwrap_or_else(|| mapped.topic.clone())
}

fn run_end_action(run_id: String, fail: Option<FailKind>) -> RunAction {
    RunAction::End(RunEnding {
        run_id,
        used: Vec::new(),
        credit: Credit::Implicit,
        quality: None,
        fail_kind: fail,
    })
}

/// Builds the run write of an approval.
pub(super) fn build_approval(run_id: &str, at: DateTime<Utc>) -> RunWrite {
    let action = RunAction::Revise {
        // The id is redacted as it is in the run's records.
        run_id: Redactor::new().redacted_name(run_id).into_owned(),
        revision: Revision::Approved,
        quality: None,
    };
    RunWrite::new(at, action)
}

/// Classifies the host's name of a failure as an outside cause or as the run's own failure.
fn classify_failure(name: &str) -> FailKind {
    let parsed = name.parse().ok();
    parsed.unwrap_or(match name {
        "timeout" | "network_error" | "connection" => FailKind::Network,
        "provider_error" | "model_error" | "overloaded" => FailKind::Provider,
        "quota" | "rate_limited" => FailKind::RateLimit,
        "unauthorized" | "forbidden" => FailKind::Auth,
        _ => FailKind::Task,
    })
}

/// Returns the record ids that occur in the texts as separate words, each once.
fn find_cited_ids<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<RecordId> {
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
        assert_eq!(find_cited_ids([text.as_str(), "nothing"].into_iter()), [id]);
    }

    #[test]
    fn failures_from_outside_are_told_apart() {
        assert_eq!(classify_failure("rate_limit"), FailKind::RateLimit);
        assert_eq!(classify_failure("timeout"), FailKind::Network);
        assert_eq!(classify_failure("tests failed"), FailKind::Task);
        assert_eq!(classify_failure(""), FailKind::Task);
    }
}
