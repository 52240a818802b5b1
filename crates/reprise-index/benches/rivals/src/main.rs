//! The vector query compared with usearch, sqlite-vec and a plain f32 scan: same data, same run,
//! one core.
//!
//! `cargo run --release --manifest-path crates/reprise-index/benches/rivals/Cargo.toml`; add
//! `10000` for that size alone. Building usearch's graph and ours at 100K takes some minutes. A
//! workspace of its own, so that the product does not link these libraries.

#[expect(
    dead_code,
    reason = "shared with the other bench, which also needs text"
)]
#[path = "../../search/data.rs"]
mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::DateTime;
use data::{DIMENSIONS, Random};
use reprise_index::{IndexWriter, NewDoc, OVERSAMPLE_DEFAULT};
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId, VectorStore};
use rusqlite::Connection;
use rusqlite::auto_extension::{RawAutoExtension, register_auto_extension};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

const K: usize = 10;
/// Store size from which the planner uses the graph for ten results.
const GRAPH_ASKED: usize = 135_000;

struct Store(Vec<Vec<f32>>);

impl VectorStore for Store {
    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        out.copy_from_slice(&self.0[ordinal as usize]);
        true
    }
}

fn main() {
    // SAFETY: `sqlite3_vec_init` is an SQLite extension's entry point with exactly this signature;
    // the crate declares it without its arguments. It stays valid for the life of the process.
    unsafe {
        let entry: RawAutoExtension = std::mem::transmute::<*const (), RawAutoExtension>(
            sqlite_vec::sqlite3_vec_init as *const (),
        );
        register_auto_extension(entry).unwrap();
    }
    println!("k = {K}, one core, ms: median (best), recall@10");
    let asked: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    for count in [10_000, 100_000, 150_000] {
        if !asked.is_empty() && !asked.contains(&count) {
            continue;
        }
        for (name, make) in [
            ("clustered", data::clustered as fn(&mut Random, usize) -> _),
            ("latent", data::latent),
        ] {
            compare(name, make(&mut Random(1), count), &make(&mut Random(2), 40));
        }
    }
}

fn compare(name: &str, vectors: Vec<Vec<f32>>, queries: &[Vec<f32>]) {
    println!("{name} {}K", vectors.len() / 1_000);
    let store = Store(vectors);
    let (plain, exact) = run(queries, |q| scan_f32(q, &store.0));
    let row = |name: &str, (times, answers): ((f64, f64), Vec<Vec<u32>>)| {
        let (median, best) = times;
        let recall = recall(&answers, &exact);
        println!("  {name:<22} {median:>8.3} ({best:.3})  {recall:.4}");
    };
    row("f32 scan", (plain, exact.clone()));
    let database = fill(&store.0);
    let mut statement = database
        .prepare("select rowid from v where e match ?1 and k = 10 order by distance")
        .unwrap();
    let sqlite = run(queries, |q| {
        let rows = statement.query_map([bytes(q)], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    });
    row("sqlite-vec", sqlite);
    let theirs = usearch(&store.0);
    for beam in [64, 128, 256, 512] {
        theirs.change_expansion_search(beam);
        let answers = run(queries, |q| {
            let found = theirs.search(q, K).unwrap();
            found.keys.into_iter().map(|key| key as u32).collect()
        });
        row(&format!("usearch f32, ef {beam}"), answers);
    }
    let mut writer = writer(&store.0);
    let ours = |writer: &mut IndexWriter| {
        let snapshot = writer.publish();
        let view = snapshot.view(&MemoryFilter::default(), None);
        run(queries, |q| {
            let found = snapshot.nearest(q, K, &view, &store, OVERSAMPLE_DEFAULT);
            found.into_iter().map(|(ordinal, _)| ordinal).collect()
        })
    };
    row("ours, scan", ours(&mut writer));
    if store.0.len() >= GRAPH_ASKED {
        writer.advance_graph(usize::MAX).unwrap();
        row("ours, graph", ours(&mut writer));
    }
}

fn writer(vectors: &[Vec<f32>]) -> IndexWriter {
    let mut writer = IndexWriter::new(DIMENSIONS);
    for (number, vector) in vectors.iter().enumerate() {
        writer.push(&NewDoc {
            id: RecordId::from_parts(number as u64, 0),
            timestamp: DateTime::UNIX_EPOCH,
            known_at: DateTime::UNIX_EPOCH,
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: "",
            speaker: "",
            text: "",
            is_prompt: false,
            exact: &[],
            vector: Some(vector),
        });
    }
    writer
}

/// With the same number of links as our graph, one thread.
fn usearch(vectors: &[Vec<f32>]) -> Index {
    let index = Index::new(&IndexOptions {
        dimensions: DIMENSIONS,
        metric: MetricKind::IP,
        quantization: ScalarKind::F32,
        connectivity: 16,
        expansion_add: 200,
        ..IndexOptions::default()
    })
    .unwrap();
    index.reserve(vectors.len()).unwrap();
    for (key, vector) in (0..).zip(vectors) {
        index.add(key, vector).unwrap();
    }
    index
}

/// Median and best time in milliseconds, and the answers.
fn run(
    queries: &[Vec<f32>],
    mut answer: impl FnMut(&[f32]) -> Vec<u32>,
) -> ((f64, f64), Vec<Vec<u32>>) {
    let mut times: Vec<Duration> = Vec::new();
    let answers = queries
        .iter()
        .map(|query| {
            let begin = Instant::now();
            let found = black_box(answer(query));
            times.push(begin.elapsed());
            found
        })
        .collect();
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    ((ms(times.len() / 2), ms(0)), answers)
}

fn recall(found: &[Vec<u32>], exact: &[Vec<u32>]) -> f64 {
    let pairs = found.iter().zip(exact);
    let hits: usize = pairs
        .map(|(f, e)| e.iter().filter(|o| f.contains(o)).count())
        .sum();
    hits as f64 / (K * exact.len()) as f64
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// sqlite-vec's own way: a `vec0` table in memory, float vectors, inner product order by L2 (equal
/// for unit vectors).
fn fill(vectors: &[Vec<f32>]) -> Connection {
    let mut database = Connection::open_in_memory().unwrap();
    database
        .execute_batch(&format!(
            "create virtual table v using vec0(e float[{DIMENSIONS}])"
        ))
        .unwrap();
    let transaction = database.transaction().unwrap();
    {
        let mut insert = transaction
            .prepare("insert into v(rowid, e) values (?1, ?2)")
            .unwrap();
        for (number, vector) in vectors.iter().enumerate() {
            insert.execute((number as u32, bytes(vector))).unwrap();
        }
    }
    transaction.commit().unwrap();
    database
}

/// Brute force: every full vector, then the best ten.
fn scan_f32(query: &[f32], vectors: &[Vec<f32>]) -> Vec<u32> {
    let dot = |v: &Vec<f32>| -> f32 {
        let mut sums = [0.0; 16];
        for (a, b) in v.as_chunks::<16>().0.iter().zip(query.as_chunks::<16>().0) {
            for lane in 0..16 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        sums.iter().sum()
    };
    let mut scores: Vec<(u32, f32)> = (0..).zip(vectors.iter().map(dot)).collect();
    scores.select_nth_unstable_by(K, |a, b| b.1.total_cmp(&a.1));
    scores.truncate(K);
    scores.into_iter().map(|(ordinal, _)| ordinal).collect()
}
