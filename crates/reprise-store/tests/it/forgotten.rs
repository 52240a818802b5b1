//! Tests that what was forgotten stays forgotten, whatever of the file is damaged.

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{CommitSeq, StoreEntry, StoreError, Verify, list_segments, locate_section};

use crate::damage::disk_with;
use crate::{open, record};

/// Sections of the log itself: the places of records, and the tombstones.
const PLACES: (u8, u32) = (1, 0);
const TOMBSTONES: (u8, u32) = (3, 0);

/// Builds a file of which the third commit forgets record 1, with a checkpoint at the end; `after`
/// is the number of commits behind the one that forgets.
fn file_that_forgets(after: u64) -> SimDisk {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for entry in [record(1, "kept"), record(2, "a secret")] {
        let step = WorkloadStep::Commit(vec![entry]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    log.append(&[model.forget_entry(1)]).unwrap();
    for number in 0..after {
        log.append(&[record(10 + number, "later")]).unwrap();
    }
    testing::apply_step(&mut log, &WorkloadStep::Checkpoint).unwrap();
    disk
}

/// Returns the file with a bit changed in the commit that forgets, and in these sections.
fn damage(disk: &SimDisk, sections: &[(u8, u32)]) -> SimDisk {
    let path = testing::log_path();
    let mut bytes = disk.file_bytes(&path).unwrap();
    let segments = list_segments(disk, &path).unwrap();
    let forgets = segments
        .iter()
        .filter(|s| s.name == "commit")
        .nth(2)
        .unwrap();
    bytes[forgets.offset as usize + 64 + 90] ^= 1;
    for key in sections {
        for place in locate_section(disk, &path, *key).unwrap() {
            bytes[place.start as usize] ^= 1;
        }
    }
    disk_with(&bytes)
}

#[test]
fn a_forgotten_record_stays_so_where_its_commit_and_its_tombstone_are_damaged() {
    for after in [0, 2] {
        let disk = file_that_forgets(after);
        for sections in [&[][..], &[TOMBSTONES], &[PLACES], &[PLACES, TOMBSTONES]] {
            for verify in [Verify::Tail, Verify::Everything] {
                let place = format!("{after} after it, {sections:?}, {verify:?}");
                let disk = damage(&disk, sections);
                let mut opened = open(&disk, verify);
                let report = &opened.report;
                let told = !report.is_whole() || sections != [TOMBSTONES];
                assert!(told, "{place}: {report:?}");
                opened.log.verify_places().unwrap();
                let read = opened.log.reader().read_record(1);
                let is_gone = matches!(
                    read,
                    Err(StoreError::Forgotten { .. } | StoreError::DamagedRecord { .. })
                );
                assert!(is_gone, "{place}: {read:?}");
                // Nor does it come back for who folds the log, or after a compaction.
                let done = opened.log.start_compaction().unwrap()().unwrap();
                opened.log.finish_compaction(done).unwrap();
                opened
                    .log
                    .replay(CommitSeq(0), &mut |_, entry| {
                        if let StoreEntry::Record(record) = &entry {
                            assert_ne!(record.text, "a secret", "{place}");
                        }
                    })
                    .unwrap();
            }
        }
    }
}

#[test]
fn a_fold_of_the_log_forgets_what_only_the_manifest_knows() {
    let disk = damage(&file_that_forgets(2), &[]);
    let log = open(&disk, Verify::Everything).log;
    let mut live = Vec::new();
    log.replay(CommitSeq(0), &mut |ordinal, entry| match entry {
        StoreEntry::Record(_) => live.extend(ordinal),
        StoreEntry::Forgotten { ordinal, .. } => live.retain(|known| *known != ordinal),
        _ => {}
    })
    .unwrap();
    assert_eq!(live, [0, 2, 3]);
}

#[test]
fn the_manifest_for_others_lists_the_forgotten_though_their_places_are_damaged() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let mut model = LogModel::default();
    for seed in 0..5 {
        let step = WorkloadStep::Commit(vec![record(seed, "text")]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    log.append(&[model.forget_entry(3)]).unwrap();
    log.complete_checkpoint(&testing::section_pages(log.seq()))
        .unwrap();
    drop(log);
    let path = testing::log_path();
    let whole = disk.file_bytes(&path).unwrap();
    let mut bytes = whole.clone();
    let place = locate_section(&disk, &path, PLACES).unwrap().remove(0);
    bytes[place.start as usize] ^= 1;
    let manifest_of = |bytes: &[u8]| {
        let disk = disk_with(bytes);
        let mut log = open(&disk, Verify::Tail).log;
        let from = log.stats().file_bytes as usize;
        log.write_closing_index().unwrap();
        disk.file_bytes(&path).unwrap()[from..].to_vec()
    };
    assert!(manifest_of(&whole).len() > 64);
    assert_eq!(manifest_of(&bytes), manifest_of(&whole));
}
