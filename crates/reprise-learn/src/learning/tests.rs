//! Tests of the validation of requests, and of the effects of accepted ones.

mod forgetting;
mod holding;
mod patterns;
mod saving;
mod withdrawing;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{
    Credit, Embedding, EmbeddingSpace, FailKind, LearningEngine, LearningEvent, RecallId,
    RecallReceipt, RecordId, Revision, RunBeginning, RunEnding, RunOutcome, RunStep, normalize,
};

use super::*;
use crate::error::{LearnError, LearnResult};
use crate::run_tracker::{OPEN_RUNS_MAX, STEPS_MAX};

const SIDE: u16 = 16;

fn space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "m".to_owned(),
        version: "1".to_owned(),
        dimensions: SIDE,
    }
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

fn id(record: u128) -> RecordId {
    RecordId::from_u128(record)
}

/// Whether a record exists; records 1 to 999 do.
fn live(record: RecordId) -> bool {
    (1..1000).contains(&record.to_u128())
}

/// Writes a record's vector, which depends on its number.
fn vector_of(record: RecordId, out: &mut [f32]) -> bool {
    out.copy_from_slice(&question(record.to_u128() as usize % usize::from(SIDE), 0).vector);
    true
}

/// Returns the adjustment of a record's score.
fn adjustment_of(learner: &Learner, query: &[f32], record: RecordId) -> f32 {
    let mut vector = vec![0.0; usize::from(SIDE)];
    vector_of(record, &mut vector);
    learner
        .explain_adjustment(query, record, Some(&vector))
        .adjustment
}

fn adjustments_of(learner: &Learner, query: &[f32], records: &[RecordId]) -> Vec<f32> {
    let moved = |record: &RecordId| adjustment_of(learner, query, *record);
    records.iter().map(moved).collect()
}

/// A unit vector near axis `topic`, wobbling with `turn`.
fn question(topic: usize, variation: usize) -> Embedding {
    let mut vector = vec![0.02; usize::from(SIDE)];
    vector[topic] = 1.0;
    vector[(topic + 1 + variation % 5) % usize::from(SIDE)] += 0.3;
    normalize(&mut vector);
    Embedding {
        space: space(),
        vector,
    }
}

