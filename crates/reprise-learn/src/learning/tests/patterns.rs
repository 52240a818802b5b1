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

/// A run with steps: each an action and its result.
fn stepped(learning: &mut Learning, run: &str, steps: &[(&str, u128)], quality: f32, at: i64) {
    begin(learning, run, question(0, 0), at);
    for (action, result) in steps {
        let result = Some(id(*result));
        let step = RunStep {
            result,
            ..step(run, action, &[])
        };
        let events = with(at + 1, |p| learning.step(&step, p));
        take(learning, events);
    }
    end(learning, &ending(run, &[2], Some(quality)), at + 2);
}

#[test]
fn a_pattern_keeps_the_steps_of_its_best_run_with_their_results() {
    let mut learning = Learning::new(usize::from(SIDE));
    for run in 0..8 {
        let (name, quality) = (format!("run-{run}"), if run == 3 { 0.95 } else { 0.7 });
        let result = 100 + 10 * run as u128;
        let steps = [
            ("look", result),
            ("look", result + 1),
            ("fix it", result + 2),
        ];
        stepped(&mut learning, &name, &steps, quality, 4_000 * run);
    }
    let done = learning.learner().consolidate(&vector_of);
    learning.fold(&LearningEvent::Consolidated(done.into()), &live);
    // What comes after changes nothing of what is kept.
    stepped(&mut learning, "later", &[("guess", 900)], 1.0, 90_000);
    let steps = |learning: &Learning| {
        let patterns = learning.learner().patterns();
        assert_eq!(patterns.len(), 1, "{patterns:?}");
        let chain = patterns[0].chain.iter();
        let steps = chain.map(|step| (step.action.clone(), step.result));
        steps.collect::<Vec<_>>()
    };
    let expected = [("look", Some(131)), ("fix it", Some(132))];
    let expected = expected.map(|(action, result)| (action.to_owned(), result.map(id)));
    assert_eq!(
        steps(&learning),
        expected,
        "a look twice is one, with what came of it last"
    );
    let of = learning.learner().pattern_of(&question(0, 0).vector);
    assert_eq!(of.map(|pattern| pattern.chain.len()), Some(2));
    assert_eq!(learning.learner().pattern_of(&question(9, 0).vector), None);
    let part = learning.to_part();
    let settings = learning.settings();
    let mut learning = Learning::from_part(usize::from(SIDE), settings, &part).unwrap();
    assert_eq!(steps(&learning), expected, "from a checkpoint");
    learning.forget(id(132));
    assert_eq!(
        steps(&learning)[1].1,
        None,
        "what is forgotten is no result"
    );
    assert_eq!(
        learning
            .learner()
            .journal
            .runs
            .iter()
            .filter(|run| { run.chain.iter().any(|step| step.result == Some(id(132))) })
            .count(),
        0
    );
    let unknown = RunStep {
        result: Some(id(5_000)),
        ..step("later", "look", &[])
    };
    begin(&mut learning, "last", question(0, 0), 99_000);
    let unknown = RunStep {
        run_id: "last".to_owned(),
        ..unknown
    };
    let refused = with(99_001, |p| learning.step(&unknown, p));
    assert!(matches!(refused, Err(LearnError::UnknownRecord { .. })));
}
