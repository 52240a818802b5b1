//! Scores texts that another store holds and has searched, by the fusion of this one: one rule
//! ranks them all.
//!
//! Such a text is in no dialogue, so only its meaning and its words count.

use reprise_index::Spread;
use reprise_types::RankSignal;

use crate::candidate::compute_evidence;
use crate::explain::{baseline_signals, rank_signal};
use crate::fuse::scored::{ScoredCandidate, compare_scored};
use crate::fuse::{RIVALS, ScoreModel};
use crate::logits::logistic;
use crate::signals::ablation::Ablation;
use crate::signals::scale::{Scale, to_signal};
use crate::signals::weights::COUNT;
use crate::signals::{COVERAGE, MEANING, SAME_TEXT, SIGNALS, WORDS, same_text_value};

/// One text that another store found, with its raw scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExternalHit {
    /// Cosine with the question, -1..1; `None` if one of the two has no vector.
    pub cosine: Option<f32>,
    /// Sum of [`term_bm25`](reprise_index::term_bm25), 0 or more.
    pub words: f32,
    /// Weighted share of the question's words that the text holds, 0..1.
    pub share: f32,
    pub terms: u32,
}

/// What is known about the store that was searched.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CorpusStats {
    /// Number of texts that could have answered.
    pub records: u32,
    /// Cosines with the question.
    pub cosines: Spread,
    /// BM25 scores for the question.
    pub words: Spread,
    /// Number of terms of the question.
    pub question_terms: u32,
}

/// The score of one text, and its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredHit {
    /// Probability that the text answers, 0..1.
    pub score: f32,
    pub signals: Vec<RankSignal>,
}

impl CorpusStats {
    /// Scores hits, in their order. `likeness` is the cosine of two of them, by position; it is
    /// called for the 64 best with the best one only, once each.
    pub fn score_hits(
        &self,
        candidates: &[ExternalHit],
        likeness: impl Fn(usize, usize) -> f32,
    ) -> Vec<ScoredHit> {
        let mut fusion = ScoreModel::new(&Ablation::default());
        let scored = self.score_candidates(candidates, &fusion);
        let mut rivals = scored.clone();
        rivals.sort_unstable_by(compare_scored);
        rivals.truncate(RIVALS);
        let best = candidates
            .iter()
            .map(|one| compute_evidence(one.share, one.cosine));
        let best = best.fold(0.0, f32::max);
        fusion.compute_baseline(&rivals, best, self.records, |one, other| {
            likeness(one as usize, other as usize)
        });
        let weighed = scored.into_iter().map(|one| {
            let parts = SIGNALS.iter().zip(one.values).zip(fusion.weights);
            let counting = parts.filter(|((_, value), _)| *value != 0.0);
            let mut signals: Vec<RankSignal> = counting
                .map(|((signal, value), weight)| rank_signal(signal.name, value, weight))
                .collect();
            signals.extend(baseline_signals(&fusion));
            ScoredHit {
                score: logistic(one.logit + fusion.baseline()),
                signals,
            }
        });
        weighed.collect()
    }

    /// Returns the positions of the hits that are each other's rivals, best first; the likeness is
    /// needed for these only.
    #[must_use]
    pub fn rivals(&self, candidates: &[ExternalHit]) -> Vec<usize> {
        let mut scored = self.score_candidates(candidates, &ScoreModel::new(&Ablation::default()));
        scored.sort_unstable_by(compare_scored);
        scored.truncate(RIVALS);
        scored.into_iter().map(|one| one.ordinal as usize).collect()
    }

    /// Whether anything at all speaks for a text: without evidence even the best is no answer.
    #[must_use]
    pub fn has_evidence(&self, one: &ExternalHit) -> bool {
        let cosines = Scale::of_cosines(self.cosines);
        one.words > 0.0
            || one
                .cosine
                .is_some_and(|cosine| cosines.standard_score(cosine) > 0.0)
    }

    fn score_candidates(
        &self,
        candidates: &[ExternalHit],
        fusion: &ScoreModel,
    ) -> Vec<ScoredCandidate> {
        let (cosines, words) = (Scale::of_cosines(self.cosines), Scale::of_words(self.words));
        let scored = (0_u32..).zip(candidates).map(|(ordinal, one)| {
            let mut values = [0.0; COUNT];
            let meaning = one
                .cosine
                .map_or(0.0, |cosine| cosines.standard_score(cosine));
            values[MEANING] = to_signal(meaning);
            values[WORDS] = to_signal(words.standard_score(one.words));
            values[COVERAGE] = one.share;
            values[SAME_TEXT] = same_text_value(one.share, self.question_terms, one.terms);
            ScoredCandidate::new(ordinal, values, fusion.weighted_sum(&values))
        });
        scored.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> CorpusStats {
        CorpusStats {
            records: 1_000,
            cosines: Spread {
                mean: 0.05,
                deviation: 0.1,
                count: 512,
            },
            words: Spread {
                mean: 0.1,
                deviation: 0.8,
                count: 1_000,
            },
            question_terms: 4,
        }
    }

    fn hit(cosine: f32, words: f32, share: f32) -> ExternalHit {
        ExternalHit {
            cosine: Some(cosine),
            words,
            share,
            terms: 40,
        }
    }

    #[test]
    fn what_answers_is_likely_and_what_only_comes_nearest_is_not() {
        let answers = [hit(0.7, 9.0, 1.0), hit(0.2, 1.0, 0.2)];
        let weighed = corpus().score_hits(&answers, |_, _| 0.1);
        assert!(weighed[0].score > 0.6, "{weighed:?}");
        assert!(weighed[1].score < 0.1, "{weighed:?}");
        let nearest = [hit(0.25, 1.0, 0.2), hit(0.2, 1.0, 0.2)];
        let weighed = corpus().score_hits(&nearest, |_, _| 0.1);
        assert!(weighed[0].score < 0.05, "{weighed:?}");
    }

    #[test]
    fn what_tells_the_same_is_no_rival() {
        let both = [hit(0.6, 8.0, 0.9), hit(0.6, 8.0, 0.9)];
        let apart = corpus().score_hits(&both, |_, _| 0.1);
        let alike = corpus().score_hits(&both, |_, _| 0.9);
        assert!(alike[0].score > apart[0].score, "{alike:?} {apart:?}");
    }

    #[test]
    fn every_signal_stands_in_the_answer_and_adds_up_to_the_score() {
        let weighed = corpus().score_hits(&[hit(0.6, 8.0, 0.9)], |_, _| 1.0);
        let sum: f32 = weighed[0].signals.iter().map(|one| one.contribution).sum();
        assert!((logistic(sum) - weighed[0].score).abs() < 1e-5);
        assert!(corpus().score_hits(&[], |_, _| 0.0).is_empty());
    }
}
