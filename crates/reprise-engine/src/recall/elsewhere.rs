//! The same fusion for texts that another store holds and has searched: one rule ranks them all.
//!
//! Such a text stands in no dialogue, so its meaning and its words speak for it and nothing else
//! does.

use reprise_types::RankSignal;

use super::ablation::Ablation;
use super::explain::{logistic, part, start};
use super::fuse::{Fusion, RIVALS, Scored, order};
use super::scale::{BM25, COSINES, Prior, Scale, unit};
use super::scene::evidence;
use super::signals::{COUNT, COVERAGE, MEANING, SAME_TEXT, SIGNALS, WORDS, same};

/// What another store says of one text that it found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Testimony {
    /// Cosine with the question, -1..1; `None` where one of them has no vector.
    pub cosine: Option<f32>,
    /// Sum of [`term_score`](crate::term_score), 0 or more.
    pub words: f32,
    /// Weighted share of the question's words that it holds, 0..1.
    pub share: f32,
    pub terms: u32,
}

/// How a signal spreads over a store.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    pub mean: f32,
    /// Standard deviation.
    pub deviation: f32,
    /// Over how many texts.
    pub count: u32,
}

/// The store that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Elsewhere {
    /// Texts that could have answered.
    pub records: u32,
    /// Cosines with the question.
    pub cosines: Spread,
    /// BM25 for the question.
    pub words: Spread,
    /// Terms of the question.
    pub asked_terms: u32,
}

/// One text's score, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// Probability that it answers, 0..1.
    pub score: f32,
    pub signals: Vec<RankSignal>,
}

impl Elsewhere {
    /// Scores candidates, in their order. `likeness` is the cosine of two of them, by place; it is
    /// asked of the 64 best with the best alone, once each.
    pub fn weigh(
        &self,
        candidates: &[Testimony],
        likeness: impl Fn(usize, usize) -> f32,
    ) -> Vec<Weighed> {
        let mut fusion = Fusion::new(&Ablation::default());
        let scored = self.scored(candidates, &fusion);
        let mut rivals = scored.clone();
        rivals.sort_unstable_by(order);
        rivals.truncate(RIVALS);
        let best = candidates.iter().map(|one| evidence(one.share, one.cosine));
        let best = best.fold(0.0, f32::max);
        fusion.weigh(&rivals, best, self.records, |one, other| {
            likeness(one as usize, other as usize)
        });
        let weighed = scored.into_iter().map(|one| {
            let parts = SIGNALS.iter().zip(one.values).zip(fusion.weights);
            let counting = parts.filter(|((_, value), _)| *value != 0.0);
            let mut signals: Vec<RankSignal> = counting
                .map(|((signal, value), weight)| part(signal.name, value, weight))
                .collect();
            signals.extend(start(&fusion));
            Weighed {
                score: logistic(one.logit + fusion.start()),
                signals,
            }
        });
        weighed.collect()
    }

    /// The places of the candidates that are each other's rivals, the best first: of these alone
    /// the likeness is asked.
    #[must_use]
    pub fn rivals(&self, candidates: &[Testimony]) -> Vec<usize> {
        let mut scored = self.scored(candidates, &Fusion::new(&Ablation::default()));
        scored.sort_unstable_by(order);
        scored.truncate(RIVALS);
        scored.into_iter().map(|one| one.ordinal as usize).collect()
    }

    /// Whether anything at all speaks for a text: without it even the best is no answer.
    #[must_use]
    pub fn speaks(&self, one: &Testimony) -> bool {
        let cosines = scale(COSINES, self.cosines);
        one.words > 0.0
            || one
                .cosine
                .is_some_and(|cosine| cosines.standard(cosine) > 0.0)
    }

    fn scored(&self, candidates: &[Testimony], fusion: &Fusion) -> Vec<Scored> {
        let (cosines, words) = (scale(COSINES, self.cosines), scale(BM25, self.words));
        let scored = (0_u32..).zip(candidates).map(|(ordinal, one)| {
            let mut values = [0.0; COUNT];
            let meaning = one.cosine.map_or(0.0, |cosine| cosines.standard(cosine));
            values[MEANING] = unit(meaning);
            values[WORDS] = unit(words.standard(one.words));
            values[COVERAGE] = one.share;
            values[SAME_TEXT] = same(one.share, self.asked_terms, one.terms);
            Scored {
                ordinal,
                values,
                logit: fusion.sum(&values),
                steps: 0.0,
                before: ordinal,
                dialogue: 0.0,
            }
        });
        scored.collect()
    }
}

fn scale(prior: Prior, of: Spread) -> Scale {
    Scale::new(prior, of.mean, of.deviation, of.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Elsewhere {
        Elsewhere {
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
            asked_terms: 4,
        }
    }

    fn testimony(cosine: f32, words: f32, share: f32) -> Testimony {
        Testimony {
            cosine: Some(cosine),
            words,
            share,
            terms: 40,
        }
    }

    #[test]
    fn what_answers_is_likely_and_what_only_comes_nearest_is_not() {
        let answers = [testimony(0.7, 9.0, 1.0), testimony(0.2, 1.0, 0.2)];
        let weighed = store().weigh(&answers, |_, _| 0.1);
        assert!(weighed[0].score > 0.6, "{weighed:?}");
        assert!(weighed[1].score < 0.1, "{weighed:?}");
        let nearest = [testimony(0.25, 1.0, 0.2), testimony(0.2, 1.0, 0.2)];
        let weighed = store().weigh(&nearest, |_, _| 0.1);
        assert!(weighed[0].score < 0.05, "{weighed:?}");
    }

    #[test]
    fn what_tells_the_same_is_no_rival() {
        let both = [testimony(0.6, 8.0, 0.9), testimony(0.6, 8.0, 0.9)];
        let apart = store().weigh(&both, |_, _| 0.1);
        let alike = store().weigh(&both, |_, _| 0.9);
        assert!(alike[0].score > apart[0].score, "{alike:?} {apart:?}");
    }

    #[test]
    fn every_signal_stands_in_the_answer_and_adds_up_to_the_score() {
        let weighed = store().weigh(&[testimony(0.6, 8.0, 0.9)], |_, _| 1.0);
        let sum: f32 = weighed[0].signals.iter().map(|one| one.contribution).sum();
        assert!((logistic(sum) - weighed[0].score).abs() < 1e-5);
        assert!(store().weigh(&[], |_, _| 0.0).is_empty());
    }
}
