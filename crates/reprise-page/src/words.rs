//! Numbers and times as a reader says them.

use chrono::{DateTime, Utc};
use reprise_types::Calendar;

/// Day and minute on the reader's calendar.
pub(crate) fn at(instant: DateTime<Utc>, calendar: &Calendar) -> String {
    format!(
        "{} {}",
        calendar.day_of(instant),
        calendar.clock_of(instant)
    )
}

/// A size in the unit that leaves one to three digits.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "KiB", "MiB", "GiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match (unit, UNITS.get(unit)) {
        (0, _) => format!("{bytes} bytes"),
        (_, name) => format!("{size:.1} {}", name.unwrap_or(&"")),
    }
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// A number and its noun.
pub(crate) fn of(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(size(900), "900 bytes");
        assert_eq!(size(1_536), "1.5 KiB");
        assert_eq!(of(1, "record", "records"), "1 record");
        assert_eq!(of(2_000, "record", "records"), "2,000 records");
    }
}
