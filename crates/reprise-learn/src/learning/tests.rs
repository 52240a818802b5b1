//! Validation of requests, and what accepted ones teach.

mod holding;
mod patterns;
mod withdrawing;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{
    Credit, Embedding, EmbeddingSpace, FailKind, LearningEngine, LearningEvent, RecallId, Receipt,
    RecordId, Revision, RunBeginning, RunEnding, RunOutcome, RunStep, normalize,
};

use super::*;
use crate::error::{LearnError, Result};
use crate::sona::{SonaFile, SonaState};
use crate::trajectories::{OPEN_RUNS_MAX, STEPS_MAX};

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

/// Records 1 to 999 are held.
fn live(record: RecordId) -> bool {
    (1..1000).contains(&record.to_u128())
}

/// A record's vector follows from its number.
fn vector_of(record: RecordId, out: &mut [f32]) -> bool {
    out.copy_from_slice(&question(record.to_u128() as usize % usize::from(SIDE), 0).vector);
    true
}

/// What a recall adds to a record's score.
fn moved(learner: &Learner, query: &[f32], record: RecordId) -> f32 {
    let mut vector = vec![0.0; usize::from(SIDE)];
    vector_of(record, &mut vector);
    learner.explain(query, record, Some(&vector)).adjustment
}

fn moves(learner: &Learner, query: &[f32], records: &[RecordId]) -> Vec<f32> {
    let moved = |record: &RecordId| moved(learner, query, *record);
    records.iter().map(moved).collect()
}

/// A unit vector near axis `topic`, wobbling with `turn`.
fn question(topic: usize, turn: usize) -> Embedding {
    let mut vector = vec![0.02; usize::from(SIDE)];
    vector[topic] = 1.0;
    vector[(topic + 1 + turn % 5) % usize::from(SIDE)] += 0.3;
    normalize(&mut vector);
    Embedding {
        space: space(),
        vector,
    }
}

fn with<T>(seconds: i64, say: impl FnOnce(Premises<'_>) -> T) -> T {
    let space = space();
    say(Premises {
        now: at(seconds),
        space: Some(&space),
        live: &live,
        vector: &vector_of,
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
        fail: None,
    }
}

fn take(learning: &mut Learning, events: Result<Vec<LearningEvent>>) {
    for event in events.unwrap() {
        learning.fold(&event, &live);
    }
}

fn begin(learning: &mut Learning, run: &str, query: Embedding, seconds: i64) {
    let events = with(seconds, |p| learning.begin(&beginning(run, Some(query)), p));
    take(learning, events);
}

fn end(learning: &mut Learning, ending: &RunEnding, seconds: i64) {
    let events = with(seconds, |p| learning.end(ending, p));
    take(learning, events);
}

fn quality_of(learning: &Learning, run: &str) -> f32 {
    let number = learning.trajectories.ended[run];
    learning.learner.journal.runs.get(number).unwrap().quality
}

/// Runs on `topics` where even records help and odd ones do not.
fn taught(learning: &mut Learning, name: &str, topics: std::ops::Range<usize>, runs: usize) {
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
        let events = with(i64::try_from(run).unwrap(), |p| {
            learning.outcome(&outcome, p)
        });
        take(learning, events);
    }
}

fn learned() -> Learning {
    let mut learning = Learning::new(usize::from(SIDE));
    taught(&mut learning, "run", 0..4, 160);
    learning
}

#[test]
fn the_gates_of_the_past_end_where_they_are_now() {
    let learning = learned();
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
    let learner = Learning::new(usize::from(SIDE)).learner();
    let query = question(0, 0).vector;
    let all: Vec<RecordId> = (1..50).map(id).collect();
    for adjustment in moves(&learner, &query, &all) {
        assert_eq!(adjustment.to_bits(), 0);
    }
    let learned = learned().learner();
    // A record that no run used, and a question that no run was like.
    assert_eq!(moved(&learned, &query, id(900)).to_bits(), 0);
    let unlike = question(9, 0).vector;
    assert_eq!(moved(&learned, &unlike, id(2)).to_bits(), 0);
    assert_eq!(learned.evidence(None, &[id(2)]), [0.0]);
    assert_eq!(learned.evidence(Some(&[1.0]), &[id(2)]), [0.0]);
}

#[test]
fn what_helped_rises_what_did_not_sinks_and_the_cap_holds() {
    let learner = learned().learner();
    let query = question(1, 3).vector;
    let all: Vec<RecordId> = (11..19).map(id).collect();
    let moved = learner.evidence(Some(&query), &all);
    for (record, moved) in all.iter().zip(&moved) {
        let helps = record.to_u128().is_multiple_of(2);
        assert!(
            if helps { *moved > 0.01 } else { *moved < -0.01 },
            "{record:?} {moved}"
        );
        let alone = learner.evidence(Some(&query), &[*record]);
        assert_eq!(alone[0].to_bits(), moved.to_bits(), "one call or many");
    }
    assert!((0.05..=0.15).contains(&learner.cap()));
    let taught = learner.taught_by(Some(&query), id(12));
    assert!(!taught.is_empty() && taught.iter().all(|run| run.quality > 0.8));
    let explained = learner.explain(&query, id(12), None);
    let capped = moved[1].min(learner.cap());
    assert_eq!(explained.adjustment.to_bits(), capped.to_bits());
    assert_eq!(explained.runs[0].run_id, taught[0].run_id);
}

#[test]
fn quality_that_nothing_predicts_opens_no_gate() {
    let mut opened = 0;
    for seed in 0..20_u64 {
        let mut learning = Learning::new(usize::from(SIDE));
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
            let events = with(i64::try_from(run).unwrap(), |p| {
                learning.outcome(&outcome, p)
            });
            take(&mut learning, events);
        }
        opened += u32::from(learning.learner().gates().0 > 0.0);
    }
    assert!(opened <= 2, "{opened} of 20 gates opened on noise");
}

