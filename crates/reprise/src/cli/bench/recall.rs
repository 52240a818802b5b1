//! Whole recalls against the embedding of their own queries: what memory adds to the model.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use reprise_embed::Variant;
use reprise_engine::{Engine, EngineOptions, IndexOrigin};
use reprise_store::RealDisk;
use reprise_types::{Clock, RecallId, RecallRequest, SystemClock, Unlearned};
use serde_json::json;

use super::corpus::{self, Dice};
use super::figures::percentile;
use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, model};
use crate::exit::Exit;

const QUERIES: usize = 200;
/// How often the store is opened anew; the best time is what it takes where nobody disturbs it.
const OPENINGS: usize = 15;
/// How often each question is asked again with its vector given.
const SEARCH_ROUNDS: usize = 10;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let mut embedder = factory.open()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.rvf");
    let mut engine = corpus::filled(&path, records)?;
    engine.checkpoint()?;
    drop(engine);

    let space = Variant::Int8.space();
    let mut dice = Dice(99);
    let query = corpus::vector(&mut dice, 3, usize::from(DIMENSIONS));
    let options = EngineOptions::new(DIMENSIONS, 1, SystemClock.now());
    let mut open_ms = Vec::with_capacity(OPENINGS);
    let mut engine = loop {
        let started = Instant::now();
        let (engine, report) = Engine::open(Arc::new(RealDisk), &path, &options)?;
        anyhow::ensure!(
            report.origin == IndexOrigin::Checkpoint,
            "the checkpoint was not used"
        );
        let first = engine.snapshot().recall(
            &RecallRequest::new("first answer after opening"),
            Some((&space, &query)),
            RecallId::from_u128(1),
            &Unlearned,
        );
        open_ms.push(started.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(!first.results.is_empty(), "the first recall found nothing");
        if open_ms.len() == OPENINGS {
            break engine;
        }
    };
    let snapshot = engine.snapshot();
    let ask = |text: String, vector: &[f32]| {
        let request = RecallRequest::new(text);
        snapshot.recall(
            &request,
            Some((&space, vector)),
            RecallId::from_u128(1),
            &Unlearned,
        )
    };
    // As an agent does within its first second: what opening left in the file is read.
    engine.load()?;

    let (mut embed_ms, mut recall_ms, mut search_ms) = (Vec::new(), Vec::new(), Vec::new());
    let mut asked = Vec::with_capacity(QUERIES);
    for round in 0..QUERIES + 20 {
        let topic = dice.roll() % 200;
        let sentence = corpus::sentence(&mut dice, topic);
        let text: String = sentence.split(',').next().unwrap_or_default().to_owned();
        let started = Instant::now();
        let vector = embedder.embed(&text)?;
        let embedded = started.elapsed().as_secs_f64() * 1e3;
        let recall = ask(text.clone(), &vector);
        let total = started.elapsed().as_secs_f64() * 1e3;
        anyhow::ensure!(recall.results.len() == 5, "a recall found too little");
        if round >= 20 {
            embed_ms.push(embedded);
            recall_ms.push(total);
            asked.push((text, vector));
        }
    }
    // Once more without the model in between, which takes the caches: a host with several questions
    // at once sees this.
    for (text, vector) in asked.iter().cycle().take(QUERIES * SEARCH_ROUNDS) {
        let text = text.clone();
        let started = Instant::now();
        let recall = ask(text, vector);
        search_ms.push(started.elapsed().as_secs_f64() * 1e3);
        drop(recall);
    }
    let times = Times {
        records,
        open_ms: sorted(open_ms),
        embed_ms: sorted(embed_ms),
        recall_ms: sorted(recall_ms),
        search_ms: sorted(search_ms),
    };
    times.print(context.json)
}

/// What was measured, in milliseconds, each list ascending.
struct Times {
    records: usize,
    open_ms: Vec<f64>,
    embed_ms: Vec<f64>,
    recall_ms: Vec<f64>,
    search_ms: Vec<f64>,
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

impl Times {
    fn print(&self, json: bool) -> anyhow::Result<Exit> {
        let records = self.records;
        let (open_ms, open_best) = (
            percentile(&self.open_ms, 0.5),
            percentile(&self.open_ms, 0.0),
        );
        let (embed, whole) = (
            percentile(&self.embed_ms, 0.5),
            percentile(&self.recall_ms, 0.5),
        );
        let whole_p99 = percentile(&self.recall_ms, 0.99);
        let (p50, p99) = (
            percentile(&self.search_ms, 0.5),
            percentile(&self.search_ms, 0.99),
        );
        let best = percentile(&self.search_ms, 0.0);
        let ratio = whole / embed;
        let mut out = crate::printer::stdout();
        if json {
            let row = json!({ "records": records, "open_to_first_answer_ms": open_ms,
                "open_to_first_answer_ms_best": open_best,
                "embed_ms_p50": embed, "recall_ms_p50": whole, "ratio": ratio,
                "search_ms_p50": p50, "search_ms_best": best, "search_ms_p99": p99, "recall_ms_p99": whole_p99 });
            writeln!(out, "{row}")?;
            return Ok(Exit::Success);
        }
        let lines = [
            format!("{records} records, {QUERIES} queries, one thread"),
            format!(
                "  open to first answer   {open_ms:8.2} ms p50, {open_best:.2} ms best (checkpoint, file \
                 in the cache)"
            ),
            format!(
                "  recall, vector given   {p50:8.3} ms p50, {best:.3} ms best, {p99:.3} ms p99"
            ),
            format!("  embedding alone  p50   {embed:8.3} ms"),
            format!("  whole recall     p50   {whole:8.3} ms = {ratio:.2} x its embedding"),
            format!("  whole recall     p99   {whole_p99:8.3} ms"),
        ];
        for line in lines {
            writeln!(out, "{line}")?;
        }
        Ok(Exit::Success)
    }
}
