//! Entries of a later version: skipped by replay, kept by compaction, in their order.

use std::sync::Arc;

use chrono::DateTime;
use reprise_types::LearningEvent;

use crate::codec::EncodedEntry;
use crate::commit::ReadCommit;
use crate::disk::RealDisk;
use crate::entry::{CommitSeq, StoreEntry};
use crate::log::Log;
use crate::options::{OpenOptions, Verify};
use crate::scan::{ScanItem, SegmentScanner};

fn later(number: u8) -> EncodedEntry {
    EncodedEntry::decode(77, &[number; 30]).unwrap()
}

/// Returns the kinds and bodies of all entries.
fn raw_entries(log: &Log) -> Vec<(u8, Vec<u8>)> {
    let file_id = log.facts.file_id;
    let mut scan = SegmentScanner::new(log.file.clone(), 0, log.end, file_id);
    let mut all = Vec::new();
    while let Some(found) = scan.next_item().unwrap() {
        if let ScanItem::Commit(commit, _) = found {
            let commit: &ReadCommit = &commit;
            let entries = commit.decode_entries(file_id).unwrap();
            all.extend(entries.into_iter().map(|entry| (entry.kind, entry.body)));
        }
    }
    all
}

fn open(folder: &tempfile::TempDir, verify: Verify) -> Log {
    let options = OpenOptions {
        dimensions: 4,
        file_id: 7,
        created_at: DateTime::UNIX_EPOCH,
        create: true,
        read_only: false,
        verify,
    };
    let opened = Log::open(Arc::new(RealDisk), &folder.path().join("x.rvf"), &options);
    opened.unwrap().log
}

#[test]
fn a_later_kind_survives_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(&folder, Verify::Tail);
    for number in 0..3u8 {
        log.commit_encoded(vec![later(number)]).unwrap();
        let at = DateTime::UNIX_EPOCH;
        let known = StoreEntry::Learning(Box::new(LearningEvent::Reset { at }));
        log.append(&[known]).unwrap();
    }
    let before = raw_entries(&log);
    assert_eq!(
        before.iter().map(|entry| entry.0).collect::<Vec<_>>(),
        [77, 15, 77, 15, 77, 15]
    );
    let done = log.start_compaction().unwrap()().unwrap();
    log.finish_compaction(done).unwrap();
    assert_eq!(raw_entries(&log), before);
    drop(log);
    let log = open(&folder, Verify::Everything);
    let report = log.replay(CommitSeq(0), &mut |_, _| {}).unwrap();
    assert_eq!((report.unknown, report.entries), (3, 3));
}

#[test]
fn a_record_is_not_parted_from_what_follows_it() {
    use reprise_types::{Annotation, MemoryKind, MemorySource, NewRecord, RecordId};
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(&folder, Verify::Tail);
    let record = |number: u128| {
        let new = NewRecord::new("a text", MemorySource::UserInput, MemoryKind::Episode);
        let kept = new
            .body
            .into_record(RecordId::from_u128(number), DateTime::UNIX_EPOCH);
        StoreEntry::Record(Box::new(kept))
    };
    let mut entries = vec![record(1), record(2)];
    let link = StoreEntry::Annotated {
        ordinal: 1,
        at: DateTime::UNIX_EPOCH,
        annotation: Annotation::Linked {
            to: 0,
            relation: "follows".to_owned(),
        },
    };
    entries.resize(super::validate::COMMIT_ENTRIES_MAX + 1, link);
    let (_, entry_count) = log.append_prefix(&entries).unwrap();
    assert_eq!(
        (entry_count, log.record_count()),
        (1, 1),
        "the second stays with its links"
    );
    let (_, entry_count) = log.append_prefix(&entries[1..]).unwrap();
    assert_eq!(entry_count, entries.len() - 1);
}
