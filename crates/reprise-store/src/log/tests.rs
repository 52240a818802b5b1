//! Entries of a later version: skipped by replay, kept by compaction, in their order.

use std::sync::Arc;

use chrono::DateTime;
use reprise_types::LearningEvent;

use crate::codec::{Encoded, RawEntry};
use crate::commit::ReadCommit;
use crate::disk::RealDisk;
use crate::entry::{CommitSeq, Entry};
use crate::log::{Log, Staged};
use crate::options::{OpenOptions, Verify};
use crate::scan::{Found, Scan};

fn later(number: u8) -> Encoded {
    let body = vec![number; 30];
    Encoded::alone(RawEntry { kind: 77, body })
}

fn raw_entries(log: &Log) -> Vec<RawEntry> {
    let file_id = log.facts.file_id;
    let mut scan = Scan::new(log.file.clone(), 0, log.end, file_id);
    let mut all = Vec::new();
    while let Some(found) = scan.next().unwrap() {
        if let Found::Commit(commit, _) = found {
            let commit: &ReadCommit = &commit;
            all.extend(commit.raw_entries(file_id).unwrap());
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
        leave: &[],
    };
    let opened = Log::open(Arc::new(RealDisk), &folder.path().join("x.rvf"), &options);
    opened.unwrap().log
}

#[test]
fn a_later_kind_survives_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(&folder, Verify::Tail);
    for number in 0..3u8 {
        let encoded = vec![later(number)];
        let staged = Staged {
            encoded,
            ..Staged::default()
        };
        log.commit(staged).unwrap();
        let at = DateTime::UNIX_EPOCH;
        let known = Entry::Learning(Box::new(LearningEvent::Reset { at }));
        log.append(&[known]).unwrap();
    }
    let before: Vec<RawEntry> = raw_entries(&log);
    assert_eq!(
        before.iter().map(|raw| raw.kind).collect::<Vec<_>>(),
        [77, 15, 77, 15, 77, 15]
    );
    let done = log.start_compaction().unwrap().run(&[]).unwrap();
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
            .kept(RecordId::from_u128(number), DateTime::UNIX_EPOCH);
        Entry::Record(Box::new(kept))
    };
    let mut entries = vec![record(1), record(2)];
    let link = Entry::Annotated {
        ordinal: 1,
        at: DateTime::UNIX_EPOCH,
        annotation: Annotation::Linked {
            to: 0,
            relation: "follows".to_owned(),
        },
    };
    entries.resize(super::validate::COMMIT_ENTRIES_MAX + 1, link);
    let (_, taken) = log.append_part(&entries).unwrap();
    assert_eq!(
        (taken, log.records()),
        (1, 1),
        "the second stays with its links"
    );
    let (_, taken) = log.append_part(&entries[1..]).unwrap();
    assert_eq!(taken, entries.len() - 1);
}
