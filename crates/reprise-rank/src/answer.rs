//! Turns a ranked list into an answer: which results a prompt would show, and a verdict about the
//! whole. Hooks, contexts, lists and the page all show what is decided here.
//!
//! A line in a prompt costs its reader more than one on a screen, so each line is judged by itself:
//! by its score, its distance from the best, and its similarity in meaning and in words. The
//! weights were fitted by `tests/quality/fit_lines.py`, and each kind of store was judged by a fit
//! on the others.

pub(crate) mod context;
pub(crate) mod excerpt;
pub(crate) mod judgements;
pub(crate) mod merge_wordings;

use reprise_types::{MemoryRecord, RecallResponse, RecordType, RelevanceVerdict, RetrievedMemory};

use crate::candidate::compute_evidence;
use crate::logits::{logistic, logit, logit_within};
use crate::question::prompt_aim::tells_only;

/// Most lines in one prompt.
const LINES_MAX: usize = 4;
/// Most lines in one prompt for a question about all of a time.
const LINES_OF_A_TIME: usize = 8;
/// Intercept of the logit that a line helps.
const START: f32 = -2.08;
/// Logit per logit of the line's score.
const SCORE: f32 = 0.51;
/// Logit per logit of the score's distance from the best.
const BEHIND: f32 = 0.34;
/// Logit per unit of the line's cosine.
const COSINE: f32 = 2.01;
/// Logit per unit of the share of the question's words that the line holds.
const WORDS: f32 = 1.06;
/// Probability that the best line needs; if it is lower, no line is shown.
const FIRST: f32 = 0.17;
/// Probability that every other line needs.
const OTHERS: f32 = 0.10;
/// Probability that every other line needs that a second look judged: what it calls less likely
/// helps in 8 of 100 cases.
const OTHERS_JUDGED: f32 = 0.12;
/// Evidence that a line of the named time needs, because much happened in any month.
const OF_TIME: f32 = 0.30;
/// Share of the question's other words that suffices for a line of the named time.
const OF_TIME_WORDS: f32 = 0.40;
/// Cosine from which a text outside any dialogue is likely to answer: what is merely similar tells
/// something else about the same subject. Inside a dialogue the context speaks for the text.
pub(crate) const LIKELY_COSINE: f32 = 0.57;
/// Most outcomes of runs of one session in one prompt, so that an earlier session has its say.
const OUTCOMES_OF_A_SESSION: usize = 3;
/// Cosine from which the outcome of a run that went well is likely to answer: it tells how a
/// request of this kind was done, even if for another thing.
const SUCCESS_COSINE: f32 = 0.2;
/// Score from which a result is likely to answer whatever the cosine, and which a stored prompt
/// that asks for something needs for a line, because what was told to an agent with a task is
/// mostly about that task; so does a record of a run or an edit without a word on it.
const LIKELY_SCORE: f32 = 0.65;
/// Name of the signal of a judge.
pub(crate) const JUDGE_SIGNAL: &str = "second_judge";
/// Smallest distance of a judgement from 0 and 1.
pub(crate) const CERTAIN: f32 = 1e-5;
/// Intercept of the logit that a judged line helps.
const HELP_START: f32 = -0.43;
/// Logit per logit of the line's score, which has the judgement in it.
const HELP_SCORE: f32 = 0.63;
/// Logit per logit of the score's distance from the best.
const HELP_BEHIND: f32 = 0.54;
/// Logit per logit of the judgement itself.
const HELP_JUDGED: f32 = 0.03;

