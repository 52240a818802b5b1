//! Tests of a log without faults.

use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{DIMENSIONS, LogModel, SimDisk, WorkloadStep};
use reprise_store::{
    CheckpointStep, CommitSeq, LateCheckpoint, Log, OpenOptions, OpenedLog, StoreEntry, StoreError,
    Verify,
};
use reprise_types::VectorStore;

use crate::{open, record, run_steps};

#[test]
fn everything_written_is_served_now_and_after_reopening() {
    for seed in 0..20 {
        let disk = SimDisk::new();
        let (log, model, failed) = run_steps(&disk, &testing::generate_workload(seed, 40));
        assert!(failed.is_none(), "seed {seed}: {failed:?}");
        model.compare(&log.unwrap()).unwrap();
        for verify in [Verify::Tail, Verify::Everything] {
            let opened = open(&disk, verify);
            assert!(opened.report.is_whole(), "seed {seed}: {:?}", opened.report);
            assert_eq!(opened.report.torn_bytes, 0);
            model.compare(&opened.log).unwrap();
        }
    }
}

#[test]
fn ordinals_and_sequences_count_up() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    assert_eq!((log.seq(), log.record_count()), (CommitSeq(0), 0));
    let commit = log.append(&[record(1, "one"), record(2, "two")]).unwrap();
    assert_eq!((commit.seq, commit.first_ordinal), (CommitSeq(1), 0));
    let commit = log.append(&[record(3, "three")]).unwrap();
    assert_eq!((commit.seq, commit.first_ordinal), (CommitSeq(2), 2));
    let writes = disk.write_count();
    let commit = log.append(&[]).unwrap();
    assert_eq!((commit.seq, commit.first_ordinal), (CommitSeq(2), 3));
    assert_eq!(
        disk.write_count(),
        writes,
        "nothing to say, nothing written"
    );
}

#[test]
fn a_commit_is_one_write_and_one_sync() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let before = (disk.write_count(), disk.sync_count());
    log.append(&[record(1, "one"), record(2, "two")]).unwrap();
    assert_eq!(
        (disk.write_count(), disk.sync_count()),
        (before.0 + 1, before.1 + 1)
    );
}

#[test]
fn a_reader_keeps_seeing_what_it_was_made_for() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let before = log.reader();
    let mut model = LogModel::default();
    model.apply(&WorkloadStep::Commit(vec![record(1, "one")]));
    log.append(&[model.forget_entry(0), record(2, "two")])
        .unwrap();
    assert_eq!((before.record_count(), log.reader().record_count()), (1, 2));
    assert_eq!(before.read_record(0).unwrap().text, "one");
    let forgotten = log.reader().read_record(0).unwrap_err();
    assert!(matches!(
        forgotten,
        StoreError::Forgotten { ordinal: 0, .. }
    ));
    let missing = log.reader().read_record(2).unwrap_err();
    assert!(matches!(missing, StoreError::NoRecord { ordinal: 2, .. }));
    let mut vector = [0.0; DIMENSIONS as usize];
    assert!(before.copy_vector(0, &mut vector));
    assert!(!log.reader().copy_vector(0, &mut vector));
    assert!(!log.reader().copy_vector(9, &mut vector));
    assert!(!before.copy_vector(0, &mut vector[..2]));
}

#[test]
fn replay_begins_behind_the_commit_asked_for() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for seed in 0..6 {
        log.append(&[record(seed, "text")]).unwrap();
        if seed == 3 {
            log.write_checkpoint(&[]).unwrap();
        }
    }
    for after in 0..=6 {
        let mut seen = Vec::new();
        let visit = &mut |ordinal, _| seen.extend(ordinal);
        let report = log.replay(CommitSeq(after), visit).unwrap();
        assert_eq!(report.commits, 6 - after);
        let expected: Vec<u32> = (after as u32..6).collect();
        if after < 6 {
            assert_eq!(seen, expected);
        }
    }
}

#[test]
fn derived_blobs_come_back_with_the_commit_they_cover() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let parts = vec![
        (0x41, vec![1u8; 5000]),
        (0x44, Vec::new()),
        (0x47, vec![7; 64]),
    ];
    log.write_checkpoint(&parts).unwrap();
    log.append(&[record(2, "two")]).unwrap();
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        let derived = opened.derived.unwrap();
        assert_eq!(
            (derived.covered_seq, &derived.blobs),
            (CommitSeq(1), &parts)
        );
        assert_eq!(opened.report.from_checkpoint, verify == Verify::Tail);
        let expected = if verify == Verify::Tail { 1 } else { 2 };
        assert_eq!(opened.report.commits_read, expected);
    }
    let mut log = open(&disk, Verify::Tail).log;
    for tag in [0x40, 0x48, 0x01] {
        assert!(
            log.write_checkpoint(&[(tag, vec![])]).is_err(),
            "tag {tag:#x}"
        );
    }
}

