//! The cost of a query (scan and graph, compared with a plain f32 scan), of an insert into the
//! graph, of the lexical pass, and of loading the index.
//!
//! Run `cargo bench -p reprise-index --bench search`; `-- query`, `-- lexical` or `-- load` runs
//! one part, `-- million` the vector queries at a million (15 minutes, 4 GB), `-- file VECTORS
//! QUESTIONS` those of two files of f32 numbers. The comparison with usearch and hnswlib is
//! `tests/compare/vectors.py`.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench may stop at what should not happen"
)]

mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::DateTime;
use data::{BenchRandom, DIMENSIONS};
use reprise_index::{IndexSnapshot, IndexWriter, LexicalScratch, NewDoc, VectorScratch};
use reprise_types::{
    MemoryFilter, MemoryKind, MemorySource, RecordId, SavedSection, SavedSections, SectionPages,
};

/// Number of results that a recall requests.
const K: usize = 128;
fn main() {
    // `-- lexical` runs that part alone.
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    for (name, part) in [
        ("query", bench_queries as fn()),
        ("lexical", bench_lexical),
        ("load", bench_load),
    ] {
        if asked.is_empty() || asked.iter().any(|a| a == name) {
            part();
        }
    }
    if asked.iter().any(|a| a == "million") {
        bench_queries_at(&[1_000_000]);
    }
    if let [_, records, questions] = asked.as_slice()
        && asked[0] == "file"
    {
        bench_vectors("file", &read_vectors(records), &read_vectors(questions));
    }
}

/// Reads the vectors of a file: little-endian f32 numbers, one vector after another.
fn read_vectors(path: &str) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let numbers = bytes.as_chunks::<4>().0.iter();
    let numbers: Vec<f32> = numbers.map(|n| f32::from_le_bytes(*n)).collect();
    numbers.chunks(DIMENSIONS).map(<[f32]>::to_vec).collect()
}

fn bench_queries() {
    bench_queries_at(&[10_000, 50_000, 100_000]);
}

fn bench_queries_at(counts: &[usize]) {
    println!("vector query, one core, ms: median (best); recall against the exact answer");
    for count in counts {
        let name = |name| format!("{name} {}K", count / 1_000);
        let (a, b) = (&mut BenchRandom(1), &mut BenchRandom(2));
        bench_vectors(
            &name("clustered"),
            &data::generate_clustered(a, *count),
            &data::generate_clustered(b, 60),
        );
        bench_vectors(
            &name("latent"),
            &data::generate_latent(a, *count),
            &data::generate_latent(b, 60),
        );
    }
}

fn push(writer: &mut IndexWriter, number: usize, text: &str, vector: &[f32]) {
    let at = DateTime::from_timestamp(i64::from(number as u32), 0).unwrap();
    writer.push(&NewDoc {
        id: RecordId::from_parts(number as u64, 0),
        timestamp: at,
        known_at: at,
        kind: MemoryKind::Episode,
        source: MemorySource::UserInput,
        session_id: &format!("session-{}", number / 20),
        speaker: "",
        text,
        is_prompt: false,
        exact: &[],
        vector: Some(vector),
    });
}

/// Durations in milliseconds. The best of many runs approximates the cost on an idle machine.
struct Times {
    median: f64,
    best: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let ms = |at: usize| times[at].as_secs_f64() * 1e3;
        Self {
            median: ms(times.len() / 2),
            best: ms(0),
        }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:.3} ({:.3})", self.median, self.best))
    }
}

fn measure<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let answer = black_box(work());
    times.push(begin.elapsed());
    answer
}

fn bench_vectors(name: &str, vectors: &[Vec<f32>], queries: &[Vec<f32>]) {
    let mut writer = IndexWriter::new(DIMENSIONS);
    for (number, vector) in vectors.iter().enumerate() {
        push(&mut writer, number, "", vector);
    }
    let mut plain = Vec::new();
    let exact: Vec<_> = queries
        .iter()
        .map(|q| measure(&mut plain, || scan_f32(q, vectors)))
        .collect();
    println!("{name:<16} f32 scan {}", Times::of(plain));
    let ask = |what: &str, snapshot: &IndexSnapshot| {
        let view = snapshot.view(&MemoryFilter::default(), None);
        let mut scratch = VectorScratch::default();
        for k in [10, K] {
            let (mut times, mut found) = (Vec::new(), 0);
            for _ in 0..5 {
                for (query, exact) in queries.iter().zip(&exact) {
                    let got = measure(&mut times, || {
                        let codes = snapshot.encode_query(query).unwrap();
                        let found = snapshot.search_vectors(&codes, k, &view, &mut scratch);
                        found.iter().map(|best| best.0).collect::<Vec<_>>()
                    });
                    found += got.iter().filter(|o| exact[..k].contains(o)).count();
                }
            }
            let recall = found as f64 / (5 * k * queries.len()) as f64;
            let route = format!("{:?}", scratch.route());
            let times = Times::of(times);
            println!("  {what:<8} {route:<7} k = {k:<4} {times:>16} ms  recall {recall:.4}");
        }
    };
    writer.set_graph_threshold(usize::MAX / 2);
    ask("scan", &writer.publish());
    // The planner now uses the graph whenever it may.
    writer.set_graph_threshold(vectors.len() / 2);
    let mut inserts = Vec::new();
    while measure(&mut inserts, || writer.advance_graph(1_000).unwrap().1) > 0 {}
    let snapshot = writer.publish();
    ask("graph", &snapshot);
    let begin = Instant::now();
    let crossover = snapshot.measure_crossover(&|| begin.elapsed());
    let all: Duration = inserts.iter().sum();
    println!(
        "  crossover {crossover:?} records; growing {:.3} ms a record",
        all.as_secs_f64() * 1e3 / vectors.len() as f64
    );
    let saved = lend(&writer.to_sections());
    let mut opened = IndexWriter::from_sections(DIMENSIONS, &saved).unwrap();
    opened.set_graph_threshold(vectors.len() / 2);
    ask("opened", &opened.publish());
}

