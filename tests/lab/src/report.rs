//! The report of one run, printed or as JSON, with bootstrap confidence intervals over questions.

use std::collections::BTreeMap;
use std::io::{self, Write};

use reprise_types::next_splitmix64;
use serde::Serialize;

use crate::calibration::{Calibration, Silence};
use crate::dataset::{Format, Protocol};
use crate::ranking_metrics::{DEPTHS, RankingMetrics};

/// Of the bootstrap.
const RESAMPLES: usize = 1_000;
/// A fixed seed: the same values give the same interval.
const SEED: u64 = 0x5265_7072_6973_6521;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalReport {
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
    /// Sessions, without the questions that have no answer.
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
    /// Mean nDCG at 10, over the questions with gold.
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
    pub(crate) fn from_metrics(marks: &[RankingMetrics]) -> Self {
        let by_depth = |pick: &dyn Fn(&RankingMetrics) -> [f64; DEPTHS.len()]| {
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
            let (low, high) = mean_interval(values)?;
            let (low, high) = (low * 100.0, high * 100.0);
            Some((name, Interval { low, high }))
        });
        let means = |columns: &BTreeMap<usize, Vec<f64>>| {
            let mean = |(depth, column): (&usize, &Vec<f64>)| (*depth, mean_percent(column));
            columns.iter().map(mean).collect()
        };
        Self {
            questions: marks.len(),
            intervals: intervals.collect(),
            recall: means(&recall),
            any: means(&any),
            mrr: mean_percent(&ranks),
            ndcg10: mean_percent(&gains),
        }
    }
}

