//! Tests of damage: every byte of a small file is changed, and the file is cut to every length.
//! Damage is noticed or harmless, and never causes a panic or a wrong record.

use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{Log, OpenOptions, StoreEntry, StoreError, Verify, list_segments};
use reprise_types::VectorStore;

use crate::{open, open_readonly, record, run_steps};

/// Builds a file with every kind of segment, and with a last checkpoint if `closed`.
pub(crate) fn sample_file(closed: bool) -> (Vec<u8>, LogModel) {
    let disk = SimDisk::new();
    let mut steps = testing::generate_workload(5, 14);
    steps.push(WorkloadStep::Compact(vec![
        record(1, "one"),
        record(2, "two"),
    ]));
    steps.push(WorkloadStep::Commit(vec![record(3, "three")]));
    let mut model = LogModel::default();
    for step in &steps {
        model.apply(step);
    }
    let forget = model.forget_entry(model.live_ordinals().next().unwrap());
    steps.push(WorkloadStep::Commit(vec![forget, record(4, "four")]));
    if closed {
        steps.push(WorkloadStep::Checkpoint);
    }
    let (log, model, failed) = run_steps(&disk, &steps);
    assert!(failed.is_none());
    drop(log);
    (disk.file_bytes(&testing::log_path()).unwrap(), model)
}

pub(crate) fn disk_with(bytes: &[u8]) -> SimDisk {
    let disk = SimDisk::new();
    disk.create_file(&testing::log_path(), bytes.to_vec());
    disk
}

/// Checks that the log returns only what was written, and returns the count of records that it does
/// not return.
pub(crate) fn count_true_records(log: &Log, model: &LogModel, place: &str) -> usize {
    let reader = log.reader();
    let mut missing = 0;
    for (ordinal, (expected, gone)) in model.records.iter().enumerate() {
        let mut vector = vec![0.0; usize::from(testing::DIMENSIONS)];
        let has_vector = reader.copy_vector(ordinal as u32, &mut vector);
        match reader.read_record(ordinal as u32) {
            Ok(mut served) => {
                // A vector may be missing, or be the previous one if its replacement is lost.
                served.embedding.clone_from(&expected.embedding);
                served.embedding_space.clone_from(&expected.embedding_space);
                assert_eq!(&served, expected, "{place}: ordinal {ordinal}");
                if has_vector {
                    let norm: f32 = vector.iter().map(|x| x * x).sum();
                    assert!((norm - 1.0).abs() < 1e-3, "{place}: vector {ordinal}");
                }
                missing += usize::from(!has_vector && !expected.embedding.is_empty());
            }
            Err(StoreError::Forgotten { .. }) => assert!(gone, "{place}: {ordinal}"),
            Err(StoreError::DamagedRecord { .. } | StoreError::NoRecord { .. }) => missing += 1,
            Err(other) => panic!("{place}: ordinal {ordinal}: {other}"),
        }
    }
    missing
}

fn flip_everywhere(closed: bool) {
    let (bytes, model) = sample_file(closed);
    for at in 0..bytes.len() {
        for bit in [0x01, 0x80] {
            let mut bad = bytes.clone();
            bad[at] ^= bit;
            let place = format!("byte {at} of {} ^ {bit:#x}", bytes.len());
            let disk = disk_with(&bad);
            match open_readonly(&disk, Verify::Everything) {
                Ok(opened) => {
                    let report = &opened.report;
                    let is_told = !report.is_whole() || report.torn_bytes > 0;
                    assert!(is_told, "{place}: not noticed");
                    count_true_records(&opened.log, &model, &place);
                }
                Err(error) => panic!("{place}: {error}"),
            }
            let mut opened = open(&disk, Verify::Tail);
            count_true_records(&opened.log, &model, &place);
            // The log can still be written, and the new records are kept.
            let before = opened.log.record_count();
            opened
                .log
                .append(&[record(88, "after the damage")])
                .unwrap();
            drop(opened);
            for verify in [Verify::Tail, Verify::Everything] {
                let opened = open(&disk, verify);
                let text = opened.log.reader().read_record(before).unwrap().body.text;
                assert_eq!(text, "after the damage", "{place}");
            }
        }
    }
}

#[test]
fn no_changed_byte_of_a_closed_file_goes_unnoticed() {
    flip_everywhere(true);
}

