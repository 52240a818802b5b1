//! Reports as text tables.

use std::io::{self, Write};

use crate::dataset::Format;
use crate::marks::DEPTHS;
use crate::report::{Report, Summary};

/// Width of the column for names of systems and categories.
const NAME_WIDTH: usize = 32;

pub fn print(report: &Report, out: &mut dyn Write) -> io::Result<()> {
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
        heading(out, title)?;
        for system in &report.systems {
            let summary = if level { &system.session } else { &system.turn };
            row(out, &system.name, summary)?;
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
        heading(out, title)?;
        for (category, summary) in by_category {
            row(out, category, summary)?;
        }
        if of_sessions {
            row(out, "all that have an answer", &reprise.session_answerable)?;
        }
        writeln!(out)?;
    }
    scores(report, out)?;
    writeln!(
        out,
        "recall without embedding p50 {:.2} ms, p99 {:.2} ms; whole run {:.1} s",
        report.recall_ms.p50, report.recall_ms.p99, report.elapsed_s
    )
}

/// Prints the summary: the ranking systems compared at turn level.
pub fn print_brief(report: &Report, out: &mut dyn Write) -> io::Result<()> {
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
    scores(report, out)
}

fn scores(report: &Report, out: &mut dyn Write) -> io::Result<()> {
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

fn heading(out: &mut dyn Write, title: &str) -> io::Result<()> {
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

fn row(out: &mut dyn Write, name: &str, summary: &Summary) -> io::Result<()> {
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
