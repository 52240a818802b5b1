//! The file is moved, removed or replaced by another process while it is open.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{Crash, Model, SimDisk, Step};
use reprise_store::{Disk, Displacement, Log, RealDisk, StoreError, Verify};

use crate::{open, record};

fn displaced(done: Result<(), StoreError>) -> Displacement {
    match done {
        Err(StoreError::Displaced { what, .. }) => what,
        other => panic!("it should have been refused: {other:?}"),
    }
}

fn step(seed: u64) -> Step {
    Step::Commit(vec![record(seed, &format!("text {seed}"))])
}

/// A log with three commits, and what it must serve.
fn begun(disk: &SimDisk) -> (Log, Model) {
    let mut log = open(disk, Verify::Tail).log;
    let mut model = Model::default();
    for seed in 0..3 {
        testing::apply(&mut log, &step(seed)).unwrap();
        model.step(&step(seed));
    }
    (log, model)
}

fn elsewhere() -> PathBuf {
    PathBuf::from("elsewhere/memory.rvf")
}

#[test]
fn a_removed_file_is_put_back_with_all_that_was_acknowledged() {
    let disk = SimDisk::new();
    let (mut log, mut model) = begun(&disk);
    disk.remove(&testing::path()).unwrap();
    // Only a commit restores it: it was removed on purpose.
    let refused = [
        testing::apply(&mut log, &Step::Checkpoint),
        log.start_compaction().map(drop),
    ];
    for refused in refused {
        assert_eq!(displaced(refused), Displacement::Removed);
        assert!(disk.names().is_empty());
    }
    let refused = testing::apply(&mut log, &step(9));
    assert_eq!(displaced(refused), Displacement::PutBack);
    model.check(&log).unwrap();
    testing::apply(&mut log, &step(9)).unwrap();
    model.step(&step(9));
    let second = testing::open(&disk, Verify::Tail).unwrap_err();
    assert!(matches!(second, StoreError::Locked { .. }), "{second}");
    testing::apply(&mut log, &Step::Checkpoint).unwrap();
    drop(log);
    assert_eq!(disk.names(), [testing::path()]);
    for survivor in [disk.process_crash(), disk.crash(Crash::Prefix(0))] {
        model
            .check(&open(&survivor, Verify::Everything).log)
            .unwrap();
    }
}

#[test]
fn a_file_removed_while_a_commit_is_synced_loses_that_commit_and_says_so() {
    let disk = SimDisk::new();
    let (mut log, mut model) = begun(&disk);
    disk.remove_at_sync(disk.syncs(), &testing::path());
    let refused = testing::apply(&mut log, &step(9));
    assert_eq!(displaced(refused), Displacement::PutBack);
    model.check(&log).unwrap();
    testing::apply(&mut log, &step(9)).unwrap();
    model.step(&step(9));
    drop(log);
    model.check(&open(&disk, Verify::Everything).log).unwrap();
}

#[test]
fn a_crash_while_a_file_is_put_back_leaves_all_of_it_or_none() {
    let syncs = {
        let disk = SimDisk::new();
        let (mut log, _) = begun(&disk);
        let before = disk.syncs();
        disk.remove(&testing::path()).unwrap();
        displaced(testing::apply(&mut log, &step(9)));
        before..disk.syncs()
    };
    assert!(syncs.end - syncs.start >= 2);
    for sync in syncs {
        let disk = SimDisk::new();
        let (mut log, model) = begun(&disk);
        disk.remove(&testing::path()).unwrap();
        disk.cut_power_at_sync(sync);
        testing::apply(&mut log, &step(9)).unwrap_err();
        drop(log);
        for crash in (0..=disk.pending()).map(Crash::Prefix) {
            let survivor = disk.crash(crash);
            let opened = open(&survivor, Verify::Everything);
            if !opened.report.created {
                model.check(&opened.log).unwrap();
            }
            assert!(opened.report.is_whole(), "{crash:?}: {:?}", opened.report);
        }
    }
}

