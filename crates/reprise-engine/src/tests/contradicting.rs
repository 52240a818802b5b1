//! Of two records that contradict each other both answer, and the newer comes directly above.

use std::path::Path;
use std::sync::Arc;

use chrono::Duration;
use reprise_simulation::SimDisk;
use reprise_types::{Embedding, RecallRequest, RecallResponse, RecordId, parse_timestamp};

use super::{DIMENSIONS, EngineBench, inserted_ids, record, space, vector, week};
use crate::snapshot::annotation_index::CONTRADICTED;
use crate::{Engine, EngineOptions, ForgetSelector, apply_judgements};

const ASKED: &str = "How long is the timeout of the login page?";

/// Builds a memory in which the older of two ranks above the newer, with another record between
/// them.
fn memory_with_disputed_records() -> (EngineBench, [RecordId; 3]) {
    let mut bench = EngineBench::new();
    let nearby = |name: &str, text: &str, nudge: f32| {
        let mut record = record(name, text, 0, "tue");
        record.embedding = Some(Embedding::new(space(), vector(0, nudge)));
        record
    };
    let mut ids = Vec::new();
    for kept in [
        nearby("t-30", "The timeout of the login page is 30 seconds", 0.0),
        nearby("page", "the login page has a timeout that users see", 0.3),
        nearby("t-90", "The timeout of the login page is 90 seconds", 0.8),
        nearby("t-45", "The timeout of the login page is 45 seconds", 0.9),
        nearby("shed", "the shed was painted green", 5.0),
    ] {
        ids.extend(inserted_ids(&bench.insert(vec![kept])));
    }
    bench.now += Duration::seconds(1);
    (bench, [ids[0], ids[2], ids[3]])
}

fn scores(recall: &RecallResponse) -> Vec<(RecordId, u32)> {
    let results = recall.results.iter();
    let scores = results.map(|found| (found.record.id, found.score.to_bits()));
    scores.collect()
}

#[test]
pub(super) fn of_two_that_contradict_each_other_the_newer_stands_directly_above_the_older() {
    let (mut bench, [old, new, _]) = memory_with_disputed_records();
    let before = bench.ask(ASKED, 0);
    let first = ["t-30", "page", "t-90"];
    assert_eq!(EngineBench::ids(&before)[..3], first);
    let now = bench.now;
    let pairs = [(old, new), (new, new)];
    let (at, count) = bench.engine().mark_contradictions(&pairs, now).unwrap();
    assert_eq!(count, 1);
    for round in 0..3 {
        if round == 1 {
            bench.engine().checkpoint().unwrap();
        }
        let answer = bench.ask(ASKED, 0);
        assert_eq!(EngineBench::ids(&answer)[..3], ["t-90", "t-30", "page"]);
        let [newer, older] = &answer.results[..2] else {
            panic!("{answer:?}");
        };
        assert!(newer.score > older.score);
        assert_eq!(older.why.contradicted_by, Some(new));
        assert!(older.why.reason.contains(&format!("contradicted by {new}")));
        let parts = newer.why.signals.iter();
        let logit: f32 = parts.map(|part| part.contribution).sum();
        assert!((1.0 / (1.0 + (-logit).exp()) - newer.score).abs() < 1e-4);
        // Another judge does not separate them.
        let mut answer = answer;
        assert!(apply_judgements(&mut answer, &[0.1, 0.9, 0.2], 10));
        assert_eq!(EngineBench::ids(&answer)[..2], ["t-90", "t-30"]);
        // As of an instant before it was noted they rank as they did, and the older is found.
        let mut request = RecallRequest::new(ASKED);
        request.as_of = Some(now - Duration::milliseconds(1));
        let then = bench.ask_with(&request, Some(0));
        assert_eq!(EngineBench::ids(&then)[..3], first);
        assert!(bench.engine().snapshot().links(old).is_empty());
        let report = bench.engine().check().unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
        bench.reopen();
    }
    bench.engine().compact().unwrap();
    assert_eq!(
        EngineBench::ids(&bench.ask(ASKED, 0))[..2],
        ["t-90", "t-30"]
    );
    bench.now += Duration::seconds(1);
    let now = bench.now;
    let back = bench.engine().undo_contradictions(at, now).unwrap();
    assert_eq!(back, [[old, new]]);
    assert_eq!(scores(&bench.ask(ASKED, 0)), scores(&before));
    // An undone contradiction is not noted again.
    assert_eq!(
        bench.engine().mark_contradictions(&pairs, now).unwrap().1,
        0
    );
    bench.engine().compact().unwrap();
    bench.reopen();
    assert_eq!(
        bench.engine().mark_contradictions(&pairs, now).unwrap().1,
        0
    );
    let noted = bench.engine().snapshot().contradictions();
    assert_eq!((noted.len(), noted[0].at_micros), (1, at));
    assert!(noted[0].undone_micros.is_some());
}