fn with_context<T>(seconds: i64, plan: impl FnOnce(LearningContext<'_>) -> T) -> T {
    let space = space();
    plan(LearningContext {
        now: at(seconds),
        space: Some(&space),
        is_live: &live,
        write_vector: &vector_of,
    })
}

fn outcome(run: &str, query: Embedding, used: &[u128], quality: f32) -> RunOutcome {
    RunOutcome {
        begin: beginning(run, Some(query)),
        end: ending(run, used, Some(quality)),
    }
}

fn beginning(run: &str, query: Option<Embedding>) -> RunBeginning {
    RunBeginning {
        run_id: run.to_owned(),
        query,
        recall_id: None,
    }
}

fn step(run: &str, action: &str, used: &[RecordId]) -> RunStep {
    RunStep {
        run_id: run.to_owned(),
        action: action.to_owned(),
        used: used.to_vec(),
        result: None,
    }
}

fn ending(run: &str, used: &[u128], quality: Option<f32>) -> RunEnding {
    RunEnding {
        run_id: run.to_owned(),
        used: used.iter().copied().map(id).collect(),
        credit: Credit::Explicit,
        quality,
        fail_kind: None,
    }
}

fn apply_events(learning: &mut OutcomeLearning, events: LearnResult<Vec<LearningEvent>>) {
    for event in events.unwrap() {
        learning.apply_event(&event, &live);
    }
}

fn begin_run(learning: &mut OutcomeLearning, run: &str, query: Embedding, seconds: i64) {
    let events = with_context(seconds, |p| {
        learning.plan_begin(&beginning(run, Some(query)), p)
    });
    apply_events(learning, events);
}

fn end_run(learning: &mut OutcomeLearning, ending: &RunEnding, seconds: i64) {
    let events = with_context(seconds, |p| learning.plan_end(ending, p));
    apply_events(learning, events);
}

fn quality_of(learning: &OutcomeLearning, run: &str) -> f32 {
    let number = learning.run_tracker.ended[run];
    learning.learner.journal.runs.get(number).unwrap().quality
}

/// Adds runs on `topics` in which even records help and odd ones do not.
fn teach_runs(
    learning: &mut OutcomeLearning,
    name: &str,
    topics: std::ops::Range<usize>,
    runs: usize,
) {
    for run in 0..runs {
        let topic = topics.start + run % topics.len();
        let record = topic as u128 * 10 + 1 + (run / topics.len() % 8) as u128;
        let quality = if record.is_multiple_of(2) { 0.9 } else { 0.2 };
        let outcome = outcome(
            &format!("{name}-{run}"),
            question(topic, run),
            &[record],
            quality,
        );
        let events = with_context(i64::try_from(run).unwrap(), |p| {
            learning.plan_outcome(&outcome, p)
        });
        apply_events(learning, events);
    }
}

fn taught_learning() -> OutcomeLearning {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    teach_runs(&mut learning, "run", 0..4, 160);
    learning
}

#[test]
fn the_gates_of_the_past_end_where_they_are_now() {
    let learning = taught_learning();
    let status = learning.status();
    let curve: Vec<(f64, f64)> = learning.learner().gate_curve().collect();
    assert_eq!(curve.len(), 160);
    assert_eq!(curve.last(), Some(&(status.evidence_t, status.adapter_t)));
    assert_eq!(
        curve[10],
        (0.0, 0.0),
        "after a few runs nothing can be said"
    );
    assert!(status.evidence_t > 2.8, "{status:?}");
}

#[test]
fn without_evidence_every_adjustment_is_exactly_zero() {
    let learner = OutcomeLearning::new(usize::from(SIDE)).learner();
    let query = question(0, 0).vector;
    let all: Vec<RecordId> = (1..50).map(id).collect();
    for adjustment in adjustments_of(&learner, &query, &all) {
        assert_eq!(adjustment.to_bits(), 0);
    }
    let learned = taught_learning().learner();
    // A record that no run used, and a question that no run was like.
    assert_eq!(adjustment_of(&learned, &query, id(900)).to_bits(), 0);
    let unlike = question(9, 0).vector;
    assert_eq!(adjustment_of(&learned, &unlike, id(2)).to_bits(), 0);
    assert_eq!(learned.adjust(None, &[id(2)]), [0.0]);
    assert_eq!(learned.adjust(Some(&[1.0]), &[id(2)]), [0.0]);
}

#[test]
fn what_helped_rises_what_did_not_sinks_and_the_cap_holds() {
    let learner = taught_learning().learner();
    let query = question(1, 3).vector;
    let all: Vec<RecordId> = (11..19).map(id).collect();
    let moved = learner.adjust(Some(&query), &all);
    for (record, moved) in all.iter().zip(&moved) {
        let helps = record.to_u128().is_multiple_of(2);
        assert!(
            if helps { *moved > 0.01 } else { *moved < -0.01 },
            "{record:?} {moved}"
        );
        let alone = learner.adjust(Some(&query), &[*record]);
        assert_eq!(alone[0].to_bits(), moved.to_bits(), "one call or many");
    }
    assert!((0.05..=0.15).contains(&learner.adjustment_cap()));
    let taught = learner.contributing_runs(Some(&query), id(12));
    assert!(!taught.is_empty() && taught.iter().all(|run| run.quality > 0.8));
    let explained = learner.explain_adjustment(&query, id(12), None);
    let capped = moved[1].min(learner.adjustment_cap());
    assert_eq!(explained.adjustment.to_bits(), capped.to_bits());
    assert_eq!(explained.runs[0].run_id, taught[0].run_id);
}

#[test]
fn quality_that_nothing_predicts_opens_no_gate() {
    let mut opened = 0;
    for seed in 0..20_u64 {
        let mut learning = OutcomeLearning::new(usize::from(SIDE));
        let mut state = seed + 1;
        for run in 0..120_usize {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let quality = (state >> 40) as f32 / (1u32 << 24) as f32;
            let outcome = outcome(
                &format!("run-{run}"),
                question(run % 4, run),
                &[u128::from(state >> 20) % 8 + 1],
                quality,
            );
            let events = with_context(i64::try_from(run).unwrap(), |p| {
                learning.plan_outcome(&outcome, p)
            });
            apply_events(&mut learning, events);
        }
        opened += u32::from(learning.learner().learner_gates().0 > 0.0);
    }
    assert!(opened <= 2, "{opened} of 20 gates opened on noise");
}

#[test]
fn learning_b_leaves_a_what_it_had() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    teach_runs(&mut learning, "a", 0..4, 160);
    let all: Vec<RecordId> = (11..19).map(id).collect();
    let query = question(1, 3).vector;
    let gain = |learning: &OutcomeLearning| -> f32 {
        let moved = adjustments_of(&learning.learner(), &query, &all);
        let signed = all.iter().zip(moved);
        signed
            .map(|(record, moved)| {
                if record.to_u128().is_multiple_of(2) {
                    moved
                } else {
                    -moved
                }
            })
            .sum()
    };
    let before = gain(&learning);
    teach_runs(&mut learning, "b", 8..12, 160);
    let after = gain(&learning);
    assert!(
        before > 0.1 && after >= 0.9 * before,
        "{before} then {after}"
    );
}

