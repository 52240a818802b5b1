//! Tests of compaction: live content is kept, forgotten content is removed from the bytes.

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{CommitSeq, LogReader, StoreEntry, StoreError, Verify, list_segments};

use reprise_types::SectionPages;

use crate::{open, record, run_steps};

#[test]
fn a_forgotten_text_is_gone_from_the_file() {
    let secret = "the code of the garden gate is 4711";
    let disk = SimDisk::new();
    let mut model = LogModel::default();
    let mut log = open(&disk, Verify::Tail).log;
    let mut steps: Vec<WorkloadStep> = (0..50)
        .map(|i| WorkloadStep::Commit(vec![record(i, &format!("an ordinary text {i}"))]))
        .collect();
    steps.insert(20, WorkloadStep::Commit(vec![record(777, secret)]));
    for step in &steps {
        testing::apply_step(&mut log, step).unwrap();
        model.apply(step);
    }
    let external = model.records[20].0.external_ids[0].id.clone();
    let vector = testing::unit_vector(777, testing::DIMENSIONS);
    let vector: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    let holds = |needle: &[u8]| {
        let bytes = disk.file_bytes(&testing::log_path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    assert!(holds(&vector), "the vector is there before");
    let step = WorkloadStep::Commit(vec![model.forget_entry(20)]);
    testing::apply_step(&mut log, &step).unwrap();
    model.apply(&step);
    let done = log.start_compaction().unwrap()().unwrap();
    let report = log.finish_compaction(done).unwrap();
    assert_eq!((report.records, report.forgotten), (50, 1));
    assert!(report.bytes_after < report.bytes_before);
    model.compare(&log).unwrap();
    assert!(!holds(&vector) && !holds(secret.as_bytes()) && !holds(external.as_bytes()));
    // Compressed bytes hide a text from a plain search, so every entry is unpacked and searched
    // too.
    let mut seen = 0;
    log.replay(CommitSeq(0), &mut |_, entry| {
        seen += 1;
        let text = format!("{entry:?}");
        assert!(
            !text.contains("garden gate") && !text.contains(&external),
            "{text}"
        );
    })
    .unwrap();
    assert_eq!(seen, 51);
}

#[test]
fn a_file_with_a_hole_is_compacted_without_what_was_derived_from_it() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for i in 0..6 {
        log.append(&[record(i, "a text")]).unwrap();
    }
    testing::write_checkpoint(&mut log).unwrap();
    drop(log);
    let path = testing::log_path();
    let whole = disk.file_bytes(&path).unwrap();
    let segments = list_segments(&disk, &path).unwrap();
    let find = |holds: &str| {
        segments
            .iter()
            .filter(|s| s.holds.contains(holds))
            .collect()
    };
    let commits: Vec<_> = find("entries");
    let pages: Vec<_> = find("as of commit");
    for damaged in [commits[2], commits[5], pages[0]] {
        let mut bytes = whole.clone();
        bytes[damaged.offset as usize + 80] ^= 1;
        let disk = SimDisk::new();
        disk.create_file(&path, bytes);
        let mut log = open(&disk, Verify::Everything).log;
        let done = log.start_compaction().unwrap()().unwrap();
        log.finish_compaction(done).unwrap();
        drop(log);
        let opened = open(&disk, Verify::Everything);
        assert!(opened.report.is_whole(), "{:?}", opened.report);
        let mut log = opened.log;
        let kept = log.section_keys().count();
        // Sections with a damaged page are not copied either.
        assert_eq!(kept, 0, "{damaged:?}: {kept} sections");
        // What was lost is known to be, and is no hole the second time.
        testing::write_checkpoint(&mut log).unwrap();
        let done = log.start_compaction().unwrap()().unwrap();
        log.finish_compaction(done).unwrap();
        assert_eq!(log.section_keys().count(), 2, "{damaged:?}");
    }
}

#[test]
fn compaction_packs_singles_together() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for i in 0..500 {
        let step = WorkloadStep::Commit(vec![record(i, &format!("a text about topic {}", i % 9))]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    testing::write_checkpoint(&mut log).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    let report = log.finish_compaction(done).unwrap();
    assert!(report.bytes_after * 3 < report.bytes_before, "{report:?}");
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    assert_eq!(segments.iter().filter(|s| s.name == "vectors").count(), 1);
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        model.compare(&opened.log).unwrap();
        assert_eq!(
            testing::check_sections(&opened.log),
            Ok(Some(CommitSeq(500)))
        );
    }
}

#[test]
fn readers_of_the_old_file_go_on() {
    let disk = SimDisk::new();
    let (log, _, _) = run_steps(
        &disk,
        &[WorkloadStep::Commit(vec![
            record(1, "one"),
            record(2, "two"),
        ])],
    );
    let mut log = log.unwrap();
    let old: LogReader = log.reader();
    let done = log.start_compaction().unwrap();
    let done = std::thread::spawn(done).join().unwrap().unwrap();
    log.append(&[record(3, "three")]).unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(old.read_record(1).unwrap().text, "two");
    assert_eq!(log.reader().read_record(2).unwrap().text, "three");
    log.append(&[record(4, "four")]).unwrap();
    assert_eq!(log.reader().read_record(3).unwrap().text, "four");
}

#[test]
fn only_one_compaction_at_a_time_and_only_of_this_file() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let first = log.start_compaction().unwrap();
    let second = log.start_compaction().err().unwrap();
    assert!(matches!(second, StoreError::CompactionUnderWay { .. }));
    drop(first);
    let done = log.start_compaction().unwrap()().unwrap();
    let other = SimDisk::new();
    let mut stranger = open(&other, Verify::Tail).log;
    let error = stranger.finish_compaction(done).unwrap_err();
    assert!(matches!(error, StoreError::StaleCompaction { .. }));
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(disk.file_names(), [testing::log_path()]);
}

