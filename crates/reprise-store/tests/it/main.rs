//! The log's guarantees, tested through its public API on a disk with faults.
//!
//! One module for each guarantee.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod basics;
mod compaction;
mod crash;
mod damage;
mod faults;
mod forgotten;
mod format;
mod hostile;
mod limits;
mod ownership;
mod place;
mod referee;
mod swap;

use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{Log, OpenOptions, OpenedLog, StoreEntry, StoreError, Verify};

/// Runs steps until one fails; returns the log, the model of everything acknowledged, and the
/// failed step.
fn run_steps(
    disk: &SimDisk,
    steps: &[WorkloadStep],
) -> (Option<Log>, LogModel, Option<(WorkloadStep, StoreError)>) {
    let mut model = LogModel::default();
    let mut log = match testing::open_log(disk, Verify::Tail) {
        Ok(opened) => opened.log,
        Err(error) => return (None, model, Some((WorkloadStep::Reopen, error))),
    };
    for step in steps {
        let done = if *step == WorkloadStep::Reopen {
            drop(log);
            match testing::open_log(disk, Verify::Tail) {
                Ok(opened) => {
                    log = opened.log;
                    Ok(())
                }
                Err(error) => return (None, model, Some((step.clone(), error))),
            }
        } else {
            testing::apply_step(&mut log, step)
        };
        match done {
            Ok(()) => model.apply(step),
            Err(error) => return (Some(log), model, Some((step.clone(), error))),
        }
    }
    (Some(log), model, None)
}

fn open(disk: &SimDisk, verify: Verify) -> OpenedLog {
    testing::open_log(disk, verify).unwrap()
}

fn open_readonly(disk: &SimDisk, verify: Verify) -> Result<OpenedLog, StoreError> {
    let options = OpenOptions {
        read_only: true,
        create: false,
        dimensions: 0,
        ..testing::open_options(verify)
    };
    Log::open(Arc::new(disk.clone()), &testing::log_path(), &options)
}

/// Builds a record of the test space.
fn record(seed: u64, text: &str) -> StoreEntry {
    StoreEntry::Record(Box::new(testing::make_record(
        seed,
        text,
        testing::DIMENSIONS,
        true,
    )))
}