/// Decides which results are shown in a prompt, and the verdict. Call it again whenever results
/// were added or removed.
pub fn decide_shown(recall: &mut RecallResponse) {
    let results = &mut recall.results;
    let best = results.iter().map(|one| logit(one.sona_score));
    let best = best.fold(f32::NEG_INFINITY, f32::max);
    let probabilities: Vec<f32> = results
        .iter()
        .map(|one| help_probability(one, best))
        .collect();
    let pays = probabilities.iter().any(|worth| *worth >= FIRST);
    let of_a_time = results
        .first()
        .is_some_and(|one| one.why.is_certain && is_of_named_time(one));
    let mut room = if of_a_time {
        LINES_OF_A_TIME
    } else {
        LINES_MAX
    };
    // The user's own lines leave room for a published one that is good enough by itself.
    let mut given = results.iter().zip(&probabilities);
    let given = given.position(|(one, worth)| one.published.is_some() && *worth >= FIRST);
    for (place, worth) in probabilities.into_iter().enumerate() {
        let kept = usize::from(given.is_some_and(|given| place < given));
        let (above, rest) = results.split_at_mut(place);
        if let [one, ..] = rest {
            let adds = !repeats_shown_text(above, one)
                && !has_shown_lesson(above, one)
                && !leads_to_shown_answer(above, one)
                && !is_crowded_out(above, one);
            let needed = if judgement_of(one).is_some() {
                OTHERS_JUDGED
            } else {
                OTHERS
            };
            one.shown = room > kept && pays && worth >= needed && adds;
            room -= usize::from(one.shown);
        }
    }
    // Of two records that contradict each other the older is never shown alone.
    let newer: Vec<_> = results.iter().filter(|one| one.shown).collect();
    let newer: Vec<_> = newer
        .iter()
        .filter_map(|one| one.why.contradicted_by)
        .collect();
    for one in results.iter_mut() {
        one.shown |= newer.contains(&one.record.id);
    }
    let verdict = results.iter().map(judge_relevance).max();
    recall.verdict = verdict.unwrap_or(RelevanceVerdict::Nothing);
    let certain = recall.results.iter().any(|one| one.why.is_certain);
    if recall.half_answer().is_some() && !certain {
        recall.verdict = recall.verdict.min(RelevanceVerdict::Weak);
    }
    recall.nothing_relevant = recall.verdict == RelevanceVerdict::Nothing;
    if recall.nothing_relevant {
        recall.results.iter_mut().for_each(|one| one.shown = false);
    }
}

/// Removes sensitive results and decides anew about the rest. Returns how many were removed.
pub fn remove_sensitive(recall: &mut RecallResponse) -> usize {
    let found = recall.results.len();
    recall.results.retain(|one| !one.record.is_sensitive());
    let left_out = found - recall.results.len();
    if left_out > 0 {
        decide_shown(recall);
    }
    left_out
}

/// Whether a result's whole text is part of a shown text above it.
fn repeats_shown_text(above: &[RetrievedMemory], one: &RetrievedMemory) -> bool {
    let text = one.record.body.text.trim();
    let mut told = above.iter().filter(|told| told.shown);
    !one.why.is_certain && told.any(|told| told.record.body.text.contains(text))
}

/// Whether what was said in a session has the whole text of a lesson that is shown above it.
fn has_shown_lesson(above: &[RetrievedMemory], one: &RetrievedMemory) -> bool {
    let is_lesson = |told: &&RetrievedMemory| {
        let record_type = told.record.record_type();
        told.shown && matches!(record_type, RecordType::Lesson | RecordType::Decision)
    };
    let record_type = one.record.record_type();
    let is_said = matches!(record_type, RecordType::Answer | RecordType::Prompt);
    let mut lessons = above.iter().filter(is_lesson);
    let text = &one.record.body.text;
    is_said
        && !one.why.is_certain
        && lessons.any(|told| text.contains(told.record.body.text.trim()))
}

/// Whether it is a step on the way to an answer that is shown above.
fn leads_to_shown_answer(above: &[RetrievedMemory], one: &RetrievedMemory) -> bool {
    let mut told = above.iter().filter(|told| told.shown);
    !one.why.is_certain && told.any(|told| one.why.step_of == Some(told.record.id))
}

/// Whether it is the outcome of a run of a session of which enough such outcomes are shown above.
fn is_crowded_out(above: &[RetrievedMemory], one: &RetrievedMemory) -> bool {
    let is_outcome = |one: &RetrievedMemory| one.record.is_run_outcome();
    let of_session = above.iter().filter(|told| {
        told.shown && is_outcome(told) && told.record.session_id == one.record.session_id
    });
    !one.why.is_certain && is_outcome(one) && of_session.count() >= OUTCOMES_OF_A_SESSION
}

