//! Tests of power loss at every sync: every prefix of the unsynced bytes survives, then single
//! sectors.

use reprise_simulation as testing;
use reprise_simulation::{Crash, LogModel, SimDisk, WorkloadStep};
use reprise_store::{CommitSeq, SUFFIX_TORN, Verify};

use crate::{open, record, run_steps};

/// Checks that after a crash the log has everything acknowledged, or also the step in progress, and
/// that later appends are kept.
fn check_survivor(disk: &SimDisk, acked: &LogModel, underway: &LogModel, place: &str) {
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk.crash_process(), verify);
        let report = &opened.report;
        let whole = report.missing_commits.is_empty() && report.missing_records.is_empty();
        assert!(whole, "{place}: {report:?}");
        let expected = if opened.log.seq().0 == acked.seq {
            acked
        } else {
            underway
        };
        if let Err(error) = expected.compare(&opened.log) {
            panic!("{place} {verify:?}: {error}");
        }
        let covered = testing::check_sections(&opened.log);
        if let Some(covered) = covered.unwrap_or_else(|error| panic!("{place}: {error}")) {
            let (mut all, mut after_checkpoint) = (Vec::new(), Vec::new());
            let visit = &mut |ordinal, entry| all.push((ordinal, entry));
            opened.log.replay(CommitSeq(0), visit).unwrap();
            let visit = &mut |ordinal, entry| after_checkpoint.push((ordinal, entry));
            let replayed = opened.log.replay(covered, visit).unwrap();
            assert!(
                all.ends_with(&after_checkpoint),
                "{place}: {after_checkpoint:?}"
            );
            let commits = opened.log.seq().0 - covered.0;
            assert_eq!(replayed.commits, commits, "{place}");
        }
    }
    let mut opened = open(disk, Verify::Tail);
    let mut model = if opened.log.seq().0 == acked.seq {
        acked.clone()
    } else {
        underway.clone()
    };
    let step = WorkloadStep::Commit(vec![record(77, "life goes on")]);
    testing::apply_step(&mut opened.log, &step).unwrap();
    model.apply(&step);
    drop(opened);
    let opened = open(disk, Verify::Tail);
    model.compare(&opened.log).unwrap();
    let mut files = disk.file_names();
    // What a crash left of a commit is kept aside under a name of its own.
    files.retain(|file| !file.to_string_lossy().contains(SUFFIX_TORN));
    assert_eq!(files, [testing::log_path()], "{place}: files left over");
}

fn crash_everywhere(seed: u64, steps: u32, crashes: impl Fn(u64) -> Vec<Crash>) -> u64 {
    crash_in(seed, &testing::generate_workload(seed, steps), crashes)
}

/// Returns a workload in which every second commit comes during a checkpoint.
fn workload_with_stepped_checkpoints(seed: u64, steps: u32) -> Vec<WorkloadStep> {
    let mut commits = 0;
    let stepped = |step| match step {
        WorkloadStep::Commit(entries) => {
            commits += 1;
            if commits % 2 == 0 {
                WorkloadStep::SteppedCheckpoint(entries)
            } else {
                WorkloadStep::Commit(entries)
            }
        }
        other => other,
    };
    testing::generate_workload(seed, steps)
        .into_iter()
        .map(stepped)
        .collect()
}

fn crash_in(seed: u64, steps: &[WorkloadStep], crashes: impl Fn(u64) -> Vec<Crash>) -> u64 {
    let dry = SimDisk::new();
    let (_, _, failed) = run_steps(&dry, steps);
    assert!(failed.is_none());
    let mut tried = 0;
    for sync in 0..dry.sync_count() {
        let disk = SimDisk::new();
        disk.cut_power_at_sync(sync);
        let (log, acked, failed) = run_steps(&disk, steps);
        let (step, _) = failed.unwrap();
        drop(log);
        let mut underway = acked.clone();
        underway.apply(&step);
        for crash in crashes(disk.pending_bytes()) {
            let place = format!("seed {seed}, sync {sync}, {crash:?} in {step:?}");
            check_survivor(&disk.crash(crash), &acked, &underway, &place);
            tried += 1;
        }
    }
    tried
}

#[test]
fn nothing_acknowledged_is_lost_at_any_sync_and_any_prefix() {
    let mut tried = 0;
    for seed in 0..4 {
        tried += crash_everywhere(seed, 12, |pending| {
            (0..=pending).map(Crash::Prefix).collect()
        });
    }
    println!("{tried} crashes");
    assert!(tried > 5_000, "only {tried} crashes tried");
}

#[test]
fn nothing_acknowledged_is_lost_when_sectors_arrive_out_of_order() {
    let mut tried = 0;
    for seed in 10..30 {
        tried += crash_everywhere(seed, 14, |_| (0..8).map(Crash::Scattered).collect());
    }
    println!("{tried} crashes");
    assert!(tried > 2_000, "only {tried} crashes tried");
}

#[test]
fn a_checkpoint_in_steps_that_dies_at_any_sync_loses_nothing() {
    let mut tried = 0;
    for seed in 40..44 {
        tried += crash_in(
            seed,
            &workload_with_stepped_checkpoints(seed, 12),
            |pending| (0..=pending).step_by(3).map(Crash::Prefix).collect(),
        );
    }
    for seed in 44..56 {
        tried += crash_in(seed, &workload_with_stepped_checkpoints(seed, 14), |_| {
            (0..8).map(Crash::Scattered).collect()
        });
    }
    println!("{tried} crashes");
    assert!(tried > 2_000, "only {tried} crashes tried");
}

#[test]
fn a_compaction_that_dies_at_any_sync_changes_nothing() {
    let big: Vec<_> = (0..40)
        .map(|i| record(i, &format!("memory number {i}")))
        .collect();
    let steps = [
        WorkloadStep::Commit(big),
        WorkloadStep::Checkpoint,
        WorkloadStep::Compact(vec![record(90, "meanwhile")]),
        WorkloadStep::Compact(vec![record(91, "again")]),
    ];
    let dry = SimDisk::new();
    let (_, _, failed) = run_steps(&dry, &steps);
    assert!(failed.is_none());
    for sync in 0..dry.sync_count() {
        let disk = SimDisk::new();
        disk.cut_power_at_sync(sync);
        let (log, acked, failed) = run_steps(&disk, &steps);
        drop(log);
        let mut underway = acked.clone();
        underway.apply(&failed.unwrap().0);
        let pending = disk.pending_bytes();
        for prefix in (0..=pending).step_by(37).chain([pending]) {
            let place = format!("sync {sync}, prefix {prefix} of {pending}");
            check_survivor(
                &disk.crash(Crash::Prefix(prefix)),
                &acked,
                &underway,
                &place,
            );
        }
    }
}
