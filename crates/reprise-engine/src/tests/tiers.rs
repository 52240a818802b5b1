//! Every layer of the search answers through the whole engine: the first with most of what a scan
//! finds, the others with all of it.

use super::*;
use crate::{ForgetSelector, RecallCall};
use reprise_types::{SearchRoute, next_splitmix64};

const NUMBERS: usize = 64;
const RECORDS: usize = 10_000;
const QUESTIONS: usize = 40;

fn wide_space() -> EmbeddingSpace {
    EmbeddingSpace {
        dimensions: NUMBERS as u16,
        ..space()
    }
}

/// Returns a vector near one of sixty topics, as a memory's vectors are.
fn random_vector(random: &mut u64) -> Vec<f32> {
    let uniform =
        |random: &mut u64| (next_splitmix64(random) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut topic = next_splitmix64(random) % 60;
    let mut vector: Vec<f32> = (0..NUMBERS)
        .map(|_| uniform(&mut topic) + 0.8 * uniform(random))
        .collect();
    normalize(&mut vector);
    vector
}

fn entry_record(number: usize, random: &mut u64) -> NewRecord {
    let text = format!("entry {number}");
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    record.session_id = format!("s{}", number / 50);
    record.embedding = Some(Embedding::new(wide_space(), random_vector(random)));
    record
}

/// Asks the same questions at any time; returns the answers and the route that all of them name.
fn ask_questions(engine: &Engine) -> (Vec<Vec<RecordId>>, SearchRoute) {
    let (mut random, mut route) = (4_711, None);
    let snapshot = engine.snapshot();
    let mut ask = |_| {
        let request = RecallRequest {
            top_k: 10,
            ..RecallRequest::new("?")
        };
        let (space, query) = (wide_space(), random_vector(&mut random));
        let id = RecallId::from_u128(1);
        let recall = snapshot
            .recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&space, &query)]));
        assert_eq!(*route.get_or_insert(recall.route), recall.route);
        recall.results.iter().map(|found| found.record.id).collect()
    };
    let all = (0..QUESTIONS).map(&mut ask).collect();
    (all, route.unwrap())
}

/// Returns the share of the expected results that was found.
fn share_found(found: &[Vec<RecordId>], expected: &[Vec<RecordId>]) -> f64 {
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
    let records = (0..RECORDS).map(|number| entry_record(number, &mut random));
    engine.observe(records.collect(), None, now).unwrap();
    let (exact, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Scan);

    // The newest by the graph, the others by their signs; then all by the graph.
    assert!(engine.advance_graph(RECORDS / 2).unwrap() >= RECORDS / 2);
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::NewestGraph);
    assert!(
        share_found(&found, &exact) >= 0.98,
        "{}",
        share_found(&found, &exact)
    );
    assert_eq!(engine.advance_graph(RECORDS).unwrap(), 0);
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Graph);
    assert!(
        share_found(&found, &exact) >= 0.98,
        "{}",
        share_found(&found, &exact)
    );
    let whole = found;

    // Opened again it answers from the nearest cells in the file, and then from the saved graph.
    engine.close().unwrap();
    let mut engine = open(1_000);
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Cells);
    assert!(
        share_found(&found, &exact) >= 0.85,
        "{}",
        share_found(&found, &exact)
    );
    assert_eq!(engine.advance_graph(0).unwrap(), 0);
    assert!(ask_questions(&engine) == (whole, SearchRoute::Graph));

    // One small write is one small append, however long the memory is idle after it.
    let size = |engine: &Engine| engine.log.stats().file_bytes;
    let before = size(&engine);
    engine
        .observe(vec![entry_record(RECORDS, &mut random)], None, now)
        .unwrap();
    while engine.advance_graph(8).unwrap() > 0 {}
    engine.checkpoint_if_due().unwrap();
    let appended = size(&engine) - before;
    assert!((1..8_192).contains(&appended), "{appended}");

    // Forgotten records leave the graph, which continues to answer for the rest, in a new file too.
    for session in ["s3", "s77", "s142", "s199"] {
        let session = ForgetSelector::Session(session.into());
        engine.forget(&session, "asked", now).unwrap();
    }
    engine.compact().unwrap();
    let left = engine.advance_graph(0).unwrap();
    assert!(left < 20, "{left}");
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Graph);
    assert!(engine.check().unwrap().is_sound());
    engine.close().unwrap();
    let mut scan = open(usize::MAX / 2);
    scan.load().unwrap();
    let (exact, route) = ask_questions(&scan);
    assert_eq!(route, SearchRoute::Scan);
    assert!(
        share_found(&found, &exact) >= 0.98,
        "{}",
        share_found(&found, &exact)
    );
}

/// Records of the size from which the documents ask for three layers.
const MANY: usize = 100_000;
/// From how many records on the graph is taken for quicker here, so that each layer answers on any
/// machine.
const QUICKER_FROM: u32 = 10_000;

#[test]
fn from_a_hundred_thousand_records_on_each_layer_answers_in_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let open = || {
        let options = EngineOptions::new(NUMBERS as u16, 42, now);
        Engine::open(Arc::new(RealDisk), &path, &options).unwrap().0
    };
    let mut engine = open();
    let mut random = 815;
    for batch in 0..MANY / RECORDS {
        let numbers = batch * RECORDS..(batch + 1) * RECORDS;
        let records = numbers.map(|number| entry_record(number, &mut random));
        engine.observe(records.collect(), None, now).unwrap();
    }
    let (exact, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Scan);
    engine.set_crossover(QUICKER_FROM);

    // While the whole graph is made the part over the newest answers, and then the whole.
    assert!(engine.advance_graph(MANY / 2).unwrap() > 0);
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::NewestGraph);
    assert!(share_found(&found, &exact) >= 0.98);
    assert_eq!(engine.advance_graph(MANY).unwrap(), 0);
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Graph);
    assert!(share_found(&found, &exact) >= 0.98);
    engine.close().unwrap();

    // The first answers after opening are by the cells, and those after loading by the graph.
    let mut engine = open();
    let (found, route) = ask_questions(&engine);
    assert_eq!(route, SearchRoute::Cells);
    assert!(share_found(&found, &exact) >= 0.85);
    assert_eq!(engine.advance_graph(0).unwrap(), 0);
    assert_eq!(ask_questions(&engine).1, SearchRoute::Graph);

    // Where the scan is the quicker one it follows the cells.
    engine.set_crossover(u32::MAX);
    engine
        .observe(vec![entry_record(MANY, &mut random)], None, now)
        .unwrap();
    assert_eq!(ask_questions(&engine).1, SearchRoute::Scan);
    engine.close().unwrap();
    let mut engine = open();
    assert_eq!(ask_questions(&engine).1, SearchRoute::Cells);
    engine.load().unwrap();
    assert_eq!(ask_questions(&engine).1, SearchRoute::Scan);
}
