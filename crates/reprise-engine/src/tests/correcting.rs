//! External ids belong to the newest version of a record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Duration, Utc};
use reprise_simulation::{DiskCall, ObservedDisk};
use reprise_types::{
    ExternalId, NewRecord, RecallRequest, RecordId, WriteOutcome, parse_timestamp,
};

use super::{DIMENSIONS, EngineBench, record};
use crate::{Engine, EngineOptions, ExportEntry, ForgetSelector, join_logs};

fn external_id() -> ExternalId {
    ExternalId::new(ExternalId::BATCH, "a")
}

fn insert_one(bench: &mut EngineBench, record: NewRecord) -> WriteOutcome {
    let mut outcomes = bench.insert(vec![record]);
    outcomes.pop().unwrap()
}

fn inserted_id(outcome: &WriteOutcome) -> RecordId {
    match outcome {
        WriteOutcome::Inserted { id } => *id,
        other => panic!("{other:?}"),
    }
}

/// Builds a correction that has nothing but a text and the id of what it corrects.
fn correction(of: RecordId, text: &str) -> NewRecord {
    let mut new = record("", text, 1, "s");
    new.external_ids = vec![ExternalId::new(ExternalId::REQUEST, text)];
    new.supersedes = Some(of);
    new
}

#[test]
fn the_last_of_many_versions_reads_as_little_as_the_first() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let disk = ObservedDisk::new(move |call| {
        let is_read = usize::from(call == DiskCall::Read);
        counted.fetch_add(is_read, Ordering::Relaxed);
    });
    let folder = tempfile::tempdir().unwrap();
    let mut now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let mut options = EngineOptions::new(DIMENSIONS as u16, 42, now);
    options.create = true;
    let path = folder.path().join("memory.rvf");
    let mut engine = Engine::open(Arc::new(disk), &path, &options).unwrap().0;
    let update = |name: &str, version: usize| {
        // All of them are more than the store's own cache holds.
        let text = format!("version {version} of {name}{}", " and on".repeat(1_000));
        let mut new = record(name, &text, version, "s");
        new.replaces_known_id = true;
        new
    };
    // More than are held.
    let others: Vec<String> = (0..40).map(|other| format!("other {other}")).collect();
    for version in 0..2 {
        now += Duration::seconds(1);
        let batch = others.iter().map(|name| update(name, version)).collect();
        engine.observe(batch, None, now).unwrap();
    }
    let mut costs = Vec::new();
    for version in 0..400 {
        // Readers ask for others meanwhile.
        let snapshot = engine.snapshot();
        for name in &others {
            assert!(snapshot.is_known(&update(name, 0)));
        }
        let before = reads.load(Ordering::Relaxed);
        let new = update("a", version);
        now += Duration::seconds(1);
        let outcomes = engine.observe(vec![new], None, now).unwrap();
        assert!(matches!(outcomes[..], [WriteOutcome::Inserted { .. }]));
        costs.push(reads.load(Ordering::Relaxed) - before);
    }
    let (first, last) = (costs[10..60].iter(), costs[350..].iter());
    let (first, last): (usize, usize) = (first.sum(), last.sum());
    assert!(last <= 2 * first + 50, "{first} reads, then {last}");
    // A text of before is known, also after one was forgotten.
    let outcomes = engine.observe(vec![update("a", 7)], None, now).unwrap();
    assert!(matches!(
        outcomes[..],
        [WriteOutcome::Duplicate { differs: false, .. }]
    ));
}