#[test]
fn learning_b_leaves_a_what_it_had() {
    let mut learning = Learning::new(usize::from(SIDE));
    taught(&mut learning, "a", 0..4, 160);
    let all: Vec<RecordId> = (11..19).map(id).collect();
    let query = question(1, 3).vector;
    let gain = |learning: &Learning| -> f32 {
        let moved = moves(&learning.learner(), &query, &all);
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
    taught(&mut learning, "b", 8..12, 160);
    let after = gain(&learning);
    assert!(
        before > 0.1 && after >= 0.9 * before,
        "{before} then {after}"
    );
}

#[test]
fn a_run_is_begun_stepped_ended_once_and_in_order() {
    let mut learning = Learning::new(usize::from(SIDE));
    let said = with(0, |p| learning.end(&ending("r", &[], None), p));
    assert!(
        matches!(said, Err(LearnError::NotBegun { .. })),
        "end without begin"
    );
    let said = with(0, |p| learning.step(&step("r", "look", &[]), p));
    assert!(matches!(said, Err(LearnError::NotBegun { .. })));
    begin(&mut learning, "r", question(0, 0), 1);
    let said = with(2, |p| learning.begin(&beginning("r", None), p));
    assert!(matches!(said, Err(LearnError::AlreadyBegun { .. })));
    let said = learning.revise("r", Revision::Approved, None, at(2));
    assert!(matches!(said, Err(LearnError::StillOpen { .. })));
    let events = with(3, |p| learning.step(&step("r", "look", &[id(4)]), p));
    take(&mut learning, events);
    end(&mut learning, &ending("r", &[5], None), 4);
    assert_eq!(learning.open_runs(), 0);
    let run = learning.learner.journal.runs.get(0).unwrap().clone();
    assert_eq!((run.quality, run.used.clone()), (0.8, vec![id(4), id(5)]));
    let said = with(5, |p| learning.end(&ending("r", &[], None), p));
    assert!(
        matches!(said, Err(LearnError::AlreadyEnded { .. })),
        "end twice"
    );
    let said = with(5, |p| learning.step(&step("r", "look", &[]), p));
    assert!(
        matches!(said, Err(LearnError::AlreadyEnded { .. })),
        "steps after end"
    );
    let said = with(5, |p| learning.begin(&beginning("r", None), p));
    assert!(matches!(said, Err(LearnError::AlreadyEnded { .. })));
}

#[test]
fn what_is_not_a_number_a_vector_or_a_record_is_refused() {
    let learning = Learning::new(usize::from(SIDE));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.1, 1.1, 5.0] {
        let said = with(0, |p| {
            learning.outcome(&outcome("r", question(0, 0), &[1], bad), p)
        });
        assert!(matches!(said, Err(LearnError::Quality { .. })), "{bad}");
    }
    for place in [f32::NAN, f32::INFINITY, 7.0] {
        let mut query = question(0, 0);
        query.vector[3] = place;
        let said = with(0, |p| learning.outcome(&outcome("r", query, &[1], 0.5), p));
        assert!(matches!(said, Err(LearnError::Query { .. })), "{place}");
    }
    let mut short = question(0, 0);
    short.vector.truncate(3);
    let said = with(0, |p| learning.begin(&beginning("r", Some(short)), p));
    assert!(matches!(said, Err(LearnError::Query { .. })));
    let mut other = question(0, 0);
    other.space.version = "2".to_owned();
    let said = with(0, |p| learning.begin(&beginning("r", Some(other)), p));
    assert!(matches!(said, Err(LearnError::OtherSpace { .. })));
    let said = with(0, |p| {
        learning.outcome(&outcome("r", question(0, 0), &[1000], 0.5), p)
    });
    assert!(matches!(said, Err(LearnError::UnknownRecord { .. })));
    let many: Vec<u128> = (1..80).collect();
    let said = with(0, |p| {
        learning.outcome(&outcome("r", question(0, 0), &many, 0.5), p)
    });
    assert!(matches!(said, Err(LearnError::TooManyUsed { .. })));
    for name in [String::new(), "x".repeat(600)] {
        let said = with(0, |p| learning.begin(&beginning(&name, None), p));
        assert!(matches!(said, Err(LearnError::RunId { .. })));
    }
}

