//! The report of the learning evaluation, as data and as a table.

use std::io::{self, Write};

use serde::Serialize;

use super::mean;
use crate::report::mean_interval;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningReport {
    /// Each scenario is run with each of these.
    pub seeds: Vec<u64>,
    /// Depth of nDCG.
    pub depth: usize,
    /// Held-out quality after learning from runs ranked by cosine.
    pub scenarios: Vec<ScenarioReport>,
    /// Retention of topics A after learning topics B.
    pub kept: RetainedGain,
    /// Closed loops, ranked by the learner itself.
    pub loops: Vec<Loop>,
}

/// One system in one scenario; means over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct System {
    /// Mean nDCG at `depth` on held-out questions.
    pub ndcg: f64,
    /// `ndcg` minus the nDCG of cosine.
    pub delta: f64,
    /// 95 % bootstrap interval of `delta` over seeds.
    pub delta_interval: (f64, f64),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioReport {
    pub name: &'static str,
    pub what: &'static str,
    pub runs: usize,
    /// Mean nDCG of cosine alone.
    pub cosine: f64,
    /// `ruvector-sona` with its defaults.
    pub shipped: System,
    pub reprise: System,
    /// Share of questions whose first ten our learner changes.
    pub changed: f64,
    /// The largest adjustment applied.
    pub largest_adjustment: f32,
    /// Mean cap in force at the end.
    pub cap: f64,
    /// Mean opening of the evidence learner's gate, 0..1.
    pub evidence_gate: f64,
    /// Mean opening of the adapter's gate, 0..1.
    pub adapter_gate: f64,
}

/// Topics A are learned, then topics B; A's held-out questions are asked after each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RetainedGain {
    /// Gain in nDCG at `depth` after A, mean over seeds.
    pub after_a: f64,
    /// Gain in nDCG at `depth` after A and B, mean over seeds.
    pub after_b: f64,
    /// Share of the gain that remains, mean over seeds.
    pub share: f64,
    /// 95 % bootstrap interval of `share` over seeds.
    pub share_interval: (f64, f64),
}

impl RetainedGain {
    /// From each seed's gain after A, and after A and B. A seed without a gain has no share.
    pub(super) fn from_gains(gains: &[(f64, f64)]) -> Self {
        let shares: Vec<f64> = gains
            .iter()
            .filter(|(after_a, _)| *after_a > 0.0)
            .map(|(after_a, after_b)| after_b / after_a)
            .collect();
        Self {
            after_a: mean(gains.iter().map(|gain| gain.0)),
            after_b: mean(gains.iter().map(|gain| gain.1)),
            share: mean(shares.iter().copied()),
            share_interval: mean_interval(&shares).unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loop {
    pub name: &'static str,
    pub runs: usize,
    /// Share of used memories that helped, in the last quarter, ranked by cosine.
    pub cosine: f64,
    /// Share of used memories that helped, ranked by the learner.
    pub reprise: f64,
    /// 95 % bootstrap interval of the difference over seeds.
    pub delta_interval: (f64, f64),
}

pub fn print_learning(report: &LearningReport, out: &mut dyn Write) -> io::Result<()> {
    let (seeds, depth) = (report.seeds.len(), report.depth);
    writeln!(
        out,
        "held-out nDCG@{depth} after learning (seeds: {seeds}); change against cosine [95 %]\n"
    )?;
    writeln!(
        out,
        "{:<22}{:>5}{:>8}  {:>9}  {:<26}{:>8}{:>6}{:>9}",
        "scenario", "runs", "cosine", "sona 0.2", "reprise", "changed", "cap", "gates"
    )?;
    for one in &report.scenarios {
        let (low, high) = one.reprise.delta_interval;
        let ours = format!("{:+.4} [{low:+.3}, {high:+.3}]", one.reprise.delta);
        let gates = format!("{:.1}/{:.1}", one.evidence_gate, one.adapter_gate);
        writeln!(
            out,
            "{:<22}{:>5}{:>8.3}  {:>+9.4}  {ours:<26}{:>7.1}%{:>6.2}{gates:>9}",
            one.name,
            one.runs,
            one.cosine,
            one.shipped.delta,
            one.changed * 100.0,
            one.cap,
        )?;
    }
    let kept = &report.kept;
    let (low, high) = kept.share_interval;
    writeln!(
        out,
        "\nA then B: {:+.3} on A's questions after A, {:+.3} after B as well: {:.0} % kept \
         [{:.0} %, {:.0} %]",
        kept.after_a,
        kept.after_b,
        kept.share * 100.0,
        low * 100.0,
        high * 100.0,
    )?;
    writeln!(
        out,
        "\nclosed loop: share of used memories that helped, last quarter\n"
    )?;
    for one in &report.loops {
        let (low, high) = one.delta_interval;
        writeln!(
            out,
            "{:<22}{:>5}{:>8.3}  {:>9.3}  change [{low:+.3}, {high:+.3}]",
            one.name, one.runs, one.cosine, one.reprise
        )?;
    }
    Ok(())
}
