//! Pages of a list, plain and narrowed: the whole store once through.

use std::time::Instant;

use reprise_engine::Snapshot;
use reprise_types::{ListRequest, MemoryFilter, MemoryKind, parse_timestamp};
use serde_json::json;

use super::corpus;
use super::figures::{Times, say};
use crate::cli::Context;
use crate::exit::Exit;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let mut engine = corpus::filled(&folder.path().join("memory.rvf"), records)?;
    engine.checkpoint()?;
    let snapshot = engine.snapshot();
    let everything = MemoryFilter::default();
    let since = parse_timestamp("2000-01-01").ok();
    let narrowed = MemoryFilter {
        kinds: Some(vec![MemoryKind::Finding]),
        since,
        ..MemoryFilter::default()
    };
    for (name, filter, limit) in [
        ("50 a page", &everything, 50),
        ("50 a page, by kind and time", &narrowed, 50),
        ("1000 a page", &everything, 1_000),
    ] {
        let (times, seen) = pages(&snapshot, filter, limit);
        anyhow::ensure!(seen == records, "the pages had {seen} of {records} records");
        let Times { p50, p99, .. } = Times::of(times);
        say(
            context,
            [
                ("records", json!(records)),
                ("pages", json!(name)),
                ("ms_p50", json!(p50)),
                ("ms_p99", json!(p99)),
            ],
        )?;
    }
    Ok(Exit::Success)
}

/// How long each page took, and how many records they had together.
fn pages(snapshot: &Snapshot, filter: &MemoryFilter, limit: usize) -> (Vec<f64>, usize) {
    let (mut times, mut seen, mut after) = (Vec::new(), 0, None);
    loop {
        let started = Instant::now();
        let page = snapshot.list(&ListRequest {
            filter: filter.clone(),
            limit,
            after,
        });
        times.push(started.elapsed().as_secs_f64() * 1e3);
        seen += page.records.len();
        after = page.next;
        if after.is_none() {
            return (times, seen);
        }
    }
}