#[test]
fn runs_that_nobody_ends_stay_bounded_make_room_and_teach_nothing() {
    let mut learning = Learning::new(usize::from(SIDE));
    for run in 0..3 * OPEN_RUNS_MAX {
        let events = with(i64::try_from(run).unwrap(), |p| {
            learning.begin(&beginning(&run.to_string(), None), p)
        });
        take(&mut learning, events);
    }
    assert_eq!(learning.open_runs(), OPEN_RUNS_MAX);
    let newest = (3 * OPEN_RUNS_MAX - 1).to_string();
    let stepped = with(4_000, |p| learning.step(&step(&newest, "goes on", &[]), p));
    take(&mut learning, stepped);
    let oldest = with(4_000, |p| learning.step(&step("0", "goes on", &[]), p));
    assert!(oldest.is_err(), "it made room");
    assert!(learning.sweep(at(4_000)).is_empty());
    let swept = learning.sweep(at(26 * 3600));
    take(&mut learning, Ok(swept));
    assert_eq!(
        (learning.open_runs(), learning.status().runs),
        (0, 0),
        "they teach nothing"
    );
    let mut busy = Learning::new(usize::from(SIDE));
    begin(&mut busy, "r", question(0, 0), 0);
    for _ in 0..STEPS_MAX {
        let events = with(1, |p| busy.step(&step("r", "again", &[]), p));
        take(&mut busy, events);
    }
    let said = with(1, |p| busy.step(&step("r", "again", &[]), p));
    assert!(matches!(said, Err(LearnError::TooManySteps { .. })));
}

