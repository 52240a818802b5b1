//! One batch: its records, links, runs and cursor are on disk together or not at all.

use std::path::Path;

use chrono::Duration;
use reprise_simulation::{Crash, SimDisk};
use reprise_types::{
    Credit, MemorySource, NewRecord, RecordId, RunBeginning, RunEnding, RunStep, WriteOutcome,
};

use super::*;
use crate::{
    EngineError, InferredUse, LinkEnd, NewLink, RunAction, RunWrite, Snapshot, WriteBatch,
    WriteBatchReport,
};

fn note_of_run(name: &str, text: &str) -> NewRecord {
    let mut note = record(name, text, 1, "s");
    note.source = MemorySource::WorkerResult;
    note.provenance.run_id = Some("run".to_owned());
    note
}

fn begin() -> RunAction {
    RunAction::Begin(RunBeginning {
        run_id: "run".to_owned(),
        query: None,
        recall_id: None,
    })
}

fn end() -> RunAction {
    RunAction::End(RunEnding {
        run_id: "run".to_owned(),
        used: Vec::new(),
        credit: Credit::Implicit,
        quality: None,
        fail_kind: None,
    })
}

fn step(result: usize) -> RunAction {
    let step = RunStep {
        run_id: "run".to_owned(),
        action: "look".to_owned(),
        ..RunStep::default()
    };
    let result = Some(LinkEnd::New(result));
    RunAction::Step { step, result }
}

/// Builds a run from its beginning to its end, as a relay observes it in one batch.
fn whole_run(now: DateTime<Utc>) -> WriteBatch {
    let inferred = |action| RunWrite {
        at: now,
        action,
        inferred_use: Some(InferredUse::default()),
    };
    let link = NewLink::new(LinkEnd::New(1), LinkEnd::New(0), "answers");
    WriteBatch {
        records: vec![
            note_of_run("asked", "why are users logged out?"),
            note_of_run("did", "two tabs wrote the token at once"),
        ],
        links: link.into_iter().collect(),
        learning: [begin(), step(1), end()].map(inferred).into(),
        cursor: Some(("host".to_owned(), 7)),
    }
}

fn outcome_record(memory: &Snapshot) -> Option<RecordId> {
    let found = memory.newest_records(9).into_iter().flatten();
    let mut left = found.filter(|one| one.source == MemorySource::TrajectoryOutcome);
    left.next().map(|one| one.id)
}

fn open_on(disk: &SimDisk) -> Engine {
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let options = EngineOptions::new(DIMENSIONS as u16, 42, now);
    let opened = Engine::open(Arc::new(disk.clone()), Path::new("/m/memory.rvf"), &options);
    opened.unwrap().0
}

#[test]
pub(super) fn a_batch_is_on_disk_whole_or_not_at_all() {
    let now = parse_timestamp("2026-02-16T09:00:01Z").unwrap();
    let play = |engine: &mut Engine| -> Result<WriteBatchReport, EngineError> {
        engine.observe(week(), None, now)?;
        engine.write(whole_run(now), now)
    };
    let dry = SimDisk::new();
    let mut engine = open_on(&dry);
    let first = dry.sync_count();
    let written = play(&mut engine).unwrap();
    assert!(written.learning.iter().all(Result::is_ok), "{written:?}");
    assert_eq!(engine.log.seq().0, 2, "two calls, two commits");
    assert_eq!(
        written.unembedded,
        [outcome_record(&engine.snapshot()).unwrap()]
    );
    let (mut none, mut all) = (0, 0);
    for sync in first..dry.sync_count() {
        for scattered in [false, true] {
            let disk = SimDisk::new();
            disk.cut_power_at_sync(sync);
            let failed = play(&mut open_on(&disk)).is_err();
            assert!(failed);
            let crash = if scattered {
                Crash::Scattered(sync)
            } else {
                Crash::Prefix(disk.pending_bytes())
            };
            let engine = open_on(&disk.crash(crash));
            let memory = engine.snapshot();
            let left = outcome_record(&memory);
            let cited = left.map_or(0, |left| memory.sources(left).len());
            let has = (
                memory.ordinal_count(),
                engine.learning_state().run_count(),
                memory.all_links().count(),
                cited,
                engine.stream_cursor("host"),
            );
            match has {
                (0 | 7, 0, 0, 0, None) => none += 1,
                (10, 1, 3, 2, Some(7)) => all += 1,
                part => panic!("sync {sync}: {part:?}"),
            }
        }
    }
    assert!(none > 1 && all > 0, "{none} {all}");
}

