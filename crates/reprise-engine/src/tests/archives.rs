//! A memory told in words and made anew of them says, finds and has learned the same.

use super::learning::outcome;
use super::*;
use crate::{EngineError, ForgetSelector, Said};

fn told(engine: &Engine) -> Vec<Said> {
    let mut told = Vec::new();
    engine.tell(&mut |said| told.push(said)).unwrap();
    told
}

/// Corrected, tagged, linked, put behind another, forgotten, learned from.
fn lived() -> (Bench, Vec<RecordId>) {
    let mut bench = Bench::new();
    let ids = inserted(&bench.keep(week()));
    let mut correction = record("auth-4", "the auth race is in the refresh", 0, "wed");
    correction.supersedes = Some(ids[0]);
    let corrected = inserted(&bench.keep(vec![correction]))[0];
    let now = bench.now + Duration::seconds(5);
    let engine = bench.engine();
    engine.tag(ids[1], &["Late Tag".to_owned()], now).unwrap();
    engine.link(ids[1], corrected, "caused_by", now).unwrap();
    engine.link(ids[2], corrected, "related_to", now).unwrap();
    engine.unlink(ids[2], corrected, "related_to", now).unwrap();
    engine.retire(&[(ids[3], ids[2])], now).unwrap();
    engine
        .forget(&ForgetSelector::Id(ids[4]), "asked", now)
        .unwrap();
    for run in 0..3 {
        engine.outcome(&outcome(run, &ids[1..2], 0.9), now).unwrap();
    }
    bench.now = now;
    bench.keep(vec![record("later", "kept after all that", 5, "thu")]);
    let now = bench.now;
    bench
        .engine()
        .observe(Vec::new(), Some(("events".to_owned(), 7)), now)
        .unwrap();
    (bench, ids)
}

#[test]
fn a_memory_made_of_what_another_told_is_the_same() {
    let (mut bench, ids) = lived();
    for compacted in [false, true] {
        if compacted {
            bench.engine().compact().unwrap();
        }
        let first = told(bench.engine());
        // Written down and read again.
        let lines = serde_json::to_string(&first).unwrap();
        assert!(
            !lines.contains("idempotency"),
            "what is forgotten has no text"
        );
        let mut made = Bench::new();
        made.engine()
            .retell(serde_json::from_str(&lines).unwrap())
            .unwrap();
        for round in 0..2 {
            assert_eq!(told(made.engine()), first, "{compacted} {round}");
            let digest = |bench: &mut Bench| bench.engine().learning().digest();
            assert_eq!(digest(&mut made), digest(&mut bench), "{compacted} {round}");
            let (own, other) = (made.engine().snapshot(), bench.engine().snapshot());
            assert!(other.diff(&own).is_empty(), "{:?}", other.diff(&own));
            for id in &ids {
                assert_eq!(own.links(*id), other.links(*id));
                assert_eq!(own.current(*id), other.current(*id));
                assert_eq!(own.versions(*id).len(), other.versions(*id).len());
            }
            assert_eq!(own.retired(), other.retired());
            assert_eq!(made.engine().cursor("events"), Some(7));
            assert!(made.engine().check().unwrap().is_sound());
            made.reopen();
        }
        // The forgotten does not come back, and what is new comes after what there is.
        let again = made
            .engine
            .as_ref()
            .unwrap()
            .duplicate_of(&week()[4].external_ids[0]);
        assert!(again.is_some(), "its name is known");
        let new = inserted(&made.keep(vec![record("new", "after the move", 6, "fri")]))[0];
        assert!(new > *ids.last().unwrap());
    }
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let (mut bench, ids) = lived();
    let whole = told(bench.engine());
    let refused = |told: Vec<Said>| {
        let mut made = Bench::new();
        let error = made.engine().retell(told).unwrap_err();
        assert_eq!(made.engine().stats().live, 0, "{error}");
        error.to_string()
    };
    let mut turned = whole.clone();
    turned.swap(0, 1);
    assert!(refused(turned).contains("follow"));
    let mut empty = whole.clone();
    if let Said::Kept(record) = &mut empty[1] {
        record.text.clear();
    }
    assert!(refused(empty).contains("empty"));
    let unnamed = whole
        .iter()
        .filter(|said| !matches!(said, Said::Kept(one) if one.id == ids[1]));
    assert!(refused(unnamed.cloned().collect()).contains("before it was kept"));
    let error = bench.engine().retell(whole).unwrap_err();
    assert!(matches!(error, EngineError::NotEmpty));
}