#[test]
fn a_new_file_that_lost_its_name_is_not_put_in_place() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    let name = disk
        .file_names()
        .into_iter()
        .find(|name| *name != testing::log_path());
    disk.create_file(&name.unwrap(), b"of another compaction".to_vec());
    let error = log.finish_compaction(done).unwrap_err();
    assert!(
        matches!(error, StoreError::StaleCompaction { .. }),
        "{error}"
    );
    log.append(&[record(2, "two")]).unwrap();
    assert_eq!(log.reader().read_record(0).unwrap().text, "one");
}

#[test]
fn a_killed_compaction_leaves_a_file_that_the_next_opening_removes() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    assert_eq!(disk.file_names().len(), 2);
    let killed = disk.crash_process();
    drop(done);
    let opened = open(&killed, Verify::Everything);
    assert_eq!(
        (opened.log.record_count(), killed.file_names().len()),
        (1, 1)
    );
}

#[test]
fn replay_from_the_middle_of_what_was_merged_is_refused() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for i in 0..4 {
        log.append(&[record(i, "text")]).unwrap();
    }
    let done = log.start_compaction().unwrap()().unwrap();
    log.append(&[record(9, "meanwhile")]).unwrap();
    log.finish_compaction(done).unwrap();
    let error = log.replay(CommitSeq(2), &mut |_, _| {}).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Compacted {
                after: 2,
                horizon: 4
            }
        ),
        "{error}"
    );
    for (after, expected) in [(0, 5), (4, 1), (5, 0)] {
        let mut seen = 0;
        log.replay(CommitSeq(after), &mut |_, _| seen += 1).unwrap();
        assert_eq!(seen, expected, "after {after}");
    }
}

#[test]
fn an_empty_log_and_one_of_cursors_only_survive() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    let cursor = StoreEntry::Cursor {
        stream: "events".into(),
        seq: 5,
    };
    log.append(&[cursor]).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    drop(log);
    let opened = open(&disk, Verify::Everything);
    assert_eq!(
        (opened.log.seq(), opened.log.cursor("events")),
        (CommitSeq(1), Some(5))
    );
}

#[test]
fn readers_on_other_threads_see_whole_records_all_the_while() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let commits: Vec<StoreEntry> = (0..200).map(|i| record(i, &format!("text {i}"))).collect();
    log.append(&commits).unwrap();
    let reader = log.reader();
    std::thread::scope(|scope| {
        for thread in 0..3u32 {
            let reader = reader.clone();
            scope.spawn(move || {
                for turn in 0..2_000 {
                    let ordinal = (thread + turn) * 7 % 200;
                    let text = reader.read_record(ordinal).unwrap().body.text;
                    assert_eq!(text, format!("text {ordinal}"));
                }
            });
        }
        for i in 0..3 {
            let done = log.start_compaction().unwrap()().unwrap();
            log.append(&[record(300 + i, "meanwhile")]).unwrap();
            log.finish_compaction(done).unwrap();
        }
    });
}