/// Finds the best by brute force over every full vector.
fn scan_f32(query: &[f32], vectors: &[Vec<f32>]) -> Vec<u32> {
    let dot = |v: &Vec<f32>| -> f32 {
        let lanes = v.as_chunks::<16>().0.iter().zip(query.as_chunks::<16>().0);
        let mut sums = [0.0; 16];
        for (a, b) in lanes {
            for lane in 0..16 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        sums.iter().sum()
    };
    let mut scores: Vec<(u32, f32)> = (0..).zip(vectors.iter().map(dot)).collect();
    scores.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
    scores.truncate(K);
    scores.into_iter().map(|(ordinal, _)| ordinal).collect()
}

fn build_filled_writer(count: usize, batch: usize) -> (IndexWriter, Vec<Vec<f32>>) {
    let mut random = BenchRandom(3);
    let vectors = data::generate_clustered(&mut random, 1_000);
    let mut writer = IndexWriter::new(DIMENSIONS);
    for number in 0..count {
        push(
            &mut writer,
            number,
            &data::make_text(&mut random),
            &vectors[number % vectors.len()],
        );
        if number % batch == batch - 1 {
            writer.publish();
        }
    }
    (writer, vectors)
}

/// Builds a query of eight words: one in most records, one in every sixth, and rarer ones.
fn build_question() -> String {
    [0, 9, 40, 100, 300, 1_000, 3_000, 9_000]
        .map(data::make_word)
        .join(" ")
}

fn bench_lexical() {
    println!("\nlexical pass and candidates, 10K records of 200 B, 8 words, ms: median (best)");
    println!(
        "{:<22} {:>16} {:>16} {:>16} {:>9}",
        "view", "candidates", "lexical", "both", "postings"
    );
    for (name, batch) in [("one batch", 10_000), ("published one by one", 1)] {
        let (mut writer, vectors) = build_filled_writer(10_000, batch);
        let snapshot = writer.publish();
        print_report(name, &snapshot, &vectors[0]);
        let (mut publish, mut first) = (Vec::new(), Vec::new());
        let mut scratch = LexicalScratch::default();
        for number in 10_000..10_064 {
            push(
                &mut writer,
                number,
                "one more memory of the auth race",
                &vectors[1],
            );
            let snapshot = measure(&mut publish, || writer.publish());
            let query = snapshot.analyse_query(&build_question());
            let view = snapshot.view(&MemoryFilter::default(), None);
            measure(&mut first, || {
                snapshot
                    .score_lexical(&query, &view, 128, &mut scratch)
                    .best
                    .len()
            });
        }
        println!(
            "  publish {}, first lexical pass after it {}",
            Times::of(publish),
            Times::of(first)
        );
    }
}

fn print_report(name: &str, snapshot: &IndexSnapshot, vector: &[f32]) {
    let mut scratch = LexicalScratch::default();
    let mut vectors = VectorScratch::default();
    let view = snapshot.view(&MemoryFilter::default(), None);
    let query = snapshot.analyse_query(&build_question());
    let (mut scan, mut lexical, mut both) = (Vec::new(), Vec::new(), Vec::new());
    let mut postings = 0;
    for _ in 0..200 {
        measure(&mut both, || {
            measure(&mut scan, || {
                let codes = snapshot.encode_query(vector).unwrap();
                snapshot
                    .search_vectors(&codes, 128, &view, &mut vectors)
                    .len()
            });
            measure(&mut lexical, || {
                let signals = snapshot.score_lexical(&query, &view, 128, &mut scratch);
                postings = signals.terms.iter().map(|t| t.documents).sum();
            });
        });
    }
    let (scan, lexical, both) = (Times::of(scan), Times::of(lexical), Times::of(both));
    println!("{name:<22} {scan:>16} {lexical:>16} {both:>16} {postings:>9}");
}

/// Opens sections that are in memory.
fn lend(sections: &[SectionPages]) -> SavedSections {
    let lend = |section: &SectionPages| (section.key, SavedSection::from(section));
    sections.iter().map(lend).collect()
}

fn bench_load() {
    let count = 100_000;
    let (mut writer, _) = build_filled_writer(count, 512);
    let sections = writer.to_sections();
    let saved = lend(&sections);
    let (mut left, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        measure(&mut left, || {
            IndexWriter::from_sections(DIMENSIONS, &saved).unwrap()
        });
        measure(&mut whole, || {
            IndexWriter::from_sections(DIMENSIONS, &saved)
                .unwrap()
                .load()
                .unwrap();
        });
    }
    println!("\nload at 100K, ms: median (best)");
    println!("  from_sections {}", Times::of(left));
    println!("  and everything loaded and verified {}", Times::of(whole));
    for section in &sections {
        let bytes = section.length as f64 / count as f64;
        println!("  section {:?}: {bytes:.1} B/record", section.key);
    }
    let mut save = Vec::new();
    measure(&mut save, || writer.to_sections());
    let snapshot = writer.publish();
    println!(
        "  to_sections {} ms, memory {:.1} MB",
        Times::of(save),
        snapshot.memory_bytes() as f64 / 1e6
    );
}
