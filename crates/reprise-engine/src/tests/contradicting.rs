//! Of two records that contradict each other both answer, and the newer stands directly above.

use std::path::Path;
use std::sync::Arc;

use chrono::Duration;
use reprise_simulation::SimDisk;
use reprise_types::{Embedding, Recall, RecallRequest, RecordId, parse_timestamp};

use super::{Bench, DIMENSIONS, inserted, record, space, vector, week};
use crate::marks::CONTRARY;
use crate::{Engine, EngineOptions, ForgetSelector, judged};

const ASKED: &str = "How long is the timeout of the login page?";

/// A memory in which the older of two stands above the newer, and something between them.
fn disputed() -> (Bench, [RecordId; 3]) {
    let mut bench = Bench::new();
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
        ids.extend(inserted(&bench.keep(vec![kept])));
    }
    bench.now += Duration::seconds(1);
    (bench, [ids[0], ids[2], ids[3]])
}

fn scores(recall: &Recall) -> Vec<(RecordId, u32)> {
    let results = recall.results.iter();
    let scores = results.map(|found| (found.record.id, found.score.to_bits()));
    scores.collect()
}

#[test]
pub(super) fn of_two_that_contradict_each_other_the_newer_stands_directly_above_the_older() {
    let (mut bench, [old, new, _]) = disputed();
    let before = bench.ask(ASKED, 0);
    let first = ["t-30", "page", "t-90"];
    assert_eq!(Bench::ids(&before)[..3], first);
    let now = bench.now;
    let pairs = [(old, new), (new, new)];
    let (at, count) = bench.engine().contradict(&pairs, now).unwrap();
    assert_eq!(count, 1);
    for round in 0..3 {
        if round == 1 {
            bench.engine().checkpoint().unwrap();
        }
        let answer = bench.ask(ASKED, 0);
        assert_eq!(Bench::ids(&answer)[..3], ["t-90", "t-30", "page"]);
        let [newer, older] = &answer.results[..2] else {
            panic!("{answer:?}");
        };
        assert!(newer.score > older.score);
        assert_eq!(older.why.contradicted_by, Some(new));
        assert!(older.why.reason.contains(&format!("contradicted by {new}")));
        let parts = newer.why.signals.iter();
        let logit: f32 = parts.map(|part| part.contribution).sum();
        assert!((1.0 / (1.0 + (-logit).exp()) - newer.score).abs() < 1e-4);
        // Another judge does not part them.
        let mut answer = answer;
        assert!(judged(&mut answer, &[0.1, 0.9, 0.2], 10));
        assert_eq!(Bench::ids(&answer)[..2], ["t-90", "t-30"]);
        // As of before it was noted they stand as they stood, and the older is found.
        let mut request = RecallRequest::new(ASKED);
        request.as_of = Some(now - Duration::milliseconds(1));
        let then = bench.ask_with(&request, Some(0));
        assert_eq!(Bench::ids(&then)[..3], first);
        assert!(bench.engine().snapshot().links(old).is_empty());
        let report = bench.engine().check().unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
        bench.reopen();
    }
    bench.engine().compact().unwrap();
    assert_eq!(Bench::ids(&bench.ask(ASKED, 0))[..2], ["t-90", "t-30"]);
    bench.now += Duration::seconds(1);
    let now = bench.now;
    let back = bench.engine().take_back_contradictions(at, now).unwrap();
    assert_eq!(back, [[old, new]]);
    assert_eq!(scores(&bench.ask(ASKED, 0)), scores(&before));
    // What was taken back is not noted again.
    assert_eq!(bench.engine().contradict(&pairs, now).unwrap().1, 0);
    bench.engine().compact().unwrap();
    bench.reopen();
    assert_eq!(bench.engine().contradict(&pairs, now).unwrap().1, 0);
    let noted = bench.engine().snapshot().contradictions();
    assert_eq!((noted.len(), noted[0].at_micros), (1, at));
    assert!(noted[0].undone_micros.is_some());
}

#[test]
pub(super) fn the_newest_of_several_stands_first_and_what_was_said_of_a_pair_ends_with_it() {
    let (mut bench, [old, new, newest]) = disputed();
    let now = bench.now;
    let pairs = [(old, new), (old, newest), (new, newest)];
    bench.engine().contradict(&pairs, now).unwrap();
    let order = ["t-45", "t-90", "t-30", "page"];
    let answer = bench.ask(ASKED, 0);
    assert_eq!(Bench::ids(&answer)[..4], order);
    assert_eq!(answer.results[2].why.contradicted_by, Some(newest));
    // Somebody says that the first two are no contradiction.
    bench.engine().set_apart(new, old, now).unwrap();
    bench.now += Duration::seconds(1);
    let now = bench.now;
    let held = |bench: &mut Bench| {
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
    bench.keep(vec![corrected]);
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
    let mut bench = Bench::new();
    let kept = (0..10).map(|n| {
        let text = format!("The timeout of the login page is {n} seconds");
        record(&format!("t-{n}"), &text, 0, "tue")
    });
    let ids = inserted(&bench.keep(kept.collect()));
    let (old, newer) = ids.split_first().unwrap();
    let pairs: Vec<_> = newer.iter().map(|newer| (*old, *newer)).collect();
    let now = bench.now;
    for expected in [8, 0] {
        assert_eq!(bench.engine().contradict(&pairs, now).unwrap().1, expected);
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
    let ids = inserted(&engine.observe(week(), None, now).unwrap());
    let held = |engine: &Engine| {
        let noted = engine.snapshot().contradictions().into_iter();
        noted.filter(|one| one.undone_micros.is_none()).count()
    };
    // Both directions end in the commit that says so.
    let both = [(ids[0], ids[1]), (ids[1], ids[0])];
    assert_eq!(engine.contradict(&both, now).unwrap().1, 2);
    let syncs = disk.syncs();
    assert!(engine.set_apart(ids[1], ids[0], now).unwrap());
    assert_eq!((held(&engine), disk.syncs() - syncs), (0, 1));
    // What an older build noted all the same ends once it is said again.
    let noted = vec![(ids[0], ids[1])];
    engine.link_all_as(CONTRARY, noted, now).unwrap();
    assert!(!engine.set_apart(ids[0], ids[1], now).unwrap());
    assert_eq!(held(&engine), 0);
    // A plan from before that notes nothing.
    assert!(engine.set_apart(ids[3], ids[4], now).unwrap());
    let late = engine.contradict(&[(ids[3], ids[4])], now);
    assert_eq!((late.unwrap().1, held(&engine)), (0, 0));
}

#[test]
pub(super) fn what_contradicts_an_answer_pushes_nothing_out_of_the_first_ten() {
    let mut bench = Bench::new();
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
    let ids = inserted(&bench.keep(kept));
    let asked = |bench: &mut Bench, top_k| {
        let mut request = RecallRequest::new(ASKED);
        request.top_k = top_k;
        let answer = bench.ask_with(&request, Some(0));
        let ids = Bench::ids(&answer).into_iter().map(str::to_owned);
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
        .contradict(&[(ids[0], ids[13])], now)
        .unwrap();
    assert_eq!(asked(&mut bench, 10), before);
    assert_eq!(asked(&mut bench, 20)[..2], ["t-90", "t-30"]);
}
