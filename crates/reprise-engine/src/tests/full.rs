//! A disk that is full or fails for a while loses nothing that was acknowledged, whatever was being
//! written, and once there is room the next write of any kind succeeds.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use reprise_simulation::SimDisk;
use reprise_types::{Credit, RecordId, Revision, RunBeginning, RunEnding, parse_timestamp};

use super::{DIMENSIONS, inserted_ids, record, space, vector};
use crate::{Engine, EngineError, EngineOptions, ForgetSelector, IndexOrigin};

/// A memory with something of everything to write on.
struct WriteBench {
    engine: Engine,
    ids: Vec<RecordId>,
    now: DateTime<Utc>,
}

type Write = fn(&mut WriteBench) -> Result<(), EngineError>;

fn now() -> DateTime<Utc> {
    parse_timestamp("2026-02-16T09:00:00Z").unwrap()
}

fn open(disk: &SimDisk) -> Engine {
    let options = EngineOptions::new(DIMENSIONS as u16, 42, now());
    let path = Path::new("/m/memory.rvf");
    Engine::open(Arc::new(disk.clone()), path, &options)
        .unwrap()
        .0
}

fn beginning(run: &str) -> RunBeginning {
    RunBeginning {
        run_id: run.to_owned(),
        query: None,
        recall_id: None,
    }
}

fn ending(run: &str) -> RunEnding {
    RunEnding {
        run_id: run.to_owned(),
        used: Vec::new(),
        credit: Credit::Explicit,
        quality: None,
        fail_kind: None,
    }
}

impl WriteBench {
    fn new(disk: &SimDisk) -> Self {
        let mut engine = open(disk);
        let mut records: Vec<_> = (0..6)
            .map(|n| record(&format!("r{n}"), &format!("a text of number {n}"), n, "s"))
            .collect();
        records[3].tags = vec!["old".into()];
        records[4].embedding = None;
        let ids = inserted_ids(&engine.observe(records, None, now()).unwrap());
        engine.link(ids[0], ids[1], "blocks", now()).unwrap();
        for run in ["under way", "ended"] {
            engine.begin_run(&beginning(run), now()).unwrap();
        }
        engine.end_run(&ending("ended"), now()).unwrap();
        Self {
            engine,
            ids,
            now: now() + Duration::minutes(1),
        }
    }
}

/// Every way in which something is written to the file.
const WRITES: [(&str, Write); 19] = [
    ("observe", |desk| {
        let records = vec![record("more", "one more text", 1, "s")];
        desk.engine.observe(records, None, desk.now).map(drop)
    }),
    ("correct", |desk| {
        let mut new = record("better", "a better text", 2, "s");
        new.supersedes = Some(desk.ids[2]);
        desk.engine.observe(vec![new], None, desk.now).map(drop)
    }),
    ("cursor", |desk| {
        let cursor = Some(("events".to_owned(), 7));
        desk.engine.observe(Vec::new(), cursor, desk.now).map(drop)
    }),
    ("forget", |desk| {
        let what = ForgetSelector::Id(desk.ids[5]);
        desk.engine.forget(&what, "asked to", desk.now).map(drop)
    }),
    ("tag", |desk| {
        let tags = ["new".to_owned()];
        desk.engine.set_tags(desk.ids[0], &tags, desk.now).map(drop)
    }),
    ("merge tags", |desk| {
        desk.engine.merge_tag("old", "merged", desk.now).map(drop)
    }),
    ("link", |desk| {
        let (from, to) = (desk.ids[1], desk.ids[3]);
        desk.engine.link(from, to, "fixes", desk.now).map(drop)
    }),
    ("unlink", |desk| {
        let (from, to) = (desk.ids[0], desk.ids[1]);
        desk.engine.unlink(from, to, "blocks", desk.now).map(drop)
    }),
    ("embed", |desk| {
        let late = vec![(desk.ids[4], space(), vector(4, 0.2))];
        desk.engine.insert_late_vectors(late).map(drop)
    }),
    ("begin", |desk| {
        desk.engine.begin_run(&beginning("another"), desk.now)
    }),
    ("step", |desk| {
        let used = [desk.ids[0]];
        desk.engine
            .write_run_action(super::learning::step("under way", &used), desk.now)
    }),
    ("end", |desk| {
        desk.engine.end_run(&ending("under way"), desk.now)
    }),
    ("revise", |desk| {
        let (what, score) = (Revision::Scored, Some(0.9));
        desk.engine.revise_run("ended", what, score, desk.now)
    }),
    ("switch", |desk| {
        desk.engine.switch_learning(false, desk.now)
    }),
    ("reset", |desk| desk.engine.reset_learning(desk.now)),
    ("checkpoint", |desk| desk.engine.checkpoint()),
    ("checkpoint in steps", |desk| {
        while !desk.engine.advance_checkpoint()? {}
        Ok(())
    }),
    ("compact", |desk| desk.engine.compact().map(drop)),
    ("rebuild and save", |desk| {
        desk.engine.rebuild()?;
        desk.engine.checkpoint()
    }),
];

/// Describes the live records with their tags and links.
fn describe_records(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let records = snapshot.records().map(Result::unwrap);
    records
        .map(|record| {
            let links = snapshot.links(record.id);
            format!("{} {:?} {links:?}", record.text, record.tags)
        })
        .collect()
}

