//! Compaction: everything live stays, everything forgotten is gone from the bytes.

use reprise_simulation as testing;
use reprise_simulation::{Model, SimDisk, Step};
use reprise_store::{CommitSeq, Entry, LogReader, StoreError, Verify, inspect};

use crate::{open, record, run};

#[test]
fn a_forgotten_text_is_gone_from_the_file() {
    let secret = "the code of the garden gate is 4711";
    let disk = SimDisk::new();
    let mut model = Model::default();
    let mut log = open(&disk, Verify::Tail).log;
    let mut steps: Vec<Step> = (0..50)
        .map(|i| Step::Commit(vec![record(i, &format!("an ordinary text {i}"))]))
        .collect();
    steps.insert(20, Step::Commit(vec![record(777, secret)]));
    for step in &steps {
        testing::apply(&mut log, step).unwrap();
        model.step(step);
    }
    let external = model.records[20].0.external_ids[0].id.clone();
    let vector = testing::unit_vector(777, testing::DIMENSIONS);
    let vector: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    let holds = |needle: &[u8]| {
        let bytes = disk.bytes(&testing::path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    assert!(holds(&vector), "the vector stands there before");
    let step = Step::Commit(vec![model.forget(20)]);
    testing::apply(&mut log, &step).unwrap();
    model.step(&step);
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    let report = log.finish_compaction(done).unwrap();
    assert_eq!((report.records, report.forgotten), (50, 1));
    assert!(report.bytes_after < report.bytes_before);
    model.check(&log).unwrap();
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
fn compaction_packs_singles_together() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = Model::default();
    for i in 0..500 {
        let step = Step::Commit(vec![record(i, &format!("a text about topic {}", i % 9))]);
        testing::apply(&mut log, &step).unwrap();
        model.step(&step);
    }
    let derived = testing::derived(log.seq());
    let done = log.start_compaction().unwrap().run(&derived).unwrap();
    let report = log.finish_compaction(done).unwrap();
    assert!(report.bytes_after * 3 < report.bytes_before, "{report:?}");
    let segments = inspect(&disk, &testing::path()).unwrap();
    assert_eq!(segments.iter().filter(|s| s.name == "vectors").count(), 1);
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        model.check(&opened.log).unwrap();
        assert_eq!(opened.derived.unwrap().covers, CommitSeq(500));
    }
}

#[test]
fn readers_of_the_old_file_go_on() {
    let disk = SimDisk::new();
    let (log, _, _) = run(
        &disk,
        &[Step::Commit(vec![record(1, "one"), record(2, "two")])],
    );
    let mut log = log.unwrap();
    let old: LogReader = log.reader();
    let done = log.start_compaction().unwrap();
    let done = std::thread::spawn(move || done.run(&[]))
        .join()
        .unwrap()
        .unwrap();
    log.append(&[record(3, "three")]).unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(old.record(1).unwrap().text, "two");
    assert_eq!(log.reader().record(2).unwrap().text, "three");
    log.append(&[record(4, "four")]).unwrap();
    assert_eq!(log.reader().record(3).unwrap().text, "four");
}

#[test]
fn only_one_compaction_at_a_time_and_only_of_this_file() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let first = log.start_compaction().unwrap();
    let second = log.start_compaction().unwrap_err();
    assert!(matches!(second, StoreError::CompactionUnderWay { .. }));
    drop(first);
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    let other = SimDisk::new();
    let mut stranger = open(&other, Verify::Tail).log;
    let error = stranger.finish_compaction(done).unwrap_err();
    assert!(matches!(error, StoreError::StaleCompaction { .. }));
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(disk.names(), [testing::path()]);
}

#[test]
fn a_new_file_that_lost_its_name_is_not_put_in_place() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    let name = disk
        .names()
        .into_iter()
        .find(|name| *name != testing::path());
    disk.put(&name.unwrap(), b"of another compaction".to_vec());
    let error = log.finish_compaction(done).unwrap_err();
    assert!(
        matches!(error, StoreError::StaleCompaction { .. }),
        "{error}"
    );
    log.append(&[record(2, "two")]).unwrap();
    assert_eq!(log.reader().record(0).unwrap().text, "one");
}

#[test]
fn a_killed_compaction_leaves_a_file_that_the_next_opening_removes() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    assert_eq!(disk.names().len(), 2);
    let killed = disk.process_crash();
    drop(done);
    let opened = open(&killed, Verify::Everything);
    assert_eq!((opened.log.records(), killed.names().len()), (1, 1));
}

#[test]
fn replay_from_the_middle_of_what_was_merged_is_refused() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    for i in 0..4 {
        log.append(&[record(i, "text")]).unwrap();
    }
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
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
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
    log.finish_compaction(done).unwrap();
    let cursor = Entry::Cursor {
        stream: "events".into(),
        seq: 5,
    };
    log.append(&[cursor]).unwrap();
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
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
    let commits: Vec<Entry> = (0..200).map(|i| record(i, &format!("text {i}"))).collect();
    log.append(&commits).unwrap();
    let reader = log.reader();
    std::thread::scope(|scope| {
        for thread in 0..3u32 {
            let reader = reader.clone();
            scope.spawn(move || {
                for turn in 0..2_000 {
                    let ordinal = (thread + turn) * 7 % 200;
                    let text = reader.record(ordinal).unwrap().body.text;
                    assert_eq!(text, format!("text {ordinal}"));
                }
            });
        }
        for i in 0..3 {
            let done = log.start_compaction().unwrap().run(&[]).unwrap();
            log.append(&[record(300 + i, "meanwhile")]).unwrap();
            log.finish_compaction(done).unwrap();
        }
    });
}

