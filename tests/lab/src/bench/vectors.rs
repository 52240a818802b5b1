//! One memory over each store of vectors: what rvf-runtime costs in place of the log's index.

use reprise_engine::{EnginePorts, RecallCall};
use reprise_rvf::RvfVectors;

use super::corpus::{self, Dice};
use super::figures::{Times, row};
use crate::prelude::*;

const QUERIES: usize = 100;
/// Records that are written one at a time, each an act of its own.
const SINGLE: usize = 200;
/// How often the memory is opened for one answer.
const OPENINGS: usize = 5;

/// The external ids of each question's answer.
type Answers = Vec<Vec<String>>;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let own = measure(
        context,
        ("the log and its index", EnginePorts::default()),
        records,
    )?;
    for (name, batch) in [
        ("rvf-runtime, in batches", 64),
        ("rvf-runtime, one by one", 1),
    ] {
        let answers = measure(context, (name, ports_of_rvf(batch)), records)?;
        let same = own
            .iter()
            .zip(&answers)
            .filter(|(own, answers)| own == answers);
        row!(context, { "store": name, "questions": QUERIES, "answered_alike": same.count() })?;
    }
    Ok(Exit::Success)
}

/// Has a new memory's vectors kept by rvf-runtime, in batches of so many.
fn ports_of_rvf(batch: usize) -> EnginePorts {
    EnginePorts {
        vectors: Some(Arc::new(move |path, dimensions, is_read_only| {
            let mut store = RvfVectors::open(path, dimensions, is_read_only)?;
            store.set_batch(batch);
            Ok(Arc::new(store))
        })),
        vectors_for_new: true,
        ..EnginePorts::default()
    }
}

fn measure(
    context: &Context,
    (name, ports): (&str, EnginePorts),
    records: usize,
) -> anyhow::Result<Answers> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.rvf");
    let open = || anyhow::Ok(corpus::open_over(&path, 1, ports.clone())?.0);
    let space = Variant::Int8.space();
    let mut engine = open()?;
    let mut dice = Dice(7);
    let mut make = |number| corpus::make_record(&mut dice, number, &space);
    let started = Instant::now();
    corpus::insert_records(&mut engine, records, &mut make)?;
    let filled_ms = started.elapsed().as_secs_f64() * 1e3;
    let mut single_ms = Vec::with_capacity(SINGLE);
    for number in records..records + SINGLE {
        let record = make(number);
        let started = Instant::now();
        engine.observe(vec![record], None, SystemClock.now())?;
        single_ms.push(started.elapsed().as_secs_f64() * 1e3);
    }
    engine.checkpoint()?;
    engine.close()?;
    let beside = fs_err::metadata(path.with_extension("vectors.rvf"));
    let beside = beside.map_or(0, |file| file.len());

    let query = corpus::make_vector(&mut Dice(99), 3, usize::from(DIMENSIONS));
    let mut open_ms = Vec::with_capacity(OPENINGS);
    for _ in 0..OPENINGS {
        let started = Instant::now();
        let engine = open()?;
        ask(&engine, "first answer after opening", &space, &query);
        open_ms.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let mut engine = open()?;
    engine.load()?;
    let (mut dice, mut asked_ms, mut answers) = (Dice(99), Vec::new(), Vec::new());
    for _ in 0..QUERIES {
        let (text, topic) = corpus::make_question(&mut dice);
        let vector = corpus::make_vector(&mut dice, topic, usize::from(DIMENSIONS));
        let started = Instant::now();
        let answer = ask(&engine, &text, &space, &vector);
        asked_ms.push(started.elapsed().as_secs_f64() * 1e3);
        answers.push(answer);
    }
    let started = Instant::now();
    engine.compact()?;
    let compacted_ms = started.elapsed().as_secs_f64() * 1e3;
    let file = fs_err::metadata(&path)?.len();
    let [single, opened, asked] = [single_ms, open_ms, asked_ms].map(Times::from_times);
    row!(context, { "store": name, "records": records, "says": engine.stats().vector_store,
        "recall_ms_p50": asked.p50, "recall_ms_p99": asked.p99,
        "batch_write_ms_each": filled_ms / records.max(1) as f64,
        "single_write_ms_p50": single.p50, "single_write_ms_p99": single.p99,
        "open_first_answer_ms_p50": opened.p50, "compaction_ms": compacted_ms,
        "file_bytes": file, "beside_bytes": beside })?;
    Ok(answers)
}

fn ask(engine: &Engine, text: &str, space: &EmbeddingSpace, vector: &[f32]) -> Vec<String> {
    let (request, id) = (RecallRequest::new(text), RecallId::from_u128(1));
    let call = RecallCall::new(&request, id, &NoLearning);
    let answer = engine
        .snapshot()
        .recall(&call.with_vectors(&[(space, vector)]));
    let ids = answer
        .results
        .iter()
        .map(|one| one.record.find_external_id(ExternalId::BATCH));
    ids.map(|id| id.unwrap_or_default().to_owned()).collect()
}
