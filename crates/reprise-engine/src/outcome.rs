//! The record that a finished run leaves: its question, what was done, and how it went, in words
//! that stand in the run's own records. And whether a record was used: what is said after it was
//! shown quotes it, names it, or has words of it that were in neither the question nor most of
//! memory.

use std::collections::BTreeSet;

use reprise_learn::RunWent;
use reprise_types::{
    ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord, RecordId, Worked, one_line,
};
use serde_json::json;

use crate::engine::Engine;
use crate::identifiers::each;
use crate::naming::Batch;
use crate::snapshot::Snapshot;

/// Steps that are told, and characters of one.
const STEPS: usize = 12;
const STEP_CHARS: usize = 200;
const QUESTION_CHARS: usize = 600;
/// The word in `details` by which it is known.
const TYPE: &str = "outcome";
/// Characters of a record's text that a quotation must match, or all of a shorter text,
const QUOTED_CHARS: usize = 120;
/// unless it is shorter than this, which could match by chance.
const QUOTED_CHARS_MIN: usize = 24;
/// Words of its own that tell, without an identifier.
const WORDS: usize = 2;
/// A word is rare that so many records hold, ...
const RARE: usize = 8;
/// ... or no more than one in so many.
const RARE_SHARE: usize = 50;

impl Engine {
    /// What a run that has ended leaves, or a new version of it where more is known by now. The
    /// question is the first of the run's records where nobody gives one; a run without any leaves
    /// nothing.
    pub(crate) fn outcome_of(
        &self,
        run: &RunWent<'_>,
        own: &[MemoryRecord],
        question: Option<&str>,
        batch: &Batch,
    ) -> Option<NewRecord> {
        let asked = question.or_else(|| own.first().map(|first| first.text.as_str()))?;
        let asked = line(asked, QUESTION_CHARS);
        let steps = own.iter().map(|record| line(&record.text, QUESTION_CHARS));
        let steps = steps.filter(|step| *step != asked);
        let steps: Vec<String> = steps
            .map(|step| line(&step, STEP_CHARS))
            .take(STEPS)
            .collect();
        let mut record = told(&asked, &steps, run);
        if let Some(first) = own.first() {
            record.session_id.clone_from(&first.session_id);
        }
        let name = outcome_name(run.run_id);
        let known = batch.named(&name).or_else(|| self.duplicate_of(&name));
        match known.and_then(|id| self.snapshot.current(id)) {
            Some(current) => {
                let held = self.snapshot.get(current).and_then(Result::ok);
                record.supersedes = Some(current);
                held.is_none_or(|held| held.text != record.text)
                    .then_some(record)
            }
            // It was forgotten, or put away.
            None if known.is_some() => None,
            None => {
                record.external_ids = vec![name];
                Some(record)
            }
        }
    }
}

/// The name of the record that a run leaves.
pub(crate) fn outcome_name(run_id: &str) -> ExternalId {
    ExternalId::new(ExternalId::REQUEST, format!("{TYPE} of {run_id}"))
}

fn told(asked: &str, steps: &[String], run: &RunWent<'_>) -> NewRecord {
    let worked = Worked {
        runs: 1,
        quality: run.quality,
    };
    let mut text = format!("{asked}\n{worked}");
    for (number, step) in steps.iter().enumerate() {
        let step = format!("\n{}. {step}", number + 1);
        text.push_str(&step);
    }
    let mut record = NewRecord::new(text, MemorySource::TrajectoryOutcome, MemoryKind::Strategy);
    record.quality_score = Some(run.quality);
    record.timestamp = Some(run.at);
    record.provenance.run_id = Some(run.run_id.to_owned());
    record.details = Some(json!({
        "type": TYPE,
        "run_id": run.run_id,
        "question": asked,
        "steps": steps,
        "used": run.used,
    }));
    record
}

/// Whether a run's output quotes a recalled record, in other lines and letters perhaps. Requests
/// and plans do not count: a run repeats its own request, and with it similar ones. What a person
/// noted is no request.
pub(crate) fn is_quoted(snapshot: &Snapshot, record: RecordId, said: &str) -> bool {
    let Some(Ok(record)) = snapshot.get(record) else {
        return false;
    };
    let told = match record.source {
        MemorySource::UserInput => record.kind != MemoryKind::Episode,
        MemorySource::ConductorPlan => false,
        MemorySource::WorkerResult
        | MemorySource::WriterRevision
        | MemorySource::TrajectoryOutcome => true,
    };
    told && quotes(said, &record.text)
}

impl Snapshot {
    /// Whether `said` shows that the record was used by who had asked `question`: it has the id,
    /// an identifier or path of its own, or two of its rare words.
    pub fn shows_use(&self, id: RecordId, question: &str, said: &str) -> bool {
        if said.contains(&id.to_string()) {
            return true;
        }
        let Some(Ok(record)) = self.get(id) else {
            return false;
        };
        let named = |text: &str| {
            let mut names = BTreeSet::new();
            each(text, &mut |_, term| {
                names.insert(term);
            });
            names
        };
        let (of_said, of_question) = (named(said), named(question));
        let is_new = |term: &String| of_said.contains(term) && !of_question.contains(term);
        if named(&record.text).iter().any(is_new) {
            return true;
        }
        let words = |text: &str| self.index.analyse_query(text).terms;
        let stems = |text: &str| -> BTreeSet<String> {
            words(text).into_iter().map(|term| term.stem).collect()
        };
        let (of_said, of_question) = (stems(said), stems(question));
        let shared = words(&record.text).into_iter();
        let shared =
            shared.filter(|term| of_said.contains(&term.stem) && !of_question.contains(&term.stem));
        let most = RARE.max(self.index.len() / RARE_SHARE);
        let rare = shared.filter(|term| {
            let alone = self.index.analyse_query(&term.surface);
            let held = self.index.holding_words(&alone, most);
            held.is_some_and(|held| held.len() <= most)
        });
        rare.take(WORDS).count() == WORDS
    }
}

/// Whether `said`, on one line in lower case, has the beginning of a text.
fn quotes(said: &str, text: &str) -> bool {
    let text = line(&text.to_lowercase(), QUOTED_CHARS);
    text.chars().count() >= QUOTED_CHARS_MIN && said.contains(text.trim_end())
}

/// The beginning of a text, on one line.
fn line(text: &str, chars: usize) -> String {
    one_line(text).chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_in_other_lines_and_letters_but_not_by_chance() {
        let said = "as before: put one mutex per user into the session manager. done.";
        assert!(quotes(
            said,
            "Put one mutex per user\ninto the session manager."
        ));
        let tail = "x ".repeat(90);
        let long = format!("put one mutex per user into the session manager. {tail}");
        assert!(!quotes(said, &long), "most of it is not there");
        assert!(!quotes(said, "one mutex"), "too short to tell");
    }
}
