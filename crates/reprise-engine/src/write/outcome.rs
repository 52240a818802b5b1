//! The outcome record of a finished run: its question, what was done, and how it went, in the words
//! of the run's own records. And evidence that a run used a record: what it says later quotes the
//! record, names it, or has words of it that were neither in the question nor in most of memory.

use std::collections::BTreeSet;

use reprise_learn::RunResult;
use reprise_rank::visit_identifiers;
use reprise_types::{
    ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord, OutcomeSummary, RecordId,
    to_one_line,
};
use serde_json::json;

use crate::engine::Engine;
use crate::snapshot::Snapshot;
use crate::snapshot::annotation_index::CONTRADICTED;
use crate::write::identity::RecordBatch;

/// Most steps that are named.
const STEPS: usize = 12;
/// Most characters of one step.
const STEP_CHARS: usize = 200;
/// Most characters of the question.
const QUESTION_CHARS: usize = 600;
/// The type in `details` that marks an outcome record.
const TYPE: &str = "outcome";
/// Characters of a record's text that a quotation must match; of a shorter text, all.
const QUOTED_CHARS: usize = 120;
/// Fewest characters of a text that counts as quoted; a shorter one could match by chance.
const QUOTED_CHARS_MIN: usize = 24;
/// Shared words of its own that prove use, without an identifier.
const WORDS: usize = 2;
/// A word is rare if at most so many records hold it.
const RARE: usize = 8;
/// A word is also rare if at most one record in so many holds it.
const RARE_SHARE: usize = 50;

impl Engine {
    /// Drafts the outcome record of a run that has ended, or a new version of it if more is known
    /// now. Without a given question the first of the run's records counts as it; a run without any
    /// gets no record.
    pub(crate) fn draft_outcome_record(
        &self,
        run: &RunResult<'_>,
        own: &[MemoryRecord],
        question: Option<&str>,
        batch: &RecordBatch,
    ) -> Option<NewRecord> {
        let question_line = question.or_else(|| own.first().map(|first| first.text.as_str()))?;
        let question_line = shorten_to_line(question_line, QUESTION_CHARS);
        let steps = own
            .iter()
            .map(|record| shorten_to_line(&record.text, QUESTION_CHARS));
        let steps = drop_repeated_steps(&question_line, &steps.collect::<Vec<_>>());
        let steps: Vec<String> = steps
            .iter()
            .map(|step| shorten_to_line(step, STEP_CHARS))
            .take(STEPS)
            .collect();
        let mut record = build_outcome_record(&question_line, &steps, run);
        if let Some(first) = own.first() {
            record.session_id.clone_from(&first.session_id);
        }
        let name = outcome_external_id(run.run_id);
        let known = batch
            .find_by_external_id(&name)
            .or_else(|| self.snapshot.find_by_external_id(&name));
        match known.and_then(|id| self.snapshot.current_version(id)) {
            Some(current) => {
                let stored = self.snapshot.get(current).and_then(Result::ok);
                record.supersedes = Some(current);
                stored
                    .is_none_or(|stored| stored.text != record.text)
                    .then_some(record)
            }
            // It was forgotten or retired.
            None if known.is_some() => None,
            None => {
                record.external_ids = vec![name];
                Some(record)
            }
        }
    }
}

/// Leaves out steps that another step or the question tells, such as what was assigned before what
/// came of it.
fn drop_repeated_steps(question_line: &str, steps: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let told_later = |other: &String| other != step && other.contains(step.as_str());
        let is_repeated = question_line.contains(step.as_str())
            || kept.contains(step)
            || steps[..at].iter().chain(&steps[at + 1..]).any(told_later);
        if !is_repeated {
            kept.push(step.clone());
        }
    }
    kept
}

/// Returns the external id of a run's outcome record.
pub(crate) fn outcome_external_id(run_id: &str) -> ExternalId {
    ExternalId::new(ExternalId::REQUEST, format!("{TYPE} of {run_id}"))
}

fn build_outcome_record(question_line: &str, steps: &[String], run: &RunResult<'_>) -> NewRecord {
    let worked = OutcomeSummary {
        runs: 1,
        quality: run.quality,
    };
    let mut text = format!("{question_line}\n{worked}");
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
        "question": question_line,
        "steps": steps,
        "used": run.used,
    }));
    record
}

/// Whether a run's output quotes a recalled record, in other lines and letters perhaps. Requests
/// and plans do not count, because a run repeats its own request, and with it similar ones. What a
/// person noted is no request.
pub(crate) fn is_quoted(snapshot: &Snapshot, record: RecordId, output: &str) -> bool {
    let Some(Ok(record)) = snapshot.get(record) else {
        return false;
    };
    let counts = match record.source {
        MemorySource::UserInput => record.kind != MemoryKind::Episode,
        MemorySource::ConductorPlan => false,
        MemorySource::WorkerResult
        | MemorySource::WriterRevision
        | MemorySource::TrajectoryOutcome => true,
    };
    counts && has_quotation(output, &record.text)
}

