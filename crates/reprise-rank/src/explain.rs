//! Explains, part by part, why a result is in the answer.

pub(crate) mod reason;

use chrono::{DateTime, Utc};
use reprise_types::{
    ContributingRun, MemoryRecord, OutcomeSummary, RankExplanation, RankSignal, RecordId,
};

use crate::answer::LIKELY_COSINE;
use crate::candidate::Nearness;
use crate::fuse::ScoreModel;
use crate::names::NamesInQuestion;
use crate::order::RankedCandidate;
use crate::question::required_content::RequiredContent;
use crate::signals::SIGNALS;
use reason::SEPARATOR;

/// Most words of a question that is short enough to need all of them.
const SHORT_QUESTION: usize = 3;
/// Cosine below which a record is about something else.
const FAR_COSINE: f32 = 0.35;
/// Cosine that the words no record has must add to that of the others in what is likely to answer:
/// more than rounding of vectors makes. Of short questions to forty records of the dev stores, half
/// of the words unknown, the first result is right in 9 % below it and in 26 % above (ADR 0056).
const LEAST_ADDED: f32 = 0.02;

/// What the explanations of one answer share.
#[derive(Debug)]
pub struct ExplainedQuestion<'a> {
    pub model: &'a ScoreModel,
    pub names: &'a NamesInQuestion,
    pub required: &'a RequiredContent,
    /// Each word of the question that counts, and whether any record has it.
    pub words: Vec<(&'a str, bool)>,
    pub asks_when: bool,
    /// Whether the question is about a time.
    pub is_of_time: bool,
    /// The instant from which an outcome's age is told.
    pub now: Option<DateTime<Utc>>,
}

/// Whether a question is short and half of its words or more stand in no record.
#[must_use]
pub fn is_mostly_unknown(words: usize, unknown: usize) -> bool {
    (2..=SHORT_QUESTION).contains(&words) && unknown * 2 >= words
}

/// A word of the question, and its weight by how rare it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeighedWord<'a> {
    pub word: &'a str,
    pub idf: f32,
}

/// The records around a result, and who says it.
#[derive(Debug, Clone, Default)]
pub struct Surroundings<'a> {
    /// The question's words that the prompt has that it answers, and it has not.
    pub prompt_words: Vec<WeighedWord<'a>>,
    /// The question's words that the memory before it has, and it has not.
    pub previous_words: Vec<WeighedWord<'a>>,
    /// The question's words that the memory after it has, and it has not.
    pub next_words: Vec<WeighedWord<'a>>,
    /// Standard score of its session's words, if it is in a session.
    pub session_words: Option<f32>,
    pub is_by_named_speaker: bool,
    /// Whether it is a rule or preference that the user set for good.
    pub is_instruction: bool,
    /// Whether its text names a time.
    pub is_dated: bool,
}

/// What memory knows of one result.
#[derive(Debug, Clone, Default)]
pub struct ResultFacts<'a> {
    pub nearness: Option<Nearness>,
    /// Its cosine with the part of the question of which memory knows the words, if half or more
    /// of a short question is unknown.
    pub known_part_cosine: Option<f32>,
    /// The question's words that it has, as the question spells them.
    pub matched_words: Vec<String>,
    /// Those of them that it spells as the question does, with their weights.
    pub same_words: Vec<WeighedWord<'a>>,
    /// The words that it spells differently, each with the question's spelling.
    pub respelled: Vec<(String, String)>,
    pub around: Surroundings<'a>,
    /// How the runs that used it went.
    pub worked: Option<OutcomeSummary>,
    pub taught_by: Vec<ContributingRun>,
    /// The versions that it replaced, newest first.
    pub supersedes: Vec<RecordId>,
    /// The newest record that contradicts it, and when that happened.
    pub contradicted_by: Option<(RecordId, DateTime<Utc>)>,
    /// The earlier question, the same as this one, that it followed, and when that was asked.
    pub answered: Option<(RecordId, DateTime<Utc>)>,
    /// The answer that ended the turn in which it was a step on the way.
    pub step_of: Option<RecordId>,
}

