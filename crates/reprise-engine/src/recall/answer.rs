//! From a ranked list to an answer: which of it would go into a prompt, and what is said of the
//! whole. Hooks, contexts, lists and the page all show what is decided here.
//!
//! A line in a prompt costs its reader more than one on a screen, so it is judged by itself: by its
//! score, how far that is behind the best, and how near it is in meaning and in words. Fitted by
//! `tests/quality/fit_lines.py`, each kind of store judged by what was fitted on the others.

use reprise_types::{Recall, RetrievedMemory, Verdict};

/// Lines of one prompt.
const LINES_MAX: usize = 4;
/// The same where all of a time is asked for.
const LINES_OF_A_TIME: usize = 8;
/// The logit that a line helps: where it starts,
const START: f32 = -2.08;
/// per logit of its score, and of how far that is behind the best,
const SCORE: f32 = 0.51;
const BEHIND: f32 = 0.34;
/// and per unit of its cosine, and of the share of the question's words that it holds.
const COSINE: f32 = 2.01;
const WORDS: f32 = 1.06;
/// The probability that the best line needs, or there is none, and the one that each other needs.
const FIRST: f32 = 0.17;
const OTHERS: f32 = 0.10;
/// The evidence that a line needs beside being of a time that is named, or else the share of the
/// question's other words: much happened in any month.
const OF_TIME: f32 = 0.30;
const OF_TIME_WORDS: f32 = 0.40;
/// The cosine from which a text outside any dialogue is likely to answer: what is only near tells
/// something else of the same thing. In a dialogue its context speaks for it.
const LIKELY_COSINE: f32 = 0.57;
/// The score from which it is likely whatever the cosine; and which a kept prompt needs for a line:
/// what was told to an agent once is mostly about that task.
const LIKELY_SCORE: f32 = 0.65;

/// Decides what of an answer is shown in a prompt, and its verdict. To be called again whenever
/// results have come or gone.
pub fn decide(recall: &mut Recall) {
    let results = &mut recall.results;
    let best = results.iter().map(|one| logit(one.sona_score));
    let best = best.fold(f32::NEG_INFINITY, f32::max);
    let worth: Vec<f32> = results.iter().map(|one| worth(one, best)).collect();
    let pays = worth.iter().any(|worth| *worth >= FIRST);
    let of_a_time = results
        .first()
        .is_some_and(|one| one.why.is_certain && in_time(one));
    let mut room = if of_a_time {
        LINES_OF_A_TIME
    } else {
        LINES_MAX
    };
    // The user's own lines leave a place to what others published, where it pays by itself.
    let mut given = results.iter().zip(&worth);
    let given = given.position(|(one, worth)| one.published.is_some() && *worth >= FIRST);
    for (place, worth) in worth.into_iter().enumerate() {
        let kept = usize::from(given.is_some_and(|given| place < given));
        let (above, rest) = results.split_at_mut(place);
        if let [one, ..] = rest {
            one.shown = room > kept && pays && worth >= OTHERS && !says_again(above, one);
            room -= usize::from(one.shown);
        }
    }
    // Nobody is told the older of two that contradict each other alone.
    let newer: Vec<_> = results.iter().filter(|one| one.shown).collect();
    let newer: Vec<_> = newer
        .iter()
        .filter_map(|one| one.why.contradicted_by)
        .collect();
    for one in results.iter_mut() {
        one.shown |= newer.contains(&one.record.id);
    }
    let verdict = results.iter().map(verdict).max();
    recall.verdict = verdict.unwrap_or(Verdict::Nothing);
    recall.nothing_relevant = recall.verdict == Verdict::Nothing;
    if recall.nothing_relevant {
        recall.results.iter_mut().for_each(|one| one.shown = false);
    }
}

/// Leaves out what is sensitive; the answer is then that of the rest. Returns how many.
pub fn without_sensitive(recall: &mut Recall) -> usize {
    let found = recall.results.len();
    recall.results.retain(|one| !one.record.is_sensitive());
    let left_out = found - recall.results.len();
    if left_out > 0 {
        decide(recall);
    }
    left_out
}

/// Whether its whole text stands in that of a line above it.
fn says_again(above: &[RetrievedMemory], one: &RetrievedMemory) -> bool {
    let text = one.record.body.text.trim();
    let mut told = above.iter().filter(|told| told.shown);
    !one.why.is_certain && told.any(|told| told.record.body.text.contains(text))
}

/// The probability that a line helps, 0..1; `best` is the logit of the best score.
fn worth(one: &RetrievedMemory, best: f32) -> f32 {
    if one.why.is_certain {
        return 1.0;
    }
    let words = one.why.share_of_words();
    let cosine = cosine(one).unwrap_or(words);
    if in_time(one) {
        return f32::from(is_of_that_time(one));
    }
    if one.record.is_prompt() && one.score < LIKELY_SCORE {
        return 0.0;
    }
    let score = logit(one.sona_score);
    let sum = START + SCORE * score + BEHIND * (score - best) + COSINE * cosine + WORDS * words;
    super::explain::logistic(sum)
}

/// What one result makes of an answer. What is about another person or thing, or tells no number
/// where one is asked for, is near.
fn verdict(one: &RetrievedMemory) -> Verdict {
    let (why, score) = (&one.why, one.score);
    let by_itself = LIKELY_COSINE * (1.0 - why.dialogue);
    let near = cosine(one).is_none_or(|cosine| cosine >= by_itself);
    let likely = score >= LIKELY_SCORE || (score >= Verdict::WEAK_BELOW && near);
    let of_that_time = || in_time(one) && is_of_that_time(one);
    if why.lacks_all {
        Verdict::Nothing
    } else if why.is_certain || ((likely || of_that_time()) && why.lacks.is_none()) {
        Verdict::Relevant
    } else if why.is_related(score) || !why.matched_identifiers.is_empty() {
        Verdict::Weak
    } else {
        Verdict::Nothing
    }
}

/// Whether it is from the time that the question names.
fn in_time(one: &RetrievedMemory) -> bool {
    let mut named = one.why.matched_identifiers.iter();
    named.any(|named| named.field == "timestamp")
}

/// Whether what is from the time that is named is also about the rest of the question.
fn is_of_that_time(one: &RetrievedMemory) -> bool {
    let words = one.why.share_of_words();
    let evidence = super::scene::evidence(words, cosine(one).or(Some(words)));
    let speaks = evidence >= OF_TIME || words >= OF_TIME_WORDS;
    speaks && one.score >= Verdict::WEAK_BELOW
}

fn cosine(one: &RetrievedMemory) -> Option<f32> {
    one.why.raw_distance.map(|distance| 1.0 - distance)
}

/// The logit of a probability, finite.
pub(super) fn logit(score: f32) -> f32 {
    logit_within(score, 1e-4)
}

/// That of a probability, or of the nearest that is so far from 0 and 1.
pub(super) fn logit_within(probability: f32, nearest: f32) -> f32 {
    let within = probability.clamp(nearest, 1.0 - nearest);
    (within / (1.0 - within)).ln()
}