#[test]
fn a_run_is_begun_stepped_ended_once_and_in_order() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    let result = with_context(0, |p| learning.plan_end(&ending("r", &[], None), p));
    assert!(
        matches!(result, Err(LearnError::NotBegun { .. })),
        "end without begin"
    );
    let result = with_context(0, |p| learning.plan_step(&step("r", "look", &[]), p));
    assert!(matches!(result, Err(LearnError::NotBegun { .. })));
    begin_run(&mut learning, "r", question(0, 0), 1);
    let result = with_context(2, |p| learning.plan_begin(&beginning("r", None), p));
    assert!(matches!(result, Err(LearnError::AlreadyBegun { .. })));
    let result = learning.plan_revision("r", Revision::Approved, None, at(2));
    assert!(matches!(result, Err(LearnError::StillOpen { .. })));
    let events = with_context(3, |p| learning.plan_step(&step("r", "look", &[id(4)]), p));
    apply_events(&mut learning, events);
    end_run(&mut learning, &ending("r", &[5], None), 4);
    assert_eq!(learning.open_run_count(), 0);
    let run = learning.learner.journal.runs.get(0).unwrap().clone();
    assert_eq!((run.quality, run.used.clone()), (0.8, vec![id(4), id(5)]));
    let result = with_context(5, |p| learning.plan_end(&ending("r", &[], None), p));
    assert!(
        matches!(result, Err(LearnError::AlreadyEnded { .. })),
        "end twice"
    );
    let result = with_context(5, |p| learning.plan_step(&step("r", "look", &[]), p));
    assert!(
        matches!(result, Err(LearnError::AlreadyEnded { .. })),
        "steps after end"
    );
    let result = with_context(5, |p| learning.plan_begin(&beginning("r", None), p));
    assert!(matches!(result, Err(LearnError::AlreadyEnded { .. })));
}

#[test]
fn what_is_not_a_number_a_vector_or_a_record_is_refused() {
    let learning = OutcomeLearning::new(usize::from(SIDE));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.1, 1.1, 5.0] {
        let result = with_context(0, |p| {
            learning.plan_outcome(&outcome("r", question(0, 0), &[1], bad), p)
        });
        assert!(matches!(result, Err(LearnError::Quality { .. })), "{bad}");
    }
    for place in [f32::NAN, f32::INFINITY, 7.0] {
        let mut query = question(0, 0);
        query.vector[3] = place;
        let result = with_context(0, |p| {
            learning.plan_outcome(&outcome("r", query, &[1], 0.5), p)
        });
        assert!(matches!(result, Err(LearnError::Query { .. })), "{place}");
    }
    let mut short = question(0, 0);
    short.vector.truncate(3);
    let result = with_context(0, |p| learning.plan_begin(&beginning("r", Some(short)), p));
    assert!(matches!(result, Err(LearnError::Query { .. })));
    let mut other = question(0, 0);
    other.space.version = "2".to_owned();
    let result = with_context(0, |p| learning.plan_begin(&beginning("r", Some(other)), p));
    assert!(matches!(result, Err(LearnError::OtherSpace { .. })));
    let result = with_context(0, |p| {
        learning.plan_outcome(&outcome("r", question(0, 0), &[1000], 0.5), p)
    });
    assert!(matches!(result, Err(LearnError::UnknownRecord { .. })));
    let many: Vec<u128> = (1..80).collect();
    let result = with_context(0, |p| {
        learning.plan_outcome(&outcome("r", question(0, 0), &many, 0.5), p)
    });
    assert!(matches!(result, Err(LearnError::TooManyUsed { .. })));
    for name in [String::new(), "x".repeat(600)] {
        let result = with_context(0, |p| learning.plan_begin(&beginning(&name, None), p));
        assert!(matches!(result, Err(LearnError::RunId { .. })));
    }
}

