//! What goes once through a whole store: pages of a list, plain and narrowed; a branch, as a
//! copy-on-write clone, where the file system has that, and as a copy.

use reprise_types::{ListRequest, MemoryFilter};

use super::corpus;
use super::figures::{Times, row};
use crate::prelude::*;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let mut engine = corpus::create_filled_store(&folder.path().join("memory.rvf"), records)?;
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
        let (times, seen) = time_pages(&snapshot, filter, limit);
        anyhow::ensure!(seen == records, "the pages had {seen} of {records} records");
        let Times { p50, p99, .. } = Times::from_times(times);
        row!(context, { "records": records, "pages": name, "ms_p50": p50, "ms_p99": p99 })?;
    }
    Ok(Exit::Success)
}

/// How long each page took, and how many records they had together.
fn time_pages(snapshot: &Snapshot, filter: &MemoryFilter, limit: usize) -> (Vec<f64>, usize) {
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

pub(super) fn run_branch(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let mut parent = corpus::create_filled_store(&folder.path().join("parent.rvf"), records)?;
    parent.checkpoint()?;
    let open = |name| corpus::open(&folder.path().join(name), 2);
    let begun = Instant::now();
    let mut cloned = Value::Null;
    if parent.clone_file_to(&folder.path().join("clone.rvf"))? {
        let (mut branch, _) = open("clone.rvf")?;
        branch.mark_as_branch("fork/bench")?;
        cloned = json!(begun.elapsed().as_secs_f64());
    }
    let begun = Instant::now();
    let (mut branch, _) = open("copy.rvf")?;
    parent.fork_into(&mut branch, "fork/bench", None)?;
    branch.close()?;
    let copied = begun.elapsed().as_secs_f64();
    let file_mb = parent.stats().file_bytes as f64 / 1e6;
    row!(context, { "records": records, "file_mb": file_mb, "copy_on_write_s": cloned,
        "copy_s": copied })
}
