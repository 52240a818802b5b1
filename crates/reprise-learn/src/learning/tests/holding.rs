//! What was learned is kept while something else is learned (M62), and moves a query once it is
//! proven (M61).

use super::*;

/// Refits the adapter and puts it in force, as the background loop does. A record's vector follows
/// from its number.
fn consolidate(learning: &mut Learning) {
    let vector = |record: RecordId| question(record.to_u128() as usize % 16, 0).vector;
    let read = |record: RecordId, out: &mut [f32]| {
        out.copy_from_slice(&vector(record));
        true
    };
    let weights = learning.learner().consolidate(&read);
    learning.fold(&LearningEvent::Consolidated(weights.into()), &live);
    for record in (1..130).map(id) {
        learning.place(record, &vector(record));
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
        let aim = adapter.aim(&query);
        let sign = |record: u128| if record.is_multiple_of(2) { 1.0 } else { -1.0 };
        let moved = |record: u128| learning.learner().adjustment(Some(&query), id(record));
        (
            (11..19).map(|record| sign(record) * moved(record)).sum(),
            (11..19)
                .map(|record| sign(record) * adapter.worth(aim, id(record)))
                .sum(),
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
        if learning.learner().needs_consolidation() {
            consolidate(&mut learning);
        }
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
fn the_query_moves_only_once_the_adapters_gate_is_open() {
    use reprise_types::LearningEngine as _;
    let mut learning = Learning::new(usize::from(SIDE));
    taught(&mut learning, "first", 0..4, 160);
    consolidate(&mut learning);
    let query = question(1, 3).vector;
    let learner = learning.learner();
    assert!(learner.gates().1 < 1.0, "{:?}", learner.gates());
    assert_eq!(learner.adjusted_query(&query), None);
    taught(&mut learning, "then", 0..4, 320);
    let learner = learning.learner();
    assert!(learner.gates().1 >= 1.0, "{:?}", learner.gates());
    let moved = learner.adjusted_query(&query).unwrap();
    assert_ne!(moved, query);
}