#[test]
pub(super) fn the_newest_of_several_stands_first_and_what_was_said_of_a_pair_ends_with_it() {
    let (mut bench, [old, new, newest]) = memory_with_disputed_records();
    let now = bench.now;
    let pairs = [(old, new), (old, newest), (new, newest)];
    bench.engine().mark_contradictions(&pairs, now).unwrap();
    let order = ["t-45", "t-90", "t-30", "page"];
    let answer = bench.ask(ASKED, 0);
    assert_eq!(EngineBench::ids(&answer)[..4], order);
    assert_eq!(answer.results[2].why.contradicted_by, Some(newest));
    // Somebody marks the first two as different.
    bench.engine().mark_distinct(new, old, now).unwrap();
    bench.now += Duration::seconds(1);
    let now = bench.now;
    let held = |bench: &mut EngineBench| {
        let noted = bench.engine().snapshot().contradictions().into_iter();
        noted.filter(|one| one.undone_micros.is_none()).count()
    };
    assert_eq!(held(&mut bench), 2);
    // Another text may contradict nothing.
    let mut corrected = record(
        "t-45b",
        "The timeout of the login page is in its settings",
        0,
        "tue",
    );
    corrected.supersedes = Some(newest);
    bench.insert(vec![corrected]);
    let answer = bench.ask(ASKED, 0);
    assert!(
        answer
            .results
            .iter()
            .all(|one| one.why.contradicted_by.is_none())
    );
    let forgotten = ForgetSelector::Id(newest);
    bench.engine().forget(&forgotten, "asked", now).unwrap();
    assert_eq!(held(&mut bench), 0);
}

#[test]
pub(super) fn of_one_record_eight_newer_ones_are_noted_and_in_one_call_no_more() {
    let mut bench = EngineBench::new();
    let kept = (0..10).map(|n| {
        let text = format!("The timeout of the login page is {n} seconds");
        record(&format!("t-{n}"), &text, 0, "tue")
    });
    let ids = inserted_ids(&bench.insert(kept.collect()));
    let (old, newer) = ids.split_first().unwrap();
    let pairs: Vec<_> = newer.iter().map(|newer| (*old, *newer)).collect();
    let now = bench.now;
    for expected in [8, 0] {
        assert_eq!(
            bench.engine().mark_contradictions(&pairs, now).unwrap().1,
            expected
        );
    }
}

#[test]
pub(super) fn who_says_that_two_are_different_is_heeded_at_once_and_later() {
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let disk = SimDisk::new();
    let options = EngineOptions::new(DIMENSIONS as u16, 42, now);
    let path = Path::new("/m/memory.rvf");
    let mut engine = Engine::open(Arc::new(disk.clone()), path, &options)
        .unwrap()
        .0;
    let ids = inserted_ids(&engine.observe(week(), None, now).unwrap());
    let held = |engine: &Engine| {
        let noted = engine.snapshot().contradictions().into_iter();
        noted.filter(|one| one.undone_micros.is_none()).count()
    };
    // Both directions end in the commit that marks them as different.
    let both = [(ids[0], ids[1]), (ids[1], ids[0])];
    assert_eq!(engine.mark_contradictions(&both, now).unwrap().1, 2);
    let syncs = disk.sync_count();
    assert!(engine.mark_distinct(ids[1], ids[0], now).unwrap());
    assert_eq!((held(&engine), disk.sync_count() - syncs), (0, 1));
    // A contradiction that an older build noted all the same ends once they are marked again.
    let noted = vec![(ids[0], ids[1])];
    engine.link_all_with(CONTRADICTED, noted, now).unwrap();
    assert!(!engine.mark_distinct(ids[0], ids[1], now).unwrap());
    assert_eq!(held(&engine), 0);
    // An older plan notes nothing.
    assert!(engine.mark_distinct(ids[3], ids[4], now).unwrap());
    let late = engine.mark_contradictions(&[(ids[3], ids[4])], now);
    assert_eq!((late.unwrap().1, held(&engine)), (0, 0));
}

