//! What was learned is kept while something else is learned (M62), and moves a query once it is
//! proven (M61).

use super::*;

/// Fits the adapter where a fit is due, as the background loop does.
fn consolidate(learning: &mut Learning) {
    if learning.needs_consolidation() {
        let weights = learning.learner().consolidate(&vector_of);
        learning.fold(&LearningEvent::Consolidated(weights.into()), &live);
    }
}

/// As [`taught`], with a fit wherever one is due.
fn fitted(learning: &mut Learning, name: &str, topics: std::ops::Range<usize>, runs: usize) {
    for run in 0..runs {
        let record = 1 + (run / topics.len() % 4) as u128;
        let quality = if record.is_multiple_of(2) { 0.9 } else { 0.2 };
        let query = question(topics.start + run % topics.len(), run);
        let outcome = outcome(&format!("{name}-{run}"), query, &[record], quality);
        let events = with(i64::try_from(run).unwrap(), |p| {
            learning.outcome(&outcome, p)
        });
        take(learning, events);
        consolidate(learning);
    }
}

#[test]
fn learning_b_through_consolidations_leaves_a_what_it_had() {
    let mut learning = Learning::new(usize::from(SIDE));
    taught(&mut learning, "a", 0..4, 160);
    consolidate(&mut learning);
    let query = question(1, 3).vector;
    // Of topic a's records the even ones help: how far they stand above the odd ones, by all that
    // was learned and by the adapter alone.
    let gains = |learning: &Learning| -> (f32, f32) {
        let adapter = &learning.learner.adapter;
        let worth = |record: u128| {
            let mut vector = vec![0.0; usize::from(SIDE)];
            vector_of(id(record), &mut vector);
            adapter.worth(&query, adapter.along(&vector))
        };
        let sign = |record: u128| if record.is_multiple_of(2) { 1.0 } else { -1.0 };
        let moved = |record: u128| moved(&learning.learner(), &query, id(record));
        (
            (11..19).map(|record| sign(record) * moved(record)).sum(),
            (11..19).map(|record| sign(record) * worth(record)).sum(),
        )
    };
    let before = gains(&learning);
    // On other topics the odd ones help. More runs than one fit looks at: what holds the adapter to
    // topic a is what it knows of its own weights.
    for run in 0..1_200_usize {
        let record = 81 + (run % 4) as u128 * 10 + (run / 4 % 8) as u128;
        let quality = if record.is_multiple_of(2) { 0.2 } else { 0.9 };
        let query = question(8 + run % 4, run);
        let outcome = outcome(&format!("b-{run}"), query, &[record], quality);
        let events = with(i64::try_from(run).unwrap(), |p| {
            learning.outcome(&outcome, p)
        });
        take(&mut learning, events);
        consolidate(&mut learning);
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
    let mut learning = Learning::new(usize::from(SIDE));
    let query = question(1, 3).vector;
    fitted(&mut learning, "few", 0..4, 14);
    assert_eq!(
        learning.learner().gates().1.to_bits(),
        0,
        "too few to judge by"
    );
    assert_eq!(learning.learner().correction(&query), None);
    fitted(&mut learning, "day", 0..4, 40);
    let learner = learning.learner();
    assert!(learner.gates().1 >= 1.0, "{:?}", learning.status());
    // Records that no run has used: what they are like decides, and the adapter alone moves them.
    let unused = [20, 19].map(|record| {
        let mut vector = vec![0.0; usize::from(SIDE)];
        vector_of(id(record), &mut vector);
        learner.explain(&query, id(record), Some(&vector)).learning
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
    let mut learning = Learning::new(usize::from(SIDE));
    fitted(&mut learning, "a", 0..4, 80);
    let mut without = learning.clone();
    let before = learning.learner();
    assert!(!learning.needs_consolidation(), "no fit is due");
    let outcome = outcome("next", question(1, 3), &[12], 0.0);
    let events = with(100, |p| learning.outcome(&outcome, p)).unwrap();
    for event in &events {
        learning.fold(event, &live);
        without.fold(event, &live);
    }
    assert_eq!(learning.digest(), without.digest(), "the log has all of it");
    let query = question(1, 3).vector;
    let mut vector = vec![0.0; usize::from(SIDE)];
    vector_of(id(12), &mut vector);
    let worth = |learner: &Learner| learner.explain(&query, id(12), Some(&vector)).adapter;
    let after = learning.learner();
    assert!(
        worth(&after) < worth(&before),
        "what failed is worth less at once"
    );
}