#[test]
fn runs_that_nobody_ends_stay_bounded_make_room_and_teach_nothing() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    for run in 0..3 * OPEN_RUNS_MAX {
        let events = with_context(i64::try_from(run).unwrap(), |p| {
            learning.plan_begin(&beginning(&run.to_string(), None), p)
        });
        apply_events(&mut learning, events);
    }
    assert_eq!(learning.open_run_count(), OPEN_RUNS_MAX);
    let newest = (3 * OPEN_RUNS_MAX - 1).to_string();
    let stepped = with_context(4_000, |p| {
        learning.plan_step(&step(&newest, "goes on", &[]), p)
    });
    apply_events(&mut learning, stepped);
    let oldest = with_context(4_000, |p| learning.plan_step(&step("0", "goes on", &[]), p));
    assert!(oldest.is_err(), "it made room");
    assert!(learning.plan_abandonments(at(4_000)).is_empty());
    let swept = learning.plan_abandonments(at(26 * 3600));
    apply_events(&mut learning, Ok(swept));
    assert_eq!(
        (learning.open_run_count(), learning.status().runs),
        (0, 0),
        "they teach nothing"
    );
    let mut busy = OutcomeLearning::new(usize::from(SIDE));
    begin_run(&mut busy, "r", question(0, 0), 0);
    for _ in 0..STEPS_MAX {
        let events = with_context(1, |p| busy.plan_step(&step("r", "again", &[]), p));
        apply_events(&mut busy, events);
    }
    let result = with_context(1, |p| busy.plan_step(&step("r", "again", &[]), p));
    assert!(matches!(result, Err(LearnError::TooManySteps { .. })));
}

#[test]
fn credit_goes_only_to_what_the_recall_returned() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    let recall_id = RecallId::from_u128(77);
    let mut result = outcome("r", question(0, 0), &[3], 0.9);
    result.begin.recall_id = Some(recall_id);
    let unknown = with_context(0, |p| learning.plan_outcome(&result, p));
    assert!(matches!(unknown, Err(LearnError::UnknownRecall { .. })));
    learning.store_receipt(RecallReceipt {
        recall_id,
        at: at(0),
        query: Some(question(0, 0)),
        records: vec![id(1), id(2)],
    });
    let strange = with_context(0, |p| learning.plan_outcome(&result, p));
    assert!(matches!(strange, Err(LearnError::NotRecalled { .. })));
    result.end.used = vec![id(2)];
    result.begin.query = None;
    let events = with_context(0, |p| learning.plan_outcome(&result, p)).unwrap();
    assert!(
        matches!(events[0], LearningEvent::Recalled(_)),
        "the receipt is logged with it"
    );
    apply_events(&mut learning, Ok(events));
    let run = learning.learner.journal.runs.get(0).unwrap();
    assert!(
        run.query.scale() > 0.0,
        "the recall's question is the run's"
    );
}

