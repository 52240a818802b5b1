//! What a branch costs: as a copy-on-write clone, where the file system has that, and as a copy.

use std::sync::Arc;
use std::time::Instant;

use reprise_engine::{Engine, EngineOptions};
use reprise_store::RealDisk;
use reprise_types::{Clock, SystemClock};
use serde_json::{Value, json};

use super::corpus;
use super::figures::say;
use crate::cli::Context;
use crate::cli::store::DIMENSIONS;
use crate::exit::Exit;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let mut parent = corpus::filled(&folder.path().join("parent.rvf"), records)?;
    parent.checkpoint()?;
    let options = EngineOptions::new(DIMENSIONS, 2, SystemClock.now());
    let open = |name| Engine::open(Arc::new(RealDisk), &folder.path().join(name), &options);
    let begun = Instant::now();
    let mut cloned = Value::Null;
    if parent.clone_to(&folder.path().join("clone.rvf"))? {
        let (mut branch, _) = open("clone.rvf")?;
        branch.be_branch("fork/bench")?;
        cloned = json!(begun.elapsed().as_secs_f64());
    }
    let begun = Instant::now();
    let (mut branch, _) = open("copy.rvf")?;
    parent.fork_into(&mut branch, "fork/bench", None)?;
    branch.close()?;
    let copied = begun.elapsed().as_secs_f64();
    let file_mb = parent.stats().file_bytes as f64 / 1e6;
    say(
        context,
        [
            ("records", json!(records)),
            ("file_mb", json!(file_mb)),
            ("copy_on_write_s", cloned),
            ("copy_s", json!(copied)),
        ],
    )?;
    Ok(Exit::Success)
}