#[test]
fn no_changed_byte_of_an_unclosed_file_goes_unnoticed() {
    flip_everywhere(false);
}

#[test]
fn every_length_opens_with_a_prefix_of_the_commits() {
    for closed in [false, true] {
        let (bytes, model) = sample_file(closed);
        for length in 0..bytes.len() {
            let disk = disk_with(&bytes[..length]);
            let place = format!("length {length} of {}", bytes.len());
            match testing::open_log(&disk, Verify::Tail) {
                Ok(mut opened) => {
                    assert!(opened.report.missing_commits.is_empty(), "{place}");
                    check_prefix(&opened.log, &model, &place);
                    opened.log.append(&[record(88, "after the cut")]).unwrap();
                    drop(opened);
                    let report = open_readonly(&disk, Verify::Everything).unwrap().report;
                    assert!(report.is_whole(), "{place}: {report:?}");
                }
                Err(StoreError::NotAStore { .. }) => {
                    assert!(length < 192, "{place}");
                    assert_eq!(
                        disk.file_bytes(&testing::log_path()).unwrap(),
                        &bytes[..length]
                    );
                }
                Err(error) => panic!("{place}: {error}"),
            }
        }
    }
}

/// Checks that each record of the log is returned; records that are forgotten later may still be
/// live.
fn check_prefix(log: &Log, model: &LogModel, place: &str) {
    let reader = log.reader();
    for ordinal in 0..log.record_count() {
        match reader.read_record(ordinal) {
            Ok(served) => assert_eq!(served.id, model.records[ordinal as usize].0.id, "{place}"),
            Err(StoreError::Forgotten { .. }) => {}
            Err(error) => panic!("{place}: ordinal {ordinal}: {error}"),
        }
    }
}

#[test]
fn damage_in_the_middle_costs_only_what_it_hits() {
    let disk = SimDisk::new();
    let commits: Vec<WorkloadStep> = (0..6)
        .map(|i| WorkloadStep::Commit(vec![record(i, &format!("text {i}"))]))
        .collect();
    let (_, model, _) = run_steps(&disk, &commits);
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let places: Vec<_> = segments.iter().filter(|s| s.name == "commit").collect();
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let hit = places[2].offset as usize;
    bytes[hit + 150] ^= 4;
    let opened = open(&disk_with(&bytes), Verify::Everything);
    let report = &opened.report;
    assert_eq!(
        (report.damage.len(), report.torn_bytes),
        (1, 0),
        "{report:?}"
    );
    assert_eq!(report.missing_records, [(2, 2)]);
    let missing: Vec<_> = report
        .missing_commits
        .iter()
        .map(|(a, b)| (a.0, b.0))
        .collect();
    assert_eq!(missing, [(3, 3)]);
    assert_eq!(count_true_records(&opened.log, &model, "middle"), 1);
    assert_eq!(opened.log.stats().lost, 1);
    let mut ordinals = Vec::new();
    let report = opened
        .log
        .replay(reprise_store::CommitSeq(0), &mut |o, _| ordinals.extend(o))
        .unwrap();
    assert_eq!((ordinals, report.damage.len()), ((0..6).collect(), 1));
}

#[test]
fn a_damaged_vector_costs_the_vector_not_the_record() {
    let disk = SimDisk::new();
    let commits: Vec<WorkloadStep> = (0..3)
        .map(|i| WorkloadStep::Commit(vec![record(i, &format!("text {i}"))]))
        .collect();
    drop(run_steps(&disk, &commits));
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let hit = segments
        .iter()
        .filter(|s| s.name == "vectors")
        .nth(1)
        .unwrap()
        .offset as usize;
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    bytes[hit + 64 + 6 + 8] ^= 1;
    let opened = open(&disk_with(&bytes), Verify::Everything);
    assert!(!opened.report.is_whole());
    let reader = opened.log.reader();
    let mut vector = [0.0; 4];
    let served: Vec<bool> = (0..3).map(|i| reader.copy_vector(i, &mut vector)).collect();
    assert_eq!(served, [true, false, true]);
    let record = reader.read_record(1).unwrap();
    assert_eq!(
        (record.body.text.as_str(), record.embedding_space),
        ("text 1", None)
    );
}

