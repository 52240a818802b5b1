//! Tests of locks, foreign files, newer files and forged segments.

use std::path::Path;
use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{DiskCall, LogModel, ObservedDisk, SimDisk, WorkloadStep};
use reprise_store::{Log, OpenOptions, RealDisk, StoreError, Verify};
use rvf_types::SegmentFlags;

use crate::{open, record};

fn open_real(path: &Path) -> Result<Log, StoreError> {
    let options = testing::open_options(Verify::Tail);
    Log::open(Arc::new(RealDisk), path, &options).map(|opened| opened.log)
}

#[test]
fn a_second_writer_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let first = open_real(&path).unwrap();
    let error = open_real(&path).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    if cfg!(target_os = "linux") {
        let me = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&me), "{error}");
    }
    let reader = first.reader();
    drop(first);
    open_real(&path).unwrap();
    drop(reader);
}

#[test]
fn the_lock_follows_the_file_through_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut log = open_real(&path).unwrap();
    log.append(&[record(1, "one")]).unwrap();
    let before = log.reader();
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    assert!(matches!(open_real(&path), Err(StoreError::Locked { .. })));
    log.append(&[record(2, "two")]).unwrap();
    assert_eq!(before.read_record(0).unwrap().text, "one");
    drop(log);
    let log = open_real(&path).unwrap();
    assert_eq!(log.record_count(), 2);
    let names = fs_err_names(folder.path());
    assert_eq!(names, ["memory.rvf"]);
}

fn fs_err_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn two_threads_creating_one_file_get_one_writer() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.rvf");
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| open_real(&path))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let writers = opened.iter().filter(|log| log.is_ok()).count();
        assert_eq!(writers, 1);
        let refused = opened.iter().filter_map(|log| log.as_ref().err());
        refused.for_each(|error| assert!(matches!(error, StoreError::Locked { .. }), "{error}"));
    }
}

#[test]
fn a_memory_that_is_restored_while_one_is_made_is_opened_and_not_replaced() {
    let restored = SimDisk::new();
    let mut log = open(&restored, Verify::Tail).log;
    log.append(&[record(1, "restored")]).unwrap();
    drop(log);
    let bytes = restored.file_bytes(&testing::log_path()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let (place, content) = (path.clone(), bytes.clone());
    // The new file is synced once before it gets its name.
    let disk = ObservedDisk::new(move |call| {
        if call == DiskCall::Sync && !place.exists() {
            std::fs::write(&place, &content).unwrap();
        }
    });
    let opened = Log::open(Arc::new(disk), &path, &testing::open_options(Verify::Tail)).unwrap();
    assert!(!opened.report.created);
    assert_eq!(opened.log.reader().read_record(0).unwrap().text, "restored");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(fs_err_names(folder.path()), ["memory.rvf"]);
}

#[test]
fn a_second_name_that_a_crash_left_does_not_cost_the_file_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let mut log = open_real(&path).unwrap();
    log.append(&[record(1, "one")]).unwrap();
    drop(log);
    let (new, moved) = (
        folder.path().join("memory.rvf.new"),
        folder.path().join("moved"),
    );
    std::fs::hard_link(&path, &new).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    let before = std::fs::read(&moved).unwrap();
    assert_eq!(open_real(&path).unwrap().record_count(), 0);
    assert_eq!(std::fs::read(&moved).unwrap(), before);
}

#[test]
fn a_foreign_file_is_refused_and_left_as_it_is() {
    let rvf = rvf_wire::write_segment(0x05, b"manifest of somebody", SegmentFlags::empty(), 1);
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("short", b"SFVR".to_vec()),
        ("text", b"# notes\n".repeat(100)),
        ("zeros", vec![0; 4096]),
        ("another rvf", rvf),
    ] {
        let disk = SimDisk::new();
        disk.create_file(&testing::log_path(), bytes.clone());
        for verify in [Verify::Tail, Verify::Everything] {
            let error = testing::open_log(&disk, verify).unwrap_err();
            assert!(
                matches!(error, StoreError::NotAStore { .. }),
                "{name}: {error}"
            );
        }
        assert_eq!(
            disk.file_bytes(&testing::log_path()).unwrap(),
            bytes,
            "{name}"
        );
        assert_eq!(disk.file_names().len(), 1, "{name}");
    }
}

