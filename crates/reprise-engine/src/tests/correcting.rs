//! External ids belong to the newest version of a record.

use reprise_types::{ExternalId, NewRecord, RecordId, WriteOutcome};

use super::{Bench, DIMENSIONS, record};
use crate::{Engine, EngineOptions};

fn name() -> ExternalId {
    ExternalId::new(ExternalId::BATCH, "a")
}

fn only(bench: &mut Bench, record: NewRecord) -> WriteOutcome {
    let mut outcomes = bench.keep(vec![record]);
    outcomes.pop().unwrap()
}

fn inserted(outcome: &WriteOutcome) -> RecordId {
    match outcome {
        WriteOutcome::Inserted { id } => *id,
        other => panic!("{other:?}"),
    }
}

/// A correction that knows nothing but what it corrects.
fn correction(of: RecordId, text: &str) -> NewRecord {
    let mut new = record("", text, 1, "s");
    new.external_ids = vec![ExternalId::new(ExternalId::REQUEST, text)];
    new.supersedes = Some(of);
    new
}

#[test]
pub(super) fn a_correction_takes_the_names_over_and_the_first_text_stays_known() {
    let mut bench = Bench::new();
    let mut first = record("a", "one", 1, "s");
    let request = ExternalId::new(ExternalId::REQUEST, "first");
    first.external_ids.push(request.clone());
    let first = inserted(&only(&mut bench, first));
    let second = inserted(&only(&mut bench, correction(first, "two")));
    let third = inserted(&only(&mut bench, correction(second, "three")));
    for _ in 0..3 {
        let engine = bench.engine();
        assert_eq!(engine.duplicate_of(&name()), Some(third));
        assert_eq!(
            engine.duplicate_of(&request),
            Some(first),
            "a request's is its own"
        );
        let known = engine.snapshot().get(third).unwrap().unwrap();
        assert!(known.external_ids.contains(&name()) && !known.external_ids.contains(&request));
        for (text, differs) in [
            ("one", false),
            ("two", false),
            ("three", false),
            ("four", true),
        ] {
            let again = only(&mut bench, record("a", text, 1, "s"));
            assert_eq!(
                again,
                WriteOutcome::Duplicate { of: third, differs },
                "{text}"
            );
        }
        bench.engine().compact().unwrap();
        bench.reopen();
    }
    let before = RecordId::from_u128(7);
    let refused = only(&mut bench, correction(before, "of nothing"));
    assert!(matches!(refused, WriteOutcome::Rejected { .. }));
}

#[test]
pub(super) fn an_update_replaces_what_it_does_not_say_and_nothing_else() {
    let mut bench = Bench::new();
    let update = |text: &str| {
        let mut new = record("a", text, 1, "s");
        new.updates = true;
        new
    };
    let first = inserted(&only(&mut bench, update("one")));
    assert!(bench.engine().is_known(&update("one")));
    assert!(
        !bench.engine().is_known(&update("two")),
        "it needs a vector"
    );
    let other = inserted(&only(&mut bench, record("b", "other", 2, "s")));
    let both = bench.keep(vec![update("two"), update("three"), update("one")]);
    let third = inserted(&both[1]);
    let known = WriteOutcome::Duplicate {
        of: third,
        differs: false,
    };
    assert_eq!(both[2], known, "what it said once is no news");
    let memory = bench.engine().snapshot();
    assert_eq!(memory.current(first), Some(third));
    assert_eq!(bench.engine().stats().live, 2);
    // One of its names is another record's.
    let mut mixed = update("four");
    mixed
        .external_ids
        .push(ExternalId::new(ExternalId::BATCH, "b"));
    let refused = only(&mut bench, mixed);
    assert!(matches!(refused, WriteOutcome::Duplicate { of, .. } if of == other));
    let (now, external) = (bench.now, crate::ForgetSelector::External(name()));
    bench.engine().forget(&external, "asked", now).unwrap();
    let gone = only(&mut bench, update("five"));
    assert!(
        matches!(gone, WriteOutcome::Duplicate { differs: false, .. }),
        "it stays gone"
    );
    assert_eq!(bench.engine().stats().live, 1);
}

#[test]
pub(super) fn a_bare_text_that_was_learned_is_not_kept_again() {
    let mut bench = Bench::new();
    let bare = |text: &str| {
        let mut new = record("", text, 1, "");
        new.external_ids.clear();
        new
    };
    let learned = |engine: &Engine| {
        let mut new = bare("one");
        new.external_ids.extend(engine.learned("one").err());
        new
    };
    let new = learned(bench.engine());
    let first = inserted(&only(&mut bench, new));
    assert_eq!(bench.engine().learned("one"), Ok(first));
    let again = only(&mut bench, bare("one"));
    assert!(matches!(again, WriteOutcome::Duplicate { of, .. } if of == first));
    inserted(&only(&mut bench, record("named", "one", 1, "")));
    inserted(&only(&mut bench, bare("two")));
    inserted(&only(&mut bench, bare("two")));
    let now = bench.now;
    let forget = crate::ForgetSelector::Id(first);
    bench.engine().forget(&forget, "asked", now).unwrap();
    let new = learned(bench.engine());
    assert_ne!(
        inserted(&only(&mut bench, new)),
        first,
        "it may be learned again"
    );
}

#[test]
pub(super) fn a_merge_carries_corrections_and_vectors_and_is_done_once() {
    let mut parent = Bench::new();
    let first = inserted(&only(&mut parent, record("a", "one", 1, "s")));
    let folder = tempfile::tempdir().unwrap();
    let mut options = EngineOptions::new(DIMENSIONS as u16, 43, parent.now);
    options.create = true;
    let disk = std::sync::Arc::new(reprise_store::RealDisk);
    let path = folder.path().join("memory.rvf");
    let mut branch = Engine::open(disk, &path, &options).unwrap().0;
    parent
        .engine()
        .fork_into(&mut branch, "fork", None)
        .unwrap();
    let now = parent.now + chrono::Duration::minutes(1);
    let two = branch
        .observe(vec![correction(first, "two")], None, now)
        .unwrap();
    // The parent is corrected too; what the branch says comes later.
    let own = inserted(&only(&mut parent, correction(first, "own")));
    for (text, added) in [("two", 1), ("two", 0), ("three", 1), ("three", 0)] {
        if (text, added) == ("three", 1) {
            let three = correction(inserted(&two[0]), "three");
            branch.observe(vec![three], None, now).unwrap();
        }
        let merged = parent.engine().merge(&branch.snapshot(), now).unwrap();
        assert_eq!((merged.added, merged.known), (added, 1 - added), "{text}");
        let engine = parent.engine();
        let newest = engine.duplicate_of(&name()).unwrap();
        let memory = engine.snapshot();
        assert_eq!(memory.get(newest).unwrap().unwrap().text, text);
        assert_eq!(memory.current(own), Some(newest));
        assert!(memory.vector(newest).is_some(), "{text} keeps its vector");
        assert_eq!(engine.stats().live, 1);
    }
}
