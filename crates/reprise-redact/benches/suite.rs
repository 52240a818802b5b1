//! Recall, false alarms and cost of redaction.
//!
//! `cargo bench -p reprise-redact` prints the figures; after `--`, `--misses` lists misses and
//! false alarms of all parts that are not held out, `--rules FILE` uses other rules, and every
//! other argument is a file whose lines are counted, too.

#![expect(clippy::print_stdout, reason = "a bench talks to a person")]

use std::time::Instant;

use reprise_redact::RedactionRules;
use reprise_redact::testing::{fill_form, innocent_parts, is_clean, secret_forms};

const SEEDS: std::ops::Range<u64> = 1..21;
/// Bytes of one text, as of a typical record.
const CHUNK: usize = 2 * 1024;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let misses = arguments.iter().any(|argument| argument == "--misses");
    let mut page = include_str!("../src/rules.toml").to_owned();
    let mut files = Vec::new();
    let mut rest = arguments.iter().filter(|argument| *argument != "--misses");
    while let Some(argument) = rest.next() {
        if argument == "--rules" {
            page = std::fs::read_to_string(rest.next().ok_or("--rules needs a file")?)?;
        } else {
            files.push(argument);
        }
    }
    let rules = RedactionRules::from_toml(&page)?;
    println!("| suite | of | found |\n|---|---|---|");
    for part in secret_forms() {
        let (mut found, mut all) = (0, 0);
        for form in &part.lines {
            let left: Vec<_> = SEEDS
                .map(|seed| fill_form(form, seed))
                .filter(|one| !is_clean(&rules, one))
                .collect();
            all += SEEDS.count();
            found += SEEDS.count() - left.len();
            if let Some(one) = left.first().filter(|_| misses && !part.is_held_out) {
                println!(
                    "missed {} of {}: {}\n    -> {}",
                    left.len(),
                    SEEDS.count(),
                    one.text,
                    rules.redact(&one.text).text
                );
            }
        }
        println!(
            "| secrets, {} ({} forms) | {all} | {:.2} % |",
            part.name,
            part.lines.len(),
            share(found, all)
        );
    }
    for part in innocent_parts() {
        let touched = touched(&rules, &part.lines, misses && !part.is_held_out);
        println!(
            "| lines touched, {} | {} | {:.3} % |",
            part.name,
            part.lines.len(),
            share(touched, part.lines.len())
        );
    }
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let touched = touched(&rules, &lines, misses);
        println!(
            "| {file} | {} | {:.3} % |",
            lines.len(),
            share(touched, lines.len())
        );
    }
    let secrets: Vec<String> = secret_forms()
        .iter()
        .flat_map(|part| &part.lines)
        .map(|form| fill_form(form, 3).text)
        .collect();
    let innocent: Vec<&str> = innocent_parts()
        .iter()
        .flat_map(|part| part.lines.clone())
        .collect();
    println!("\n| texts of {CHUNK} bytes | us per KB |\n|---|---|");
    for (name, text) in [
        ("innocent", innocent.join("\n")),
        ("nothing but secrets", secrets.join("\n")),
    ] {
        println!("| {name} | {:.1} |", cost(&rules, &text));
    }
    Ok(())
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

fn touched(rules: &RedactionRules, lines: &[&str], misses: bool) -> usize {
    let touched = lines.iter().filter(|line| {
        let redacted = rules.redact(line);
        let is_touched = !redacted.removed.is_empty();
        if is_touched && misses {
            println!("touched: {line}\n    -> {}", redacted.text);
        }
        is_touched
    });
    touched.count()
}

/// Returns the microseconds per kilobyte, the fastest of a few rounds.
fn cost(rules: &RedactionRules, text: &str) -> f64 {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK.min(rest.len())));
        chunks.push(chunk);
        rest = after;
    }
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        for chunk in &chunks {
            std::hint::black_box(rules.redact(std::hint::black_box(chunk)));
        }
        began.elapsed().as_secs_f64()
    });
    let fastest = rounds.fold(f64::INFINITY, f64::min);
    fastest * 1e6 / (text.len() as f64 / 1024.0)
}