#[test]
fn a_newer_file_is_refused_and_left_as_it_is() {
    let disk = SimDisk::new();
    drop(open(&disk, Verify::Tail));
    let bytes = disk.file_bytes(&testing::log_path()).unwrap();
    for (at, value, version) in [(32, 4, 4), (1, 9, 9)] {
        let mut payload = bytes[64..64 + 42].to_vec();
        payload[at] = value;
        let newer = rvf_wire::write_segment(0x4a, &payload, SegmentFlags::empty(), 1);
        let disk = SimDisk::new();
        disk.create_file(&testing::log_path(), newer.clone());
        let error = testing::open_log(&disk, Verify::Tail).unwrap_err();
        let StoreError::NewerFormat { found, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(found, version);
        assert_eq!(disk.file_bytes(&testing::log_path()).unwrap(), newer);
    }
}

#[test]
fn a_half_made_file_does_not_stand_in_the_way() {
    for bytes in [Vec::new(), b"SFVR\x01".to_vec(), vec![0xff; 5000]] {
        let disk = SimDisk::new();
        let half = testing::log_path().with_file_name("memory.rvf.new");
        disk.create_file(&half, bytes);
        let mut log = open(&disk, Verify::Tail).log;
        log.append(&[record(1, "one")]).unwrap();
        assert_eq!(disk.file_names(), [testing::log_path()]);
        drop(log);
        assert_eq!(open(&disk, Verify::Everything).log.record_count(), 1);
    }
}

/// Stores texts that look like segments: a commit and a manifest of this file (as if the author had
/// seen its bytes), and rvf's manifest, at every alignment, after damage that makes recovery search
/// for segments.
#[test]
fn no_text_becomes_a_segment() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for seed in 0..3 {
        let step = WorkloadStep::Commit(vec![record(seed, "an honest text")]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    drop(log);
    let bytes = disk.file_bytes(&testing::log_path()).unwrap();
    // Maps every byte to one character, so that the segment survives as text.
    let forged: String = bytes.iter().map(|byte| char::from(byte & 0x7f)).collect();
    let magic = "SFVR\u{1}\u{5}".repeat(40);
    let mut log = open(&disk, Verify::Tail).log;
    for shift in 0..64 {
        let text = format!("{}{magic}{forged}", " ".repeat(shift));
        let step = WorkloadStep::Commit(vec![record(100 + shift as u64, &text)]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    drop(log);
    let whole = disk.file_bytes(&testing::log_path()).unwrap();
    let unmasked = whole[bytes.len()..]
        .chunks_exact(64)
        .filter(|chunk| chunk.starts_with(b"SFVR\x01\x05"));
    assert_eq!(
        unmasked.count(),
        0,
        "rvf-runtime would take this for a manifest"
    );
    // The torn tail makes recovery scan; the damage makes it search.
    let mut torn = whole.clone();
    torn.truncate(whole.len() - 100);
    torn[bytes.len() + 70] ^= 1;
    disk.create_file(&testing::log_path(), torn);
    let opened = open(&disk, Verify::Everything);
    assert_eq!(opened.log.record_count(), 66);
    let reader = opened.log.reader();
    for (ordinal, (expected, _)) in model.records.iter().enumerate().take(66) {
        match reader.read_record(ordinal as u32) {
            Ok(record) => assert_eq!(record.text, expected.text),
            Err(error) => panic!("{ordinal}: {error}"),
        }
    }
}

#[test]
fn segments_of_another_memory_are_not_ours() {
    let ours = SimDisk::new();
    let mut log = open(&ours, Verify::Tail).log;
    log.append(&[record(1, "ours")]).unwrap();
    drop(log);
    let theirs = SimDisk::new();
    let options = OpenOptions {
        file_id: 99,
        ..testing::open_options(Verify::Tail)
    };
    let opened = Log::open(Arc::new(theirs.clone()), &testing::log_path(), &options);
    let mut log = opened.unwrap().log;
    log.append(&[record(2, "theirs")]).unwrap();
    log.append(&[record(3, "theirs too")]).unwrap();
    drop(log);
    let mut bytes = ours.file_bytes(&testing::log_path()).unwrap();
    let foreign = theirs.file_bytes(&testing::log_path()).unwrap();
    bytes.extend_from_slice(&foreign[bytes.len()..]);
    ours.create_file(&testing::log_path(), bytes);
    let opened = open(&ours, Verify::Everything);
    assert_eq!(opened.log.record_count(), 1);
    assert!(opened.report.foreign_segments > 0);
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let read_only = OpenOptions {
        read_only: true,
        create: false,
        ..testing::open_options(Verify::Tail)
    };
    for options in [testing::open_options(Verify::Tail), read_only] {
        let error = Log::open(Arc::new(RealDisk), &path, &options).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
    let error = reprise_store::list_segments(&RealDisk, &path).unwrap_err();
    assert!(error.to_string().contains("move it away"), "{error}");
}
