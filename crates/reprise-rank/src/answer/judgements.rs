//! The second look at the first results: a cross-encoder reads the question and a text together.
//!
//! What it says is one signal more. It enters the score with weights by kind of record, and the
//! decision whether a line helps. Nothing else changes: who has no cross-encoder gets the same
//! answers.

use reprise_types::{MemorySource, RankSignal, RecallResponse, RetrievedMemory};

use super::excerpt::excerpt;
use super::{CERTAIN, JUDGE_SIGNAL, decide_shown};
use crate::logits::{logistic, logit_within};
use crate::order::order_results;

/// Smallest distance of a score from 0 and 1, to which scores may round.
const ROUNDED: f32 = 1e-6;
/// Most characters of a text that is judged: the sentences around the words of the question. Twice
/// as many take twice the time, and say little more.
const CHARS_MAX: usize = 240;
/// Longest question in bytes that is judged; a longer one is a document or a log with a question
/// somewhere in it, which a cross-encoder does not find.
const QUESTION_BYTES_MAX: usize = 400;
/// Number of the first results that are judged in any case, as many as a prompt has lines.
const ALWAYS: usize = 4;

/// What a judged result's logit is made of.
#[derive(Debug, Clone, Copy)]
struct JudgeWeights {
    own: f32,
    judged: f32,
    start: f32,
}

// Fitted as `tests/quality/fit_judge.py` does, on the first eight results of each dev store's
// answerable questions (ADR 0053 has the figures, each corpus left out).
/// Weights of turns of a dialogue, which are read apart from what was said before them.
const OF_DIALOGUE: JudgeWeights = JudgeWeights {
    own: 0.68,
    judged: 0.15,
    start: -0.55,
};
/// Weights of what a person or an agent wrote down.
const OF_NOTES: JudgeWeights = JudgeWeights {
    own: 0.85,
    judged: 0.18,
    start: 0.0,
};
/// Weights of what tools put out: commands, commits, results of workers.
const OF_TOOLS: JudgeWeights = JudgeWeights {
    own: 0.65,
    judged: 0.09,
    start: -0.5,
};

impl JudgeWeights {
    fn for_result(found: &RetrievedMemory) -> Self {
        let apart = match found.record.source {
            MemorySource::WorkerResult => OF_TOOLS,
            _ => OF_NOTES,
        };
        let dialogue = found.why.dialogue;
        let mix = |turn: f32, apart: f32| dialogue * turn + (1.0 - dialogue) * apart;
        Self {
            own: mix(OF_DIALOGUE.own, apart.own),
            judged: mix(OF_DIALOGUE.judged, apart.judged),
            start: mix(OF_DIALOGUE.start, apart.start),
        }
    }

    fn fused_logit(self, own: f32, judgement: f32) -> f32 {
        self.own * own + self.judged * logit_within(judgement, CERTAIN) + self.start
    }
}

/// Returns for each result whether its judgement counts. It does not for a stored prompt, which is
/// similar to a question and answers nothing, nor for its answer above it, which is one by what
/// was asked before it and not by its words alone.
fn list_judged_results(results: &[RetrievedMemory]) -> Vec<bool> {
    let is_apart = |(place, found): (usize, &RetrievedMemory)| {
        let below = results.get(place + 1..).unwrap_or_default();
        let session = &found.record.session_id;
        let answers = |other: &RetrievedMemory| {
            other.record.is_prompt() && !session.is_empty() && other.record.session_id == *session
        };
        !found.record.is_prompt() && !below.iter().any(answers)
    };
    results.iter().enumerate().map(is_apart).collect()
}

/// Returns the texts that a second judge reads: of at most `most` results, best first, each cut to
/// the sentences around the words of the question. There are none if the first result has
/// everything that was asked for by name, for no judgement would move it, and none for a long
/// question.
#[must_use]
pub fn texts_to_judge(question: &str, recall: &RecallResponse, most: usize) -> Vec<String> {
    let fits = |text: &str| text.chars().nth(CHARS_MAX).is_none();
    let first = recall.results.first();
    if question.len() > QUESTION_BYTES_MAX || first.is_some_and(|first| first.why.is_certain) {
        return Vec::new();
    }
    let first = recall.results.iter().take(most);
    let cut = first.map(|found| {
        let (text, words) = (&found.record.body.text, &found.why.matched_words);
        excerpt(text, words, &fits).unwrap_or_default()
    });
    cut.collect()
}

/// Whether the first place is certain after these judgements of the first results: no other result
/// could take it, however it were judged.
#[must_use]
pub fn is_first_settled(recall: &RecallResponse, judgements: &[f32]) -> bool {
    if judgements.len() < ALWAYS {
        return judgements.len() >= recall.results.len();
    }
    let fused = |((found, is_judged), judgement): ((&RetrievedMemory, bool), f32)| {
        let own = logit_within(found.score, ROUNDED);
        if is_judged {
            JudgeWeights::for_result(found).fused_logit(own, judgement)
        } else {
            own
        }
    };
    let results = || {
        let results = recall.results.iter();
        results.zip(list_judged_results(&recall.results))
    };
    let judged = results().zip(judgements.iter().copied());
    let best = judged.map(fused).fold(f32::NEG_INFINITY, f32::max);
    let mut rest = results().skip(judgements.len());
    rest.all(|found| fused((found, 1.0)) <= best)
}

/// Applies a second judge's probabilities, 0..1, to the first results, one each, and sorts these
/// anew. Returns `false`, and changes nothing, if a judgement is no probability or there are more
/// than results.
pub fn apply_judgements(recall: &mut RecallResponse, judgements: &[f32], top_k: usize) -> bool {
    let usable = |judgement: &f32| (0.0..=1.0).contains(judgement);
    let is_judged = list_judged_results(&recall.results);
    let Some(first) = recall.results.get_mut(..judgements.len()) else {
        return false;
    };
    if !judgements.iter().all(usable) {
        return false;
    }
    for ((found, judgement), is_judged) in first.iter_mut().zip(judgements).zip(is_judged) {
        if !is_judged {
            continue;
        }
        let moved = found.sona_score - found.score;
        let own = logit_within(found.score, ROUNDED);
        let weights = JudgeWeights::for_result(found);
        let fused = weights.fused_logit(own, *judgement);
        found.score = logistic(fused);
        found.sona_score = (found.score + moved).clamp(0.0, 1.0);
        found.why.signals.push(RankSignal {
            name: JUDGE_SIGNAL.to_owned(),
            value: *judgement,
            weight: weights.judged,
            contribution: fused - own,
        });
    }
    if !judgements.is_empty() {
        order_results(first, |_| false);
        decide_shown(recall);
    }
    recall.results.truncate(top_k);
    true
}
