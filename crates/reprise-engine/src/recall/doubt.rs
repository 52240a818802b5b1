//! Doubt: whether the best of what was found is likely to answer at all.
//!
//! A logistic function of two readings, fitted on the development conversations' questions with and
//! without an answer (leaving one conversation out at a time: "nothing" is said of 54 % of those
//! without and 17 % of those with one; the scores alone barely tell them apart, AUC .59,
//! because a question with the wrong name is as near to the right record as one with the right
//! name). Must never live here: the order of results.

use reprise_types::Verdict;

use super::explain::logistic;
use super::fuse::Scored;
use super::signals::SIGNALS;

/// Records whose probabilities are added up.
const LOOKED_AT: usize = 20;
/// Records whose speakers are looked at.
const SPEAKERS: usize = 5;
/// Weight of the logarithm of the summed probabilities, of the share of speakers that the question
/// does not name though it names one, and the constant.
const WEIGHTS: (f32, f32, f32) = (-0.879, 5.703, -2.15);
/// Beyond this probability that there is no answer, none is claimed.
const NOTHING_FROM: f32 = 0.3;

/// What may be made of `ranked`, best first, of `considered` records.
pub(super) fn verdict(ranked: &[Scored], considered: u32) -> Verdict {
    if nothing_relevant(ranked, considered) {
        return Verdict::Nothing;
    }
    Verdict::of(ranked.first().map(|best| logistic(best.logit))).max(Verdict::Weak)
}

/// Whether the question has likely no answer among `ranked`, best first, of `considered` records.
fn nothing_relevant(ranked: &[Scored], considered: u32) -> bool {
    let sum: f32 = ranked
        .iter()
        .take(LOOKED_AT)
        .map(|s| logistic(s.logit))
        .sum();
    let speaker = SIGNALS.iter().position(|signal| signal.name == "speaker");
    let first = ranked.iter().take(SPEAKERS);
    let others = first.filter(|scored| {
        let value = speaker.and_then(|at| scored.values.get(at));
        value.is_some_and(|value| *value < 0.25)
    });
    // Among few records the first five are no choice: who speaks there says little.
    let chosen = 1.0 - (SPEAKERS as f32 / considered.max(1) as f32).min(1.0);
    let share = chosen * others.count() as f32 / SPEAKERS as f32;
    let (by_sum, by_share, constant) = WEIGHTS;
    let doubt = by_sum * sum.max(f32::MIN_POSITIVE).ln() + by_share * share + constant;
    ranked.is_empty() || logistic(doubt) > NOTHING_FROM
}

#[cfg(test)]
mod tests {
    use super::super::signals::COUNT;
    use super::*;

    fn ranked(logits: &[f32], speaker: f32) -> Vec<Scored> {
        let mut values = [0.5; COUNT];
        let at = SIGNALS.iter().position(|s| s.name == "speaker").unwrap();
        values[at] = speaker;
        let scored = |logit: &f32| Scored {
            ordinal: 0,
            values,
            logit: *logit,
        };
        logits.iter().map(scored).collect()
    }

    #[test]
    fn little_probability_and_the_wrong_voices_are_doubted() {
        assert!(nothing_relevant(&[], 0));
        assert!(nothing_relevant(&ranked(&[-5.0, -6.0], 0.5), 400));
        assert!(!nothing_relevant(&ranked(&[0.5, -1.0], 0.5), 400));
        assert!(!nothing_relevant(
            &ranked(&[0.5, -1.0, -1.0, -1.0, -1.0], 1.0),
            400
        ));
        assert!(nothing_relevant(
            &ranked(&[0.5, -1.0, -1.0, -1.0, -1.0], 0.0),
            400
        ));
        let few = ranked(&[0.5, -1.0, -1.0, -1.0, -1.0], 0.0);
        assert!(!nothing_relevant(&few, 6), "five of six are no choice");
    }
}
