//! Numbers and times as a reader says them.

use chrono::{DateTime, Utc};
use reprise_types::Calendar;

/// Day and minute on the reader's calendar.
pub(crate) fn at(instant: DateTime<Utc>, calendar: &Calendar) -> String {
    calendar.minute_of(instant)
}

/// A size as the command line says it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
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
        assert_eq!(size(900), "900 B");
        assert_eq!(size(114_049), "114.0 KB");
        assert_eq!(of(1, "record", "records"), "1 record");
        assert_eq!(of(2_000, "record", "records"), "2,000 records");
    }
}