/// Fails `write` once, then tries `next`, which must succeed, and opens the file again.
fn assert_write_after_failure(
    (failing, write): (&str, Write),
    (following, next): (&str, Write),
    fail: fn(&SimDisk),
    mend: fn(&SimDisk),
) {
    let place = format!("{failing}, then {following}");
    let disk = SimDisk::new();
    let mut desk = WriteBench::new(&disk);
    let before = describe_records(&desk.engine);
    fail(&disk);
    let failed = write(&mut desk);
    assert!(failed.is_err(), "{place}: it should have failed");
    assert_eq!(
        describe_records(&desk.engine),
        before,
        "{place}: nothing was acknowledged"
    );
    mend(&disk);
    if let Err(error) = next(&mut desk) {
        panic!("{place}: {error}");
    }
    let after = describe_records(&desk.engine);
    drop(desk.engine);
    for survivor in [
        disk.crash_process(),
        disk.crash(reprise_simulation::Crash::Prefix(0)),
    ] {
        let mut again = open(&survivor);
        assert_eq!(
            describe_records(&again),
            after,
            "{place}: what is there after a restart"
        );
        let report = again.check().unwrap();
        assert!(report.is_sound(), "{place}: {:?}", report.findings);
    }
}

#[test]
fn after_a_full_disk_any_write_goes_through_once_there_is_room() {
    for write in WRITES {
        for next in WRITES {
            assert_write_after_failure(
                write,
                next,
                |disk| disk.set_full(true),
                |disk| disk.set_full(false),
            );
        }
    }
}

#[test]
fn after_a_failed_sync_any_write_goes_through() {
    for write in WRITES {
        for next in WRITES {
            assert_write_after_failure(
                write,
                next,
                |disk| disk.fail_sync(disk.sync_count(), ErrorKind::Other),
                |_| {},
            );
        }
    }
}

#[test]
fn a_compaction_whose_folder_cannot_be_synced_is_in_use_as_a_whole() {
    let disk = SimDisk::new();
    let mut desk = WriteBench::new(&disk);
    let compaction = desk.engine.start_compaction().unwrap();
    // What is saved meanwhile is not in the new file.
    WRITES[0].1(&mut desk).unwrap();
    desk.engine.checkpoint().unwrap();
    let copied = compaction().unwrap();
    // The file is synced, then its folder.
    disk.fail_sync(disk.sync_count() + 1, ErrorKind::Other);
    assert!(desk.engine.finish_compaction(copied).is_err());
    let expected = describe_records(&desk.engine);
    assert_eq!(expected.len(), 7);
    WRITES[1].1(&mut desk).unwrap();
    desk.engine.checkpoint().unwrap();
    let expected = describe_records(&desk.engine);
    drop(desk.engine);
    let path = Path::new("/m/memory.rvf");
    let options = EngineOptions::new(DIMENSIONS as u16, 42, now());
    let survivor = Arc::new(disk.crash_process());
    let (mut again, report) = Engine::open(survivor, path, &options).unwrap();
    assert_eq!(report.origin, IndexOrigin::Checkpoint);
    assert_eq!(describe_records(&again), expected);
    let report = again.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

/// Builds a branch of `parent` with records, a correction and a tag of its own.
fn branch_of(parent: &WriteBench) -> WriteBench {
    let mut engine = open(&SimDisk::new());
    parent
        .engine
        .fork_into(&mut engine, "fork/ada", None)
        .unwrap();
    let mut records: Vec<_> = (0..3)
        .map(|n| record(&format!("b{n}"), &format!("only in the branch {n}"), n, "b"))
        .collect();
    records[2].supersedes = Some(parent.ids[2]);
    engine.observe(records, None, parent.now).unwrap();
    let tags = ["theirs".to_owned()];
    engine.set_tags(parent.ids[0], &tags, parent.now).unwrap();
    WriteBench {
        engine,
        ids: parent.ids.clone(),
        now: parent.now,
    }
}

#[test]
fn a_merge_that_is_cut_off_anywhere_is_finished_by_the_next_one() {
    let dry = SimDisk::new();
    let mut desk = WriteBench::new(&dry);
    let branch = branch_of(&desk);
    let (before, first) = (describe_records(&desk.engine), dry.sync_count());
    let merged = desk
        .engine
        .merge_branch(&branch.engine.snapshot(), desk.now);
    assert_eq!(merged.unwrap().added, 3);
    let (whole, last) = (describe_records(&desk.engine), dry.sync_count());
    assert_eq!(last - first, 1, "records and tags in one commit");
    for sync in first..last {
        let disk = SimDisk::new();
        let mut desk = WriteBench::new(&disk);
        let branch = branch_of(&desk);
        disk.cut_power_at_sync(sync);
        let merged = desk
            .engine
            .merge_branch(&branch.engine.snapshot(), desk.now);
        assert!(merged.is_err());
        drop(desk);
        for crash in (0..=disk.pending_bytes())
            .step_by(7)
            .chain([disk.pending_bytes()])
        {
            let mut engine = open(&disk.crash(reprise_simulation::Crash::Prefix(crash)));
            let there = describe_records(&engine);
            let lost = before.iter().filter(|text| !there.contains(text));
            // The corrected record and the tagged one differ once they are merged.
            assert!(lost.count() <= 2, "sync {sync}: {there:?}");
            engine
                .merge_branch(&branch.engine.snapshot(), now())
                .unwrap();
            assert_eq!(
                describe_records(&engine).len(),
                whole.len(),
                "sync {sync}, {crash}"
            );
            let again = engine
                .merge_branch(&branch.engine.snapshot(), now())
                .unwrap();
            assert_eq!(
                (again.added, again.retagged),
                (0, 0),
                "sync {sync}, {crash}"
            );
        }
    }
}