#[test]
fn what_is_forgotten_counts_as_dead_however_many_records_a_block_has() {
    // Few or many to a block, and from either end.
    for (length, backwards) in [(20, false), (20, true), (900, false), (900, true)] {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        let texts = (0..400).map(|seed| {
            // Incompressible.
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
        let step = Step::Commit(records);
        let mut model = Model::default();
        testing::apply(&mut log, &step).unwrap();
        model.step(&step);
        let held = log.stats().file_bytes;
        let mut ordinals: Vec<u32> = (0..400).collect();
        if backwards {
            ordinals.reverse();
        }
        let gone: Vec<_> = ordinals.into_iter().map(|o| model.forget(o)).collect();
        log.append(&gone).unwrap();
        let dead = log.stats().bytes_reclaimable;
        assert!(
            dead * 10 >= held * 8,
            "{length}: {dead} of {held} bytes are dead"
        );
        assert!(dead <= held, "{length}: {dead} of {held} bytes are dead");
    }
}

fn cursor(seq: u64) -> Entry {
    Entry::Cursor {
        stream: "stream-0".to_owned(),
        seq,
    }
}

/// Records in turn of the one width and the other, `wider` of them in all.
fn of_two_widths(log: &mut reprise_store::Log, model: &mut Model, count: u64, wider: u64) {
    for seed in 0..count {
        let width = if seed * wider / count < (seed + 1) * wider / count {
            testing::WIDER
        } else {
            testing::DIMENSIONS
        };
        let record = testing::record(seed, &format!("a text about {seed}"), width, true);
        let step = Step::Commit(vec![Entry::Record(Box::new(record))]);
        testing::apply(log, &step).unwrap();
        model.step(&step);
    }
}

#[test]
fn a_compaction_gives_the_file_the_width_of_most_and_drops_spaces_that_are_empty() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = Model::default();
    of_two_widths(&mut log, &mut model, 40, 10);
    let old = testing::space(testing::DIMENSIONS, "1");
    let new = testing::space(testing::WIDER, "2");
    let compact = |log: &mut reprise_store::Log, model: &mut Model, more: Vec<Entry>| {
        let step = Step::Compact(more);
        testing::apply(log, &step).unwrap();
        model.step(&step);
        model.check(log).unwrap();
    };
    compact(
        &mut log,
        &mut model,
        vec![record(100, "one that came meanwhile")],
    );
    assert_eq!(log.dimensions(), testing::DIMENSIONS, "most are narrow");
    for ordinal in 0..41 {
        let vector = testing::unit_vector(1_000 + u64::from(ordinal), testing::WIDER);
        let space = new.clone();
        let step = Step::Commit(vec![Entry::Embedded {
            ordinal,
            space,
            vector,
        }]);
        testing::apply(&mut log, &step).unwrap();
        model.step(&step);
    }
    model.check(&log).unwrap();
    assert_eq!(log.dimensions(), testing::DIMENSIONS);
    assert!(log.reader().has_other_spaces(&new));
    // What comes while the file changes its width is carried over, each in its own.
    let vector = testing::unit_vector(77, testing::DIMENSIONS);
    let meanwhile = vec![
        record(200, "a narrow one"),
        Entry::Record(Box::new(testing::record(
            201,
            "a wide one",
            testing::WIDER,
            true,
        ))),
        Entry::Embedded {
            ordinal: 3,
            space: old.clone(),
            vector,
        },
    ];
    compact(&mut log, &mut model, meanwhile);
    assert_eq!(log.dimensions(), testing::WIDER);
    drop(log);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open(&disk, verify);
        assert!(opened.report.is_whole(), "{:?}", opened.report);
        assert_eq!(opened.log.dimensions(), testing::WIDER);
        model.check(&opened.log).unwrap();
    }
    let mut log = open(&disk, Verify::Tail).log;
    for ordinal in 0..43 {
        let vector = testing::unit_vector(2_000 + u64::from(ordinal), testing::WIDER);
        let space = new.clone();
        let step = Step::Commit(vec![Entry::Embedded {
            ordinal,
            space,
            vector,
        }]);
        testing::apply(&mut log, &step).unwrap();
        model.step(&step);
    }
    assert!(
        log.reader().has_other_spaces(&new),
        "it stands in the log still"
    );
    compact(&mut log, &mut model, vec![cursor(9)]);
    assert!(!log.reader().has_other_spaces(&new));
}

#[test]
fn a_forgotten_vector_of_another_width_is_gone_from_the_bytes() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = Model::default();
    of_two_widths(&mut log, &mut model, 20, 5);
    let wide = |(record, _): &(reprise_types::MemoryRecord, bool)| {
        record.embedding.len() == usize::from(testing::WIDER)
    };
    let ordinal = model.records.iter().position(wide).unwrap() as u32;
    let vector = model.records[ordinal as usize].0.embedding.clone();
    let dead = log.stats().bytes_reclaimable;
    let step = Step::Commit(vec![model.forget(ordinal)]);
    testing::apply(&mut log, &step).unwrap();
    model.step(&step);
    assert!(log.stats().bytes_reclaimable > dead);
    let step = Step::Compact(vec![cursor(9)]);
    testing::apply(&mut log, &step).unwrap();
    model.step(&step);
    model.check(&log).unwrap();
    log.replay(CommitSeq(0), &mut |_, entry| {
        if let Entry::Embedded { vector: held, .. } = &entry {
            assert_ne!(*held, vector);
        }
    })
    .unwrap();
}