#[test]
fn a_last_commit_with_a_damaged_vector_stays_whatever_follows_it() {
    let file_of = |options: &OpenOptions| {
        let disk = SimDisk::new();
        let opened = Log::open(Arc::new(disk.clone()), &testing::log_path(), options);
        let mut log = opened.unwrap().log;
        for i in 0..3 {
            log.append(&[record(i, &format!("text {i}"))]).unwrap();
        }
        testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
        drop(log);
        disk
    };
    let options = testing::open_options(Verify::Tail);
    let disk = file_of(&options);
    let theirs = file_of(&OpenOptions {
        file_id: 99,
        ..options
    });
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let pages = segments.iter().find(|s| s.name == "pages").unwrap();
    let of_pages = pages.offset as usize..(pages.offset + pages.bytes) as usize;
    let last = segments.iter().rfind(|s| s.name == "vectors").unwrap();
    let mut with_pages = disk.file_bytes(&testing::log_path()).unwrap();
    with_pages.truncate(of_pages.end);
    with_pages[last.offset as usize + 64 + 6 + 8] ^= 1;
    let foreign = theirs.file_bytes(&testing::log_path()).unwrap();
    let mut with_foreign = with_pages[..of_pages.start].to_vec();
    with_foreign.extend_from_slice(&foreign[of_pages.clone()]);
    // The vectors of the next commit prove that it was begun.
    let with_next = {
        let disk = SimDisk::new();
        let mut log = open(&disk, Verify::Tail).log;
        for i in 0..4 {
            log.append(&[record(i, &format!("text {i}"))]).unwrap();
        }
        let segments = list_segments(&disk, &testing::log_path()).unwrap();
        let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
        bytes.truncate(segments.last().unwrap().offset as usize);
        bytes[last.offset as usize + 64 + 6 + 8] ^= 1;
        bytes
    };
    for bytes in [with_foreign, with_pages, with_next] {
        let disk = disk_with(&bytes);
        let mut opened = open(&disk, Verify::Everything);
        assert_eq!(opened.log.record_count(), 3, "{:?}", opened.report);
        opened.log.append(&[record(7, "the next")]).unwrap();
        drop(opened);
        let log = open(&disk, Verify::Everything).log;
        let texts = (0..4).map(|i| log.reader().read_record(i).unwrap().body.text.clone());
        let texts: Vec<String> = texts.collect();
        assert_eq!(texts, ["text 0", "text 1", "text 2", "the next"]);
    }
}

