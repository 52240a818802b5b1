//! Tests of disk errors: full, failing, read-only.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{Log, RealDisk, SUFFIX_TORN, SegmentInfo, StoreError, Verify, list_segments};

use crate::{open, record, run_steps};

#[test]
fn a_full_disk_at_any_write_loses_nothing_acknowledged() {
    for seed in 0..6 {
        let steps = testing::generate_workload(seed, 14);
        let dry = SimDisk::new();
        run_steps(&dry, &steps);
        for write in 0..dry.write_count() {
            let disk = SimDisk::new();
            disk.fail_write(write, ErrorKind::StorageFull);
            let (log, acked, failed) = run_steps(&disk, &steps);
            let (step, error) = failed.unwrap();
            let StoreError::Io { .. } = error else {
                panic!("write {write} in {step:?}: {error}");
            };
            assert!(error.to_string().contains("free some space"), "{error}");
            if let Some(mut log) = log {
                let mut now = acked.clone();
                if log.seq().0 != acked.seq {
                    // The commit during a compaction was acknowledged before the compaction failed.
                    now.apply(&step);
                }
                now.compare(&log).unwrap();
                let more = WorkloadStep::Commit(vec![record(1, "more")]);
                disk.set_full(true);
                let again = testing::apply_step(&mut log, &more).unwrap_err();
                assert!(matches!(again, StoreError::Io { .. }), "{step:?}: {again}");
                now.compare(&log).unwrap();
                disk.set_full(false);
                testing::apply_step(&mut log, &more).unwrap();
                now.apply(&more);
                now.compare(&log).unwrap();
                drop(log);
                for survivor in [
                    disk.crash_process(),
                    disk.crash(reprise_simulation::Crash::Prefix(0)),
                ] {
                    let mut opened = open(&survivor, Verify::Tail);
                    now.compare(&opened.log).unwrap();
                    opened.log.append(&[record(2, "space again")]).unwrap();
                }
            }
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_half_done_comes_back() {
    for seed in 0..6 {
        let steps = testing::generate_workload(seed, 14);
        let dry = SimDisk::new();
        run_steps(&dry, &steps);
        for sync in 0..dry.sync_count() {
            let disk = SimDisk::new();
            disk.fail_sync(sync, ErrorKind::Other);
            let (log, acked, failed) = run_steps(&disk, &steps);
            let (step, _) = failed.unwrap();
            let mut underway = acked.clone();
            underway.apply(&step);
            drop(log);
            for crash in [0, u64::MAX] {
                let survivor = disk.crash(reprise_simulation::Crash::Prefix(crash));
                let opened = open(&survivor, Verify::Everything);
                let now = if opened.log.seq().0 == acked.seq {
                    &acked
                } else {
                    &underway
                };
                now.compare(&opened.log).unwrap();
            }
        }
    }
}

#[test]
fn what_a_failed_cut_left_is_cut_off_before_the_next_commit() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    // Written, but not acknowledged: nobody can tell whether the path still names the file.
    disk.fail_look(disk.look_count() + 1);
    disk.fail_cuts(1);
    log.append(&[record(2, "the second of them"), record(3, "the third")])
        .unwrap_err();
    log.append(&[record(4, "four")]).unwrap();
    let bytes = disk.file_bytes(&testing::log_path()).unwrap();
    assert_eq!(bytes.len() as u64, log.stats().file_bytes);
    drop(log);
    let opened = open(&disk, Verify::Everything);
    assert_eq!(
        (opened.report.torn_bytes, opened.log.record_count()),
        (0, 2)
    );
    assert!(opened.report.damage.is_empty());
    assert_eq!(opened.log.reader().read_record(1).unwrap().text, "four");
}

/// Opens a log of 600 records with a checkpoint, whose places are still in the file and were
/// checked; returns the sectors of its pages.
fn open_unread(disk: &SimDisk) -> (Log, LogModel, Vec<Range<u64>>) {
    let records: Vec<_> = (0..600).map(|seed| record(seed, "a text")).collect();
    let steps = [
        WorkloadStep::Commit(records),
        WorkloadStep::Checkpoint,
        WorkloadStep::Reopen,
    ];
    let (log, model, failed) = run_steps(disk, &steps);
    assert!(failed.is_none());
    let mut log = log.unwrap();
    log.verify_places().unwrap();
    let segments = list_segments(disk, &testing::log_path()).unwrap();
    let pages = segments.iter().filter(|s| s.holds.contains("as of commit"));
    let sectors =
        |s: &SegmentInfo| s.offset.next_multiple_of(512)..(s.offset + s.bytes) / 512 * 512;
    let pages: Vec<_> = pages.map(sectors).collect();
    assert!(pages.iter().any(|range| range.end > range.start + 10_000));
    (log, model, pages)
}

#[test]
fn one_read_that_fails_in_a_compaction_loses_nothing() {
    for times in [1, 2, 3, u64::MAX] {
        let disk = SimDisk::new();
        let (mut log, model, pages) = open_unread(&disk);
        for range in pages {
            disk.fail_reads(&testing::log_path(), range, times);
            let copied = log.start_compaction().and_then(|copy| copy());
            drop(copied.and_then(|done| log.finish_compaction(done)));
            disk.heal_reads();
            drop(log);
            log = open(&disk, Verify::Tail).log;
            model.compare(&log).unwrap();
            drop(log);
            log = open(&disk, Verify::Tail).log;
            log.verify_places().unwrap();
        }
    }
}

#[test]
fn a_forget_where_a_read_fails_costs_no_other_record() {
    let disk = SimDisk::new();
    let (mut log, mut model, pages) = open_unread(&disk);
    let forget = WorkloadStep::Commit(vec![model.forget_entry(3)]);
    for range in pages {
        disk.fail_reads(&testing::log_path(), range, 1);
    }
    testing::apply_step(&mut log, &forget).unwrap();
    model.apply(&forget);
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    model.compare(&log).unwrap();
    drop(log);
    model.compare(&open(&disk, Verify::Tail).log).unwrap();
}

#[test]
fn a_page_that_cannot_be_read_is_written_anew() {
    let disk = SimDisk::new();
    let (mut log, mut model, pages) = open_unread(&disk);
    for range in pages {
        disk.fail_reads(&testing::log_path(), range, u64::MAX);
    }
    let forget = WorkloadStep::Commit(vec![model.forget_entry(3)]);
    testing::apply_step(&mut log, &forget).unwrap();
    model.apply(&forget);
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    assert_eq!(log.finish_compaction(done).unwrap().forgotten, 1);
    model.compare(&log).unwrap();
}

#[test]
fn what_cannot_be_read_is_damage_to_a_scrub_and_a_salvage() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for seed in 0..40 {
        log.append(&[record(seed, &"a text of some length ".repeat(400))])
            .unwrap();
    }
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let mut commits = segments.iter().filter(|s| s.holds.contains("entries"));
    let bad = commits.nth(10).unwrap();
    let sectors = bad.offset..bad.offset + bad.bytes;
    disk.fail_reads(&testing::log_path(), sectors, u64::MAX);
    let damage = log.reader().scrub().unwrap();
    assert!(damage.iter().any(|damage| damage.offset <= bad.offset));
    let to = PathBuf::from("data/salvaged.rvf");
    let saved = log.salvage_to(&to).unwrap();
    assert!((37..40).contains(&saved.records), "{}", saved.records);
    // A compaction leaves the file as it is: the sector may be read another time.
    let done = log.start_compaction().and_then(|copy| copy());
    assert!(matches!(done, Err(StoreError::Io { .. })));
    disk.heal_reads();
    for ordinal in 0..40 {
        log.reader().read_record(ordinal).unwrap();
    }
}

#[test]
fn a_read_only_folder_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing-folder").join("memory.rvf");
    let options = testing::open_options(Verify::Tail);
    let error = Log::open(Arc::new(RealDisk), &path, &options).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("memory.rvf"), "{error}");

    // Root may write anywhere, so a folder without permission proves nothing; /proc refuses root
    // too.
    let path = Path::new("/proc/memory.rvf");
    let error = Log::open(Arc::new(RealDisk), path, &options).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}