/// Builds a disk with two checkpoints, of which the second one's blobs cover the first; there are
/// commits before, between its pieces and after.
fn with_a_late_checkpoint(parts: &[(u8, Vec<u8>)]) -> SimDisk {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for seed in 0..3 {
        log.append(&[record(seed, "before")]).unwrap();
    }
    log.write_checkpoint(&[(0x41, vec![9; 70])]).unwrap();
    let mut late = LateCheckpoint::new(log.reader(), parts.to_vec(), 2000).unwrap();
    for seed in 3..6 {
        log.append(&[record(seed, "meanwhile")]).unwrap();
        if seed == 4 {
            let step = log.advance_checkpoint(&mut late).unwrap();
            assert_eq!(step, CheckpointStep::MoreToWrite);
        }
    }
    while log.advance_checkpoint(&mut late).unwrap() == CheckpointStep::MoreToWrite {}
    log.append(&[record(6, "after")]).unwrap();
    let dead = log.stats().bytes_reclaimable;
    drop(log);
    let log = open(&disk, Verify::Tail).log;
    assert_eq!(log.stats().bytes_reclaimable, dead);
    disk
}

/// Opens the log with the first blob left in the file.
fn open_leaving(disk: &SimDisk) -> OpenedLog {
    let options = OpenOptions {
        leave_unread: &[0x41],
        ..testing::open_options(Verify::Tail)
    };
    Log::open(Arc::new(disk.clone()), &testing::log_path(), &options).unwrap()
}

#[test]
fn blobs_may_cover_an_earlier_commit_than_their_checkpoint_and_stand_in_pieces() {
    let blob: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
    let parts = vec![(0x41, blob.clone()), (0x44, Vec::new())];
    let disk = with_a_late_checkpoint(&parts);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        assert!(opened.report.is_whole(), "{:?}", opened.report);
        if verify == Verify::Tail {
            // Its directory covers the last commit before it.
            assert_eq!(opened.report.commits_read, 1);
        }
        let derived = opened.derived.unwrap();
        assert_eq!(
            (derived.covered_seq, &derived.blobs),
            (CommitSeq(3), &parts)
        );
        let mut seen = Vec::new();
        let visit = &mut |ordinal, _| seen.extend(ordinal);
        opened.log.replay(derived.covered_seq, visit).unwrap();
        assert_eq!(seen, [3, 4, 5, 6]);
    }
    let derived = open_leaving(&disk).derived.unwrap();
    assert_eq!(
        (derived.covered_seq, derived.unread.len()),
        (CommitSeq(3), 1)
    );
    let left = &derived.unread[0].1;
    assert_eq!(left.size(), 5000);
    for (at, size) in [(0, 5000), (1990, 2500), (2000, 10), (3999, 1), (5000, 0)] {
        let mut read = vec![0; size];
        assert!(left.read_at(at as u64, &mut read), "{size} from {at}");
        assert_eq!(read, blob[at..at + size], "{size} from {at}");
    }
    assert!(!left.read_at(4999, &mut [0; 2]));
}

#[test]
fn a_replay_passes_over_the_blobs() {
    let disk = with_a_late_checkpoint(&[(0x41, vec![0xee; 5000]), (0x44, vec![2; 50])]);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let mut windows = bytes.windows(100);
    let at = windows.position(|window| window == [0xee_u8; 100]).unwrap();
    bytes[at] ^= 1;
    disk.create_file(&testing::log_path(), bytes);
    let opened = open_leaving(&disk);
    let mut seen = Vec::new();
    let visit = &mut |ordinal, _| seen.extend(ordinal);
    let report = opened.log.replay(CommitSeq(3), visit).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert_eq!(seen, [3, 4, 5, 6]);
}

#[test]
fn blobs_of_different_commits_are_no_checkpoint() {
    let disk = with_a_late_checkpoint(&[(0x41, vec![1; 50]), (0x44, vec![2; 50])]);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    // The end of a blob, whose hash is not compared if it is left in the file.
    let trailer = [0x41, 1, DIMENSIONS as u8, 0, 0, 0, 0, 0, 3];
    let mut windows = bytes.windows(trailer.len());
    let at = windows.rposition(|window| window == trailer).unwrap();
    bytes[at + 8] = 2;
    disk.create_file(&testing::log_path(), bytes);
    let opened = open_leaving(&disk);
    assert!(opened.derived.is_none());
    assert_eq!(opened.report.damage.len(), 1, "{:?}", opened.report);
    assert_eq!(opened.log.record_count(), 7);
}

