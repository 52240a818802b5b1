//! Tests of a log without faults.

use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{DIMENSIONS, LogModel, SimDisk, WorkloadStep};
use reprise_store::{CommitSeq, Log, StoreEntry, StoreError, Verify};
use reprise_types::{SavedSection, SectionKey, SectionPages, VectorStore};

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
            log.complete_checkpoint(&[]).unwrap();
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

/// Reads all sections that the newest manifest names, with the commit that they cover.
fn read_sections(log: &Log) -> (CommitSeq, Vec<(SectionKey, Vec<u8>)>) {
    let (seq, sections) = log.open_sections().unwrap();
    let read = |(key, section): (SectionKey, SavedSection)| (key, section.read_all().unwrap());
    (seq, sections.into_iter().map(read).collect())
}

#[test]
fn sections_come_back_with_the_commit_they_cover() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let sections = [
        ((16, 0), vec![1u8; 5000]),
        ((16, 3), Vec::new()),
        ((77, 0), vec![7; 64]),
    ];
    let pages = |(key, bytes): &(SectionKey, Vec<u8>)| SectionPages::from_bytes(*key, bytes);
    log.complete_checkpoint(&sections.each_ref().map(pages))
        .unwrap();
    log.append(&[record(2, "two")]).unwrap();
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        let found = read_sections(&opened.log);
        assert_eq!(found, (CommitSeq(1), sections.to_vec()));
        assert_eq!(opened.report.from_checkpoint, verify == Verify::Tail);
        let expected = if verify == Verify::Tail { 1 } else { 2 };
        assert_eq!(opened.report.commits_read, expected);
    }
}

#[test]
fn only_pages_that_changed_are_written_again() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let mut bytes: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let save = |log: &mut Log, bytes: &[u8]| {
        let before = log.stats().file_bytes;
        log.complete_checkpoint(&[SectionPages::from_bytes((16, 0), bytes)])
            .unwrap();
        log.stats().file_bytes - before
    };
    assert!(save(&mut log, &bytes) > 4_000_000);
    let idle = save(&mut log, &bytes);
    for at in [7, 2_000_000, 2_000_001, 3_999_999] {
        bytes[at] ^= 1;
    }
    let three = save(&mut log, &bytes);
    assert!(three < idle + 4 * 4_200, "{three} after {idle}");
    bytes.truncate(2_000_100);
    save(&mut log, &bytes);
    bytes.extend([5; 9_000]);
    save(&mut log, &bytes);
    let dead = log.stats().bytes_reclaimable;
    assert!((1_800_000..2_050_000).contains(&dead), "{dead}");
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let log = open(&disk, verify).log;
        assert_eq!(read_sections(&log).1, [((16, 0), bytes.clone())]);
        assert_eq!(log.stats().bytes_reclaimable, dead);
        let (_, sections) = log.open_sections().unwrap();
        let section = &sections[&(16, 0)];
        for (at, size) in [
            (0, 5000),
            (1990, 2500),
            (2_000_000, 9_100),
            (4095, 2),
            (9, 0),
        ] {
            let read = section.read_bytes(at..at + size);
            assert_eq!(
                read.as_deref(),
                Some(&bytes[at..at + size]),
                "{size} from {at}"
            );
        }
        assert_eq!(section.read_bytes(2_009_099..2_009_101), None);
        assert!(section.is_sound() && !section.is_damaged());
    }
}

#[test]
fn a_damaged_page_is_noticed_and_the_others_are_read() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    log.complete_checkpoint(&[
        SectionPages::from_bytes((16, 0), &[0xee; 10_000]),
        SectionPages::from_bytes((16, 1), &[0xdd; 50]),
    ])
    .unwrap();
    log.append(&[record(2, "two")]).unwrap();
    drop(log);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let mut windows = bytes.windows(100);
    let at = windows.position(|window| window == [0xee_u8; 100]).unwrap();
    bytes[at + 4096 + 8] ^= 1;
    disk.create_file(&testing::log_path(), bytes);
    let opened = open(&disk, Verify::Tail);
    let (seq, sections) = opened.log.open_sections().unwrap();
    let section = &sections[&(16, 0)];
    assert!(section.read_bytes(0..4096).is_some() && section.read_bytes(8192..10_000).is_some());
    assert!(!section.is_damaged());
    assert!(section.read_bytes(4000..4200).is_none() && section.is_damaged());
    assert_eq!(sections[&(16, 1)].read_all(), Some(vec![0xdd; 50]));
    let bytes = section.to_bytes().unwrap();
    assert_eq!(&*bytes.bytes(0..4096), [0xee; 4096]);
    assert_eq!(&*bytes.bytes(4096..4100), [0; 4]);
    let mut seen = Vec::new();
    let visit = &mut |ordinal, _| seen.extend(ordinal);
    let report = opened.log.replay(seq, visit).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert_eq!(seen, [1]);
}