#[test]
fn a_full_disk_leaves_a_removed_file_for_the_next_write_to_put_back() {
    let disk = SimDisk::new();
    let (mut log, model) = begun(&disk);
    disk.remove(&testing::path()).unwrap();
    disk.set_full(true);
    let error = testing::apply(&mut log, &step(9)).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    disk.set_full(false);
    let refused = testing::apply(&mut log, &step(9));
    assert_eq!(displaced(refused), Displacement::PutBack);
    model.check(&log).unwrap();
    assert_eq!(disk.names(), [testing::path()]);
}

#[test]
fn a_file_that_was_moved_away_is_left_alone_until_it_is_back() {
    let disk = SimDisk::new();
    let (mut log, mut model) = begun(&disk);
    let before = disk.bytes(&testing::path());
    disk.rename(&testing::path(), &elsewhere()).unwrap();
    for _ in 0..2 {
        let refused = testing::apply(&mut log, &step(9));
        assert_eq!(displaced(refused), Displacement::Moved);
        displaced(testing::apply(&mut log, &Step::Checkpoint));
    }
    assert_eq!(disk.bytes(&elsewhere()), before);
    assert_eq!(disk.names(), [elsewhere()]);
    disk.rename(&elsewhere(), &testing::path()).unwrap();
    testing::apply(&mut log, &step(9)).unwrap();
    model.step(&step(9));
    drop(log);
    model.check(&open(&disk, Verify::Everything).log).unwrap();
}

#[test]
fn a_file_put_in_its_place_is_not_touched_and_the_old_one_is_saved() {
    for keeps_a_name in [false, true] {
        let disk = SimDisk::new();
        let (mut log, model) = begun(&disk);
        let compacted = log.start_compaction().unwrap().run(&[]).unwrap();
        if keeps_a_name {
            disk.rename(&testing::path(), &elsewhere()).unwrap();
        }
        let other = SimDisk::new();
        let foreign = {
            let (_, _) = begun(&other);
            other.bytes(&testing::path()).unwrap()
        };
        disk.put(&testing::path(), foreign.clone());
        let refused = log.finish_compaction(compacted).map(drop);
        let Displacement::Replaced { rescued } = displaced(refused) else {
            panic!("it was replaced");
        };
        assert_eq!(rescued.is_none(), keeps_a_name);
        assert!(log.is_displaced());
        displaced(testing::apply(&mut log, &step(9)));
        displaced(testing::apply(&mut log, &Step::Checkpoint));
        assert_eq!(disk.bytes(&testing::path()), Some(foreign));
        let kept = rescued.unwrap_or_else(elsewhere);
        assert_eq!(disk.names().len(), 2, "{:?}", disk.names());
        drop(log);
        let saved = SimDisk::new();
        saved.put(&testing::path(), disk.bytes(&kept).unwrap());
        model.check(&open(&saved, Verify::Everything).log).unwrap();
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
    let Displacement::Replaced { rescued } = displaced(refused) else {
        panic!("it was replaced");
    };
    // What was left of the cut one is kept.
    let rescued = rescued.expect("no name refers to it");
    assert_eq!(std::fs::metadata(rescued).unwrap().len(), 100);
    assert!(log.is_displaced());
    drop(log);
    let mut log = open_real(&path).unwrap();
    log.append(&[record(3, "three")]).unwrap();
    assert_eq!(log.records(), 2);
}

fn open_real(path: &Path) -> Result<Log, StoreError> {
    let options = testing::options(Verify::Tail);
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
    assert_eq!(displaced(refused), Displacement::PutBack);
    log.append(&[record(2, "two")]).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    assert!(matches!(open_real(&path), Err(StoreError::Locked { .. })));
    drop(log);
    assert_eq!(open_real(&path).unwrap().records(), 2);
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
    } = displaced(refused)
    else {
        panic!("the file of the second stands there");
    };
    drop(first);
    second.append(&[record(4, "four")]).unwrap();
    drop(second);
    assert_eq!(open_real(&path).unwrap().records(), 2);
    let saved = open_real(&rescued).unwrap();
    assert_eq!(saved.reader().record(0).unwrap().text, "one");
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