#[test]
pub(super) fn a_correction_takes_the_names_over_and_the_first_text_stays_known() {
    let mut bench = EngineBench::new();
    let mut first = record("a", "one", 1, "s");
    let request = ExternalId::new(ExternalId::REQUEST, "first");
    first.external_ids.push(request.clone());
    let first = inserted_id(&insert_one(&mut bench, first));
    let second = inserted_id(&insert_one(&mut bench, correction(first, "two")));
    let third = inserted_id(&insert_one(&mut bench, correction(second, "three")));
    for _ in 0..3 {
        let engine = bench.engine();
        assert_eq!(
            engine.snapshot().find_by_external_id(&external_id()),
            Some(third)
        );
        assert_eq!(
            engine.snapshot().find_by_external_id(&request),
            Some(first),
            "a request's is its own"
        );
        let known = engine.snapshot().get(third).unwrap().unwrap();
        assert!(
            known.external_ids.contains(&external_id()) && !known.external_ids.contains(&request)
        );
        for (text, differs) in [
            ("one", false),
            ("two", false),
            ("three", false),
            ("four", true),
        ] {
            let again = insert_one(&mut bench, record("a", text, 1, "s"));
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
    let refused = insert_one(&mut bench, correction(before, "of nothing"));
    assert!(matches!(refused, WriteOutcome::Rejected { .. }));
}

#[test]
pub(super) fn an_update_replaces_what_it_does_not_say_and_nothing_else() {
    let mut bench = EngineBench::new();
    let update = |text: &str| {
        let mut new = record("a", text, 1, "s");
        new.replaces_known_id = true;
        new
    };
    let first = inserted_id(&insert_one(&mut bench, update("one")));
    assert!(bench.engine().snapshot().is_known(&update("one")));
    assert!(
        !bench.engine().snapshot().is_known(&update("two")),
        "it needs a vector"
    );
    let other = inserted_id(&insert_one(&mut bench, record("b", "other", 2, "s")));
    let both = bench.insert(vec![update("two"), update("three"), update("one")]);
    let third = inserted_id(&both[1]);
    let known = WriteOutcome::Duplicate {
        of: third,
        differs: false,
    };
    assert_eq!(both[2], known, "what it said once is no news");
    let memory = bench.engine().snapshot();
    assert_eq!(memory.current_version(first), Some(third));
    assert_eq!(bench.engine().stats().live, 2);
    // One of its external ids belongs to another record.
    let mut mixed = update("four");
    mixed
        .external_ids
        .push(ExternalId::new(ExternalId::BATCH, "b"));
    let refused = insert_one(&mut bench, mixed);
    assert!(matches!(refused, WriteOutcome::Duplicate { of, .. } if of == other));
    let (now, external) = (bench.now, ForgetSelector::External(external_id()));
    bench.engine().forget(&external, "asked", now).unwrap();
    let gone = insert_one(&mut bench, update("five"));
    assert!(
        matches!(gone, WriteOutcome::Duplicate { differs: false, .. }),
        "it stays gone"
    );
    assert_eq!(bench.engine().stats().live, 1);
}

#[test]
pub(super) fn a_bare_text_that_was_learned_is_not_kept_again() {
    let mut bench = EngineBench::new();
    let bare = |text: &str| {
        let mut new = record("", text, 1, "");
        new.external_ids.clear();
        new
    };
    let learned = |engine: &Engine| {
        let mut new = bare("one");
        new.external_ids
            .extend(engine.snapshot().find_learned_text("one").err());
        new
    };
    let new = learned(bench.engine());
    let first = inserted_id(&insert_one(&mut bench, new));
    assert_eq!(
        bench.engine().snapshot().find_learned_text("one"),
        Ok(first)
    );
    let again = insert_one(&mut bench, bare("one"));
    assert!(matches!(again, WriteOutcome::Duplicate { of, .. } if of == first));
    inserted_id(&insert_one(&mut bench, record("named", "one", 1, "")));
    inserted_id(&insert_one(&mut bench, bare("two")));
    inserted_id(&insert_one(&mut bench, bare("two")));
    let now = bench.now;
    let forget = ForgetSelector::Id(first);
    bench.engine().forget(&forget, "asked", now).unwrap();
    let new = learned(bench.engine());
    assert_ne!(
        inserted_id(&insert_one(&mut bench, new)),
        first,
        "it may be learned again"
    );
}

#[test]
pub(super) fn a_merge_carries_corrections_and_vectors_and_is_done_once() {
    let mut parent = EngineBench::new();
    let first = inserted_id(&insert_one(&mut parent, record("a", "one", 1, "s")));
    let folder = tempfile::tempdir().unwrap();
    let mut options = EngineOptions::new(DIMENSIONS as u16, 43, parent.now);
    options.create = true;
    let disk = Arc::new(reprise_store::RealDisk);
    let path = folder.path().join("memory.rvf");
    let mut branch = Engine::open(disk, &path, &options).unwrap().0;
    parent
        .engine()
        .fork_into(&mut branch, "fork", None)
        .unwrap();
    let now = parent.now + Duration::minutes(1);
    let two = branch
        .observe(vec![correction(first, "two")], None, now)
        .unwrap();
    // The parent is corrected too; the branch's correction is later.
    let own = inserted_id(&insert_one(&mut parent, correction(first, "own")));
    for (text, added) in [("two", 1), ("two", 0), ("three", 1), ("three", 0)] {
        if (text, added) == ("three", 1) {
            let three = correction(inserted_id(&two[0]), "three");
            branch.observe(vec![three], None, now).unwrap();
        }
        let merged = parent
            .engine()
            .merge_branch(&branch.snapshot(), now)
            .unwrap();
        assert_eq!((merged.added, merged.known), (added, 1 - added), "{text}");
        let engine = parent.engine();
        let newest = engine
            .snapshot()
            .find_by_external_id(&external_id())
            .unwrap();
        let memory = engine.snapshot();
        assert_eq!(memory.get(newest).unwrap().unwrap().text, text);
        assert_eq!(memory.current_version(own), Some(newest));
        assert!(memory.vector(newest).is_some(), "{text} keeps its vector");
        assert_eq!(engine.stats().live, 1);
    }
}

/// Compacts and folds the log anew, and that again; each time the saved is what the log says.
fn assert_sound_by_compaction_and_rebuild(bench: &mut EngineBench) {
    for _ in 0..2 {
        bench.engine().compact().unwrap();
        let report = bench.engine().check().unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        bench.engine().rebuild().unwrap();
    }
}

/// Returns a memory in which a text was corrected, what was corrected, and an instant before that.
fn correct_a_port() -> (EngineBench, RecordId, DateTime<Utc>) {
    let mut bench = EngineBench::new();
    let other = record("other", "lunch is at noon", 5, "thu");
    insert_one(&mut bench, other);
    let old = record("old", "the port is 8080", 3, "mon");
    let old = inserted_id(&insert_one(&mut bench, old));
    let between = bench.now + Duration::milliseconds(500);
    let mut new = record("new", "the port is 9090", 3, "tue");
    new.supersedes = Some(old);
    inserted_id(&insert_one(&mut bench, new));
    bench.now += Duration::seconds(9);
    (bench, old, between)
}

fn forget_the_correction(bench: &mut EngineBench) {
    let (now, tuesday) = (bench.now, ForgetSelector::Session("tue".into()));
    let gone = bench.engine().forget(&tuesday, "asked", now).unwrap();
    assert_eq!(gone.len(), 1);
}

fn fork_as_of(parent: &mut EngineBench, as_of: Option<DateTime<Utc>>) -> EngineBench {
    let mut branch = EngineBench::new();
    branch.now = parent.now;
    let parent = parent.engine();
    parent
        .fork_into(branch.engine(), "fork/ada", as_of)
        .unwrap();
    branch
}

fn export_entries(bench: &mut EngineBench) -> Vec<ExportEntry> {
    let mut all = Vec::new();
    let engine = bench.engine();
    engine.export_log(&mut |entry| all.push(entry)).unwrap();
    all
}

fn import_entries(entries: Vec<ExportEntry>) -> EngineBench {
    let mut copy = EngineBench::new();
    copy.engine().import_log(entries).unwrap();
    copy
}

/// Returns since when a stored record is replaced.
fn when_replaced(bench: &mut EngineBench, id: RecordId) -> Option<DateTime<Utc>> {
    let memory = bench.engine().snapshot();
    let ordinal = memory.index.find(id).unwrap();
    memory.index.doc(ordinal).unwrap().superseded_at()
}

#[test]
fn what_was_corrected_stays_replaced_in_a_copy_after_its_correction_is_forgotten() {
    for steps in 0..4 {
        let (mut bench, old, between) = correct_a_port();
        let with_correction = export_entries(&mut bench);
        forget_the_correction(&mut bench);
        for step in 0..steps {
            match step {
                1 => drop(bench.engine().compact().unwrap()),
                _ => bench.engine().rebuild().unwrap(),
            }
        }
        let exported = export_entries(&mut bench);
        let imported = import_entries(exported.clone());
        let again = export_entries(&mut import_entries(exported.clone()));
        assert_eq!(again, exported, "{steps}");
        let joined = join_logs(exported.clone(), with_correction.clone()).entries;
        let other_way = join_logs(with_correction, exported).entries;
        assert_eq!(joined, other_way, "{steps}");
        let (now, replaced_at) = (bench.now, when_replaced(&mut bench, old));
        assert!(replaced_at.is_some(), "{steps}");
        let copies = [
            ("fork", fork_as_of(&mut bench, None), replaced_at),
            (
                "fork of now",
                fork_as_of(&mut bench, Some(now)),
                replaced_at,
            ),
            ("fork of then", fork_as_of(&mut bench, Some(between)), None),
            ("import", imported, replaced_at),
            ("joined", import_entries(joined), replaced_at),
        ];
        for (copied, mut copy, expected) in copies {
            copy.now = bench.now;
            for round in 0..4 {
                let place = format!("{steps} steps, {copied}, round {round}");
                assert_eq!(when_replaced(&mut copy, old), expected, "{place}");
                let is_current = copy.engine().snapshot().is_live(old);
                assert_eq!(is_current, expected.is_none(), "{place}");
                let report = copy.engine().check().unwrap();
                assert!(report.is_sound(), "{place}: {:?}", report.findings);
                match round {
                    0 => copy.reopen(),
                    1 => copy.engine().rebuild().unwrap(),
                    _ => drop(copy.engine().compact().unwrap()),
                }
            }
        }
    }
}

#[test]
fn what_was_corrected_stays_replaced_after_its_correction_is_forgotten() {
    let (mut bench, _, between) = correct_a_port();
    forget_the_correction(&mut bench);
    let mut as_of = RecallRequest::new("the port");
    as_of.as_of = Some(between);
    let then = bench.ask_with(&as_of, Some(3));
    let then: Vec<String> = EngineBench::ids(&then)
        .into_iter()
        .map(String::from)
        .collect();
    assert!(then.iter().any(|id| id == "old"));
    let ways: [fn(&mut Engine); 4] = [
        |_| {},
        |engine| {
            engine.compact().unwrap();
        },
        |engine| engine.rebuild().unwrap(),
        |engine| {
            engine.compact().unwrap();
        },
    ];
    for (way, change) in ways.into_iter().enumerate() {
        change(bench.engine());
        for place in ["as it is", "opened again", "folded again"] {
            let answer = bench.ask("the port", 3);
            let place = format!("way {way}, {place}");
            assert!(!EngineBench::ids(&answer).contains(&"old"), "{place}");
            assert_eq!(bench.engine().stats().live, 1, "{place}");
            let answer = bench.ask_with(&as_of, Some(3));
            assert_eq!(EngineBench::ids(&answer), then, "{place}");
            let report = bench.engine().check().unwrap();
            assert!(report.is_sound(), "{place}: {:?}", report.findings);
            if place.ends_with("it is") {
                bench.reopen();
            } else {
                bench.engine().rebuild().unwrap();
            }
        }
    }
    // Once that is forgotten, too, nothing tells of it but what was kept of both.
    let now = bench.now;
    let monday = ForgetSelector::Session("mon".into());
    let gone = bench.engine().forget(&monday, "asked", now).unwrap();
    assert_eq!(gone.len(), 1);
    assert_sound_by_compaction_and_rebuild(&mut bench);
}

#[test]
fn what_was_forgotten_before_its_correction_stays_gone() {
    let mut bench = EngineBench::new();
    let old = record("old", "the port is 8080", 3, "mon");
    let old = inserted_id(&insert_one(&mut bench, old));
    let mut new = record("new", "the port is 9090", 3, "tue");
    new.supersedes = Some(old);
    inserted_id(&insert_one(&mut bench, new));
    let now = bench.now;
    let monday = ForgetSelector::Session("mon".into());
    let gone = bench.engine().forget(&monday, "asked", now).unwrap();
    assert_eq!(gone.len(), 1);
    assert_sound_by_compaction_and_rebuild(&mut bench);
}
