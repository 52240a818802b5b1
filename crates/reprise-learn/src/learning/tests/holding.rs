//! Tests that learned effects are kept while others are learned, and that they move a query once
//! they are proven.

use super::*;

/// Fits the adapter where a fit is due, as the background loop does.
fn fit_if_due(learning: &mut OutcomeLearning) {
    if learning.is_fit_due() {
        let weights = learning.learner().fit_adapter(&vector_of);
        learning.apply_event(&LearningEvent::AdapterFitted(weights.into()), &live);
    }
}

/// As [`teach_runs`], with a fit wherever one is due.
fn teach_and_fit(
    learning: &mut OutcomeLearning,
    name: &str,
    topics: std::ops::Range<usize>,
    runs: usize,
) {
    for run in 0..runs {
        let record = 1 + (run / topics.len() % 4) as u128;
        let quality = if record.is_multiple_of(2) { 0.9 } else { 0.2 };
        let query = question(topics.start + run % topics.len(), run);
        let outcome = outcome(&format!("{name}-{run}"), query, &[record], quality);
        let events = with_context(i64::try_from(run).unwrap(), |p| {
            learning.plan_outcome(&outcome, p)
        });
        apply_events(learning, events);
        fit_if_due(learning);
    }
}

#[test]
fn learning_b_through_consolidations_leaves_a_what_it_had() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    teach_runs(&mut learning, "a", 0..4, 160);
    fit_if_due(&mut learning);
    let query = question(1, 3).vector;
    // The even records of topic a help. Returns by how much they are adjusted above the odd ones,
    // by the whole learner and by the adapter alone.
    let gains = |learning: &OutcomeLearning| -> (f32, f32) {
        let adapter = &learning.learner.adapter;
        let worth = |record: u128| {
            let mut vector = vec![0.0; usize::from(SIDE)];
            vector_of(id(record), &mut vector);
            adapter.estimate(&query, adapter.project_onto_rows(&vector))
        };
        let sign = |record: u128| if record.is_multiple_of(2) { 1.0 } else { -1.0 };
        let moved = |record: u128| adjustment_of(&learning.learner(), &query, id(record));
        (
            (11..19).map(|record| sign(record) * moved(record)).sum(),
            (11..19).map(|record| sign(record) * worth(record)).sum(),
        )
    };
    let before = gains(&learning);
    // On other topics the odd records help. There are more runs than one fit covers, so that only
    // the Fisher information of its weights keeps the adapter's knowledge of topic a.
    for run in 0..1_200_usize {
        let record = 81 + (run % 4) as u128 * 10 + (run / 4 % 8) as u128;
        let quality = if record.is_multiple_of(2) { 0.2 } else { 0.9 };
        let query = question(8 + run % 4, run);
        let outcome = outcome(&format!("b-{run}"), query, &[record], quality);
        let events = with_context(i64::try_from(run).unwrap(), |p| {
            learning.plan_outcome(&outcome, p)
        });
        apply_events(&mut learning, events);
        fit_if_due(&mut learning);
    }
    let after = gains(&learning);
    assert!(
        before.0 > 0.1 && after.0 >= 0.9 * before.0,
        "{before:?} then {after:?}"
    );
    assert!(
        before.1 > 0.0 && after.1 >= 0.5 * before.1,
        "{before:?} then {after:?}"
    );
}

#[test]
fn a_days_runs_open_the_adapters_gate_and_it_says_what_it_adds() {
    use reprise_types::LearningEngine as _;
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    let query = question(1, 3).vector;
    teach_and_fit(&mut learning, "few", 0..4, 14);
    assert_eq!(
        learning.learner().learner_gates().1.to_bits(),
        0,
        "too few to judge by"
    );
    assert_eq!(learning.learner().query_correction(&query), None);
    teach_and_fit(&mut learning, "day", 0..4, 40);
    let learner = learning.learner();
    assert!(learner.learner_gates().1 >= 1.0, "{:?}", learning.status());
    // No run has used these records, so only the adapter moves them, by their vectors.
    let unused = [20, 19].map(|record| {
        let mut vector = vec![0.0; usize::from(SIDE)];
        vector_of(id(record), &mut vector);
        learner
            .explain_adjustment(&query, id(record), Some(&vector))
            .learning
    });
    for (moved, sign) in unused.into_iter().zip([1.0, -1.0]) {
        assert_eq!(moved.evidence.to_bits(), 0, "{moved:?}");
        assert!(
            sign * moved.adapter > 0.0 && moved.adapter.abs() <= moved.cap + 1e-6,
            "{moved:?}"
        );
    }
}

#[test]
fn every_end_of_a_run_is_a_step_of_the_adapter() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    teach_and_fit(&mut learning, "a", 0..4, 80);
    let mut without = learning.clone();
    let before = learning.learner();
    assert!(!learning.is_fit_due(), "no fit is due");
    let outcome = outcome("next", question(1, 3), &[12], 0.0);
    let events = with_context(100, |p| learning.plan_outcome(&outcome, p)).unwrap();
    for event in &events {
        learning.apply_event(event, &live);
        without.apply_event(event, &live);
    }
    assert_eq!(learning.digest(), without.digest(), "the log has all of it");
    let query = question(1, 3).vector;
    let mut vector = vec![0.0; usize::from(SIDE)];
    vector_of(id(12), &mut vector);
    let worth = |learner: &Learner| {
        learner
            .explain_adjustment(&query, id(12), Some(&vector))
            .adapter
    };
    let after = learning.learner();
    assert!(
        worth(&after) < worth(&before),
        "what failed is worth less at once"
    );
}