/// Returns the probability that a line helps, 0..1; `best` is the logit of the best score.
fn help_probability(one: &RetrievedMemory, best: f32) -> f32 {
    if one.why.is_certain {
        return 1.0;
    }
    let least = if one.why.answers_part.is_some() || has_succeeded(one) {
        FIRST
    } else {
        0.0
    };
    let words = one.why.word_coverage();
    let cosine = cosine_of(one).unwrap_or(words);
    if is_of_named_time(one) {
        return f32::from(is_about_the_rest(one));
    }
    let record = &one.record;
    if record.is_prompt() && one.score < LIKELY_SCORE && !tells_only(&record.body.text) {
        return 0.0;
    }
    if tells_step_only(record) && one.score < LIKELY_SCORE && one.why.matched_identifiers.is_empty()
    {
        return 0.0;
    }
    let score = logit(one.sona_score);
    let sum = START + SCORE * score + BEHIND * (score - best) + COSINE * cosine + WORDS * words;
    let sum = help_logit(one, score, best).unwrap_or(sum);
    logistic(sum).max(least)
}

/// Whether a record says no more than that something ran, or that a file was edited: that is what
/// an answer took, and none.
fn tells_step_only(record: &MemoryRecord) -> bool {
    let text = record.body.text.trim();
    match record.record_type() {
        RecordType::Test | RecordType::Command => text.ends_with(" passed") && !text.contains('\n'),
        RecordType::Document => {
            let is_of_session = record.details.is_some() && !record.session_id.is_empty();
            is_of_session && text.starts_with("Edited ")
        }
        _ => false,
    }
}

/// Returns the logit that a judged line helps; `None` for a line without a judgement. `score` and
/// `best` are the logits of its score and of the best one.
fn help_logit(found: &RetrievedMemory, score: f32, best: f32) -> Option<f32> {
    let judged = logit_within(judgement_of(found)?, CERTAIN);
    Some(HELP_START + HELP_SCORE * score + HELP_BEHIND * (score - best) + HELP_JUDGED * judged)
}

/// Returns what a second look said of a result.
fn judgement_of(found: &RetrievedMemory) -> Option<f32> {
    let mut signals = found.why.signals.iter().rev();
    let judged = signals.find(|signal| signal.name == JUDGE_SIGNAL)?;
    Some(judged.value)
}

/// Returns what one result makes of the answer. A result about another person or thing, or without
/// a number if one is asked for, is only near.
pub fn judge_relevance(one: &RetrievedMemory) -> RelevanceVerdict {
    let (why, score) = (&one.why, one.score);
    let by_itself = LIKELY_COSINE * (1.0 - why.dialogue);
    let near = has_succeeded(one) || cosine_of(one).is_none_or(|cosine| cosine >= by_itself);
    let likely = score >= LIKELY_SCORE || (score >= RelevanceVerdict::WEAK_BELOW && near);
    let of_that_time = || is_of_named_time(one) && is_about_the_rest(one);
    if why.lacks_all {
        RelevanceVerdict::Nothing
    } else if why.is_certain || ((likely || of_that_time()) && why.lacks.is_none()) {
        RelevanceVerdict::Relevant
    } else if why.is_related(score) || !why.matched_identifiers.is_empty() {
        RelevanceVerdict::Weak
    } else {
        RelevanceVerdict::Nothing
    }
}

/// Whether a result is the outcome of a run that went well and was asked for something alike.
fn has_succeeded(one: &RetrievedMemory) -> bool {
    let is_outcome = one.record.is_run_outcome();
    let went_well = one
        .record
        .quality_score
        .is_some_and(|quality| quality >= 0.6);
    is_outcome && went_well && cosine_of(one).is_some_and(|cosine| cosine >= SUCCESS_COSINE)
}

/// Whether a result is from the time that the question names.
fn is_of_named_time(one: &RetrievedMemory) -> bool {
    let mut named = one.why.matched_identifiers.iter();
    named.any(|named| named.field == "timestamp")
}

/// Whether a result from the named time is also about the rest of the question.
fn is_about_the_rest(one: &RetrievedMemory) -> bool {
    let words = one.why.word_coverage();
    let evidence = compute_evidence(words, cosine_of(one).or(Some(words)));
    let speaks = evidence >= OF_TIME || words >= OF_TIME_WORDS;
    speaks && one.score >= RelevanceVerdict::WEAK_BELOW
}

fn cosine_of(one: &RetrievedMemory) -> Option<f32> {
    one.why.raw_distance.map(|distance| 1.0 - distance)
}
