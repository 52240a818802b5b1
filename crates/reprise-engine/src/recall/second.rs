//! Second opinions on an answer, by what a host brings: the question in other words, and another
//! judge of what was found.

use std::collections::HashMap;

use reprise_types::{RankSignal, Recall, RecordId, RetrievedMemory};

use super::answer::{decide, logit_within};
use super::contrary::newer_first;

/// Judgements nearer to certainty are taken for this near: no single judge is infallible.
const CERTAIN: f32 = 0.001;
/// Scores are finite, but may round to 0 or 1.
const ROUNDED: f32 = 1e-6;
/// Characters of a wording that a reason names.
const WORDING_CHARS: usize = 60;

/// The answer to a question with those to other wordings of it: a record counts as what it scores
/// best with. The receipt, and what was considered, are the question's own.
#[must_use]
pub fn with_wordings(mut recall: Recall, others: Vec<(String, Recall)>, top_k: usize) -> Recall {
    let ids = recall.results.iter().map(|found| found.record.id);
    let mut places: HashMap<RecordId, usize> = ids.zip(0..).collect();
    for (wording, other) in others {
        for part in other.degraded {
            if !recall.degraded.contains(&part) {
                recall.degraded.push(part);
            }
        }
        let wording: String = wording.chars().take(WORDING_CHARS).collect();
        for mut found in other.results {
            found.why.reason = format!("asked as \"{wording}\": {}", found.why.reason);
            let place = places.get(&found.record.id).copied();
            match place.and_then(|place| recall.results.get_mut(place)) {
                Some(known) if known.sona_score >= found.sona_score => {}
                Some(known) => *known = found,
                None => {
                    places.insert(found.record.id, recall.results.len());
                    recall.results.push(found);
                }
            }
        }
    }
    best_first(&mut recall.results);
    recall.results.truncate(top_k);
    decide(&mut recall);
    recall
}

/// The answer with a second judge's probabilities, 0..1, for the first so many results: each of
/// these is believed as much as its score (the mean of both logits), and they change places among
/// themselves. `false`, and nothing changes, where a judgement is none.
pub fn judged(recall: &mut Recall, judgements: &[f32], top_k: usize) -> bool {
    let usable = |judgement: &f32| (0.0..=1.0).contains(judgement);
    let Some(first) = recall.results.get_mut(..judgements.len()) else {
        return false;
    };
    if !judgements.iter().all(usable) {
        return false;
    }
    for (found, judgement) in first.iter_mut().zip(judgements) {
        let moved = found.sona_score - found.score;
        let own = logit_within(found.score, ROUNDED);
        let contribution = (logit_within(*judgement, CERTAIN) - own) / 2.0;
        found.score = super::explain::logistic(own + contribution);
        found.sona_score = (found.score + moved).clamp(0.0, 1.0);
        found.why.signals.push(RankSignal {
            name: "second_judge".to_owned(),
            value: *judgement,
            weight: 0.5,
            contribution,
        });
    }
    if !judgements.is_empty() {
        best_first(first);
        recall.results.truncate(top_k);
        decide(recall);
    }
    true
}

/// By the adjusted scores; what is equal stays in its order.
fn best_first(results: &mut [RetrievedMemory]) {
    results.sort_by(|a, b| b.sona_score.total_cmp(&a.sona_score));
    newer_first(results);
}
