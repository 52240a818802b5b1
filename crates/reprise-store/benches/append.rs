//! The cost of a durable append as the log grows, the bytes per record, and the time to open a
//! file, compared with `RvfStore::ingest_batch` (one vector a call).
//!
//! `cargo bench -p reprise-store --bench append [records]`. Absolute times depend on the machine's
//! load: compare the ratios, which come from one run. No assertion depends on time.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench talks to a person"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_simulation::{make_record, mix_hash, unit_vector};
use reprise_store::{CommitSeq, Log, OpenOptions, OpenedLog, RealDisk, StoreEntry, Verify};
use reprise_types::{SectionPages, VectorStore};
use rvf_runtime::options::DistanceMetric;
use rvf_runtime::{RvfOptions, RvfStore};

const DIMENSIONS: u16 = 384;
/// Words of English by falling frequency; a text draws low indices more often.
const WORDS: &str = "the of and to in a is that for it was on are as with his they at be this from \
have or by one had not but what all were when we there can an your which their said if do will each \
about how up out them then she many some so these would other into has more her two like him see \
time could no make than first been its who now people my made over did down only way find use may \
water long little very after words called just where most know get through back much before go good \
new write our used me man too any day same right look think also around another came come work three \
word must because does part even place well such here take why things help put years different away \
again off went old number great tell men say small every found still between name should home big \
give air line set own under read last never us left end along while might next sound below saw \
something thought both few those always looked show large often together asked house don't world \
going want school important until form food keep children feet land side without boy once animals \
life enough took sometimes four head above kind began almost live page got earth need far hand high \
year mother light parts country father let night following picture being study second eyes soon times \
story boys since white days ever paper hard near sentence better best across during today others \
however sure means knew it's try told young miles sun ways thing whole hear example heard several \
change answer room sea against top turned learn point city play toward five using himself usually \
deploy session token refresh race condition retry timeout auth module login bug fix test review \
migration schema cache queue worker actor supervisor mailbox latency memory vector index segment";

fn random_text(seed: u64) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut text = String::new();
    let mut turn = 0;
    while text.len() < 200 {
        let unit = (mix_hash(seed.wrapping_mul(977).wrapping_add(turn)) >> 11) as f64
            / (1u64 << 53) as f64;
        let index = (words.len() as f64).powf(unit) - 1.0;
        text.push_str(words[(index as usize).min(words.len() - 1)]);
        text.push(' ');
        turn += 1;
    }
    text.truncate(200);
    text
}

fn entry(seed: u64) -> StoreEntry {
    StoreEntry::Record(Box::new(make_record(
        seed,
        &random_text(seed),
        DIMENSIONS,
        true,
    )))
}

fn open(path: &Path, verify: Verify) -> OpenedLog {
    let options = OpenOptions {
        dimensions: DIMENSIONS,
        file_id: u128::from(mix_hash(1)) << 64 | u128::from(mix_hash(2)),
        created_at: chrono::DateTime::from_timestamp(1_771_234_567, 0).unwrap(),
        create: true,
        read_only: false,
        verify,
    };
    Log::open(Arc::new(RealDisk), path, &options).unwrap()
}

fn print_row(name: &str, times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let mean = times.iter().map(|t| micros(*t)).sum::<f64>() / times.len() as f64;
    let at = |share: f64| micros(times[((times.len() - 1) as f64 * share) as usize]);
    let (p50, p99) = (at(0.5), at(0.99));
    println!("{name:<34} mean {mean:>9.1}  p50 {p50:>9.1}  p99 {p99:>9.1} us");
    at(0.5)
}

fn print_first_and_last(name: &str, times: &[Duration], span: usize) {
    let span = span.min(times.len() / 2);
    let first = print_row(
        &format!("{name}, first {span}"),
        &mut times[..span].to_vec(),
    );
    let last = print_row(
        &format!("{name}, last {span}"),
        &mut times[times.len() - span..].to_vec(),
    );
    println!(
        "{:<34} p50 ratio {:.2}",
        format!("{name}, last / first"),
        last / first
    );
}

/// CPU time of this thread, which does not depend on the machine's load (Linux only).
fn thread_cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn time_opens(path: &Path, what: &str) {
    for (verify, name) in [(Verify::Tail, "tail"), (Verify::Everything, "everything")] {
        let (mut times, mut cores) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            let (start, core) = (Instant::now(), thread_cpu_time());
            let opened = open(path, verify);
            times.push(start.elapsed());
            cores.push(thread_cpu_time().saturating_sub(core));
            assert!(opened.report.is_whole() && opened.log.open_sections().is_some());
        }
        print_row(&format!("open {what}, {name}"), &mut times);
        print_row(&format!("open {what}, {name}, on core"), &mut cores);
    }
}

/// Appends to the long log and to a new one in turns, so that both meet the same machine.
fn compare_with_new_log(long: &mut Log, folder: &Path, from: u64) {
    let mut new = open(&folder.join("new.rvf"), Verify::Tail).log;
    let (mut old_times, mut new_times) = (Vec::new(), Vec::new());
    for seed in from..from + 1_000 {
        let entries = [entry(seed)];
        for (log, times) in [(&mut new, &mut new_times), (&mut *long, &mut old_times)] {
            let start = Instant::now();
            log.append(&entries).unwrap();
            times.push(start.elapsed());
        }
    }
    let first = print_row("append, first 1000, in turns", &mut new_times);
    let last = print_row("append, last 1000, in turns", &mut old_times);
    println!(
        "{:<34} p50 ratio {:.2}",
        "append, last / first, in turns",
        last / first
    );
}

