//! Tests in which another process moves, removes or replaces the file while it is open.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{Crash, DiskCall, LogModel, ObservedDisk, SimDisk, WorkloadStep};
use reprise_store::{Disk, Displacement, Log, RealDisk, StoreError, Verify};

use crate::{open, record};

fn expect_displacement(done: Result<(), StoreError>) -> Displacement {
    match done {
        Err(StoreError::Displaced { what, .. }) => what,
        other => panic!("it should have been refused: {other:?}"),
    }
}

fn commit_step(seed: u64) -> WorkloadStep {
    WorkloadStep::Commit(vec![record(seed, &format!("text {seed}"))])
}

/// Builds a log with three commits, and the model of its content.
fn log_with_three_commits(disk: &SimDisk) -> (Log, LogModel) {
    let mut log = open(disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for seed in 0..3 {
        testing::apply_step(&mut log, &commit_step(seed)).unwrap();
        model.apply(&commit_step(seed));
    }
    (log, model)
}

fn other_path() -> PathBuf {
    PathBuf::from("elsewhere/memory.rvf")
}

#[test]
fn a_removed_file_is_put_back_with_all_that_was_acknowledged() {
    let disk = SimDisk::new();
    let (mut log, mut model) = log_with_three_commits(&disk);
    disk.remove(&testing::log_path()).unwrap();
    // Only a commit restores it, because it may have been removed on purpose.
    let refused = [
        testing::apply_step(&mut log, &WorkloadStep::Checkpoint),
        log.start_compaction().map(drop),
    ];
    for refused in refused {
        assert_eq!(expect_displacement(refused), Displacement::Removed);
        assert!(disk.file_names().is_empty());
    }
    let refused = testing::apply_step(&mut log, &commit_step(9));
    assert_eq!(expect_displacement(refused), Displacement::Restored);
    model.compare(&log).unwrap();
    testing::apply_step(&mut log, &commit_step(9)).unwrap();
    model.apply(&commit_step(9));
    let second = testing::open_log(&disk, Verify::Tail).unwrap_err();
    assert!(matches!(second, StoreError::Locked { .. }), "{second}");
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    drop(log);
    assert_eq!(disk.file_names(), [testing::log_path()]);
    for survivor in [disk.crash_process(), disk.crash(Crash::Prefix(0))] {
        model
            .compare(&open(&survivor, Verify::Everything).log)
            .unwrap();
    }
}

#[test]
fn a_file_removed_while_a_commit_is_synced_loses_that_commit_and_says_so() {
    let disk = SimDisk::new();
    let (mut log, mut model) = log_with_three_commits(&disk);
    disk.remove_at_sync(disk.sync_count(), &testing::log_path());
    let refused = testing::apply_step(&mut log, &commit_step(9));
    assert_eq!(expect_displacement(refused), Displacement::Restored);
    model.compare(&log).unwrap();
    testing::apply_step(&mut log, &commit_step(9)).unwrap();
    model.apply(&commit_step(9));
    drop(log);
    model.compare(&open(&disk, Verify::Everything).log).unwrap();
}

#[test]
fn a_crash_while_a_file_is_put_back_leaves_all_of_it_or_none() {
    let syncs = {
        let disk = SimDisk::new();
        let (mut log, _) = log_with_three_commits(&disk);
        let before = disk.sync_count();
        disk.remove(&testing::log_path()).unwrap();
        expect_displacement(testing::apply_step(&mut log, &commit_step(9)));
        before..disk.sync_count()
    };
    assert!(syncs.end - syncs.start >= 2);
    for sync in syncs {
        let disk = SimDisk::new();
        let (mut log, model) = log_with_three_commits(&disk);
        disk.remove(&testing::log_path()).unwrap();
        disk.cut_power_at_sync(sync);
        testing::apply_step(&mut log, &commit_step(9)).unwrap_err();
        drop(log);
        for crash in (0..=disk.pending_bytes()).map(Crash::Prefix) {
            let survivor = disk.crash(crash);
            let opened = open(&survivor, Verify::Everything);
            if !opened.report.created {
                model.compare(&opened.log).unwrap();
            }
            assert!(opened.report.is_whole(), "{crash:?}: {:?}", opened.report);
        }
    }
}

#[test]
fn a_full_disk_leaves_a_removed_file_for_the_next_write_to_put_back() {
    let disk = SimDisk::new();
    let (mut log, model) = log_with_three_commits(&disk);
    disk.remove(&testing::log_path()).unwrap();
    disk.set_full(true);
    let error = testing::apply_step(&mut log, &commit_step(9)).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    disk.set_full(false);
    let refused = testing::apply_step(&mut log, &commit_step(9));
    assert_eq!(expect_displacement(refused), Displacement::Restored);
    model.compare(&log).unwrap();
    assert_eq!(disk.file_names(), [testing::log_path()]);
}

#[test]
fn a_file_that_was_moved_away_is_left_alone_until_it_is_back() {
    let disk = SimDisk::new();
    let (mut log, mut model) = log_with_three_commits(&disk);
    let before = disk.file_bytes(&testing::log_path());
    disk.rename(&testing::log_path(), &other_path()).unwrap();
    for _ in 0..2 {
        let refused = testing::apply_step(&mut log, &commit_step(9));
        assert_eq!(expect_displacement(refused), Displacement::Moved);
        expect_displacement(testing::apply_step(&mut log, &WorkloadStep::Checkpoint));
    }
    assert_eq!(disk.file_bytes(&other_path()), before);
    assert_eq!(disk.file_names(), [other_path()]);
    disk.rename(&other_path(), &testing::log_path()).unwrap();
    testing::apply_step(&mut log, &commit_step(9)).unwrap();
    model.apply(&commit_step(9));
    drop(log);
    model.compare(&open(&disk, Verify::Everything).log).unwrap();
}

#[test]
fn a_file_put_in_its_place_is_not_touched_and_the_old_one_is_saved() {
    for keeps_a_name in [false, true] {
        let disk = SimDisk::new();
        let (mut log, model) = log_with_three_commits(&disk);
        let compacted = log.start_compaction().unwrap()().unwrap();
        if keeps_a_name {
            disk.rename(&testing::log_path(), &other_path()).unwrap();
        }
        let other = SimDisk::new();
        let foreign = {
            let (_, _) = log_with_three_commits(&other);
            other.file_bytes(&testing::log_path()).unwrap()
        };
        disk.create_file(&testing::log_path(), foreign.clone());
        let refused = log.finish_compaction(compacted).map(drop);
        let Displacement::Replaced { rescued } = expect_displacement(refused) else {
            panic!("it was replaced");
        };
        assert_eq!(rescued.is_none(), keeps_a_name);
        assert!(log.is_displaced());
        expect_displacement(testing::apply_step(&mut log, &commit_step(9)));
        expect_displacement(testing::apply_step(&mut log, &WorkloadStep::Checkpoint));
        assert_eq!(disk.file_bytes(&testing::log_path()), Some(foreign));
        let kept = rescued.unwrap_or_else(other_path);
        assert_eq!(disk.file_names().len(), 2, "{:?}", disk.file_names());
        drop(log);
        let saved = SimDisk::new();
        saved.create_file(&testing::log_path(), disk.file_bytes(&kept).unwrap());
        model
            .compare(&open(&saved, Verify::Everything).log)
            .unwrap();
    }
}

#[test]
fn a_cut_file_makes_way_for_a_whole_one_that_is_moved_over_it() {
    let top = tempfile::tempdir().unwrap();
    let (path, good) = (top.path().join("memory.rvf"), top.path().join("good"));
    let mut log = open_real(&path).unwrap();
    log.append(&[record(1, "one")]).unwrap();
    std::fs::copy(&path, &good).unwrap();
    log.append(&[record(2, "two")]).unwrap();
    let cut = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    cut.set_len(100).unwrap();
    let damaged = log.append(&[record(3, "three")]);
    assert!(
        matches!(damaged, Err(StoreError::Damaged { .. })),
        "{damaged:?}"
    );
    std::fs::rename(&good, &path).unwrap();
    let refused = log.append(&[record(3, "three")]).map(drop);
    let Displacement::Replaced { rescued } = expect_displacement(refused) else {
        panic!("it was replaced");
    };
    // The remaining content of the cut file is saved.
    let rescued = rescued.expect("no name refers to it");
    assert_eq!(std::fs::metadata(rescued).unwrap().len(), 100);
    assert!(log.is_displaced());
    drop(log);
    let mut log = open_real(&path).unwrap();
    log.append(&[record(3, "three")]).unwrap();
    assert_eq!(log.record_count(), 2);
}

fn open_real(path: &Path) -> Result<Log, StoreError> {
    let options = testing::open_options(Verify::Tail);
    Log::open(Arc::new(RealDisk), path, &options).map(|opened| opened.log)
}

#[test]
fn a_removed_folder_comes_back_closed_to_others_and_no_second_writer_gets_in() {
    use std::os::unix::fs::PermissionsExt;
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("data/ada");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("memory.rvf");
    let mut log = open_real(&path).unwrap();
    log.append(&[record(1, "one")]).unwrap();
    std::fs::remove_dir_all(top.path().join("data")).unwrap();
    let refused = log.append(&[record(2, "two")]).map(drop);
    assert_eq!(expect_displacement(refused), Displacement::Restored);
    log.append(&[record(2, "two")]).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    assert!(matches!(open_real(&path), Err(StoreError::Locked { .. })));
    drop(log);
    assert_eq!(open_real(&path).unwrap().record_count(), 2);
}

#[test]
fn a_file_that_is_replaced_while_it_is_opened_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (
        folder.path().join("memory.rvf"),
        folder.path().join("restored"),
    );
    for (path, text) in [(&path, "old"), (&other, "restored")] {
        open_real(path).unwrap().append(&[record(1, text)]).unwrap();
    }
    let paths = (other, path.clone());
    let disk = ObservedDisk::new(move |call| {
        if call == DiskCall::Open && paths.0.exists() {
            std::fs::rename(&paths.0, &paths.1).unwrap();
        }
    });
    let options = testing::open_options(Verify::Tail);
    let mut log = Log::open(Arc::new(disk), &path, &options).unwrap().log;
    let second = open_real(&path);
    assert!(matches!(second, Err(StoreError::Locked { .. })));
    log.append(&[record(2, "the next")]).unwrap();
    drop(log);
    let reader = open_real(&path).unwrap().reader();
    let texts = [0, 1].map(|ordinal| reader.read_record(ordinal).unwrap().text.clone());
    assert_eq!(texts, ["restored", "the next"]);
}

#[test]
fn a_second_writer_of_a_removed_file_is_noticed_by_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut first = open_real(&path).unwrap();
    first.append(&[record(1, "one")]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut second = open_real(&path).unwrap();
    second.append(&[record(2, "two")]).unwrap();
    let refused = first.append(&[record(3, "three")]).map(drop);
    let Displacement::Replaced {
        rescued: Some(rescued),
    } = expect_displacement(refused)
    else {
        panic!("the second file is there");
    };
    drop(first);
    second.append(&[record(4, "four")]).unwrap();
    drop(second);
    assert_eq!(open_real(&path).unwrap().record_count(), 2);
    let saved = open_real(&rescued).unwrap();
    assert_eq!(saved.reader().read_record(0).unwrap().text, "one");
}

#[test]
fn a_file_that_was_cut_from_outside_takes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut log = open_real(&path).unwrap();
    log.append(&[record(1, "one")]).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(100).unwrap();
    let error = log.append(&[record(2, "two")]).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(file.metadata().unwrap().len(), 100);
    let not_found = std::fs::metadata(folder.path().join("memory.rvf.rescued")).unwrap_err();
    assert_eq!(not_found.kind(), ErrorKind::NotFound);
}
