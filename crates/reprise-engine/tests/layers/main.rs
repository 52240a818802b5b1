//! The graph and the cells under power cuts, rot and `kill -9`: they are written, grown, purged,
//! compacted and read back by a memory of a thousand records, which has them from a few hundred on.
//!
//! What the campaigns share: such a memory, and questions with what a scan over all would answer.
#![expect(clippy::unwrap_used, reason = "test code")]

mod crash;
mod damage;
mod killed;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, ForgetSelector};
use reprise_simulation::SimDisk;
use reprise_store::Disk;
use reprise_types::{
    Degraded, Embedding, EmbeddingSpace, ExternalId, MemoryKind, MemorySource, NewRecord,
    REFERENCE_MODEL, RecallId, RecallRequest, RecordId, SearchTier, Unlearned, normalize,
    parse_timestamp, splitmix,
};

/// Records to begin with: a recall looks at a thousand of them whole, and asks no layer.
const RECORDS: usize = 1_150;
/// Records of one session, which are forgotten together.
const SESSION: usize = 25;
/// From so many records on there are a graph and cells.
const LAYERS_FROM: usize = 250;
/// No memory has so many.
const NO_LAYERS: usize = usize::MAX / 2;
/// What a saved graph may lack of one that is whole: the records that came since, and those that
/// nothing but forgotten ones led to.
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

/// The memory on a simulated disk.
fn on(disk: &SimDisk) -> Engine {
    open(Arc::new(disk.clone()), Path::new(FILE), LAYERS_FROM).unwrap()
}

fn space() -> EmbeddingSpace {
    EmbeddingSpace {
        // Its cosines are taken as they are.
        model: REFERENCE_MODEL.into(),
        version: "1".into(),
        dimensions: NUMBERS as u16,
    }
}

/// A point near one of sixty topics, as a memory's are.
fn point(seed: usize) -> Vec<f32> {
    let uniform = |random: &mut u64| (splitmix(random) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut random = seed as u64;
    let mut topic = splitmix(&mut random) % 60;
    let mut vector: Vec<f32> = (0..NUMBERS)
        .map(|_| uniform(&mut topic) + 0.8 * uniform(&mut random))
        .collect();
    normalize(&mut vector);
    vector
}

fn written(number: usize) -> NewRecord {
    let text = format!("entry {number}");
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    record.session_id = format!("s{}", number / SESSION);
    record.embedding = Some(Embedding::new(space(), point(number)));
    record
}

fn keep(engine: &mut Engine, numbers: Range<usize>) -> Result<(), EngineError> {
    engine.observe(numbers.map(written).collect(), None, now())?;
    Ok(())
}

fn forget(engine: &mut Engine, session: usize) -> Result<(), EngineError> {
    let session = ForgetSelector::Session(format!("s{session}"));
    engine.forget(&session, "asked", now())?;
    Ok(())
}

/// Until the graph and the cells hold all.
fn grow(engine: &mut Engine) -> Result<(), EngineError> {
    while engine.advance_graph(256)? > 0 {}
    Ok(())
}

fn purge(engine: &mut Engine) -> Result<(), EngineError> {
    if let Some(job) = engine.start_purge()? {
        let mut purged = job.run();
        while !engine.finish_purge(&mut purged) {}
    }
    Ok(())
}

/// The numbers of the records that are there, each once.
fn numbers(engine: &Engine) -> BTreeSet<usize> {
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
    /// That each of them names.
    tier: SearchTier,
    /// Whether one says that it lacks what is damaged.
    is_damaged: bool,
}

fn answers(engine: &Engine) -> Answers {
    let request = RecallRequest {
        top_k: 10,
        ..RecallRequest::new("?")
    };
    let snapshot = engine.snapshot();
    let (mut found, mut tier, mut is_damaged) = (Vec::new(), None, false);
    for question in 0..QUESTIONS {
        let (space, query) = (space(), point(1_000_000 + question));
        let id = RecallId::from_u128(1);
        let recall = snapshot.recall(&request, Some((&space, &query)), id, &Unlearned);
        assert_eq!(*tier.get_or_insert(recall.tier), recall.tier);
        is_damaged |= recall.degraded.contains(&Degraded::DamagedRecords);
        found.push(recall.results.iter().map(|one| one.record.id).collect());
    }
    Answers {
        found,
        tier: tier.unwrap(),
        is_damaged,
    }
}

/// What a scan over everything answers, with nothing in the file left to be read.
fn exact(disk: Arc<dyn Disk>, path: &Path) -> Answers {
    let mut engine = open(disk, path, NO_LAYERS).unwrap();
    engine.load().unwrap();
    let exact = answers(&engine);
    assert_eq!(exact.tier, SearchTier::Scan);
    let wanted: usize = exact.found.iter().map(Vec::len).sum();
    assert!(wanted > 5 * QUESTIONS, "{wanted}");
    exact
}

/// Share of what is expected that was found.
fn share(found: &Answers, expected: &Answers) -> f64 {
    let (mut hits, mut wanted) = (0, 0);
    for (found, expected) in found.found.iter().zip(&expected.found) {
        wanted += expected.len();
        hits += expected.iter().filter(|id| found.contains(id)).count();
    }
    hits as f64 / wanted as f64
}

/// The answers have to come from this layer, and to be those of a scan.
fn assert_tier(engine: &Engine, tier: SearchTier, exact: &Answers, place: &str) {
    let found = answers(engine);
    let share = share(&found, exact);
    assert_eq!(found.tier, tier, "{place}");
    assert!(
        share >= NEAR && !found.is_damaged,
        "{place}: {share} by {tier:?}, damaged: {}",
        found.is_damaged
    );
}

/// A check by another process, of a copy.
fn is_sound(disk: &SimDisk) -> bool {
    on(&disk.process_crash()).check().unwrap().is_sound()
}
