//! A memory that is exported and imported again has the same records, finds the same and has
//! learned the same.

use super::learning::run_outcome;
use super::*;
use crate::{EngineError, ExportEntry, ForgetSelector};

fn export_entries(engine: &Engine) -> Vec<ExportEntry> {
    let mut told = Vec::new();
    engine.export_log(&mut |said| told.push(said)).unwrap();
    told
}

/// Builds a memory with corrections, tags, links, retirements, forgotten records and learning.
fn memory_with_history() -> (EngineBench, Vec<RecordId>) {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let mut correction = record("auth-4", "the auth race is in the refresh", 0, "wed");
    correction.supersedes = Some(ids[0]);
    let corrected = inserted_ids(&bench.insert(vec![correction]))[0];
    let now = bench.now + Duration::seconds(5);
    let engine = bench.engine();
    engine
        .set_tags(ids[1], &["Late Tag".to_owned()], now)
        .unwrap();
    engine.link(ids[1], corrected, "caused_by", now).unwrap();
    engine.link(ids[2], corrected, "related_to", now).unwrap();
    engine.unlink(ids[2], corrected, "related_to", now).unwrap();
    engine.retire(&[(ids[3], ids[2])], now).unwrap();
    engine
        .forget(&ForgetSelector::Id(ids[4]), "asked", now)
        .unwrap();
    for run in 0..3 {
        engine
            .report_outcome(&run_outcome(run, &ids[1..2], 0.9), now)
            .unwrap();
    }
    bench.now = now;
    bench.insert(vec![record("later", "kept after all that", 5, "thu")]);
    let now = bench.now;
    bench
        .engine()
        .observe(Vec::new(), Some(("events".to_owned(), 7)), now)
        .unwrap();
    (bench, ids)
}

#[test]
fn a_memory_made_of_what_another_told_is_the_same() {
    let (mut bench, ids) = memory_with_history();
    for compacted in [false, true] {
        if compacted {
            bench.engine().compact().unwrap();
        }
        let first = export_entries(bench.engine());
        // The entries are serialised and read again.
        let lines = serde_json::to_string(&first).unwrap();
        assert!(
            !lines.contains("idempotency"),
            "what is forgotten has no text"
        );
        let mut made = EngineBench::new();
        made.engine()
            .import_log(serde_json::from_str(&lines).unwrap())
            .unwrap();
        for round in 0..2 {
            assert_eq!(export_entries(made.engine()), first, "{compacted} {round}");
            let digest = |bench: &mut EngineBench| bench.engine().learning_state().digest();
            assert_eq!(digest(&mut made), digest(&mut bench), "{compacted} {round}");
            let (own, other) = (made.engine().snapshot(), bench.engine().snapshot());
            assert!(other.diff(&own).is_empty(), "{:?}", other.diff(&own));
            for id in &ids {
                assert_eq!(own.links(*id), other.links(*id));
                assert_eq!(own.current_version(*id), other.current_version(*id));
                assert_eq!(
                    own.version_history(*id).len(),
                    other.version_history(*id).len()
                );
            }
            assert_eq!(own.retirements(), other.retirements());
            assert_eq!(made.engine().stream_cursor("events"), Some(7));
            assert!(made.engine().check().unwrap().is_sound());
            made.reopen();
        }
        // A forgotten record does not come back, and a new one comes after the others.
        let again = made
            .engine
            .as_ref()
            .unwrap()
            .snapshot()
            .find_by_external_id(&week()[4].external_ids[0]);
        assert!(again.is_some(), "its name is known");
        let new = inserted_ids(&made.insert(vec![record("new", "after the move", 6, "fri")]))[0];
        assert!(new > *ids.last().unwrap());
    }
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let (mut bench, ids) = memory_with_history();
    let whole = export_entries(bench.engine());
    let refused = |told: Vec<ExportEntry>| {
        let mut made = EngineBench::new();
        let error = made.engine().import_log(told).unwrap_err();
        assert_eq!(made.engine().stats().live, 0, "{error}");
        error.to_string()
    };
    let mut turned = whole.clone();
    turned.swap(0, 1);
    assert!(refused(turned).contains("follow"));
    let mut empty = whole.clone();
    if let ExportEntry::Kept(record) = &mut empty[1] {
        record.text.clear();
    }
    assert!(refused(empty).contains("empty"));
    let unnamed = whole
        .iter()
        .filter(|said| !matches!(said, ExportEntry::Kept(one) if one.id == ids[1]));
    assert!(refused(unnamed.cloned().collect()).contains("before it was kept"));
    let error = bench.engine().import_log(whole).unwrap_err();
    assert!(matches!(error, EngineError::NotEmpty));
}
