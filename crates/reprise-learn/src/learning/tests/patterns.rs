//! What successes have in common.

use super::*;

#[test]
fn patterns_are_what_successes_have_in_common() {
    let patterns = learned().learner().patterns();
    assert_eq!(patterns.len(), 4, "one a topic");
    assert!(
        patterns
            .iter()
            .all(|pattern| pattern.runs == 20 && pattern.quality > 0.8)
    );
    assert!(
        patterns
            .iter()
            .all(|p| p.records.iter().all(|r| r.to_u128().is_multiple_of(2)))
    );
}

#[test]
fn there_are_twenty_patterns_at_most() {
    let mut learning = Learning::new(usize::from(SIDE));
    // Thirty queries, both ways along fifteen axes: no two belong together.
    for run in 0..30_u8 {
        let mut query = question(0, 0);
        query.vector.fill(0.0);
        query.vector[usize::from(run / 2)] = if run % 2 == 0 { 1.0 } else { -1.0 };
        let name = format!("run-{run}");
        let outcome = outcome(&name, query, &[u128::from(run) + 1], 0.9);
        let events = with(i64::from(run), |p| learning.outcome(&outcome, p));
        take(&mut learning, events);
    }
    let patterns = learning.learner().patterns();
    assert_eq!(patterns.len(), 20);
    assert_eq!(patterns.iter().map(|p| p.runs).sum::<usize>(), 30);
}