#[test]
fn credit_goes_only_to_what_the_recall_returned() {
    let mut learning = Learning::new(usize::from(SIDE));
    let recall_id = RecallId::from_u128(77);
    let mut said = outcome("r", question(0, 0), &[3], 0.9);
    said.begin.recall_id = Some(recall_id);
    let unknown = with(0, |p| learning.outcome(&said, p));
    assert!(matches!(unknown, Err(LearnError::UnknownRecall { .. })));
    learning.remember(Receipt {
        recall_id,
        at: at(0),
        query: Some(question(0, 0)),
        records: vec![id(1), id(2)],
    });
    let strange = with(0, |p| learning.outcome(&said, p));
    assert!(matches!(strange, Err(LearnError::NotRecalled { .. })));
    said.end.used = vec![id(2)];
    said.begin.query = None;
    let events = with(0, |p| learning.outcome(&said, p)).unwrap();
    assert!(
        matches!(events[0], LearningEvent::Recalled(_)),
        "the receipt is logged with it"
    );
    take(&mut learning, Ok(events));
    let run = learning.learner.journal.runs.get(0).unwrap();
    assert!(
        run.query.scale() > 0.0,
        "the recall's question is the run's"
    );
}

#[test]
fn later_news_revises_a_quality_by_its_strength() {
    let mut learning = Learning::new(usize::from(SIDE));
    begin(&mut learning, "first", question(0, 0), 0);
    end(&mut learning, &ending("first", &[1], None), 10);
    // Asked again in other words within ten minutes.
    begin(&mut learning, "again", question(0, 1), 100);
    assert_eq!(quality_of(&learning, "first").to_bits(), 0.4_f32.to_bits());
    end(&mut learning, &ending("again", &[2], None), 200);
    assert_eq!(quality_of(&learning, "again").to_bits(), 0.8_f32.to_bits());
    // A related run succeeds the next day: good for the second, too weak for the first.
    begin(&mut learning, "later", question(0, 2), 90_000);
    end(&mut learning, &ending("later", &[2], None), 90_100);
    assert_eq!(quality_of(&learning, "again").to_bits(), 0.9_f32.to_bits());
    assert_eq!(quality_of(&learning, "first").to_bits(), 0.4_f32.to_bits());
    let events = learning.revise("first", Revision::Approved, None, at(90_200));
    take(&mut learning, events);
    assert_eq!(quality_of(&learning, "first").to_bits(), 1.0_f32.to_bits());
    let weaker = learning.revise("first", Revision::Retried, None, at(90_300));
    assert_eq!(weaker, Ok(Vec::new()));
    let scored = learning.revise("later", Revision::Scored, Some(f32::NAN), at(90_300));
    assert!(matches!(scored, Err(LearnError::Quality { .. })));
    let nobody = learning.revise("nobody", Revision::Approved, None, at(0));
    assert!(matches!(nobody, Err(LearnError::NotBegun { .. })));
    // What a person scored is not touched by signs.
    let events = with(95_000, |p| {
        learning.outcome(&outcome("scored", question(5, 0), &[3], 0.85), p)
    });
    take(&mut learning, events);
    begin(&mut learning, "scored again", question(5, 1), 95_010);
    assert_eq!(
        quality_of(&learning, "scored").to_bits(),
        0.85_f32.to_bits()
    );
}

