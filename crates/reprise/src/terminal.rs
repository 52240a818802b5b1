//! How things look in a terminal: colours only where a person reads, sizes and dates in words.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use owo_colors::{OwoColorize, Style};

/// `error: what happened, to what, what to do next`, causes joined on one line.
pub(crate) fn failure(error: &anyhow::Error) -> String {
    format!("{} {error:#}", "error:".style(Style::new().red().bold()))
}

/// The reader of our output went away: not our failure.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// A heading.
pub(crate) fn title(text: impl Display) -> String {
    text.style(Style::new().bold()).to_string()
}

/// Something less important.
pub(crate) fn faint(text: impl Display) -> String {
    text.style(Style::new().dimmed()).to_string()
}

/// A score of 0..1 as a bar of ten cells and two digits.
pub(crate) fn score(score: f32) -> String {
    let filled = (score * 10.0).round().clamp(0.0, 10.0) as usize;
    let bar = "#".repeat(filled) + &".".repeat(10 - filled);
    let style = match score {
        s if s >= 0.6 => Style::new().green(),
        s if s >= 0.3 => Style::new().yellow(),
        _ => Style::new().dimmed(),
    };
    format!("{} {score:.2}", bar.style(style))
}

/// Bytes as a person says them.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// `1 record`, `2 records`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// How long ago, seen from `now`.
pub(crate) fn ago(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - then).num_seconds();
    let (count, unit) = match seconds.abs() {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count.abs() == 1 { "" } else { "s" };
    if count < 0 {
        format!("in {} {unit}{plural}", -count)
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

/// One line of a text: white space folded, cut at `columns` characters.
pub(crate) fn one_line(text: &str, columns: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if folded.chars().count() <= columns {
        return folded;
    }
    folded
        .chars()
        .take(columns.saturating_sub(3))
        .collect::<String>()
        + "..."
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_types::parse_timestamp;

    #[test]
    fn sizes_and_times_are_said_in_words() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(21_500_000), "21.5 MB");
        let at = |text| parse_timestamp(text).unwrap();
        let now = at("2026-02-13T09:00:00Z");
        assert_eq!(ago(at("2026-02-10T08:00:00Z"), now), "3 days ago");
        assert_eq!(ago(at("2026-02-13T07:59:00Z"), now), "1 hour ago");
        assert_eq!(ago(at("2026-02-13T08:59:50Z"), now), "just now");
        assert_eq!(ago(at("2026-02-14T10:00:00Z"), now), "in 1 day");
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(one_line("a\n b", 10), "a b");
        assert_eq!(one_line(&"\u{65e5}".repeat(20), 10).chars().count(), 10);
    }
}
