//! What `reprise recall --why` says of a score: every part, what each part means, and the sum.

use reprise_operations::{Hit, describe_signal};
use reprise_types::RankSignal;

use crate::cli::prelude::*;

/// Column at which each part begins.
const INDENT: usize = 6;

/// Prints every part of a score, the largest first, and the score that they make.
pub(super) fn print_signals(out: &mut impl Write, found: &Hit) -> io::Result<()> {
    let why = &found.why;
    let mut signals: Vec<&RankSignal> = why
        .signals
        .iter()
        .filter(|signal| round_to_thousandths(signal.contribution) != 0.0)
        .collect();
    signals.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
    writeln!(
        out,
        "{:INDENT$}strength x weight = part; a positive part raises the score",
        ""
    )?;
    let mut sum = 0.0;
    for signal in signals {
        let (name, meaning) = describe_signal(&signal.name);
        let (value, weight, part) = (signal.value, signal.weight, signal.contribution);
        sum += part;
        let line = format!("{name:<23} {value:>6.3} x {weight:>+7.3} = {part:>+7.3}  {meaning}");
        writeln!(out, "{:INDENT$}{}", "", line.trim_end())?;
    }
    let (sum, score) = (round_to_thousandths(sum), found.score);
    writeln!(
        out,
        "{:INDENT$}{:<23} {:>18} {sum:>+7.3}  which is a score of {score:.2}",
        "", "sum", ""
    )?;
    let learned = why.learning.map_or(0.0, |learned| learned.adjustment);
    if round_to_thousandths(learned) != 0.0 {
        let score = found.sona_score;
        writeln!(
            out,
            "{:INDENT$}{:<23} {:>18} {learned:>+7.3}  makes a score of {score:.2}",
            "", "learned from outcomes", ""
        )?;
    }
    let similarity = why.raw_distance.map_or(0.0, |distance| 1.0 - distance);
    for (name, value, meaning) in [
        ("similarity of meaning", similarity, "1 is the same"),
        (
            "share of a dialogue",
            why.dialogue,
            "how far it is a message among others, which changes the weights",
        ),
    ] {
        let value = round_to_thousandths(value);
        if value != 0.0 {
            writeln!(out, "{:INDENT$}{name:<23} {value:>6.3}  {meaning}", "")?;
        }
    }
    Ok(())
}

/// Rounds a number for printing; one that rounds to zero has no sign.
fn round_to_thousandths(number: f32) -> f32 {
    (number * 1e3).round() / 1e3 + 0.0
}