#[test]
fn that_two_are_different_is_taken_back_with_the_contradiction_that_it_ended_and_stays_so() {
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let (disk, path) = (SimDisk::new(), Path::new("/m/memory.rvf"));
    let options = EngineOptions::new(DIMENSIONS as u16, 42, now);
    let open = || {
        let opened = Engine::open(Arc::new(disk.clone()), path, &options);
        opened.unwrap().0
    };
    let mut engine = open();
    let ids = inserted_ids(&engine.observe(week(), None, now).unwrap());
    let pair = [ids[0], ids[1]];
    let state = |engine: &Engine| {
        let memory = engine.snapshot();
        let held = memory.contradictions().into_iter();
        let held = held.filter(|one| one.undone_micros.is_none()).count();
        (memory.are_distinct(pair[0], pair[1]), held)
    };
    let noted = engine.mark_contradictions(&[(pair[0], pair[1])], now);
    assert_eq!(noted.unwrap().1, 1);
    for round in 0..2 {
        assert!(engine.mark_distinct(pair[1], pair[0], now).unwrap());
        assert_eq!(state(&engine), (true, 0), "{round}");
        let marked = engine.snapshot().distinctions();
        let last = marked.last().unwrap();
        assert_eq!((marked.len(), last.undone_micros), (round + 1, None));
        let at = last.at_micros;
        let syncs = disk.sync_count();
        let back = engine.unmark_distinct(at, now).unwrap();
        assert_eq!((back.len(), disk.sync_count() - syncs), (1, 1));
        assert_eq!(state(&engine), (false, 1), "{round}");
        // What is compared at the next tending includes them.
        let changes = engine.snapshot().changes_since(at);
        assert!(!changes.is_empty());
        // A second time does nothing, and neither does another instant.
        assert!(engine.unmark_distinct(at, now).unwrap().is_empty());
        assert!(engine.unmark_distinct(at + 7, now).unwrap().is_empty());
        drop(engine);
        engine = open();
        assert_eq!(state(&engine), (false, 1), "{round}");
    }
}

#[test]
pub(super) fn what_contradicts_an_answer_pushes_nothing_out_of_the_first_ten() {
    let mut bench = EngineBench::new();
    let mut kept = vec![record(
        "t-30",
        "The timeout of the login page is 30 seconds",
        0,
        "tue",
    )];
    kept.extend((0..12).map(|n| {
        let text = format!("the login page has a timeout, says note {n}");
        record(&format!("note-{n}"), &text, 0, "tue")
    }));
    let mut new = record("t-90", "it has been 90 since Friday", 0, "tue");
    new.embedding = Some(Embedding::new(space(), vector(0, 5.0)));
    kept.push(new);
    let ids = inserted_ids(&bench.insert(kept));
    let asked = |bench: &mut EngineBench, top_k| {
        let mut request = RecallRequest::new(ASKED);
        request.top_k = top_k;
        let answer = bench.ask_with(&request, Some(0));
        let ids = EngineBench::ids(&answer).into_iter().map(str::to_owned);
        ids.collect::<Vec<_>>()
    };
    let before = asked(&mut bench, 10);
    assert!(
        before[0] == "t-30" && !before.contains(&"t-90".to_owned()),
        "{before:?}"
    );
    let now = bench.now;
    bench
        .engine()
        .mark_contradictions(&[(ids[0], ids[13])], now)
        .unwrap();
    assert_eq!(asked(&mut bench, 10), before);
    // The older says that it is over, wherever the newer is.
    let older = &bench.ask(ASKED, 0).results[0];
    assert_eq!(older.why.contradicted_by, Some(ids[13]));
    assert!(older.why.held_until.is_some());
    assert_eq!(asked(&mut bench, 20)[..2], ["t-90", "t-30"]);
}