#[test]
fn what_is_forgotten_counts_as_dead_however_many_records_a_block_has() {
    // Few or many records per block, forgotten from either end.
    for (length, backwards) in [(20, false), (20, true), (900, false), (900, true)] {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        let texts = (0..400).map(|seed| {
            // The text is incompressible.
            let words = testing::unit_vector(seed, length).into_iter();
            words
                .map(|x| format!("{:06x}", x.to_bits() & 0xff_ffff))
                .collect::<Vec<_>>()
                .concat()
        });
        let records: Vec<_> = (0..)
            .zip(texts)
            .map(|(seed, text)| record(seed, &text))
            .collect();
        let step = WorkloadStep::Commit(records);
        let mut model = LogModel::default();
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
        let held = log.stats().file_bytes;
        let mut ordinals: Vec<u32> = (0..400).collect();
        if backwards {
            ordinals.reverse();
        }
        let gone: Vec<_> = ordinals
            .into_iter()
            .map(|o| model.forget_entry(o))
            .collect();
        log.append(&gone).unwrap();
        let dead = log.stats().bytes_reclaimable;
        assert!(
            dead * 10 >= held * 8,
            "{length}: {dead} of {held} bytes are dead"
        );
        assert!(dead <= held, "{length}: {dead} of {held} bytes are dead");
    }
}

fn cursor_entry(seq: u64) -> StoreEntry {
    StoreEntry::Cursor {
        stream: "stream-0".to_owned(),
        seq,
    }
}

/// Appends `count` records with vectors of two widths, `wider` of them with the wider one.
fn append_two_widths(log: &mut reprise_store::Log, model: &mut LogModel, count: u64, wider: u64) {
    for seed in 0..count {
        let width = if seed * wider / count < (seed + 1) * wider / count {
            testing::WIDER_DIMENSIONS
        } else {
            testing::DIMENSIONS
        };
        let record = testing::make_record(seed, &format!("a text about {seed}"), width, true);
        let step = WorkloadStep::Commit(vec![StoreEntry::Record(Box::new(record))]);
        testing::apply_step(log, &step).unwrap();
        model.apply(&step);
    }
}

