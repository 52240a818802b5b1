//! Tests of replacing a memory: a crash at any moment leaves the old file or the new one. Also
//! tests what can be salvaged from a damaged one.

use std::path::{Path, PathBuf};

use reprise_simulation as testing;
use reprise_simulation::{Crash, LogModel, SimDisk, WorkloadStep};
use reprise_store::{Log, Verify, move_to_free_path, replace_file};

use crate::{open, record};

fn commit_step(seed: u64) -> WorkloadStep {
    WorkloadStep::Commit(vec![record(seed, &format!("text {seed}"))])
}

/// Builds the bytes of a memory with these records, and the model of its content.
fn make_memory(seeds: std::ops::Range<u64>) -> (Vec<u8>, LogModel) {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for seed in seeds {
        testing::apply_step(&mut log, &commit_step(seed)).unwrap();
        model.apply(&commit_step(seed));
    }
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    (disk.file_bytes(&testing::log_path()).unwrap(), model)
}

fn path_with_ending(ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", testing::log_path().display()))
}

/// Reads the file with this name, if it exists and is whole.
fn read_file(disk: &SimDisk, name: &Path) -> Option<Vec<u8>> {
    disk.file_bytes(name)
}

#[test]
fn a_crash_while_a_memory_is_replaced_leaves_the_old_one_or_the_new_one() {
    let ((old, _), (new, _), (older, _)) =
        (make_memory(0..4), make_memory(10..13), make_memory(20..22));
    let (target, file, ending) = (
        testing::log_path(),
        path_with_ending(".unproven"),
        ".before-restore",
    );
    let (earlier, aside) = (
        path_with_ending(ending),
        path_with_ending(".before-restore-2"),
    );
    let laid_out = || {
        let disk = SimDisk::new();
        disk.create_file(&target, old.clone());
        disk.create_file(&earlier, older.clone());
        disk.create_file(&file, new.clone());
        disk
    };
    let dry = laid_out();
    assert_eq!(replace_file(&dry, &file, &target, ending).unwrap(), aside);
    assert!(read_file(&dry, &target).is_some_and(|bytes| bytes == new));
    assert!(read_file(&dry, &aside).is_some_and(|bytes| bytes == old));
    assert!(read_file(&dry, &earlier).is_some_and(|bytes| bytes == older));
    assert_eq!(dry.file_names().len(), 3, "{:?}", dry.file_names());
    let (mut befores, mut afters) = (0, 0);
    for sync in 0..=dry.sync_count() {
        let disk = laid_out();
        disk.cut_power_at_sync(sync);
        let done = replace_file(&disk, &file, &target, ending);
        assert_eq!(done.is_ok(), sync == dry.sync_count());
        let crashes = (0..=disk.pending_bytes()).map(Crash::Prefix);
        for crash in crashes.chain((0..8).map(Crash::Scattered)) {
            let place = format!("sync {sync}, {crash:?}");
            let survivor = disk.crash(crash);
            let kept = read_file(&survivor, &earlier);
            assert!(kept.is_some_and(|bytes| bytes == older), "{place}");
            let now = read_file(&survivor, &target).unwrap_or_default();
            if now == new {
                afters += 1;
                let aside = read_file(&survivor, &aside);
                assert!(aside.is_some_and(|bytes| bytes == old), "{place}");
            } else {
                befores += 1;
                assert!(now == old, "{place}");
            }
            // A second call completes the replacement.
            if read_file(&survivor, &file).is_some() {
                replace_file(&survivor, &file, &target, ending).unwrap();
                let now = read_file(&survivor, &target);
                assert!(now.is_some_and(|bytes| bytes == new), "{place}");
                let old_at =
                    |name: &PathBuf| read_file(&survivor, name).is_some_and(|bytes| bytes == old);
                let kept = survivor
                    .file_names()
                    .iter()
                    .filter(|name| old_at(name))
                    .count();
                assert_eq!(kept, 1, "{place}");
            }
        }
    }
    assert!(befores > 0 && afters > 0);
}

#[test]
fn a_memory_made_meanwhile_is_not_replaced_by_one_for_an_empty_place() {
    let disk = SimDisk::new();
    let (bytes, model) = make_memory(0..3);
    disk.create_file(&path_with_ending(".unproven"), bytes);
    move_to_free_path(&disk, &path_with_ending(".unproven"), &testing::log_path()).unwrap();
    model.compare(&open(&disk, Verify::Everything).log).unwrap();
    disk.create_file(&path_with_ending(".unproven"), make_memory(5..6).0);
    let refused = move_to_free_path(&disk, &path_with_ending(".unproven"), &testing::log_path());
    assert!(refused.unwrap_err().to_string().contains("exist"));
    model.compare(&open(&disk, Verify::Everything).log).unwrap();
}

fn open_salvaged(disk: &SimDisk) -> Log {
    let salvaged = SimDisk::new();
    salvaged.create_file(
        &testing::log_path(),
        disk.file_bytes(&path_with_ending(".rest")).unwrap(),
    );
    let opened = open(&salvaged, Verify::Everything);
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    opened.log
}

#[test]
fn what_can_be_read_of_a_damaged_memory_is_salvaged_block_by_block() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let records: Vec<_> = (0..400).map(|n| record(n, &format!("text {n}"))).collect();
    log.append(&records).unwrap();
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    drop(log);
    let whole = disk.file_bytes(&testing::log_path()).unwrap();
    let mut least = u32::MAX;
    for at in (200..whole.len() - 2_000).step_by(997) {
        let damaged = SimDisk::new();
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        damaged.create_file(&testing::log_path(), bytes);
        let log = crate::open_readonly(&damaged, Verify::Tail).unwrap().log;
        let report = log.salvage_to(&path_with_ending(".rest")).unwrap();
        let salvaged = open_salvaged(&damaged);
        let reader = salvaged.reader();
        let read = (0..400).filter(|n| {
            let record = reader.read_record(*n).ok();
            record.is_some_and(|record| record.text == format!("text {n}"))
        });
        let read = read.count() as u32;
        assert_eq!(read, report.records, "byte {at}");
        least = least.min(read);
    }
    // At most one block of the commit is lost.
    assert!((300..400).contains(&least), "{least} of 400");
}

#[test]
fn of_a_whole_memory_everything_is_salvaged() {
    for seed in 0..4 {
        let disk = SimDisk::new();
        let (log, model, failed) = crate::run_steps(&disk, &testing::generate_workload(seed, 20));
        assert!(failed.is_none());
        log.unwrap().salvage_to(&path_with_ending(".rest")).unwrap();
        model.compare(&open_salvaged(&disk)).unwrap();
    }
}
