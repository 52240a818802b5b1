//! Benchmarks concurrent readers, and readers during a writer at full rate: none should wait.

use reprise_engine::RecallCall;
use std::sync::atomic::{AtomicBool, Ordering};

use super::corpus::{self, Dice};
use super::figures::{Times, row};
use crate::prelude::*;

/// Recalls of each reader in each round.
const RECALLS: usize = 2_000;
const ROUNDS: usize = 5;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let folder = tempfile::tempdir()?;
    let mut engine = corpus::create_filled_store(&folder.path().join("memory.rvf"), records)?;
    let snapshot = engine.snapshot();
    let questions = make_questions();
    time_recalls(&snapshot, &questions, 0);
    let (mut one, mut two) = (0.0_f64, 0.0_f64);
    let mut quiet = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        quiet.extend(time_recalls(&snapshot, &questions, 0));
        one = one.max(RECALLS as f64 / started.elapsed().as_secs_f64());
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| time_recalls(&snapshot, &questions, RECALLS / 2));
            time_recalls(&snapshot, &questions, 0);
        });
        two = two.max(2.0 * RECALLS as f64 / started.elapsed().as_secs_f64());
    }
    let mut embedder = factory.open()?;
    let (busy, written) =
        time_recalls_beside_writer(&mut engine, &mut *embedder, &snapshot, &questions)?;
    let (quiet, busy) = (Times::from_times(quiet).p99, Times::from_times(busy).p99);
    row!(context, { "records": records, "recalls_a_second": one,
        "recalls_a_second_two_threads": two, "two_to_one": two / one, "p99_ms": quiet,
        "p99_ms_beside_writer": busy, "p99_ratio": busy / quiet,
        "records_written_a_second": written })
}

fn make_questions() -> Vec<(String, Vec<f32>)> {
    let mut dice = Dice(99);
    let mut question = || {
        let (text, topic) = corpus::make_question(&mut dice);
        (
            text,
            corpus::make_vector(&mut dice, topic, usize::from(DIMENSIONS)),
        )
    };
    (0..200).map(|_| question()).collect()
}

/// Recalls with given vectors, from question `first` on; milliseconds of each.
fn time_recalls(snapshot: &Snapshot, questions: &[(String, Vec<f32>)], first: usize) -> Vec<f64> {
    let space = Variant::Int8.space();
    let asked = questions.iter().cycle().skip(first).take(RECALLS);
    asked
        .map(|(text, vector)| {
            let request = RecallRequest::new(text.clone());
            let query = [(&space, vector.as_slice())];
            let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
            let started = Instant::now();
            let recall = snapshot.recall(&call.with_vectors(&query));
            let took = started.elapsed().as_secs_f64() * 1e3;
            assert_eq!(recall.results.len(), 5, "a recall found too little");
            took
        })
        .collect()
}

/// One reader, and one thread that embeds and writes without a pause.
fn time_recalls_beside_writer(
    engine: &mut Engine,
    embedder: &mut dyn Embedder,
    snapshot: &Snapshot,
    questions: &[(String, Vec<f32>)],
) -> anyhow::Result<(Vec<f64>, f64)> {
    let done = AtomicBool::new(false);
    let started = Instant::now();
    let (busy, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until_stopped(engine, embedder, &done));
        let busy: Vec<f64> = (0..ROUNDS)
            .flat_map(|_| time_recalls(snapshot, questions, 0))
            .collect();
        done.store(true, Ordering::Release);
        let written = writer.join();
        let written = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        anyhow::Ok((busy, written))
    })?;
    Ok((busy, written as f64 / started.elapsed().as_secs_f64()))
}

/// Embeds and writes until told to stop; how many records.
fn write_until_stopped(
    engine: &mut Engine,
    embedder: &mut dyn Embedder,
    done: &AtomicBool,
) -> anyhow::Result<usize> {
    let space = embedder.space().clone();
    let mut dice = Dice(11);
    let mut written = 0;
    while !done.load(Ordering::Acquire) {
        let mut record = corpus::make_record(&mut dice, 10_000_000 + written, &space);
        let vector = embedder.embed(&record.text)?;
        record.embedding = Some(Embedding::new(space.clone(), vector));
        engine.observe(vec![record], None, SystemClock.now())?;
        written += 1;
    }
    Ok(written)
}