#[test]
fn a_compaction_gives_the_file_the_width_of_most_and_drops_spaces_that_are_empty() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    append_two_widths(&mut log, &mut model, 40, 10);
    let old = testing::embedding_space(testing::DIMENSIONS, "1");
    let new = testing::embedding_space(testing::WIDER_DIMENSIONS, "2");
    let compact = |log: &mut reprise_store::Log, model: &mut LogModel, more: Vec<StoreEntry>| {
        let step = WorkloadStep::Compact(more);
        testing::apply_step(log, &step).unwrap();
        model.apply(&step);
        model.compare(log).unwrap();
    };
    compact(
        &mut log,
        &mut model,
        vec![record(100, "one that came meanwhile")],
    );
    assert_eq!(log.dimensions(), testing::DIMENSIONS, "most are narrow");
    for ordinal in 0..41 {
        let vector = testing::unit_vector(1_000 + u64::from(ordinal), testing::WIDER_DIMENSIONS);
        let space = new.clone();
        let step = WorkloadStep::Commit(vec![StoreEntry::Embedded {
            ordinal,
            space,
            vector,
        }]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    model.compare(&log).unwrap();
    assert_eq!(log.dimensions(), testing::DIMENSIONS);
    assert!(log.reader().has_other_spaces(&new));
    // Records that are appended while the file changes its width keep their own width.
    let vector = testing::unit_vector(77, testing::DIMENSIONS);
    let meanwhile = vec![
        record(200, "a narrow one"),
        StoreEntry::Record(Box::new(testing::make_record(
            201,
            "a wide one",
            testing::WIDER_DIMENSIONS,
            true,
        ))),
        StoreEntry::Embedded {
            ordinal: 3,
            space: old.clone(),
            vector,
        },
    ];
    compact(&mut log, &mut model, meanwhile);
    assert_eq!(log.dimensions(), testing::WIDER_DIMENSIONS);
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        assert!(opened.report.is_whole(), "{:?}", opened.report);
        assert_eq!(opened.log.dimensions(), testing::WIDER_DIMENSIONS);
        model.compare(&opened.log).unwrap();
    }
    let mut log = open(&disk, Verify::Tail).log;
    for ordinal in 0..43 {
        let vector = testing::unit_vector(2_000 + u64::from(ordinal), testing::WIDER_DIMENSIONS);
        let space = new.clone();
        let step = WorkloadStep::Commit(vec![StoreEntry::Embedded {
            ordinal,
            space,
            vector,
        }]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    assert!(
        log.reader().has_other_spaces(&new),
        "it is still in the log"
    );
    compact(&mut log, &mut model, vec![cursor_entry(9)]);
    assert!(!log.reader().has_other_spaces(&new));
}

#[test]
fn a_forgotten_vector_of_another_width_is_gone_from_the_bytes() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    append_two_widths(&mut log, &mut model, 20, 5);
    let wide = |(record, _): &(reprise_types::MemoryRecord, bool)| {
        record.embedding.len() == usize::from(testing::WIDER_DIMENSIONS)
    };
    let ordinal = model.records.iter().position(wide).unwrap() as u32;
    let vector = model.records[ordinal as usize].0.embedding.clone();
    let dead = log.stats().bytes_reclaimable;
    let step = WorkloadStep::Commit(vec![model.forget_entry(ordinal)]);
    testing::apply_step(&mut log, &step).unwrap();
    model.apply(&step);
    assert!(log.stats().bytes_reclaimable > dead);
    let step = WorkloadStep::Compact(vec![cursor_entry(9)]);
    testing::apply_step(&mut log, &step).unwrap();
    model.apply(&step);
    model.compare(&log).unwrap();
    log.replay(CommitSeq(0), &mut |_, entry| {
        if let StoreEntry::Embedded { vector: held, .. } = &entry {
            assert_ne!(*held, vector);
        }
    })
    .unwrap();
}

#[test]
fn a_page_that_was_saved_with_another_length_is_written_again_or_missing() {
    let section = |byte, length, pages: std::ops::Range<usize>| {
        let mut all = SectionPages::from_bytes((16, 0), &vec![byte; length]);
        all.pages = all.pages[pages].to_vec();
        all
    };
    for (short, long) in [(100, 5_000), (5_000, 9_000)] {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        log.append(&[record(1, "one")]).unwrap();
        let pages = short / 4096;
        log.complete_checkpoint(&[section(1, short, 0..pages + 1)])
            .unwrap();
        // The step that makes the section longer does not have the page that was its last one.
        log.write_pages(&[section(2, long, pages + 1..pages + 2)], 0)
            .unwrap();
        let missing = log.complete_checkpoint(&[]).unwrap_err();
        assert!(missing.to_string().contains("never written"), "{missing}");
        log.write_pages(&[section(2, long, pages + 1..pages + 2)], 0)
            .unwrap();
        log.complete_checkpoint(&[section(2, long, 0..pages + 1)])
            .unwrap();
        log.complete_checkpoint(&[section(3, short, pages..pages + 1)])
            .unwrap();
        let read = log.open_sections().unwrap().1[&(16, 0)].read_all().unwrap();
        assert_eq!((read.len(), read.last()), (short, Some(&3)));
    }
}

#[test]
fn pages_that_were_written_while_the_file_was_compacted_are_to_be_saved_again() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    testing::write_checkpoint(&mut log).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    log.append(&[record(2, "two")]).unwrap();
    // A checkpoint was begun: its caller counts these pages as saved.
    let seq = log.seq();
    log.write_pages(&testing::section_pages(seq), 0).unwrap();
    log.finish_compaction(done).unwrap();
    assert!(
        log.section_keys().next().is_none(),
        "they are not in the new file"
    );
    testing::write_checkpoint(&mut log).unwrap();
    drop(log);
    let log = open(&disk, Verify::Everything).log;
    assert_eq!(testing::check_sections(&log), Ok(Some(seq)));
}
