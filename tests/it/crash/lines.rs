//! Records to ingest, made from numbers.
//!
//! The text and the vector of record number n.

use std::fmt::Write as _;

use reprise_tests::SeededRng;

/// Numbers in a vector, as the product's own model has.
const DIMENSIONS: u64 = 384;

const WORDS: [&str; 16] = [
    "session",
    "timeout",
    "auth",
    "race",
    "retry",
    "migration",
    "cache",
    "deploy",
    "login",
    "token",
    "queue",
    "worker",
    "rollback",
    "index",
    "parser",
    "budget",
];

/// The external id of record `number`.
pub(crate) fn external_id(number: usize) -> String {
    format!("kill-{number:06}")
}

/// What record `number` says: 8 to 70 words, so that commits differ in size.
pub(crate) fn record_text(number: usize) -> String {
    let mut seeded = SeededRng::new(number as u64);
    let mut text = format!("record {number}:");
    for _ in 0..8 + seeded.draw_below(62) {
        let word = usize::try_from(seeded.draw_below(16))
            .ok()
            .and_then(|index| WORDS.get(index));
        text.push(' ');
        text.push_str(word.copied().unwrap_or_default());
    }
    text
}

/// The ingest line of record `number`, in session `session`.
pub(crate) fn ingest_line(number: usize, session: &str, with_vector: bool) -> String {
    let (name, text) = (external_id(number), record_text(number));
    let mut line = format!(
        r#"{{"external_id":"{name}","text":"{text}","source":"user_input","kind":"episode","session_id":"{session}""#
    );
    if with_vector {
        line.push_str(r#","embedding":["#);
        line.push_str(&vector_json(number));
        line.push_str(r#"],"embedding_space":{"model":"kill","version":"1","dimensions":384}"#);
    }
    line.push_str("}\n");
    line
}

/// A unit vector: each number is plus or minus the same, by seed.
fn vector_json(number: usize) -> String {
    let size = 1.0 / (DIMENSIONS as f64).sqrt();
    let mut seeded = SeededRng::new(!(number as u64));
    let mut text = String::new();
    for index in 0..DIMENSIONS {
        let sign = if seeded.draw_below(2) == 0 { "" } else { "-" };
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{comma}{sign}{size:.7}");
    }
    text
}
