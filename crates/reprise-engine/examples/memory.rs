//! A memory in ten lines: `cargo run -p reprise-engine --example memory`.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineOptions, RecallCall};
use reprise_store::RealDisk;
use reprise_types::{
    Clock as _, MemoryKind, MemorySource, NewRecord, RecallId, RecallRequest, SystemClock,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let now = SystemClock.now();
    for text in remember(&folder.path().join("memory.rvf"), now)? {
        writeln!(std::io::stdout(), "{text}")?;
    }
    Ok(())
}

/// Writes two notes to a file, opens it again, and asks. Without a vector only words are compared.
fn remember(file: &Path, now: DateTime<Utc>) -> Result<Vec<String>, Box<dyn Error>> {
    let open = || Engine::open(Arc::new(RealDisk), file, &EngineOptions::new(384, 1, now));
    let notes = ["The auth race is fixed with a mutex", "Lunch is at noon"];
    let note = |text| NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
    let (mut engine, _) = open()?;
    engine.observe(notes.map(note).into(), None, now)?;
    drop(engine);
    let snapshot = open()?.0.snapshot();
    let asked = RecallRequest::new("how was the auth race fixed");
    let learner = snapshot.learner().as_ref();
    let recall = snapshot.recall(&RecallCall::new(
        &asked,
        RecallId::from_parts(0, 1),
        learner,
    ));
    let results = recall.results.into_iter();
    Ok(results.map(|found| found.record.body.text).collect())
}

#[test]
fn what_was_kept_is_found_again() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let found = remember(&folder.path().join("memory.rvf"), SystemClock.now())?;
    assert_eq!(
        found.first().map(String::as_str),
        Some("The auth race is fixed with a mutex")
    );
    Ok(())
}
