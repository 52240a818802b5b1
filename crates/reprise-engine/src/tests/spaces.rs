//! Vectors of several models, and clocks that were wrong: neither prevents anything.

use super::*;
use crate::{ForgetSelector, IndexOrigin, RecallCall};
use reprise_types::{Embedding, MemoryFilter, UnrelatedCosines};

fn foreign_space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "other".into(),
        ..space()
    }
}

fn foreign_record(external: &str, axis: usize) -> NewRecord {
    let mut new = record(external, &format!("a text about {external}"), axis, "s");
    new.embedding = Some(Embedding::new(foreign_space(), vector(axis, 0.1)));
    new
}

/// Opens the bench's file with a configured model.
fn open_configured(bench: &mut EngineBench) -> IndexOrigin {
    open_with_space(bench, space())
}

/// Opens the bench's file, dropped as it is, with a model of this space.
pub(super) fn open_with_space(bench: &mut EngineBench, space: EmbeddingSpace) -> IndexOrigin {
    drop(bench.engine.take());
    let mut options = options_at(bench.now);
    options.space = Some(space);
    let opened = Engine::open(Arc::new(RealDisk), &bench.path(), &options);
    let (engine, report) = opened.unwrap();
    bench.engine = Some(engine);
    report.origin
}

/// Inserts vectors for all records that wait for one.
fn embed_all(bench: &mut EngineBench) -> usize {
    let waiting = bench.engine().unembedded_records(100);
    let made = waiting.into_iter().enumerate();
    let vectors = made.map(|(axis, (id, _))| (id, space(), vector(axis, 0.1)));
    let vectors = vectors.collect();
    bench.engine().insert_late_vectors(vectors).unwrap()
}