#[test]
pub(super) fn a_run_leaves_all_of_its_records_however_many_came_in_between() {
    let mut bench = EngineBench::new();
    let now = bench.now;
    let batch = WriteBatch::of_run(RunWrite::new(now, begin()));
    bench.engine().write(batch, now).unwrap();
    bench.insert(vec![note_of_run("asked", "why are users logged out?")]);
    for part in 0..3 {
        let other = |n| record(&format!("{part}-{n}"), &format!("{part} {n}"), 2, "other");
        bench.insert((0..400).map(other).collect());
    }
    let kept = bench.insert(vec![note_of_run("did", "two tabs wrote the token at once")]);
    let now = bench.now;
    bench.engine().write_run_action(end(), now).unwrap();
    let memory = bench.engine().snapshot();
    let left = memory
        .get(outcome_record(&memory).unwrap())
        .unwrap()
        .unwrap();
    assert!(left.text.starts_with("why are users"), "{}", left.text);
    assert_eq!(memory.sources(left.id).len(), 2);
    assert_eq!(memory.sources(left.id)[1], inserted_ids(&kept)[0]);
}

#[test]
pub(super) fn what_is_distilled_or_stands_for_others_is_one_commit_with_its_links() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let (now, before) = (bench.now, bench.engine().log.seq().0);
    let made = record("made", "logins race", 0, "tue");
    let made = bench
        .engine()
        .insert_distilled(made, &ids[..3], now)
        .unwrap()
        .unwrap();
    assert_eq!(bench.engine().log.seq().0, before + 1);
    retiring::retire_into(&mut bench, made, &ids[3..5]);
    assert_eq!(bench.engine().log.seq().0, before + 2);
    let memory = bench.engine().snapshot();
    assert_eq!(memory.sources(made).len(), 5);
    assert_eq!(
        (memory.merged_into(ids[3]), memory.retirements().len()),
        (Some(made), 2)
    );
}

#[test]
pub(super) fn a_link_between_two_that_are_corrected_at_once_leads_between_their_corrections() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    bench
        .engine()
        .link(ids[0], ids[1], "caused_by", now)
        .unwrap();
    bench.engine().link(ids[1], ids[3], "blocks", now).unwrap();
    let corrected = [(1, "auth-2b"), (0, "auth-1b")].map(|(old, name)| {
        let mut new = record(name, name, 0, "tue");
        new.supersedes = Some(ids[old]);
        new
    });
    let new = inserted_ids(&bench.insert(corrected.into()));
    for _ in 0..2 {
        let memory = bench.engine().snapshot();
        let links: Vec<_> = memory.all_links().collect();
        let expected = [(new[0], ids[3], "blocks"), (new[1], new[0], "caused_by")];
        assert_eq!(links, expected);
        bench.reopen();
    }
}

#[test]
fn a_correction_takes_over_how_often_its_forerunner_was_said() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    bench.engine().mark_seen_again(&ids[..1], now).unwrap();
    let mut new = record("auth-1b", "users are logged out", 0, "tue");
    new.supersedes = Some(ids[0]);
    let new = inserted_ids(&bench.insert(vec![new]))[0];
    for _ in 0..2 {
        let seen = bench.engine().snapshot().seen_stats(new);
        assert_eq!(seen.map(|seen| seen.seen_count), Some(2));
        bench.reopen();
    }
}

#[test]
pub(super) fn what_is_refused_of_a_run_holds_up_nothing_else_of_its_batch() {
    let mut bench = EngineBench::new();
    let now = bench.now;
    let mut batch = whole_run(now);
    batch.learning.remove(0);
    batch
        .learning
        .push(RunWrite::new(now + Duration::seconds(1), begin()));
    let written = bench.engine().write(batch, now).unwrap();
    let fates: Vec<bool> = written.learning.iter().map(Result::is_ok).collect();
    assert_eq!(
        fates,
        [false, false, true],
        "it had not begun; then it begins"
    );
    assert!(matches!(
        written.outcomes[..],
        [WriteOutcome::Inserted { .. }, _]
    ));
    assert_eq!(bench.engine().stream_cursor("host"), Some(7));
    let mut joined = WriteBatch::default();
    joined.append(WriteBatch {
        records: vec![record("before", "something else", 2, "mon")],
        ..WriteBatch::default()
    });
    joined.append(whole_run(now));
    let mut fresh = EngineBench::new();
    let written = fresh.engine().write(joined, now).unwrap();
    let ids = inserted_ids(&written.outcomes);
    let memory = fresh.engine().snapshot();
    let link: Vec<_> = memory.all_links().take(1).collect();
    assert_eq!(
        link,
        [(ids[2], ids[1], "answers")],
        "places move with the batch"
    );
}