fn time_reads(log: &Log, records: u64, what: &str) {
    let reader = log.reader();
    let mut vector = vec![0.0; usize::from(DIMENSIONS)];
    let mut record_times = Vec::new();
    let mut vector_times = Vec::new();
    for turn in 0..5_000 {
        let ordinal = (mix_hash(turn) % records) as u32;
        let start = Instant::now();
        let found = reader.read_record(ordinal).unwrap();
        record_times.push(start.elapsed());
        assert!(found.embedding_space.is_some());
        let start = Instant::now();
        assert!(reader.copy_vector(ordinal, &mut vector));
        vector_times.push(start.elapsed());
    }
    print_row(&format!("read a record, {what}"), &mut record_times);
    print_row(&format!("read a vector, {what}"), &mut vector_times);
    let mut snapshots = Vec::new();
    for _ in 0..1_000 {
        let start = Instant::now();
        let reader = log.reader();
        snapshots.push(start.elapsed());
        drop(reader);
    }
    print_row(&format!("take a reader, {what}"), &mut snapshots);
}

/// Compacts a log, and returns its bytes from then on.
fn time_compaction(log: &mut Log) -> u64 {
    let start = Instant::now();
    let done = log.start_compaction().unwrap()().unwrap();
    let ran = start.elapsed();
    let start = Instant::now();
    let report = log.finish_compaction(done).unwrap();
    println!(
        "{:<34} run {:.2} s, finish {:.0} ms",
        "compaction",
        ran.as_secs_f64(),
        start.elapsed().as_secs_f64() * 1e3
    );
    report.bytes_after
}

fn main() {
    let asked = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    let records: u64 = asked.unwrap_or(100_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut log = open(&path, Verify::Tail).log;
    let mut times = Vec::new();
    let mut published = Vec::new();
    let in_turns = 1_000.min(records / 2);
    for seed in 0..records - in_turns {
        let entries = [entry(seed)];
        let start = Instant::now();
        log.append(&entries).unwrap();
        times.push(start.elapsed());
        // As the engine does after every commit; keeping some makes the copies real.
        published.push(log.reader());
        published.truncate(4);
    }
    published.clear();
    println!(
        "{records} records of {DIMENSIONS} dimensions and 200 bytes, one commit each, durable"
    );
    print_first_and_last("append", &times, 1_000);
    compare_with_new_log(&mut log, folder.path(), records - in_turns);
    let records = u64::from(log.record_count());
    let bytes = log.stats().file_bytes;
    println!(
        "{:<34} {:.0} bytes/record",
        "log",
        bytes as f64 / records as f64
    );

    // As the index does: codes of 390 bytes a record and words of 90, incompressible.
    let blob = |size: u64| -> Vec<u8> {
        (0..size / 8)
            .flat_map(|i| mix_hash(i).to_le_bytes())
            .collect()
    };
    let derived = [
        SectionPages::from_bytes((16, 0), &blob(390 * records)),
        SectionPages::from_bytes((17, 0), &blob(90 * records)),
    ];
    let start = Instant::now();
    log.complete_checkpoint(&derived).unwrap();
    println!(
        "{:<34} {:.1} ms",
        "checkpoint",
        start.elapsed().as_secs_f64() * 1e3
    );
    let bytes = log.stats().file_bytes;
    println!(
        "{:<34} {:.0} bytes/record",
        "log + checkpoint",
        bytes as f64 / records as f64
    );
    time_reads(&log, records, "singles");
    drop(log);
    time_opens(&path, "singles");

    let mut log = open(&path, Verify::Tail).log;
    let weight = time_compaction(&mut log) as f64 / records as f64;
    println!(
        "{:<34} {weight:.0} bytes/record",
        "compacted, derived included"
    );
    time_reads(&log, records, "packed");
    let start = Instant::now();
    let mut seen = 0u64;
    log.replay(CommitSeq(0), &mut |_, _| seen += 1).unwrap();
    println!(
        "{:<34} {seen} entries in {:.2} s",
        "replay",
        start.elapsed().as_secs_f64()
    );
    drop(log);
    time_opens(&path, "packed");
    time_rvf_ingest(folder.path(), 3_000.min(records));
}

fn time_rvf_ingest(folder: &Path, count: u64) {
    let path = folder.join("stock.rvf");
    let options = RvfOptions {
        dimension: DIMENSIONS,
        metric: DistanceMetric::InnerProduct,
        ..RvfOptions::default()
    };
    let mut store = RvfStore::create(&path, options).unwrap();
    let mut times = Vec::new();
    for id in 0..count {
        let vector = unit_vector(id, DIMENSIONS);
        let start = Instant::now();
        store.ingest_batch(&[&vector], &[id], None).unwrap();
        times.push(start.elapsed());
    }
    store.close().unwrap();
    println!("{count} vectors without text through RvfStore::ingest_batch, one each");
    print_first_and_last("rvf ingest", &times, 500);
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!(
        "{:<34} {:.0} bytes/record",
        "rvf file",
        bytes as f64 / count as f64
    );
}
