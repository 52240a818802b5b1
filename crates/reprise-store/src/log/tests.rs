//! Entries of a later version: skipped by replay, kept by compaction, in their order.

use crate::codec::{Encoded, Outline, RawEntry};
use crate::commit::ReadCommit;
use crate::compress::Decompressor;
use crate::disk::SimDisk;
use crate::entry::{CommitSeq, Entry};
use crate::log::{Log, Staged};
use crate::options::Verify;
use crate::scan::{Found, Scan};
use crate::testing;

fn later(number: u8) -> Encoded {
    Encoded {
        raw: RawEntry {
            kind: 77,
            body: vec![number; 30],
        },
        outline: Outline::Unknown,
        vector: None,
    }
}

fn raw_entries(log: &Log) -> Vec<RawEntry> {
    let file_id = log.facts.file_id;
    let mut scan = Scan::new(log.file.clone(), 0, log.end, file_id);
    let mut all = Vec::new();
    while let Some(found) = scan.next().unwrap() {
        if let Found::Commit(commit, _) = found {
            let commit: &ReadCommit = &commit;
            all.extend(
                commit
                    .raw_entries(file_id, &Decompressor::default())
                    .unwrap(),
            );
        }
    }
    all
}

#[test]
fn a_later_kind_survives_everything() {
    let disk = SimDisk::new();
    let mut log = testing::open(&disk, Verify::Tail).unwrap().log;
    for number in 0..3u8 {
        let encoded = vec![later(number)];
        let staged = Staged {
            encoded,
            ..Staged::default()
        };
        log.commit(staged).unwrap();
        let text = format!("text {number}");
        let record = testing::record(u64::from(number), &text, testing::DIMENSIONS, true);
        log.append(&[Entry::Record(Box::new(record))]).unwrap();
    }
    let before: Vec<RawEntry> = raw_entries(&log);
    assert_eq!(
        before.iter().map(|raw| raw.kind).collect::<Vec<_>>(),
        [77, 1, 77, 1, 77, 1]
    );
    let done = log.start_compaction(Vec::new()).unwrap().run().unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(raw_entries(&log), before);
    drop(log);
    let log = testing::open(&disk, Verify::Everything).unwrap().log;
    let mut ordinals = Vec::new();
    let report = log
        .replay(CommitSeq(0), &mut |ordinal, _| ordinals.extend(ordinal))
        .unwrap();
    assert_eq!(
        (ordinals, report.unknown, report.entries),
        (vec![0, 1, 2], 3, 3)
    );
}
