//! Power is lost at every sync, and every prefix of what was not synced survives; then sectors do.

use reprise_simulation as testing;
use reprise_simulation::{Crash, Model, SimDisk, Step};
use reprise_store::{CommitSeq, Verify};

use crate::{open, record, run};

/// After a crash the log holds what was acknowledged, or that and the step under way; later appends
/// are kept.
fn check_survivor(disk: &SimDisk, acked: &Model, underway: &Model, place: &str) {
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk.process_crash(), verify);
        let report = &opened.report;
        let whole = report.missing_commits.is_empty() && report.missing_records.is_empty();
        assert!(whole, "{place}: {report:?}");
        let expected = if opened.log.seq().0 == acked.seq {
            acked
        } else {
            underway
        };
        if let Err(error) = expected.check(&opened.log) {
            panic!("{place} {verify:?}: {error}");
        }
        if let Some(derived) = opened.derived {
            assert_eq!(derived.parts, testing::derived(derived.covers), "{place}");
            let (mut all, mut behind) = (Vec::new(), Vec::new());
            let visit = &mut |ordinal, entry| all.push((ordinal, entry));
            opened.log.replay(CommitSeq(0), visit).unwrap();
            let visit = &mut |ordinal, entry| behind.push((ordinal, entry));
            let replayed = opened.log.replay(derived.covers, visit).unwrap();
            assert!(all.ends_with(&behind), "{place}: {behind:?}");
            let commits = opened.log.seq().0 - derived.covers.0;
            assert_eq!(replayed.commits, commits, "{place}");
        }
    }
    let mut opened = open(disk, Verify::Tail);
    let mut model = if opened.log.seq().0 == acked.seq {
        acked.clone()
    } else {
        underway.clone()
    };
    let step = Step::Commit(vec![record(77, "life goes on")]);
    testing::apply(&mut opened.log, &step).unwrap();
    model.step(&step);
    drop(opened);
    let opened = open(disk, Verify::Tail);
    model.check(&opened.log).unwrap();
    let leftovers = disk.names().len();
    assert_eq!(leftovers, 1, "{place}: files left over: {:?}", disk.names());
}

fn crash_everywhere(seed: u64, steps: u32, crashes: impl Fn(u64) -> Vec<Crash>) -> u64 {
    crash_in(seed, &testing::workload(seed, steps), crashes)
}

/// A workload in which every second commit comes while a checkpoint is made.
fn beside_checkpoints(seed: u64, steps: u32) -> Vec<Step> {
    let mut commits = 0;
    let late = |step| match step {
        Step::Commit(entries) => {
            commits += 1;
            if commits % 2 == 0 {
                Step::LateCheckpoint(entries)
            } else {
                Step::Commit(entries)
            }
        }
        other => other,
    };
    testing::workload(seed, steps)
        .into_iter()
        .map(late)
        .collect()
}

fn crash_in(seed: u64, steps: &[Step], crashes: impl Fn(u64) -> Vec<Crash>) -> u64 {
    let dry = SimDisk::new();
    let (_, _, failed) = run(&dry, steps);
    assert!(failed.is_none());
    let mut tried = 0;
    for sync in 0..dry.syncs() {
        let disk = SimDisk::new();
        disk.cut_power_at_sync(sync);
        let (log, acked, failed) = run(&disk, steps);
        let (step, _) = failed.unwrap();
        drop(log);
        let mut underway = acked.clone();
        underway.step(&step);
        for crash in crashes(disk.pending()) {
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
fn a_checkpoint_of_an_earlier_commit_that_dies_at_any_sync_loses_nothing() {
    let mut tried = 0;
    for seed in 40..44 {
        tried += crash_in(seed, &beside_checkpoints(seed, 12), |pending| {
            (0..=pending).step_by(3).map(Crash::Prefix).collect()
        });
    }
    for seed in 44..56 {
        tried += crash_in(seed, &beside_checkpoints(seed, 14), |_| {
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
        Step::Commit(big),
        Step::Checkpoint,
        Step::Compact(vec![record(90, "meanwhile")]),
        Step::Compact(vec![record(91, "again")]),
    ];
    let dry = SimDisk::new();
    let (_, _, failed) = run(&dry, &steps);
    assert!(failed.is_none());
    for sync in 0..dry.syncs() {
        let disk = SimDisk::new();
        disk.cut_power_at_sync(sync);
        let (log, acked, failed) = run(&disk, &steps);
        drop(log);
        let mut underway = acked.clone();
        underway.step(&failed.unwrap().0);
        let pending = disk.pending();
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
