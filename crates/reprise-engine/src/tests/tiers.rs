//! Every layer of the search answers through the whole engine: the first most of what a scan of all
//! does, the others all of it.

use super::*;
use crate::ForgetSelector;
use reprise_types::{SearchTier, splitmix};

const NUMBERS: usize = 64;
const RECORDS: usize = 10_000;
const QUESTIONS: usize = 40;

fn wide() -> EmbeddingSpace {
    EmbeddingSpace {
        dimensions: NUMBERS as u16,
        ..space()
    }
}

/// A point near one of sixty topics, as a memory's are.
fn point(random: &mut u64) -> Vec<f32> {
    let uniform = |random: &mut u64| (splitmix(random) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut topic = splitmix(random) % 60;
    let mut vector: Vec<f32> = (0..NUMBERS)
        .map(|_| uniform(&mut topic) + 0.8 * uniform(random))
        .collect();
    normalize(&mut vector);
    vector
}

fn written(number: usize, random: &mut u64) -> NewRecord {
    let text = format!("entry {number}");
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    record.session_id = format!("s{}", number / 50);
    record.embedding = Some(Embedding::new(wide(), point(random)));
    record
}

/// The answers to the same questions at any time, and the tier that all of them name.
fn answers(engine: &Engine) -> (Vec<Vec<RecordId>>, SearchTier) {
    let (mut random, mut tier) = (4_711, None);
    let snapshot = engine.snapshot();
    let mut ask = |_| {
        let request = RecallRequest {
            top_k: 10,
            ..RecallRequest::new("?")
        };
        let (space, query) = (wide(), point(&mut random));
        let id = RecallId::from_u128(1);
        let recall = snapshot.recall(&request, Some((&space, &query)), id, &Unlearned);
        assert_eq!(*tier.get_or_insert(recall.tier), recall.tier);
        recall.results.iter().map(|found| found.record.id).collect()
    };
    let all = (0..QUESTIONS).map(&mut ask).collect();
    (all, tier.unwrap())
}

/// Share of what is expected that is found.
fn share(found: &[Vec<RecordId>], expected: &[Vec<RecordId>]) -> f64 {
    let wanted: usize = expected.iter().map(Vec::len).sum();
    assert!(wanted > 5 * QUESTIONS, "{wanted}");
    let both = expected.iter().zip(found);
    let hits =
        both.map(|(expected, found)| expected.iter().filter(|id| found.contains(id)).count());
    hits.sum::<usize>() as f64 / wanted as f64
}

#[test]
fn each_layer_answers_as_the_scan_of_all_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let open = |graph_from| {
        let options = EngineOptions {
            graph_from,
            ..EngineOptions::new(NUMBERS as u16, 42, now)
        };
        Engine::open(Arc::new(RealDisk), &path, &options).unwrap().0
    };
    let mut engine = open(1_000);
    let mut random = 815;
    let records = (0..RECORDS).map(|number| written(number, &mut random));
    engine.observe(records.collect(), None, now).unwrap();
    let (exact, tier) = answers(&engine);
    assert_eq!(tier, SearchTier::Scan);

    // The newest by the graph, the others by their signs; then all by the graph.
    assert!(engine.advance_graph(RECORDS / 2).unwrap() >= RECORDS / 2);
    let (found, tier) = answers(&engine);
    assert_eq!(tier, SearchTier::LayerB);
    assert!(share(&found, &exact) >= 0.98, "{}", share(&found, &exact));
    assert_eq!(engine.advance_graph(RECORDS).unwrap(), 0);
    let (found, tier) = answers(&engine);
    assert_eq!(tier, SearchTier::LayerC);
    assert!(share(&found, &exact) >= 0.98, "{}", share(&found, &exact));
    let whole = found;

    // Opened again it answers from the nearest cells in the file, and then from the saved graph.
    engine.close().unwrap();
    let mut engine = open(1_000);
    let (found, tier) = answers(&engine);
    assert_eq!(tier, SearchTier::LayerA);
    assert!(share(&found, &exact) >= 0.85, "{}", share(&found, &exact));
    assert_eq!(engine.advance_graph(0).unwrap(), 0);
    assert!(answers(&engine) == (whole, SearchTier::LayerC));

    // One small write is one small append, however long the memory is idle after it.
    let size = |engine: &Engine| engine.log.stats().file_bytes;
    let before = size(&engine);
    engine
        .observe(vec![written(RECORDS, &mut random)], None, now)
        .unwrap();
    while engine.advance_graph(8).unwrap() > 0 {}
    engine.checkpoint_if_due().unwrap();
    let appended = size(&engine) - before;
    assert!((1..8_192).contains(&appended), "{appended}");

    // What is forgotten leaves the graph, which goes on answering for the rest, in a new file too.
    for session in ["s3", "s77", "s142", "s199"] {
        let session = ForgetSelector::Session(session.into());
        engine.forget(&session, "asked", now).unwrap();
    }
    engine.compact().unwrap();
    let left = engine.advance_graph(0).unwrap();
    assert!(left < 20, "{left}");
    let (found, tier) = answers(&engine);
    assert_eq!(tier, SearchTier::LayerC);
    assert!(engine.check().unwrap().is_sound());
    engine.close().unwrap();
    let mut scan = open(usize::MAX / 2);
    scan.load().unwrap();
    let (exact, tier) = answers(&scan);
    assert_eq!(tier, SearchTier::Scan);
    assert!(share(&found, &exact) >= 0.98, "{}", share(&found, &exact));
}