impl Latency {
    /// From single times, in any order.
    pub(crate) fn from_times(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share| percentile(&times, share).unwrap_or(0.0);
        Self {
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

/// The mean in per cent; 0 without values.
fn mean_percent(values: &[f64]) -> f64 {
    100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The 95 % percentile interval of the mean of `values` (Efron 1979); `None` without values.
pub(crate) fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as u64;
    if count == 0 {
        return None;
    }
    let mut state = SEED;
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..count)
                .filter_map(|_| values.get((next_splitmix64(&mut state) % count) as usize))
                .sum();
            sum / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Some((percentile(&means, 0.025)?, percentile(&means, 0.975)?))
}

/// The value below which `share` (0..1) of the sorted values lie; `None` without values.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().saturating_sub(1);
    let place = (share * last as f64).round() as usize;
    sorted.get(place).copied()
}

/// Width of the column for names of systems and categories.
const NAME_WIDTH: usize = 32;

pub fn print_evaluation(report: &EvalReport, out: &mut dyn Write) -> io::Result<()> {
    for sentence in &report.protocol {
        writeln!(out, "  {sentence}")?;
    }
    writeln!(
        out,
        "records {} ({} refused), stores {}; questions {}, {} judged, {} without an answer",
        report.records,
        report.refused,
        report.stores,
        report.questions,
        report.judged,
        report.without_answer
    )?;
    for (title, level) in [("turn level", false), ("session level", true)] {
        writeln!(out)?;
        print_heading(out, title)?;
        for system in &report.systems {
            let summary = if level { &system.session } else { &system.turn };
            print_summary_row(out, &system.name, summary)?;
        }
    }
    let of_sessions = report.set == Format::LongMemEval;
    if let Some(reprise) = report.systems.first() {
        writeln!(out)?;
        let (title, by_category) = if of_sessions {
            ("by category, sessions", &reprise.session_by_category)
        } else {
            ("reprise by category", &reprise.turn_by_category)
        };
        print_heading(out, title)?;
        for (category, summary) in by_category {
            print_summary_row(out, category, summary)?;
        }
        if of_sessions {
            print_summary_row(out, "all that have an answer", &reprise.session_answerable)?;
        }
        writeln!(out)?;
    }
    print_scores(report, out)?;
    writeln!(
        out,
        "recall without embedding p50 {:.2} ms, p99 {:.2} ms; whole run {:.1} s",
        report.recall_ms.p50, report.recall_ms.p99, report.elapsed_s
    )
}

/// Prints the summary: the ranking systems compared at turn level.
pub fn print_brief(report: &EvalReport, out: &mut dyn Write) -> io::Result<()> {
    for sentence in &report.protocol {
        writeln!(out, "  {sentence}")?;
    }
    writeln!(
        out,
        "records {}, questions {}",
        report.records, report.judged
    )?;
    writeln!(
        out,
        "{:<24} {:>6} {:>6} {:>6} {:>8}",
        "", "R@1", "R@5", "R@10", "nDCG@10"
    )?;
    for system in &report.systems {
        let at = |depth| system.turn.recall.get(&depth).copied().unwrap_or(0.0);
        writeln!(
            out,
            "{:<24} {:>6.1} {:>6.1} {:>6.1} {:>8.1}",
            system.name,
            at(1),
            at(5),
            at(10),
            system.turn.ndcg10
        )?;
    }
    print_scores(report, out)
}

fn print_scores(report: &EvalReport, out: &mut dyn Write) -> io::Result<()> {
    if let Some(calibration) = &report.calibration {
        writeln!(
            out,
            "calibration: expected error {:.3} over {} results (mean score {:.3}, relevant {:.3})",
            calibration.expected_error,
            calibration.results,
            calibration.mean_score,
            calibration.share_relevant
        )?;
    }
    if let Some(silence) = &report.silence {
        let (now, best) = (silence.in_force, silence.best_here);
        writeln!(
            out,
            "nothing relevant: said on {:.1} % of {} questions without an answer, wrongly on \
             {:.1} % of {} with one; separation {:.3}",
            100.0 * now.rightly,
            silence.without_answer,
            100.0 * now.wrongly,
            silence.with_answer,
            silence.separation
        )?;
        writeln!(
            out,
            "  the best threshold for these very questions would be {:.3}: {:.1} % and {:.1} %",
            silence.best_threshold_here,
            100.0 * best.rightly,
            100.0 * best.wrongly
        )?;
    }
    Ok(())
}

fn print_heading(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(out, "{title:<NAME_WIDTH$}")?;
    for depth in DEPTHS {
        write!(out, " {:>6}", format!("R@{depth}"))?;
    }
    for depth in DEPTHS {
        write!(out, " {:>6}", format!("any@{depth}"))?;
    }
    writeln!(
        out,
        " {:>6} {:>6}  R@5 95 %     R@10 95 %        n",
        "MRR", "nDCG10"
    )
}

fn print_summary_row(out: &mut dyn Write, name: &str, summary: &Summary) -> io::Result<()> {
    write!(out, "{name:<NAME_WIDTH$}")?;
    for column in [&summary.recall, &summary.any] {
        for depth in DEPTHS {
            write!(out, " {:>6.2}", column.get(&depth).copied().unwrap_or(0.0))?;
        }
    }
    write!(out, " {:>6.2} {:>6.2}", summary.mrr, summary.ndcg10)?;
    for name in ["R@5", "R@10"] {
        match summary.intervals.get(name) {
            Some(interval) => write!(out, "  {:>4.1}..{:<5.1}", interval.low, interval.high)?,
            None => write!(out, "  {:<11}", "-")?,
        }
    }
    writeln!(out, " {:>6}", summary.questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_mean_and_is_as_wide_as_theory_says() {
        // 400 coin flips: the standard error of the mean is 1/40, the interval 1.96 of it each way.
        let values: Vec<f64> = (0..400).map(|n| f64::from(n % 2)).collect();
        let (low, high) = mean_interval(&values).unwrap();
        assert!(low < 0.5 && 0.5 < high);
        let width = high - low;
        assert!((width - 0.098).abs() < 0.012, "{width}");
    }

    #[test]
    fn it_is_the_same_each_time_and_narrow_where_nothing_varies() {
        assert_eq!(mean_interval(&[0.25; 30]), Some((0.25, 0.25)));
        assert_eq!(
            mean_interval(&[0.0, 1.0, 1.0]),
            mean_interval(&[0.0, 1.0, 1.0])
        );
        assert_eq!(mean_interval(&[]), None);
    }
}