#[test]
fn later_news_revises_a_quality_by_its_strength() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    begin_run(&mut learning, "first", question(0, 0), 0);
    end_run(&mut learning, &ending("first", &[1], None), 10);
    // The request is repeated in other words within ten minutes.
    begin_run(&mut learning, "again", question(0, 1), 100);
    assert_eq!(quality_of(&learning, "first").to_bits(), 0.4_f32.to_bits());
    end_run(&mut learning, &ending("again", &[2], None), 200);
    assert_eq!(quality_of(&learning, "again").to_bits(), 0.8_f32.to_bits());
    // A related run succeeds the next day: good for the second, too weak for the first.
    begin_run(&mut learning, "later", question(0, 2), 90_000);
    end_run(&mut learning, &ending("later", &[2], None), 90_100);
    assert_eq!(quality_of(&learning, "again").to_bits(), 0.9_f32.to_bits());
    assert_eq!(quality_of(&learning, "first").to_bits(), 0.4_f32.to_bits());
    let events = learning.plan_revision("first", Revision::Approved, None, at(90_200));
    apply_events(&mut learning, events);
    assert_eq!(quality_of(&learning, "first").to_bits(), 1.0_f32.to_bits());
    let weaker = learning.plan_revision("first", Revision::Retried, None, at(90_300));
    assert_eq!(weaker, Ok(Vec::new()));
    let scored = learning.plan_revision("later", Revision::Scored, Some(f32::NAN), at(90_300));
    assert!(matches!(scored, Err(LearnError::Quality { .. })));
    let nobody = learning.plan_revision("nobody", Revision::Approved, None, at(0));
    assert!(matches!(nobody, Err(LearnError::NotBegun { .. })));
    // What a person scored is not touched by signs.
    let events = with_context(95_000, |p| {
        learning.plan_outcome(&outcome("scored", question(5, 0), &[3], 0.85), p)
    });
    apply_events(&mut learning, events);
    begin_run(&mut learning, "scored again", question(5, 1), 95_010);
    assert_eq!(
        quality_of(&learning, "scored").to_bits(),
        0.85_f32.to_bits()
    );
}

#[test]
fn a_failure_from_outside_teaches_less() {
    let by = |settings, fail, credit| {
        let mut learning = OutcomeLearning::with_settings(usize::from(SIDE), settings);
        begin_run(&mut learning, "r", question(0, 0), 0);
        let ending = RunEnding {
            credit,
            fail_kind: fail,
            ..ending("r", &[1], None)
        };
        end_run(&mut learning, &ending, 1);
        let run = learning.learner.journal.runs.get(0).unwrap().clone();
        (run.quality, run.weight)
    };
    let weight = |fail, credit| by(LearnSettings::default(), fail, credit);
    assert_eq!(weight(Some(FailKind::Task), Credit::Explicit), (0.0, 1.0));
    assert_eq!(
        weight(Some(FailKind::RateLimit), Credit::Explicit),
        (0.0, 0.25)
    );
    assert_eq!(weight(None, Credit::Implicit), (0.8, 0.5));
    let documented = LearnSettings::new(1.0, 0.1).unwrap();
    let outside = by(documented, Some(FailKind::Network), Credit::Explicit);
    assert_eq!(outside, (0.0, 1.0), "by configuration");
    assert_eq!(by(documented, None, Credit::Implicit), (0.8, 0.1));
}

#[test]
fn a_forgotten_record_is_forgotten_by_what_was_learned() {
    let mut learning = taught_learning();
    let query = question(1, 3).vector;
    assert!(adjustment_of(&learning.learner(), &query, id(12)) > 0.0);
    learning.forget_record(id(12));
    assert_eq!(
        adjustment_of(&learning.learner(), &query, id(12)).to_bits(),
        0
    );
    assert!(
        learning
            .learner()
            .contributing_runs(Some(&query), id(12))
            .is_empty()
    );
    // The same as if it had been gone when its runs were folded.
    let mut gone = OutcomeLearning::new(usize::from(SIDE));
    let mut all = OutcomeLearning::new(usize::from(SIDE));
    for run in 0..160_usize {
        let topic = run % 4;
        let record = topic as u128 * 10 + 1 + (run / 4 % 8) as u128;
        let quality = if record.is_multiple_of(2) { 0.9 } else { 0.2 };
        let outcome = outcome(
            &format!("run-{run}"),
            question(topic, run),
            &[record],
            quality,
        );
        let events = with_context(i64::try_from(run).unwrap(), |p| {
            all.plan_outcome(&outcome, p)
        })
        .unwrap();
        for event in &events {
            all.apply_event(event, &live);
            gone.apply_event(event, &|record| record != id(12) && live(record));
        }
    }
    all.forget_record(id(12));
    assert_eq!(all.digest(), gone.digest());
    assert_eq!(all.digest(), learning.digest());
}

#[test]
fn a_reset_leaves_nothing_learned() {
    let mut learning = taught_learning();
    learning.apply_event(&LearningEvent::Reset { at: at(0) }, &live);
    assert_eq!(
        learning.digest(),
        OutcomeLearning::new(usize::from(SIDE)).digest()
    );
    let unknown = learning.plan_abandonments(at(0) + TimeDelta::days(400));
    assert!(unknown.is_empty());
}
