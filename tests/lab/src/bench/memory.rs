//! Resident memory of a store that answers, beyond the process before it was opened; and
//! of the model: with one session of it, with two, and with four.

use super::corpus::{self, Dice};
use super::figures::{resident_bytes, row};
use crate::prelude::*;
use reprise_engine::RecallCall;

const SESSIONS: usize = 4;
/// As long as a session takes: what it needs for a text it keeps.
const TEXT: &str = "the session manager was restored after the registry timed out twice ";

/// Fills a store, then starts a process that only opens it and answers: what the filling left in
/// the allocator must not be counted.
pub(super) fn run(context: &Context, records: usize, file: Option<&Path>) -> anyhow::Result<Exit> {
    if let Some(file) = file {
        return measure_resident_bytes(context, file);
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory.rvf");
    corpus::create_filled_store(&path, records)?.close()?;
    let status = Command::new(std::env::current_exe()?)
        .args(context.json.then_some("--json"))
        .args(["bench", "memory", "--file"])
        .arg(&path)
        .status()?;
    anyhow::ensure!(status.success(), "the measuring process failed");
    Ok(Exit::Success)
}

fn measure_resident_bytes(context: &Context, path: &Path) -> anyhow::Result<Exit> {
    let before = resident_bytes();
    let (mut engine, _) = corpus::open(path, 1)?;
    let space = Variant::Int8.space();
    let mut dice = Dice(99);
    let opened = resident_bytes();
    for round in 0..50_u64 {
        let topic = dice.roll() % 200;
        let query = corpus::make_vector(&mut dice, topic, usize::from(DIMENSIONS));
        let request = RecallRequest::new(corpus::make_sentence(&mut dice, topic));
        let id = RecallId::from_u128(u128::from(round));
        let recall = engine
            .snapshot()
            .recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&space, &query)]));
        anyhow::ensure!(!recall.results.is_empty(), "a recall found nothing");
    }
    let answered = resident_bytes();
    for number in 0..100 {
        let record = corpus::make_record(&mut dice, 10_000_000 + number, &space);
        engine.observe(vec![record], None, SystemClock.now())?;
    }
    let written = resident_bytes();
    let stats = engine.stats();
    let mb = |bytes: u64| json!(bytes as f64 / 1e6);
    let beyond = |bytes: u64| mb(bytes.saturating_sub(before));
    row!(context, { "records": stats.live, "file_mb": mb(stats.file_bytes),
        "opened_mb": beyond(opened), "after_50_recalls_mb": beyond(answered),
        "after_100_writes_mb": beyond(written), "index_mb": mb(stats.index_bytes as u64) })
}

pub(super) fn run_sessions(context: &Context) -> anyhow::Result<Exit> {
    let before = resident_bytes();
    let factory = model::factory(context).context("this bench needs the model")?;
    let mut sessions: Vec<Box<dyn Embedder>> = Vec::new();
    for count in 1..=SESSIONS {
        let mut session = factory.open()?;
        session.embed(&TEXT.repeat(30))?;
        sessions.push(session);
        let megabytes = resident_bytes().saturating_sub(before) as f64 / 1e6;
        row!(context, { "sessions": count, "resident_mb": megabytes })?;
    }
    Ok(Exit::Success)
}
