//! Numbers as a sentence says them.

use std::fmt::Display;

/// `1 record`, `2 records`.
pub fn format_count(number: impl Display, what: &str) -> String {
    let number = number.to_string();
    let plural = match what.strip_suffix('y') {
        _ if number == "1" => return format!("{number} {what}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{what}s"),
    };
    format!("{number} {plural}")
}

/// `900 B`, `114.0 KB`.
pub fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