#[test]
fn a_failure_from_outside_teaches_less() {
    let by = |settings, fail, credit| {
        let mut learning = Learning::with_settings(usize::from(SIDE), settings);
        begin(&mut learning, "r", question(0, 0), 0);
        let ending = RunEnding {
            credit,
            fail,
            ..ending("r", &[1], None)
        };
        end(&mut learning, &ending, 1);
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
fn a_part_is_the_whole_state_and_a_damaged_one_is_none() {
    let mut learning = learned();
    learning.forget(id(13));
    let weights = learning.learner().consolidate(&vector_of);
    learning.fold(&LearningEvent::Consolidated(weights.into()), &live);
    begin(&mut learning, "open", question(0, 0), 5_000);
    let part = learning.to_part();
    let settings = LearnSettings::default();
    let back = Learning::from_part(usize::from(SIDE), settings, &part).unwrap();
    assert_eq!(back.digest(), learning.digest());
    assert_eq!(back.to_part(), part);
    let query = question(1, 3).vector;
    let all: Vec<RecordId> = (1..60).map(id).collect();
    let (one, other) = (learning.learner(), back.learner());
    assert_eq!(moves(&one, &query, &all), moves(&other, &query, &all));
    for length in (0..part.len()).step_by(97) {
        assert!(Learning::from_part(usize::from(SIDE), settings, &part[..length]).is_none());
    }
    assert!(
        Learning::from_part(8, settings, &part).is_none(),
        "another dimension"
    );
    let other = LearnSettings::new(1.0, 0.5).unwrap();
    let under_other = Learning::from_part(usize::from(SIDE), other, &part);
    assert!(under_other.is_none(), "learned by other settings");
    let mut changed = learning.clone();
    let events = changed.revise("run-3", Revision::Scored, Some(0.0), at(0));
    take(&mut changed, events);
    let before = changed.digest();
    assert_ne!(before, learning.digest(), "a quality is part of the state");
    changed.fold(
        &LearningEvent::Switched {
            at: at(0),
            on: false,
        },
        &live,
    );
    assert_ne!(changed.digest(), before);
    assert!(
        moves(&changed.learner(), &query, &all)
            .iter()
            .all(|x| *x == 0.0)
    );
}

#[test]
fn a_forgotten_record_is_forgotten_by_what_was_learned() {
    let mut learning = learned();
    let query = question(1, 3).vector;
    assert!(moved(&learning.learner(), &query, id(12)) > 0.0);
    learning.forget(id(12));
    assert_eq!(moved(&learning.learner(), &query, id(12)).to_bits(), 0);
    assert!(
        learning
            .learner()
            .taught_by(Some(&query), id(12))
            .is_empty()
    );
    // The same as if it had been gone when its runs were folded.
    let mut gone = Learning::new(usize::from(SIDE));
    let mut all = Learning::new(usize::from(SIDE));
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
        let events = with(i64::try_from(run).unwrap(), |p| all.outcome(&outcome, p)).unwrap();
        for event in &events {
            all.fold(event, &live);
            gone.fold(event, &|record| record != id(12) && live(record));
        }
    }
    all.forget(id(12));
    assert_eq!(all.digest(), gone.digest());
    assert_eq!(all.digest(), learning.digest());
}

#[test]
fn a_reset_leaves_nothing_learned() {
    let mut learning = learned();
    learning.fold(&LearningEvent::Reset { at: at(0) }, &live);
    assert_eq!(learning.digest(), Learning::new(usize::from(SIDE)).digest());
    let unknown = learning.sweep(at(0) + TimeDelta::days(400));
    assert!(unknown.is_empty());
}

#[test]
fn sona_json_is_compared_with_the_log_and_never_believed_against_it() {
    let learning = learned();
    let file = SonaFile::of(&learning, Some(space()), 7);
    let text = file.to_text();
    assert_eq!(file.compare(Some(&text)), SonaState::Current);
    assert_eq!(file.compare(None), SonaState::Missing);
    assert_eq!(
        file.compare(Some(&text[..text.len() / 2])),
        SonaState::Unreadable
    );
    let old = SonaFile::of(&Learning::new(usize::from(SIDE)), Some(space()), 3).to_text();
    assert_eq!(file.compare(Some(&old)), SonaState::Old);
    let forged = text.replace(&learning.digest(), &"0".repeat(64));
    assert_eq!(file.compare(Some(&forged)), SonaState::Forged);
    let moved = text.replacen("\"evidence_gate\": 1.0", "\"evidence_gate\": 0.5", 1);
    assert_ne!(moved, text);
    assert_eq!(file.compare(Some(&moved)), SonaState::Forged);
}