#[test]
fn a_read_only_log_takes_no_lock_and_writes_nothing() {
    let disk = SimDisk::new();
    let mut writer = open(&disk, Verify::Tail).log;
    writer.append(&[record(1, "one")]).unwrap();
    let writes = disk.write_count();
    let mut reader = crate::open_readonly(&disk, Verify::Tail).unwrap().log;
    assert_eq!(reader.reader().read_record(0).unwrap().text, "one");
    for refused in [
        reader.append(&[record(2, "two")]).err(),
        reader.complete_checkpoint(&[]).err(),
        reader.start_compaction().err(),
    ] {
        assert!(matches!(refused, Some(StoreError::ReadOnly { .. })));
    }
    assert_eq!(disk.write_count(), writes);
}

/// Returns a file of two commits, the second cut short, and the bytes of what is whole.
fn torn_file() -> (Vec<u8>, usize) {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let whole = log.stats().file_bytes as usize;
    log.append(&[record(2, &"a text of some length ".repeat(40))])
        .unwrap();
    drop(log);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    bytes.truncate(bytes.len() - 64);
    (bytes, whole)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

#[test]
fn a_tail_that_cannot_be_kept_aside_is_not_cut_off() {
    let (bytes, whole) = torn_file();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    std::fs::write(&path, &bytes).unwrap();
    // A folder has the name of the copy, so that not even root can write it.
    let in_the_way = with_ending(&path, ".torn-new");
    std::fs::create_dir_all(in_the_way.join("a folder")).unwrap();
    let open_real = || {
        let options = testing::open_options(Verify::Tail);
        Log::open(Arc::new(RealDisk), &path, &options)
    };
    let error = open_real().unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("keep aside"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    std::fs::remove_dir_all(in_the_way).unwrap();
    let mut opened = open_real().unwrap();
    opened.log.append(&[record(3, "three")]).unwrap();
    let kept = std::fs::read(opened.report.kept_tail.unwrap()).unwrap();
    assert_eq!(kept[whole..], bytes[whole..]);
}

#[test]
fn a_tail_is_cut_off_once_all_of_it_is_kept() {
    let (bytes, whole) = torn_file();
    let torn = || {
        let disk = SimDisk::new();
        disk.create_file(&testing::log_path(), bytes.clone());
        disk
    };
    let dry = torn();
    drop(open(&dry, Verify::Tail));
    let (writes, syncs) = (dry.write_count(), dry.sync_count());
    assert!(writes > 1 && syncs > 2);
    let full = torn();
    full.set_full(true);
    let failing = (0..writes).map(|write| {
        let disk = torn();
        disk.fail_write(write, ErrorKind::StorageFull);
        disk
    });
    let unsynced = (0..syncs).map(|sync| {
        let disk = torn();
        disk.fail_sync(sync, ErrorKind::Other);
        disk
    });
    let mut untouched = 0;
    for disk in [full].into_iter().chain(failing).chain(unsynced) {
        testing::open_log(&disk, Verify::Tail).unwrap_err();
        let now = disk.file_bytes(&testing::log_path()).unwrap();
        if now == bytes {
            untouched += 1;
            continue;
        }
        let kept = disk.file_bytes(&with_ending(&testing::log_path(), SUFFIX_TORN));
        assert_eq!(kept.unwrap()[whole..], bytes[whole..]);
    }
    assert!(untouched as u64 > writes);
}
