//! Measures the lexical pass alone, for `tests/quality/beside_tantivy.py`, which has the texts and
//! runs Tantivy.
//!
//! `words TEXTS QUERIES`: a text and a query in each line. Prints a line for each query:
//! milliseconds of the pass (median), and the ordinals of the best 128, best first.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench prints its lines"
)]
#![expect(
    clippy::expect_used,
    reason = "a bench may stop at what should not happen"
)]

use std::time::Instant;

use chrono::DateTime;
use reprise_index::{IndexWriter, LexicalScratch, NewDoc};
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId, SavedSection, SectionPages};

const BEST: usize = 128;
const ROUNDS: usize = 7;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|one| one != "--bench");
    let (Some(texts), Some(queries)) = (arguments.next(), arguments.next()) else {
        eprintln!("words TEXTS QUERIES: a text and a query in each line");
        return;
    };
    let read = |path: &str| std::fs::read_to_string(path).expect("a file of lines");
    let (texts, queries) = (read(&texts), read(&queries));
    let started = Instant::now();
    let mut writer = IndexWriter::new(4);
    for (number, text) in (1_u64..).zip(texts.lines()) {
        let at = DateTime::from_timestamp(number.cast_signed(), 0).expect("a time");
        writer.push(&NewDoc {
            id: RecordId::from_parts(number, 0),
            timestamp: at,
            known_at: at,
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: "",
            speaker: "",
            text,
            is_prompt: false,
            exact: &[],
            vector: None,
        });
    }
    // Reload, so that the words are in few segments in memory, as in an opened store.
    let sections = writer.to_sections();
    let lend = |section: &SectionPages| (section.key, SavedSection::from(section));
    let saved = sections.iter().map(lend).collect();
    let mut writer = IndexWriter::from_sections(4, &saved).expect("sections");
    let snapshot = writer.publish();
    eprintln!(
        "{} texts in {:.1} s, {:.1} B of words each",
        texts.lines().count(),
        started.elapsed().as_secs_f64(),
        sections.iter().map(|section| section.length).sum::<usize>() as f64
            / texts.lines().count() as f64
    );
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = LexicalScratch::default();
    let median = |run: &mut dyn FnMut()| {
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            run();
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    };
    for question in queries.lines() {
        let query = snapshot.analyse_query(question);
        let whole = median(&mut || {
            snapshot.score_lexical(&query, &view, BEST, &mut scratch);
        });
        let found = snapshot
            .score_lexical(&query, &view, BEST, &mut scratch)
            .best;
        let found: Vec<String> = found
            .iter()
            .map(|(ordinal, _)| ordinal.to_string())
            .collect();
        println!("{whole:.4} {}", found.join(" "));
    }
}