#[test]
fn damaged_places_are_found_again_before_they_are_saved() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for seed in 0..20 {
        log.append(&[record(seed, "text")]).unwrap();
    }
    log.complete_checkpoint(&[]).unwrap();
    let saved = log.stats().file_bytes;
    drop(log);
    let whole = disk.file_bytes(&testing::log_path()).unwrap();
    let pages = reprise_store::list_segments(&disk, &testing::log_path()).unwrap();
    let pages = pages
        .iter()
        .rfind(|segment| segment.name == "pages")
        .unwrap();
    let mut bytes = whole.clone();
    bytes[pages.offset as usize + 64 + 40] ^= 1;
    disk.create_file(&testing::log_path(), bytes);
    let mut log = open(&disk, Verify::Tail).log;
    assert!(log.reader().read_record(3).is_err());
    log.append(&[record(99, "later")]).unwrap();
    log.complete_checkpoint(&[]).unwrap();
    assert!(log.stats().file_bytes > saved);
    drop(log);
    let log = open(&disk, Verify::Tail).log;
    for ordinal in 0..21 {
        log.reader().read_record(ordinal).unwrap();
    }
}

#[test]
fn pages_are_written_in_steps_with_commits_between_them() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let section = |number, byte| SectionPages::from_bytes((16, number), &[byte; 9_000]);
    log.complete_checkpoint(&[section(0, 1), section(1, 1)])
        .unwrap();
    log.write_pages(&[section(0, 2)], 0).unwrap();
    log.append(&[record(2, "two")]).unwrap();
    log.write_pages(&[section(1, 2)], 0).unwrap();
    let before = |number| ((16, number), vec![1; 9_000]);
    assert_eq!(
        read_sections(&log),
        (CommitSeq(1), vec![before(0), before(1)])
    );
    log.append(&[record(3, "three")]).unwrap();
    let killed = disk.crash_process();
    let opened = open(&killed, Verify::Tail);
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    assert_eq!(
        read_sections(&opened.log),
        (CommitSeq(1), vec![before(0), before(1)])
    );
    assert_eq!(opened.report.commits_read, 2);
    log.drop_section((16, 1));
    log.complete_checkpoint(&[SectionPages::from_bytes((16, 5), &[3])])
        .unwrap();
    drop(log);
    let opened = open(&disk, Verify::Tail);
    let expected = vec![((16, 0), vec![2; 9_000]), ((16, 5), vec![3])];
    assert_eq!(read_sections(&opened.log), (CommitSeq(3), expected));
}

#[test]
fn a_checkpoint_for_which_there_is_no_room_takes_none() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    log.complete_checkpoint(&[SectionPages::from_bytes((16, 0), &[1; 900])])
        .unwrap();
    log.append(&[record(2, "two")]).unwrap();
    let before = log.stats();
    let pages = |byte| [SectionPages::from_bytes((16, 0), &[byte; 900])];
    for steps in 0..3 {
        for step in 0..steps {
            log.write_pages(&pages(step), 0).unwrap();
        }
        disk.set_full(true);
        assert!(log.complete_checkpoint(&pages(9)).is_err());
        assert_eq!(log.stats(), before);
        let bytes = disk.file_bytes(&testing::log_path()).unwrap();
        assert_eq!(bytes.len() as u64, before.file_bytes);
        disk.set_full(false);
    }
    log.append(&[record(3, "three")]).unwrap();
    log.complete_checkpoint(&pages(9)).unwrap();
    drop(log);
    let opened = open(&disk, Verify::Tail);
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    assert_eq!(read_sections(&opened.log).1, [((16, 0), vec![9; 900])]);
    assert_eq!(opened.log.record_count(), 3);
}

#[test]
fn a_commit_is_carried_over_that_stands_where_a_checkpoint_was_given_up() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    log.write_pages(&testing::section_pages(log.seq()), 0)
        .unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    disk.set_full(true);
    assert!(
        log.complete_checkpoint(&testing::section_pages(CommitSeq(5)))
            .is_err()
    );
    disk.set_full(false);
    log.append(&[record(2, "two")]).unwrap();
    log.finish_compaction(done).unwrap();
    drop(log);
    assert_eq!(open(&disk, Verify::Everything).log.record_count(), 2);
}

#[test]
fn sections_that_were_saved_while_the_file_was_compacted_are_to_be_saved_again() {
    for is_saved_meanwhile in [false, true] {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        log.append(&[record(1, "one")]).unwrap();
        testing::write_checkpoint(&mut log).unwrap();
        let done = log.start_compaction().unwrap()().unwrap();
        if is_saved_meanwhile {
            log.append(&[record(2, "two")]).unwrap();
            testing::write_checkpoint(&mut log).unwrap();
        }
        log.finish_compaction(done).unwrap();
        assert_eq!(log.section_keys().next().is_none(), is_saved_meanwhile);
        assert_eq!(testing::check_sections(&log), Ok(Some(CommitSeq(1))));
        testing::write_checkpoint(&mut log).unwrap();
        let seq = log.seq();
        drop(log);
        let log = open(&disk, Verify::Everything).log;
        assert_eq!(testing::check_sections(&log), Ok(Some(seq)));
    }
}

#[test]
fn pages_may_begin_with_anything() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    // The first page begins with the bytes of a manifest.
    let mut bytes = vec![0; 60];
    bytes[..2].copy_from_slice(&[0x49, 1]);
    log.write_pages(&[SectionPages::from_bytes((16, 0), &bytes)], 0)
        .unwrap();
    log.complete_checkpoint(&[]).unwrap();
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
        log.write_pages(&testing::section_pages(log.seq()), 0)
            .unwrap();
        let begun = log.stats().file_bytes;
        assert!(begun > committed);
        // A copy for a backup has no torn bytes.
        let copied = log.reader().copy_file_to(&mut std::io::sink()).unwrap();
        assert_eq!(copied, committed);
        if with_manifest {
            log.write_closing_index().unwrap();
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