impl Snapshot {
    /// Whether `output` shows that the record was used to answer `question`: it has the record's
    /// id, an identifier or path of it that the question lacks, or two of its rare words.
    pub fn has_evidence_of_use(&self, id: RecordId, question: &str, output: &str) -> bool {
        if output.contains(&id.to_string()) {
            return true;
        }
        let Some(Ok(record)) = self.get(id) else {
            return false;
        };
        let named = |text: &str| {
            let mut names = BTreeSet::new();
            visit_identifiers(text, &mut |_, term| {
                names.insert(term);
            });
            names
        };
        let (of_output, of_question) = (named(output), named(question));
        let is_new = |term: &String| of_output.contains(term) && !of_question.contains(term);
        if named(&record.text).iter().any(is_new) {
            return true;
        }
        let words = |text: &str| self.index.analyse_query(text).terms;
        let stems = |text: &str| -> BTreeSet<String> {
            words(text).into_iter().map(|term| term.stem).collect()
        };
        let (of_output, of_question) = (stems(output), stems(question));
        let shared = words(&record.text).into_iter();
        let shared = shared
            .filter(|term| of_output.contains(&term.stem) && !of_question.contains(&term.stem));
        let most = RARE.max(self.index.len() / RARE_SHARE);
        let rare = shared.filter(|term| {
            let alone = self.index.analyse_query(&term.surface);
            let holders = self.index.find_all_words(&alone, most);
            holders.is_some_and(|holders| holders.len() <= most)
        });
        rare.take(WORDS).count() == WORDS
    }

    /// Whether an output agrees with a record more than with those of `others` that contradict it,
    /// or that have another figure: it has more of the words by which the record differs.
    pub fn agrees_with(&self, id: RecordId, others: &[RecordId], output: &str) -> bool {
        let Some(own) = self.live_ordinal(id) else {
            return true;
        };
        let stems = |text: &str| -> BTreeSet<String> {
            let terms = self.index.analyse_query(text).terms.into_iter();
            terms.map(|term| term.stem).collect()
        };
        let words_of = |id: RecordId| {
            let record = self.get(id).and_then(Result::ok);
            record.map_or_else(BTreeSet::new, |record| stems(&record.text))
        };
        let contradicts = |other: u32| {
            let link = |one, other| {
                self.marks
                    .find_open_link(one, other, CONTRADICTED)
                    .is_some()
            };
            link(own, other) || link(other, own)
        };
        let (said, own_words) = (stems(output), words_of(id));
        others.iter().filter(|other| **other != id).all(|other| {
            let is_contrary = self.live_ordinal(*other).is_some_and(contradicts);
            let other = words_of(*other);
            if !is_contrary && !differ_in_figures(&own_words, &other) {
                return true;
            }
            let held = |one: &BTreeSet<String>, not: &BTreeSet<String>| {
                let differ = one.difference(not);
                differ.filter(|word| said.contains(*word)).count()
            };
            held(&own_words, &other) > held(&other, &own_words)
        })
    }
}

/// Whether two records tell of the same thing, but each another figure: nobody may have compared
/// them yet. Of the words of the shorter one half or more are in the other.
fn differ_in_figures(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let is_figure = |word: &&String| word.chars().any(|c| c.is_ascii_digit());
    let has_own_figure = |own: &BTreeSet<String>, not: &BTreeSet<String>| {
        own.difference(not).any(|word| is_figure(&word))
    };
    let count_words = |own: &BTreeSet<String>| own.iter().filter(|word| !is_figure(word)).count();
    let shared = one
        .intersection(other)
        .filter(|word| !is_figure(word))
        .count();
    has_own_figure(one, other)
        && has_own_figure(other, one)
        && 2 * shared >= count_words(one).min(count_words(other))
}

/// Whether `output`, on one line in lower case, has the beginning of a text.
fn has_quotation(output: &str, text: &str) -> bool {
    let text = shorten_to_line(&text.to_lowercase(), QUOTED_CHARS);
    text.chars().count() >= QUOTED_CHARS_MIN && output.contains(text.trim_end())
}

/// Returns the beginning of a text, on one line.
fn shorten_to_line(text: &str, chars: usize) -> String {
    to_one_line(text).chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_in_other_lines_and_letters_but_not_by_chance() {
        let output = "as before: put one mutex per user into the session manager. done.";
        assert!(has_quotation(
            output,
            "Put one mutex per user\ninto the session manager."
        ));
        let tail = "x ".repeat(90);
        let long = format!("put one mutex per user into the session manager. {tail}");
        assert!(!has_quotation(output, &long), "most of it is not there");
        assert!(!has_quotation(output, "one mutex"), "too short to tell");
    }
}
