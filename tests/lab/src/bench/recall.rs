//! Whole recalls against the embedding of their own queries: what memory adds to the model.

use reprise_engine::{IndexOrigin, RecallCall};
use reprise_types::SearchRoute;

use super::corpus::{self, Dice};
use super::figures::{Times, print_with_times};
use crate::prelude::*;

const QUERIES: usize = 200;
/// How often the store is opened anew; the best time is what it takes where nobody disturbs it.
const OPENINGS: usize = 15;
/// How often each question is asked again with its vector given.
const SEARCH_ROUNDS: usize = 10;
/// Records that enter the graph in one call.
const GROWN_AT_ONCE: usize = 1_000;

/// Grows the search graph of a large store, as a daemon's idle time would, and has the planner know
/// this machine.
fn grow_whole_graph(engine: &mut Engine) -> anyhow::Result<Option<u32>> {
    while engine.advance_graph(GROWN_AT_ONCE)? > 0 {}
    if !engine.is_crossover_due() {
        return Ok(None);
    }
    let begin = Instant::now();
    let crossover = engine.snapshot().measure_crossover(&|| begin.elapsed());
    if let Some(records) = crossover {
        engine.set_crossover(records);
    }
    Ok(crossover)
}

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let mut embedder = factory.open()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.rvf");
    let mut engine = corpus::create_filled_store(&path, records)?;
    let crossover_records = grow_whole_graph(&mut engine)?;
    engine.checkpoint()?;
    drop(engine);

    let space = Variant::Int8.space();
    let (mut engine, open_ms, tier_first) = measure_opening(&path, &space)?;
    // As an agent does within its first second: what opening left in the file is read.
    engine.load()?;
    engine.advance_graph(0)?;
    let snapshot = engine.snapshot();
    let ask = |text: String, vector: &[f32]| {
        let (request, id) = (RecallRequest::new(text), RecallId::from_u128(1));
        snapshot
            .recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&space, vector)]))
    };

    let mut dice = Dice(99);
    let (mut embedding_ms, mut whole_ms, mut given_ms) = (Vec::new(), Vec::new(), Vec::new());
    let mut asked = Vec::with_capacity(QUERIES);
    let mut route = SearchRoute::None;
    for round in 0..QUERIES + 20 {
        let (text, _) = corpus::make_question(&mut dice);
        let started = Instant::now();
        let vector = embedder.embed(&text)?;
        let embedded = started.elapsed().as_secs_f64() * 1e3;
        let recall = ask(text.clone(), &vector);
        let total = started.elapsed().as_secs_f64() * 1e3;
        anyhow::ensure!(recall.results.len() == 5, "a recall found too little");
        route = recall.route;
        if round >= 20 {
            embedding_ms.push(embedded);
            whole_ms.push(total);
            asked.push((text, vector));
        }
    }
    // Once more without the model in between, which takes the caches: a host with several questions
    // at once sees this.
    for (text, vector) in asked.iter().cycle().take(QUERIES * SEARCH_ROUNDS) {
        let text = text.clone();
        let started = Instant::now();
        let recall = ask(text, vector);
        given_ms.push(started.elapsed().as_secs_f64() * 1e3);
        drop(recall);
    }
    let write_bytes = measure_written_bytes(&mut engine, records, &space)?;
    let [opened, given, embedding, whole] =
        [open_ms, given_ms, embedding_ms, whole_ms].map(Times::from_times);
    let figures = json!({
        "records": records,
        "open_first_answer_ms": opened,
        "vector_given_ms": given,
        "embedding_ms": embedding,
        "whole_ms": whole,
        // The middle whole recall in middle embeddings.
        "ratio": whole.p50 / embedding.p50,
        // Which layer gave the first answer after opening, and the others.
        "tier_first": tier_first,
        "tier": route,
        // From so many records on the graph answers on this machine; `null` if it never does.
        "crossover_records": crossover_records,
        // What the file grew by for one write and the idle time after it.
        "write_bytes": write_bytes,
    });
    let times = [
        ("open to first answer", opened),
        ("vector given", given),
        ("embedding", embedding),
        ("whole", whole),
    ];
    print_with_times(context, &figures, times)
}

/// Opens the store again and again, each time for one answer: the last of these, the times and the
/// route.
fn measure_opening(
    path: &Path,
    space: &EmbeddingSpace,
) -> anyhow::Result<(Engine, Vec<f64>, SearchRoute)> {
    let query = corpus::make_vector(&mut Dice(99), 3, usize::from(DIMENSIONS));
    let mut open_ms = Vec::with_capacity(OPENINGS);
    loop {
        let started = Instant::now();
        let (engine, report) = corpus::open(path, 1)?;
        anyhow::ensure!(
            report.origin == IndexOrigin::Checkpoint,
            "the checkpoint was not used"
        );
        let request = RecallRequest::new("first answer after opening");
        let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
        let first = engine
            .snapshot()
            .recall(&call.with_vectors(&[(space, &query)]));
        open_ms.push(started.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(!first.results.is_empty(), "the first recall found nothing");
        if open_ms.len() == OPENINGS {
            return Ok((engine, open_ms, first.route));
        }
    }
}

/// What one small write, and the idle time after it, append to the file.
fn measure_written_bytes(
    engine: &mut Engine,
    number: usize,
    space: &EmbeddingSpace,
) -> anyhow::Result<u64> {
    let before = engine.stats().file_bytes;
    let record = corpus::make_record(&mut Dice(7), number, space);
    engine.observe(vec![record], None, SystemClock.now())?;
    while engine.advance_graph(GROWN_AT_ONCE)? > 0 {}
    engine.checkpoint_if_due()?;
    Ok(engine.stats().file_bytes.saturating_sub(before))
}
