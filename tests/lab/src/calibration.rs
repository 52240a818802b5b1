//! Calibration of scores (expected calibration error), and abstention: how often "nothing relevant"
//! is answered rightly and wrongly.

use serde::Serialize;

/// Bins of equal width over 0..1.
const BINS: usize = 10;

/// Scores against gold over the results that were shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    pub results: usize,
    /// Mean over the results of |mean score - share relevant| of their bin, 0..1 (Naeini, Cooper
    /// and Hauskrecht 2015).
    pub expected_error: f64,
    pub mean_score: f64,
    pub share_relevant: f64,
}

impl Calibration {
    /// From score (0..1) and relevance of each result; `None` without results.
    pub(crate) fn from_results(results: &[(f32, bool)]) -> Option<Self> {
        #[derive(Clone, Copy, Default)]
        struct Bin {
            count: f64,
            score: f64,
            relevant: f64,
        }
        let mut bins = [Bin::default(); BINS];
        for (score, relevant) in results {
            let place = ((score * BINS as f32) as usize).min(BINS - 1);
            if let Some(bin) = bins.get_mut(place) {
                bin.count += 1.0;
                bin.score += f64::from(*score);
                bin.relevant += f64::from(*relevant);
            }
        }
        let count = results.len() as f64;
        let error: f64 = bins.iter().map(|b| (b.score - b.relevant).abs()).sum();
        (!results.is_empty()).then(|| Self {
            results: results.len(),
            expected_error: error / count,
            mean_score: bins.iter().map(|b| b.score).sum::<f64>() / count,
            share_relevant: bins.iter().map(|b| b.relevant).sum::<f64>() / count,
        })
    }
}

/// The best score of an answer, and whether the answer was "nothing relevant".
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AnswerVerdict {
    /// 0..1; minus infinity where nothing came back.
    pub(crate) best: f32,
    pub(crate) nothing: bool,
}

/// The rates of abstention at one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cut {
    /// Share of the questions without an answer that get "nothing relevant", 0..1.
    pub rightly: f64,
    /// Share of the answerable questions that get "nothing relevant", 0..1.
    pub wrongly: f64,
}

/// Abstention: answering "nothing relevant".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Silence {
    /// Questions without an answer.
    pub without_answer: usize,
    pub with_answer: usize,
    /// With the engine's threshold.
    pub in_force: Cut,
    /// With the threshold that separates these questions best (largest `rightly - wrongly`). Chosen
    /// on this very data, so an upper bound, not a result.
    pub best_here: Cut,
    /// That threshold, a score of 0..1.
    pub best_threshold_here: f32,
    /// Area under the ROC curve: the probability that the best score of an answerable question is
    /// above that of one without an answer, ties counting half, 0..1.
    pub separation: f64,
}

impl Silence {
    /// From the answers to both kinds of question; `None` where either kind is missing.
    pub(crate) fn from_answers(without: &[AnswerVerdict], with: &[AnswerVerdict]) -> Option<Self> {
        if without.is_empty() || with.is_empty() {
            return None;
        }
        let said = |answers: &[AnswerVerdict]| {
            let nothing = answers.iter().filter(|said| said.nothing).count();
            nothing as f64 / answers.len() as f64
        };
        let in_force = Cut {
            rightly: said(without),
            wrongly: said(with),
        };
        let best =
            |answers: &[AnswerVerdict]| answers.iter().map(|said| said.best).collect::<Vec<f32>>();
        let (without, with) = (&best(without)[..], &best(with)[..]);
        let share = |scores: &[f32], threshold: f32| {
            let below = scores.iter().filter(|score| **score < threshold).count();
            below as f64 / scores.len() as f64
        };
        let cut = |threshold| Cut {
            rightly: share(without, threshold),
            wrongly: share(with, threshold),
        };
        let (mut best, mut best_threshold) = (cut(0.0), 0.0);
        let mut tried: Vec<f32> = [without, with].concat();
        tried.sort_by(f32::total_cmp);
        for threshold in tried {
            let here = cut(threshold);
            if here.rightly - here.wrongly > best.rightly - best.wrongly {
                (best, best_threshold) = (here, threshold);
            }
        }
        let wins: f64 = without
            .iter()
            .map(|low| {
                let above = with.iter().filter(|high| *high > low).count() as f64;
                let even = with
                    .iter()
                    .filter(|high| high.total_cmp(low).is_eq())
                    .count() as f64;
                above + even / 2.0
            })
            .sum();
        Some(Self {
            without_answer: without.len(),
            with_answer: with.len(),
            in_force,
            best_here: best,
            best_threshold_here: best_threshold,
            separation: wins / (without.len() * with.len()) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_honest_score_has_no_error_and_a_boastful_one_its_excess() {
        let honest: Vec<(f32, bool)> = (0..8).map(|n| (0.25, n % 4 == 0)).collect();
        let honest = Calibration::from_results(&honest).unwrap();
        assert!(honest.expected_error < 1e-9, "{honest:?}");
        let boastful =
            Calibration::from_results(&[(0.95, false), (0.95, true), (1.0, false)]).unwrap();
        let excess = (0.95 + 0.95 + 1.0 - 1.0) / 3.0;
        assert!((boastful.expected_error - excess).abs() < 1e-6);
        assert_eq!(Calibration::from_results(&[]), None);
    }

    #[test]
    fn silence_counts_both_kinds_of_question() {
        let said = |best: &f32| AnswerVerdict {
            best: *best,
            nothing: *best < 0.25,
        };
        let without: Vec<AnswerVerdict> = [0.1, 0.2, 0.6].iter().map(said).collect();
        let with: Vec<AnswerVerdict> = [0.3, 0.8, 0.15, 0.9].iter().map(said).collect();
        let silence = Silence::from_answers(&without, &with).unwrap();
        assert!((silence.in_force.rightly - 2.0 / 3.0).abs() < 1e-9);
        assert!((silence.in_force.wrongly - 0.25).abs() < 1e-9);
        // Of the 12 pairs, 0.6 beats 0.3 and 0.15, and 0.2 beats 0.15.
        assert!((silence.separation - 9.0 / 12.0).abs() < 1e-9);
        assert!(silence.best_here.rightly - silence.best_here.wrongly > 0.4);
        assert!(
            (silence.best_threshold_here - 0.8).abs() < 1e-6,
            "{silence:?}"
        );
        assert_eq!(Silence::from_answers(&[], &with), None);
    }
}