fn assert_sound(bench: &mut EngineBench) {
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn a_foreign_vector_on_an_empty_store_is_left_out_and_said() {
    let mut bench = EngineBench::new();
    open_configured(&mut bench);
    let mut wide = foreign_record("wide", 2);
    let wider = EmbeddingSpace {
        dimensions: 16,
        ..foreign_space()
    };
    let mut long = vec![0.0; 16];
    long[3] = 1.0;
    wide.embedding = Some(Embedding::new(wider, long));
    let ids = inserted_ids(&bench.insert(vec![foreign_record("one", 1), wide]));
    let kept = bench.engine().snapshot().get(ids[0]).unwrap().unwrap();
    assert_eq!(kept.metadata["embedding_space_left_out"], "other/1");
    assert!(kept.embedding_space.is_none());
    assert_eq!(bench.engine().stats().unembedded, 2);
    let own = inserted_ids(&bench.insert(vec![record("own", "of the model in use", 3, "s")]));
    assert_eq!(bench.engine().stats().unembedded, 2, "{own:?}");
    assert_eq!(embed_all(&mut bench), 2);
    assert_eq!(bench.engine().stats().unembedded, 0);
    assert_sound(&mut bench);
}

#[test]
fn the_model_takes_over_a_store_that_another_began() {
    let mut bench = EngineBench::new();
    bench.insert(vec![foreign_record("one", 1), foreign_record("two", 2)]);
    // No model is configured, so the late vectors decide.
    bench.insert(vec![record("three", "of the model in use", 3, "s")]);
    assert_eq!(bench.engine().stats().unembedded, 1);
    assert_eq!(embed_all(&mut bench), 1);
    assert_eq!(bench.engine().snapshot().space(), Some(&space()));
    let stats = bench.engine().stats();
    assert_eq!((stats.unembedded, stats.foreign_vectors), (2, 2));
    assert_eq!(embed_all(&mut bench), 2);
    assert_sound(&mut bench);
    bench.engine().checkpoint().unwrap();
    bench.reopen();
    let stats = bench.engine().stats();
    assert_eq!((stats.unembedded, stats.foreign_vectors), (0, 0));
    assert_eq!(bench.engine().snapshot().space(), Some(&space()));
    assert_sound(&mut bench);
}

#[test]
fn a_store_full_of_foreign_vectors_is_opened_by_the_configured_model() {
    let mut bench = EngineBench::new();
    let many = (0..20)
        .map(|n| foreign_record(&format!("n{n}"), n))
        .collect();
    bench.insert(many);
    bench.engine().checkpoint().unwrap();
    assert_eq!(open_configured(&mut bench), IndexOrigin::Rebuilt);
    let stats = bench.engine().stats();
    assert_eq!((stats.unembedded, stats.foreign_vectors), (20, 20));
    assert_sound(&mut bench);
    bench.engine().checkpoint().unwrap();
    assert_eq!(open_configured(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(embed_all(&mut bench), 20);
    bench.engine().compact().unwrap();
    assert_eq!(open_configured(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.engine().stats().unembedded, 0);
    assert_sound(&mut bench);
}

fn parse_time(text: &str) -> DateTime<Utc> {
    parse_timestamp(text).unwrap()
}

fn known_at(bench: &mut EngineBench, id: RecordId) -> DateTime<Utc> {
    let record = bench.engine().snapshot().get(id).unwrap();
    record.unwrap().known_at
}

#[test]
fn one_write_four_hundred_years_ahead_does_not_hold_time_up() {
    for reopened in [false, true] {
        let mut bench = EngineBench::new();
        let keep = |bench: &mut EngineBench, external: &str, now: DateTime<Utc>| {
            let new = record(external, external, 1, "s");
            inserted_ids(&bench.engine().observe(vec![new], None, now).unwrap())[0]
        };
        let before = keep(&mut bench, "before", parse_time("2026-02-16T09:00:00Z"));
        let ahead = keep(&mut bench, "ahead", parse_time("2426-02-16T09:00:00Z"));
        if reopened {
            bench.engine().checkpoint().unwrap();
            bench.reopen();
        }
        let now = parse_time("2026-02-16T09:00:05Z");
        let after = keep(&mut bench, "after", now);
        assert!(before < ahead && ahead < after, "ids still go up");
        assert_eq!(known_at(&mut bench, after), now);
        let said = bench.engine().count_known_after(now).unwrap();
        assert_eq!(said, (1, parse_time("2426-02-16T09:00:00Z")));
        assert_eq!(bench.engine().stats().last_ingest, Some(now));
        assert_sound(&mut bench);
        // A branch of the present has what was stored after the wrong clock, and not its time.
        let mut branch = EngineBench::new();
        let records = bench
            .engine()
            .fork_into(branch.engine(), "fork/ada", Some(now))
            .unwrap();
        assert_eq!(records, 2);
    }
}

#[test]
fn a_clock_set_back_a_little_is_bridged_across_a_restart() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let later = bench.now + Duration::minutes(30);
    bench
        .engine()
        .set_tags(ids[0], &["t".to_owned()], later)
        .unwrap();
    bench.engine().checkpoint().unwrap();
    for compacted in [false, true] {
        if compacted {
            bench.engine().compact().unwrap();
        }
        bench.reopen();
        let now = bench.now + Duration::minutes(10);
        let new = record(&format!("n{compacted}"), "text", 1, "s");
        let id = inserted_ids(&bench.engine().observe(vec![new], None, now).unwrap())[0];
        assert_eq!(known_at(&mut bench, id), later, "compacted: {compacted}");
    }
}

#[test]
fn more_than_one_commit_holds_is_kept_and_forgotten_at_once() {
    let mut bench = EngineBench::new();
    let many = |n: usize| {
        let mut new = record(&format!("n{n}"), &format!("text {n}"), n, "crowd");
        new.tags = vec!["all".into()];
        new
    };
    bench.insert((0..17_000).map(many).collect());
    bench.insert(week());
    let ids = inserted_ids(&bench.insert(vec![record("again", "more", 1, "crowd")]));
    let now = bench.now;
    let what = ForgetSelector::Session("crowd".into());
    let gone = bench.engine().forget(&what, "asked to", now).unwrap();
    assert_eq!((gone.len(), gone.last().unwrap().id), (17_001, ids[0]));
    assert_eq!(bench.engine().stats().live, 7);
    bench.reopen();
    let stats = bench.engine().stats();
    assert_eq!((stats.live, stats.forgotten), (7, 17_001));
    // A replay of the source does not bring them back.
    let again = bench.insert(vec![many(0), many(16_999)]);
    let known = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Duplicate { .. });
    assert!(again.iter().all(known), "{again:?}");
    bench.engine().compact().unwrap();
    let mut texts = 0;
    bench
        .engine()
        .visit_logged_texts(&mut |_| texts += 1)
        .unwrap();
    assert_eq!(texts, 7);
    assert_sound(&mut bench);
}

#[test]
fn without_a_model_a_file_says_itself_how_wide_it_is() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    drop(bench.engine.take());
    let mut options = EngineOptions::new(384, 42, bench.now);
    let open = |options: &_| Engine::open(Arc::new(RealDisk), &bench.path(), options);
    let found = open(&options).unwrap().0.stats();
    assert_eq!((found.live, found.unembedded), (7, 0));
    options.space = Some(EmbeddingSpace {
        dimensions: 384,
        ..space()
    });
    let found = open(&options).unwrap().0.stats();
    assert_eq!((found.unembedded, found.foreign_vectors), (7, 7));
}

/// Memories of this test's thread are told from now on how alike a narrow model finds all texts.
fn know_narrow(narrow: &EmbeddingSpace) {
    let narrow = narrow.clone();
    let cosines = UnrelatedCosines::new(0.78, 0.035);
    PARTS.with_borrow_mut(|parts| {
        let known = move |space: &EmbeddingSpace| (*space == narrow).then_some(cosines);
        parts.cosines = Some(Arc::new(known));
    });
}

#[test]
fn what_one_memory_is_told_of_a_model_changes_no_score_of_another() {
    let narrow = EmbeddingSpace {
        model: "of one memory alone".into(),
        ..space()
    };
    let ask = |is_told: bool| {
        if is_told {
            know_narrow(&narrow);
        }
        let mut bench = EngineBench::new();
        open_with_space(&mut bench, narrow.clone());
        let mut lines = week();
        for line in &mut lines {
            let vector = line.embedding.take().unwrap().vector;
            line.embedding = Some(Embedding::new(narrow.clone(), vector));
        }
        bench.insert(lines);
        let memory = bench.engine().snapshot();
        let (request, query) = (RecallRequest::new("who is logged out"), vector(0, 0.0));
        let call = RecallCall::new(&request, RecallId::from_u128(1), memory.learning_engine());
        let answer = memory.recall(&call.with_vectors(&[(&narrow, &query)]));
        PARTS.with_borrow_mut(|parts| parts.cosines = None);
        answer.results
    };
    let before = ask(false);
    assert_ne!(ask(true), before, "what is known of its model counts");
    assert_eq!(ask(false), before);
}

/// The distribution of a model's cosines is measured on all records, whichever may answer.
#[test]
fn a_filter_does_not_move_the_scale_of_a_model_of_many_languages() {
    let narrow = EmbeddingSpace {
        model: "of many languages".into(),
        ..space()
    };
    know_narrow(&narrow);
    let mut bench = EngineBench::new();
    open_with_space(&mut bench, narrow.clone());
    let told = |at: usize| {
        let (axis, text) = match at {
            0 => (0, "der Drucker im zweiten Stock geht noch nicht".to_owned()),
            _ if at.is_multiple_of(2) => (at, format!("ich habe Rechnung {at} noch nicht bezahlt")),
            _ => (at, format!("the bill {at} of last week is not paid yet")),
        };
        let mut new = record(&format!("told-{at}"), &text, axis, "");
        let vector = vector(axis.min(1) + axis % 6, 0.0);
        new.embedding = Some(Embedding::new(narrow.clone(), vector));
        if at < 3 {
            new.kind = MemoryKind::Finding;
        }
        new
    };
    let first = inserted_ids(&bench.insert((0..300).map(told).collect()))[0];
    inserted_ids(&bench.insert((300..600).map(told).collect()));
    let memory = bench.engine().snapshot();
    assert!(!memory.index.count_languages().is_empty());
    let query = vector(0, 0.0);
    let meaning = |kinds: Option<Vec<MemoryKind>>| {
        let mut request = RecallRequest::new("welcher Drucker geht nicht");
        request.filter = MemoryFilter {
            kinds,
            ..MemoryFilter::default()
        };
        let call = RecallCall::new(&request, RecallId::from_u128(1), memory.learning_engine());
        let answer = memory.recall(&call.with_vectors(&[(&narrow, &query)]));
        let best = &answer.results[0];
        assert_eq!(best.record.id, first);
        let mut signals = best.why.signals.iter();
        signals.find(|one| one.name == "meaning").unwrap().value
    };
    let (among_all, among_few) = (meaning(None), meaning(Some(vec![MemoryKind::Finding])));
    assert!(
        (among_all - among_few).abs() < 1e-6,
        "{among_all} {among_few}"
    );
}