impl ExplainedQuestion<'_> {
    /// Builds the explanation of one result.
    pub fn explain_result(
        &self,
        ranked: &RankedCandidate,
        record: &MemoryRecord,
        mut facts: ResultFacts<'_>,
    ) -> RankExplanation {
        let (scored, learned) = (&ranked.scored, ranked.learned);
        let matched = self.names.matched_identifiers(scored.ordinal, record);
        let is_certain = self.names.is_certain_match(scored);
        let unknown = self.name_unknown_words(&facts.matched_words);
        let cosine = facts.nearness.map_or(1.0, |near| near.cosine);
        // A name or a time is found by other ways than its words.
        let is_named = !matched.is_empty() || self.is_of_time || is_certain;
        let is_unknown = |below: f32| !is_named && !unknown.is_empty() && cosine < below;
        let known = facts.known_part_cosine;
        let likely = known.map_or(LIKELY_COSINE, |known| {
            LIKELY_COSINE.max(known + LEAST_ADDED)
        });
        let untold = is_unknown(likely * (1.0 - scored.dialogue));
        let untold = untold.then(|| format!("does not mention {unknown}"));
        let mut why = RankExplanation {
            dialogue: scored.dialogue,
            signals: self.list_signals(ranked),
            raw_distance: facts.nearness.map(|near| 1.0 - near.cosine),
            matched_words: std::mem::take(&mut facts.matched_words),
            worked: facts.worked,
            taught_by: std::mem::take(&mut facts.taught_by),
            learning: (learned.cap > 0.0).then_some(learned),
            supersedes: std::mem::take(&mut facts.supersedes),
            matched_identifiers: matched,
            contradicted_by: facts.contradicted_by.map(|newer| newer.0),
            held_until: facts.contradicted_by.map(|newer| newer.1),
            step_of: facts.step_of,
            is_certain,
            lacks: self.required.describe_missing(record).or(untold),
            lacks_all: self.names.names_only_unknown || is_unknown(FAR_COSINE),
            ..RankExplanation::default()
        };
        for word in &mut why.matched_words {
            let own = facts.respelled.iter().find(|(_, typed)| typed == word);
            word.clone_from(own.map_or(&word.clone(), |(own, _)| own));
        }
        why.reason = reason::render_reason(self, ranked, &why, &facts);
        if let Some(outcome) = reason::render_outcome(record, self.now) {
            why.reason = format!("{outcome}{SEPARATOR}{}", why.reason);
        }
        if let Some((earlier, asked)) = facts.answered {
            let day = asked.format("%Y-%m-%d");
            let reason = format!("{SEPARATOR}followed when this was asked on {day}");
            why.reason.push_str(&reason);
            why.answered = Some(earlier);
        }
        why
    }

    /// Returns every part of a score.
    fn list_signals(&self, ranked: &RankedCandidate) -> Vec<RankSignal> {
        let scored = &ranked.scored;
        let parts = SIGNALS.iter().zip(scored.values).zip(self.model.weights);
        let mut signals: Vec<RankSignal> = parts
            .filter(|(_, weight)| *weight != 0.0)
            .map(|((signal, value), weight)| rank_signal(signal.name, value, weight))
            .collect();
        signals.extend(baseline_signals(self.model));
        let lifts = scored.lifts();
        signals.extend(lifts.map(|(by, value, weight)| rank_signal(by.name(), value, weight)));
        signals
    }

    /// Names the words of a short question that no record has, if they are half of it or more: what
    /// it asks for is hardly here, or was forgotten. The text is empty for other questions. A word
    /// that the result itself has is not among them, though few others may be counted by it.
    fn name_unknown_words(&self, own: &[String]) -> String {
        let unknown = self.words.iter().filter(|(_, is_known)| !is_known);
        let unknown = unknown.filter(|(word, _)| !own.iter().any(|one| one == word));
        let unknown: Vec<String> = unknown.map(|(word, _)| format!("`{word}`")).collect();
        if !is_mostly_unknown(self.words.len(), unknown.len()) {
            return String::new();
        }
        unknown.join(" or ")
    }
}

/// Returns the parts of the score that are the same for every record of an answer.
pub(crate) fn baseline_signals(model: &ScoreModel) -> [RankSignal; 2] {
    [
        rank_signal("base_rate", 1.0, model.base),
        rank_signal("doubt", model.doubt, -1.0),
    ]
}

/// Builds one part of a score from its value and weight.
pub(crate) fn rank_signal(name: &str, value: f32, weight: f32) -> RankSignal {
    RankSignal {
        name: name.to_owned(),
        value,
        weight,
        // Adding 0.0 turns `-0.0`, which looks like less than nothing, into `0.0`.
        contribution: value * weight + 0.0,
    }
}
