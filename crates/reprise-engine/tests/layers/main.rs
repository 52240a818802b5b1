//! Tests the graph and the cells under power cuts, damage and `kill -9`: they are written, grown,
//! purged, compacted and read back by a memory of a thousand records, which has them from a few
//! hundred on.
//!
//! This file has what the campaigns share: such a memory, and questions with the results of a scan
//! over everything.
#![expect(clippy::unwrap_used, reason = "test code")]

mod crash;
mod damage;
mod killed;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, ForgetSelector, RecallCall};
use reprise_simulation::SimDisk;
use reprise_store::Disk;
use reprise_types::{
    DegradedPart, Embedding, EmbeddingSpace, ExternalId, MemoryKind, MemorySource, NewRecord,
    NoLearning, REFERENCE_MODEL, RecallId, RecallRequest, RecordId, SearchRoute, next_splitmix64,
    normalize, parse_timestamp,
};

/// Records to begin with: a recall looks at a thousand of them as a whole, and uses no layer.
const RECORDS: usize = 1_150;
/// Records of one session, which are forgotten together.
const SESSION: usize = 25;
/// Number of records from which on there are a graph and cells.
const LAYERS_FROM: usize = 120;
/// More records than any memory has.
const NO_LAYERS: usize = usize::MAX / 2;
/// Most records that a saved graph may lack: those that came since, and those that only forgotten
/// records led to.
const LEFT_MAX: usize = 100;
/// Share of what a scan finds that each layer finds at this size.
const NEAR: f64 = 0.95;
const NUMBERS: usize = 64;
const QUESTIONS: usize = 8;
const FILE: &str = "/m/memory.rvf";

fn now() -> DateTime<Utc> {
    parse_timestamp("2026-02-16T09:00:00Z").unwrap()
}

fn open(disk: Arc<dyn Disk>, path: &Path, layers_from: usize) -> Result<Engine, EngineError> {
    let options = EngineOptions {
        graph_from: layers_from,
        cells_from: layers_from,
        ..EngineOptions::new(NUMBERS as u16, 42, now())
    };
    Ok(Engine::open(disk, path, &options)?.0)
}

/// Opens the memory on a simulated disk.
fn open_on(disk: &SimDisk) -> Engine {
    open(Arc::new(disk.clone()), Path::new(FILE), LAYERS_FROM).unwrap()
}

fn space() -> EmbeddingSpace {
    EmbeddingSpace {
        // The floor of its cosines is 0.
        model: REFERENCE_MODEL.into(),
        version: "1".into(),
        dimensions: NUMBERS as u16,
    }
}

/// Returns a vector near one of sixty topics, as a memory's vectors are.
fn topic_vector(seed: usize) -> Vec<f32> {
    let uniform =
        |random: &mut u64| (next_splitmix64(random) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut random = seed as u64;
    let mut topic = next_splitmix64(&mut random) % 60;
    let mut vector: Vec<f32> = (0..NUMBERS)
        .map(|_| uniform(&mut topic) + 0.8 * uniform(&mut random))
        .collect();
    normalize(&mut vector);
    vector
}

fn entry_record(number: usize) -> NewRecord {
    let text = format!("entry {number}");
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    record.session_id = format!("s{}", number / SESSION);
    record.embedding = Some(Embedding::new(space(), topic_vector(number)));
    record
}

fn insert_entries(engine: &mut Engine, numbers: Range<usize>) -> Result<(), EngineError> {
    engine.observe(numbers.map(entry_record).collect(), None, now())?;
    Ok(())
}

fn forget_session(engine: &mut Engine, session: usize) -> Result<(), EngineError> {
    let session = ForgetSelector::Session(format!("s{session}"));
    engine.forget(&session, "asked", now())?;
    Ok(())
}

/// Grows the graph and the cells until they hold all records.
fn grow_fully(engine: &mut Engine) -> Result<(), EngineError> {
    while engine.advance_graph(256)? > 0 {}
    Ok(())
}

fn purge_fully(engine: &mut Engine) -> Result<(), EngineError> {
    if let Some(job) = engine.start_purge()? {
        let mut purged = job();
        while !engine.finish_purge(&mut purged) {}
    }
    Ok(())
}

/// Returns the numbers of the stored records, each once.
fn entry_numbers(engine: &Engine) -> BTreeSet<usize> {
    let snapshot = engine.snapshot();
    let number = |text: &str| text.strip_prefix("entry ")?.parse::<usize>().ok();
    let mut found = BTreeSet::new();
    for record in snapshot.records() {
        let number = number(&record.unwrap().text).unwrap();
        assert!(found.insert(number), "entry {number} is there twice");
    }
    found
}

/// The answers to the same questions at any time.
struct Answers {
    found: Vec<Vec<RecordId>>,
    /// The route that all of them name.
    route: SearchRoute,
    /// Whether one reports damaged records.
    is_damaged: bool,
}

fn ask_questions(engine: &Engine) -> Answers {
    let request = RecallRequest {
        top_k: 10,
        ..RecallRequest::new("?")
    };
    let snapshot = engine.snapshot();
    let (mut found, mut route, mut is_damaged) = (Vec::new(), None, false);
    for question in 0..QUESTIONS {
        let (space, query) = (space(), topic_vector(1_000_000 + question));
        let id = RecallId::from_u128(1);
        let recall = snapshot
            .recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&space, &query)]));
        assert_eq!(*route.get_or_insert(recall.route), recall.route);
        is_damaged |= recall.degraded.contains(&DegradedPart::DamagedRecords);
        found.push(recall.results.iter().map(|one| one.record.id).collect());
    }
    Answers {
        found,
        route: route.unwrap(),
        is_damaged,
    }
}

/// Returns what a scan over everything finds, after the whole file was read.
fn scan_answers(disk: Arc<dyn Disk>, path: &Path) -> Answers {
    let mut engine = open(disk, path, NO_LAYERS).unwrap();
    engine.load().unwrap();
    let exact = ask_questions(&engine);
    assert_eq!(exact.route, SearchRoute::Scan);
    let wanted: usize = exact.found.iter().map(Vec::len).sum();
    assert!(wanted > 5 * QUESTIONS, "{wanted}");
    exact
}

/// Returns the share of the expected results that was found.
fn share_found(found: &Answers, expected: &Answers) -> f64 {
    let (mut hits, mut wanted) = (0, 0);
    for (found, expected) in found.found.iter().zip(&expected.found) {
        wanted += expected.len();
        hits += expected.iter().filter(|id| found.contains(id)).count();
    }
    hits as f64 / wanted as f64
}

/// Checks that the answers come from this layer, and are those of a scan.
fn assert_route(engine: &Engine, route: SearchRoute, exact: &Answers, place: &str) {
    let found = ask_questions(engine);
    let share = share_found(&found, exact);
    assert_eq!(found.route, route, "{place}");
    assert!(
        share >= NEAR && !found.is_damaged,
        "{place}: {share} by {route:?}, damaged: {}",
        found.is_damaged
    );
}

/// Checks a copy in another process.
fn is_sound(disk: &SimDisk) -> bool {
    open_on(&disk.crash_process()).check().unwrap().is_sound()
}
