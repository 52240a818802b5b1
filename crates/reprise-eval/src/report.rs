//! The report of one run, printed or as JSON, with bootstrap confidence intervals over questions.

use std::collections::BTreeMap;

use reprise_types::splitmix;
use serde::Serialize;

use crate::calibration::{Calibration, Silence};
use crate::dataset::{Format, Protocol};
use crate::marks::{DEPTHS, Marks};

/// Of the bootstrap.
const RESAMPLES: usize = 1_000;
/// A fixed seed: the same values give the same interval.
const SEED: u64 = 0x5265_7072_6973_6521;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub set: Format,
    /// What a document is.
    pub documents: Protocol,
    /// A description of the protocol.
    pub protocol: Vec<String>,
    pub stores: usize,
    /// Records kept, over all stores.
    pub records: usize,
    /// Records that a store refused (blank texts, duplicate ids).
    pub refused: usize,
    pub questions: usize,
    /// Of those, the ones that count at turn level.
    pub judged: usize,
    /// Of those, the ones without an answer.
    pub without_answer: usize,
    /// Reprise first, then its ablations, then the baselines.
    pub systems: Vec<SystemReport>,
    /// Of Reprise's `score` over its first ten results, on the judged questions.
    pub calibration: Option<Calibration>,
    /// How well Reprise abstains.
    pub silence: Option<Silence>,
    /// One Reprise recall without the embedding of its query.
    pub recall_ms: Latency,
    /// Wall time of the whole run, seconds.
    pub elapsed_s: f64,
}

/// The metrics of one ranking system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemReport {
    /// For example `reprise` or `bm25`.
    pub name: String,
    /// Single records, over the judged questions.
    pub turn: Summary,
    /// Sessions, each at its best record, over all questions; without gold recall counts 1.
    pub session: Summary,
    /// The same without the questions that have no answer.
    pub session_answerable: Summary,
    /// Single records, by the set's categories.
    pub turn_by_category: BTreeMap<String, Summary>,
    /// Sessions, by the set's categories.
    pub session_by_category: BTreeMap<String, Summary>,
}

/// Means over questions, in per cent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    pub questions: usize,
    pub recall: BTreeMap<usize, f64>,
    /// Share of the questions with any hit, by depth.
    pub any: BTreeMap<usize, f64>,
    /// Mean reciprocal rank, over the questions with gold.
    pub mrr: f64,
    /// nDCG at 10, over the questions with gold.
    pub ndcg10: f64,
    /// 95 % intervals of `R@5`, `R@10`, `MRR` and `nDCG@10`.
    pub intervals: BTreeMap<&'static str, Interval>,
}

/// Bounds in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The 2.5th percentile.
    pub low: f64,
    /// The 97.5th.
    pub high: f64,
}

/// Milliseconds of one step.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Latency {
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl Summary {
    pub(crate) fn of(marks: &[Marks]) -> Self {
        let by_depth = |pick: &dyn Fn(&Marks) -> [f64; DEPTHS.len()]| {
            let columns = DEPTHS.iter().enumerate().map(|(place, depth)| {
                let column: Vec<f64> = marks
                    .iter()
                    .filter_map(|one| pick(one).get(place).copied())
                    .collect();
                (*depth, column)
            });
            columns.collect::<BTreeMap<usize, Vec<f64>>>()
        };
        let recall = by_depth(&|one| one.recall);
        let any = by_depth(&|one| one.any);
        let ranks: Vec<f64> = marks.iter().filter_map(|one| one.reciprocal_rank).collect();
        let gains: Vec<f64> = marks.iter().filter_map(|one| one.ndcg10).collect();
        let empty = Vec::new();
        let measured = [
            ("R@5", recall.get(&5).unwrap_or(&empty)),
            ("R@10", recall.get(&10).unwrap_or(&empty)),
            ("MRR", &ranks),
            ("nDCG@10", &gains),
        ];
        let intervals = measured.into_iter().filter_map(|(name, values)| {
            let (low, high) = interval(values)?;
            let (low, high) = (low * 100.0, high * 100.0);
            Some((name, Interval { low, high }))
        });
        let means = |columns: &BTreeMap<usize, Vec<f64>>| {
            let mean = |(depth, column): (&usize, &Vec<f64>)| (*depth, percent(column));
            columns.iter().map(mean).collect()
        };
        Self {
            questions: marks.len(),
            intervals: intervals.collect(),
            recall: means(&recall),
            any: means(&any),
            mrr: percent(&ranks),
            ndcg10: percent(&gains),
        }
    }
}

impl Latency {
    /// From single times, in any order.
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * times.len().saturating_sub(1) as f64).round() as usize;
            times.get(place).copied().unwrap_or(0.0)
        };
        Self {
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

/// The mean in per cent; 0 without values.
fn percent(values: &[f64]) -> f64 {
    100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The 95 % percentile interval of the mean of `values` (Efron 1979); `None` without values.
pub(crate) fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as u64;
    if count == 0 {
        return None;
    }
    let mut state = SEED;
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..count)
                .filter_map(|_| values.get((splitmix(&mut state) % count) as usize))
                .sum();
            sum / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * (RESAMPLES - 1) as f64).round() as usize;
        means.get(place).copied()
    };
    Some((at(0.025)?, at(0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_mean_and_is_as_wide_as_theory_says() {
        // 400 coin flips: the standard error of the mean is 1/40, the interval 1.96 of it each way.
        let values: Vec<f64> = (0..400).map(|n| f64::from(n % 2)).collect();
        let (low, high) = interval(&values).unwrap();
        assert!(low < 0.5 && 0.5 < high);
        let width = high - low;
        assert!((width - 0.098).abs() < 0.012, "{width}");
    }

    #[test]
    fn it_is_the_same_each_time_and_narrow_where_nothing_varies() {
        assert_eq!(interval(&[0.25; 30]), Some((0.25, 0.25)));
        assert_eq!(interval(&[0.0, 1.0, 1.0]), interval(&[0.0, 1.0, 1.0]));
        assert_eq!(interval(&[]), None);
    }
}