#[test]
fn what_a_lost_commit_of_a_compacted_file_had_forgotten_stays_forgotten() {
    // More than one packed commit holds.
    let count = 4_200;
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let records: Vec<_> = (0..count).map(|seed| record(seed, "a text")).collect();
    let mut model = LogModel::default();
    let (early, late) = (10, count as u32 - 10);
    let cursor = StoreEntry::Cursor {
        stream: "events".to_owned(),
        seq: 7,
    };
    for step in [
        WorkloadStep::Commit(records),
        WorkloadStep::Commit(vec![cursor]),
    ] {
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    let gone = [early, late].map(|ordinal| model.forget_entry(ordinal));
    log.append(&gone).unwrap();
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    drop(log);
    let bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let commits: Vec<_> = segments.iter().filter(|s| s.name == "commit").collect();
    assert_eq!(commits.len(), 2);
    for (place, hit) in commits.iter().enumerate() {
        let mut bytes = bytes.clone();
        bytes[hit.offset as usize + 300] ^= 4;
        let disk = disk_with(&bytes);
        let mut opened = open(&disk, Verify::Everything);
        assert_eq!(opened.log.record_count(), count as u32, "{place}");
        assert_eq!(opened.log.cursor("events"), Some(7), "{place}");
        for ordinal in [early, late] {
            let found = opened.log.reader().read_record(ordinal);
            let is_forgotten = matches!(found, Err(StoreError::Forgotten { .. }));
            assert!(is_forgotten, "{place}: {ordinal}: {found:?}");
        }
        let next = opened.log.append(&[record(1, "the next")]).unwrap();
        assert_eq!(next.first_ordinal, count as u32, "{place}");
    }
}

#[test]
fn a_damaged_block_costs_its_records_however_the_file_is_opened() {
    let disk = SimDisk::new();
    let records: Vec<_> = (0..200).map(|seed| record(seed, "a text")).collect();
    let steps = [
        WorkloadStep::Commit(records),
        WorkloadStep::Checkpoint,
        WorkloadStep::Commit(vec![record(900, "the last")]),
    ];
    let (log, model, failed) = run_steps(&disk, &steps);
    assert!(failed.is_none());
    drop(log);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let commit = segments.iter().find(|s| s.name == "commit").unwrap();
    // A byte of the first block.
    bytes[commit.offset as usize + 64 + 80 + 30] ^= 4;
    let mut missing = Vec::new();
    for verify in [Verify::Tail, Verify::Everything] {
        let disk = disk_with(&bytes);
        let mut log = open(&disk, verify).log;
        testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
        drop(log);
        let log = open(&disk, Verify::Tail).log;
        missing.push(count_true_records(&log, &model, &format!("{verify:?}")));
    }
    assert!((1..=32).contains(&missing[0]), "{missing:?}");
    assert_eq!(missing[0], missing[1]);
}

#[test]
fn a_scrub_finds_what_opening_did_not_look_at() {
    let (mut bytes, _) = sample_file(true);
    bytes[200] ^= 1;
    let disk = disk_with(&bytes);
    let opened = open(&disk, Verify::Tail);
    let reader = opened.log.reader();
    let found = reader.scrub().unwrap();
    assert!(
        found[0].to_string().contains("from offset 128"),
        "{}",
        found[0]
    );
}

#[test]
fn inspect_names_every_byte_of_a_file() {
    let (bytes, _) = sample_file(true);
    let disk = disk_with(&bytes);
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let mut at = 0;
    for segment in &segments {
        assert!(segment.whole);
        assert_eq!(segment.offset, at);
        at += segment.bytes;
    }
    assert_eq!(at, bytes.len() as u64);
    for name in [
        "file",
        "vectors",
        "commit",
        "pages",
        "rvf-manifest",
        "manifest",
    ] {
        assert!(segments.iter().any(|s| s.name == name), "{name}");
    }
}

#[test]
fn a_tail_that_is_cut_off_is_kept_where_it_was() {
    let (bytes, _) = sample_file(false);
    let disk = disk_with(&bytes);
    let mut log = open(&disk, Verify::Tail).log;
    let end = log.stats().file_bytes;
    log.append(&[record(9, &"a memory of some length ".repeat(20))])
        .unwrap();
    drop(log);
    let whole = disk.file_bytes(&testing::log_path()).unwrap();
    let last = list_segments(&disk, &testing::log_path()).unwrap();
    let commit = last.last().unwrap();
    // What of a commit's segment is there, from its first byte on.
    for there in [1, 70, 200] {
        let cut = (commit.offset + there) as usize;
        let disk = disk_with(&whole[..cut]);
        let mut opened = open(&disk, Verify::Tail);
        assert_eq!(opened.report.torn_bytes, cut as u64 - end, "{there}");
        let kept = opened.report.kept_tail.take().expect("it is kept");
        opened.log.append(&[record(10, "the next write")]).unwrap();
        drop(opened);
        let aside = disk.file_bytes(&kept).unwrap();
        let tail = end as usize..;
        assert_eq!(
            aside[tail.clone()],
            whole[tail][..cut - end as usize],
            "{there}"
        );
        let shown = list_segments(&disk, &kept).unwrap();
        let shown = shown.last().unwrap();
        assert!(!shown.whole, "{shown:?}");
        if there >= 200 {
            assert!(shown.holds.contains("1 records from"), "{shown:?}");
        }
        // Nothing is cut off the second time, and a second tail does not replace the first.
        assert_eq!(open(&disk, Verify::Tail).report.kept_tail, None);
        assert_eq!(disk.file_bytes(&kept).unwrap(), aside);
    }
}

#[test]
fn what_can_be_built_again_is_not_kept_aside() {
    let (bytes, _) = sample_file(true);
    for added in [vec![0; 700], Vec::new()] {
        let disk = disk_with(&[bytes.clone(), added].concat());
        assert_eq!(open(&disk, Verify::Tail).report.kept_tail, None);
        assert_eq!(disk.file_names(), [testing::log_path()]);
    }
    let segments = list_segments(&disk_with(&bytes), &testing::log_path()).unwrap();
    let part = segments
        .iter()
        .rfind(|segment| segment.name == "pages")
        .unwrap();
    let cut = (part.offset + part.bytes / 2) as usize;
    let disk = disk_with(&bytes[..cut]);
    let opened = open(&disk, Verify::Tail);
    assert!(opened.report.torn_bytes > 0);
    assert_eq!(opened.report.kept_tail, None);
}