#[test]
fn blobs_made_before_a_compaction_are_not_written_behind_it() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one"), record(2, "two")]).unwrap();
    let mut late = LateCheckpoint::new(log.reader(), vec![(0x41, vec![1; 50])], 30).unwrap();
    log.advance_checkpoint(&mut late).unwrap();
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    log.finish_compaction(done).unwrap();
    let before = disk.file_bytes(&testing::log_path());
    let step = log.advance_checkpoint(&mut late).unwrap();
    assert_eq!(step, CheckpointStep::Superseded);
    assert_eq!(disk.file_bytes(&testing::log_path()), before);
}

#[test]
fn a_checkpoint_for_which_there_is_no_room_takes_none() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let before = log.stats();
    let blobs = vec![(0x41, vec![1; 90])];
    let mut late = LateCheckpoint::new(log.reader(), blobs.clone(), 45).unwrap();
    // After one of its pieces, and after both.
    for steps in 1..3 {
        for _ in 0..steps {
            let step = log.advance_checkpoint(&mut late).unwrap();
            assert_eq!(step, CheckpointStep::MoreToWrite);
        }
        disk.set_full(true);
        assert!(log.advance_checkpoint(&mut late).is_err());
        assert_eq!(log.stats(), before);
        let bytes = disk.file_bytes(&testing::log_path()).unwrap();
        assert_eq!(bytes.len() as u64, before.file_bytes);
        disk.set_full(false);
    }
    log.append(&[record(2, "two")]).unwrap();
    // A retry starts again.
    while log.advance_checkpoint(&mut late).unwrap() == CheckpointStep::MoreToWrite {}
    drop(log);
    let opened = open(&disk, Verify::Tail);
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    assert_eq!(opened.derived.unwrap().blobs, blobs);
    assert_eq!(opened.log.record_count(), 2);
}

#[test]
fn a_commit_is_carried_over_that_stands_where_a_checkpoint_was_given_up() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let mut late = LateCheckpoint::new(log.reader(), vec![(0x41, vec![1; 90])], 45).unwrap();
    log.advance_checkpoint(&mut late).unwrap();
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    disk.set_full(true);
    assert!(log.advance_checkpoint(&mut late).is_err());
    disk.set_full(false);
    log.append(&[record(2, "two")]).unwrap();
    log.finish_compaction(done).unwrap();
    drop(log);
    assert_eq!(open(&disk, Verify::Everything).log.record_count(), 2);
}

#[test]
fn a_piece_of_a_blob_may_begin_with_anything() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    // The second piece begins with the bytes of a seal.
    let mut blob = vec![0; 60];
    blob[30..32].copy_from_slice(&[0x49, 1]);
    let mut late = LateCheckpoint::new(log.reader(), vec![(0x4b, blob)], 30).unwrap();
    while log.advance_checkpoint(&mut late).unwrap() == CheckpointStep::MoreToWrite {}
    drop(log);
    let report = open(&disk, Verify::Everything).report;
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(report.foreign_segments, 0);
}

#[test]
fn what_was_begun_of_a_checkpoint_is_cut_off_or_left_behind() {
    for with_manifest in [false, true] {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        log.append(&[record(1, "one")]).unwrap();
        let committed = log.stats().file_bytes;
        let blobs = vec![(0x41, vec![1; 50])];
        let mut late = LateCheckpoint::new(log.reader(), blobs, 30).unwrap();
        log.advance_checkpoint(&mut late).unwrap();
        let begun = log.stats().file_bytes;
        assert!(begun > committed);
        // A copy for a backup has no torn bytes.
        let copied = log.reader().copy_file_to(&mut std::io::sink()).unwrap();
        assert_eq!(copied, committed);
        if with_manifest {
            log.write_manifest().unwrap();
        }
        let end = log.stats().file_bytes;
        drop(log);
        for verify in [Verify::Tail, Verify::Everything] {
            let opened = open(&disk.crash_process(), verify);
            assert!(opened.report.is_whole(), "{:?}", opened.report);
            let kept = if with_manifest { end } else { committed };
            assert_eq!(opened.report.torn_bytes, end - kept);
            assert_eq!(opened.log.stats().file_bytes, kept);
            assert_eq!(opened.log.record_count(), 1);
        }
    }
}

#[test]
fn entries_that_make_no_sense_are_refused_and_change_nothing() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let before = disk.file_bytes(&testing::log_path());
    let embedded = |ordinal, vector: Vec<f32>, dimensions| StoreEntry::Embedded {
        ordinal,
        space: testing::embedding_space(dimensions, "1"),
        vector,
    };
    let unit = testing::unit_vector(1, DIMENSIONS);
    let mut homeless = testing::make_record(2, "two", DIMENSIONS, true);
    homeless.embedding_space = None;
    for bad in [
        embedded(2, unit.clone(), DIMENSIONS),
        embedded(0, unit[..3].to_vec(), DIMENSIONS),
        embedded(0, unit.clone(), 3),
        embedded(0, vec![f32::NAN; 4], DIMENSIONS),
        embedded(0, vec![1.0; 4], DIMENSIONS),
        StoreEntry::Lost { ordinal: 0 },
        StoreEntry::Record(Box::new(homeless)),
    ] {
        let error = log.append(&[record(9, "good"), bad]).unwrap_err();
        let is_first = matches!(error, StoreError::BadEntry { index: 1, .. });
        assert!(
            is_first || matches!(error, StoreError::BadEntry { .. }),
            "{error}"
        );
    }
    let many = vec![record(1, "x"); 16_385];
    let error = log.append(&many).unwrap_err();
    assert!(matches!(
        error,
        StoreError::CommitTooLarge { limit: 16_384, .. }
    ));
    assert_eq!(disk.file_bytes(&testing::log_path()), before);
    log.append(&[record(3, "three")]).unwrap();
}

#[test]
fn what_is_forgotten_cannot_be_forgotten_or_embedded_again() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    model.apply(&WorkloadStep::Commit(vec![record(1, "one")]));
    log.append(&[record(1, "one")]).unwrap();
    let forget = model.forget_entry(0);
    assert!(log.append(&[forget.clone(), forget.clone()]).is_err());
    log.append(std::slice::from_ref(&forget)).unwrap();
    assert!(log.append(&[forget]).is_err());
    let late = StoreEntry::Embedded {
        ordinal: 0,
        space: testing::embedding_space(DIMENSIONS, "1"),
        vector: testing::unit_vector(1, DIMENSIONS),
    };
    assert!(log.append(&[late]).is_err());
    let mut keys = Vec::new();
    log.replay(CommitSeq(0), &mut |_, entry| {
        if let StoreEntry::Forgotten { tombstone, .. } = entry {
            keys = tombstone.keys;
        }
    })
    .unwrap();
    assert_eq!(keys, [0]);
}

#[test]
fn many_entries_in_one_commit_are_all_reachable() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let entries: Vec<StoreEntry> = (0..300)
        .map(|i| record(i, &format!("memory {i}")))
        .collect();
    log.append(&entries).unwrap();
    let mut model = LogModel::default();
    model.apply(&WorkloadStep::Commit(entries));
    model.compare(&log).unwrap();
}

#[test]
fn figures_add_up() {
    let disk = SimDisk::new();
    let (log, model, _) = run_steps(&disk, &testing::generate_workload(3, 40));
    let log = log.unwrap();
    let stats = log.stats();
    assert_eq!(
        stats.file_bytes,
        disk.file_bytes(&testing::log_path()).unwrap().len() as u64
    );
    assert_eq!(stats.records as usize, model.records.len());
    assert_eq!(
        stats.forgotten as usize,
        model.records.len() - model.live_ordinals().count()
    );
    assert_eq!((stats.commits, stats.lost), (model.seq, 0));
    assert_eq!(stats.created_at.timestamp(), 1_771_234_567);
    assert_eq!(log.newest_space().unwrap().model, "test-model");
}

#[test]
fn a_missing_file_is_created_only_where_asked() {
    let disk: Arc<SimDisk> = Arc::new(SimDisk::new());
    let mut options = testing::open_options(Verify::Tail);
    options.create = false;
    let error = Log::open(disk.clone(), &testing::log_path(), &options).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    options.create = true;
    options.dimensions = 0;
    assert!(Log::open(disk.clone(), &testing::log_path(), &options).is_err());
    options.dimensions = 8;
    assert!(
        Log::open(disk.clone(), &testing::log_path(), &options)
            .unwrap()
            .report
            .created
    );
    for dimensions in [4, 0] {
        options.dimensions = dimensions;
        let opened = Log::open(disk.clone(), &testing::log_path(), &options).unwrap();
        assert_eq!((opened.report.created, opened.log.dimensions()), (false, 8));
    }
}
