//! What successes have in common.

use super::*;

#[test]
fn patterns_are_what_successes_have_in_common() {
    let patterns = taught_learning().learner().patterns();
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
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    // Thirty queries, both ways along fifteen axes: no two belong together.
    for run in 0..30_u8 {
        let mut query = question(0, 0);
        query.vector.fill(0.0);
        query.vector[usize::from(run / 2)] = if run % 2 == 0 { 1.0 } else { -1.0 };
        let name = format!("run-{run}");
        let outcome = outcome(&name, query, &[u128::from(run) + 1], 0.9);
        let events = with_context(i64::from(run), |p| learning.plan_outcome(&outcome, p));
        apply_events(&mut learning, events);
    }
    let patterns = learning.learner().patterns();
    assert_eq!(patterns.len(), 20);
    assert_eq!(patterns.iter().map(|p| p.runs).sum::<usize>(), 30);
}

/// Ends a run with this query and no steps, and quality 0.9.
fn add_run(learning: &mut OutcomeLearning, run: usize, vector: Vec<f32>) {
    let mut query = question(0, 0);
    query.vector = vector;
    normalize(&mut query.vector);
    let outcome = outcome(&format!("run-{run}"), query, &[1], 0.9);
    let at = i64::try_from(run).expect("few runs");
    let events = with_context(at, |p| learning.plan_outcome(&outcome, p));
    apply_events(learning, events);
}

/// Returns 1 or -1, the entry of a Hadamard matrix, whose rows are orthogonal.
fn hadamard(row: usize, column: usize) -> f32 {
    if (row & column).count_ones().is_multiple_of(2) {
        1.0
    } else {
        -1.0
    }
}

#[test]
fn what_was_done_often_gets_a_pattern_before_what_was_done_once_and_lies_farther_off() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    let side = usize::from(SIDE);
    // Twenty runs each of fifteen kinds, which are a little alike, and one run each of thirty-two
    // kinds that are like nothing else. The farthest twenty would be of the latter.
    for run in 0..300 {
        let group = 1 + run % 15;
        let vector = (0..side).map(|column| hadamard(0, column) + hadamard(group, column));
        add_run(&mut learning, run, vector.collect());
    }
    for lone in 0..32 {
        let sign = if lone < side { 1.0 } else { -1.0 };
        let mut vector = vec![0.0; side];
        vector[lone % side] = sign;
        add_run(&mut learning, 300 + lone, vector);
    }
    let patterns = learning.learner().patterns();
    assert_eq!(patterns.len(), 20);
    let of_a_kind = patterns.iter().filter(|one| (20..25).contains(&one.runs));
    assert!(of_a_kind.count() >= 10, "{patterns:?}");
}

#[test]
fn trajectories_are_alike_by_what_came_of_them_and_not_by_what_was_asked_alone() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    // The same is asked in all, and half of them go another way: their results lie elsewhere.
    for run in 0..8 {
        let (way, axis) = [("one way", 3), ("another way", 5)][run as usize % 2];
        let mut query = question(0, 0);
        query.vector[axis] += 0.6;
        normalize(&mut query.vector);
        let name = format!("run-{run}");
        begin_run(&mut learning, &name, query, 4_000 * run);
        let step = RunStep {
            result: Some(id(16 * (run as u128 + 1) + axis as u128)),
            ..step(&name, way, &[])
        };
        let events = with_context(4_000 * run + 1, |p| learning.plan_step(&step, p));
        apply_events(&mut learning, events);
        end_run(
            &mut learning,
            &ending(&name, &[2], Some(0.9)),
            4_000 * run + 2,
        );
    }
    let fitted = learning.learner().fit_adapter(&vector_of).patterns;
    let mut ways: Vec<_> = fitted
        .iter()
        .map(|one| (one.runs, one.chain[0].action.clone()))
        .collect();
    ways.sort();
    let expected = ["another way", "one way"].map(|way| (4, way.to_owned()));
    assert_eq!(ways, expected);
}

/// A run with steps: each an action and its result.
fn add_stepped_run(
    learning: &mut OutcomeLearning,
    run: &str,
    steps: &[(&str, u128)],
    quality: f32,
    at: i64,
) {
    begin_run(learning, run, question(0, 0), at);
    for (action, result) in steps {
        let result = Some(id(*result));
        let step = RunStep {
            result,
            ..step(run, action, &[])
        };
        let events = with_context(at + 1, |p| learning.plan_step(&step, p));
        apply_events(learning, events);
    }
    end_run(learning, &ending(run, &[2], Some(quality)), at + 2);
}

#[test]
fn a_pattern_keeps_the_steps_of_its_best_run_with_their_results() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    for run in 0..8 {
        let (name, quality) = (format!("run-{run}"), if run == 3 { 0.95 } else { 0.7 });
        let result = 100 + 10 * run as u128;
        let steps = [
            ("look", result),
            ("look", result + 1),
            ("fix it", result + 2),
        ];
        add_stepped_run(&mut learning, &name, &steps, quality, 4_000 * run);
    }
    let done = learning.learner().fit_adapter(&vector_of);
    learning.apply_event(&LearningEvent::AdapterFitted(done.into()), &live);
    // Later steps do not change the stored ones.
    add_stepped_run(&mut learning, "later", &[("guess", 900)], 1.0, 90_000);
    let steps = |learning: &OutcomeLearning| {
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
    let of = learning.learner().find_pattern(&question(0, 0).vector);
    assert_eq!(of.map(|pattern| pattern.chain.len()), Some(2));
    assert_eq!(
        learning.learner().find_pattern(&question(9, 0).vector),
        None
    );
    let part = learning.to_bytes();
    let settings = learning.settings();
    let mut learning = OutcomeLearning::from_bytes(usize::from(SIDE), settings, &part).unwrap();
    assert_eq!(steps(&learning), expected, "from a checkpoint");
    learning.forget_record(id(132));
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
    begin_run(&mut learning, "last", question(0, 0), 99_000);
    let unknown = RunStep {
        run_id: "last".to_owned(),
        ..unknown
    };
    let refused = with_context(99_001, |p| learning.plan_step(&unknown, p));
    assert!(matches!(refused, Err(LearnError::UnknownRecord { .. })));
}

#[test]
fn the_chain_of_a_situation_is_one_line_without_plumbing_and_counts_what_worked() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    let asked = question(0, 0).vector;
    let line = |learning: &OutcomeLearning| learning.learner().describe_chain(&asked, &[]);
    assert_eq!(line(&learning), None);
    for run in 0..6 {
        let result = 100 + 10 * run as u128;
        let steps = [
            ("scaffold the module", result),
            ("scaffold the module: src/lib.rs", result + 1),
            ("plan: no dependencies, because it worked", result + 2),
            ("write tests: 3 passed", result + 3),
        ];
        let quality = if run == 4 { 0.0 } else { 0.8 };
        let name = format!("run-{run}");
        add_stepped_run(&mut learning, &name, &steps, quality, 4_000 * run);
    }
    let expected = "scaffold the module, then plan: no dependencies, then write tests: worked 5 of \
                    6 times";
    assert_eq!(line(&learning).as_deref(), Some(expected));
    let patterns = learning.learner().patterns();
    let first = &patterns[0].chain[0];
    assert_eq!(
        (first.action.as_str(), first.result.is_some()),
        ("scaffold the module: src/lib.rs", true),
        "the report takes the place of what was assigned, and its result is kept"
    );
    let other = |runs: &[&str]| {
        let other = question(9, 0).vector;
        learning.learner().describe_chain(&other, runs)
    };
    assert_eq!(other(&[]), None, "another situation");
    assert_eq!(
        other(&["unknown", "run-2"]).as_deref(),
        Some(expected),
        "unless what is shown of it is a run of this one"
    );
}

#[test]
fn a_step_that_the_log_tells_late_belongs_to_the_chain_and_gives_no_credit() {
    let mut learning = OutcomeLearning::new(usize::from(SIDE));
    add_stepped_run(&mut learning, "run", &[("look", 100)], 0.8, 0);
    let late = RunStep {
        result: Some(id(101)),
        ..step("run", "fix it", &[id(3)])
    };
    let before = learning.learner().record_outcomes(id(3));
    let events = with_context(10, |p| {
        Ok::<_, LearnError>(learning.plan_late_step(&late, p))
    });
    apply_events(&mut learning, events);
    let chain = &learning.learner().patterns()[0].chain;
    assert_eq!(
        chain.last().map(|step| step.action.as_str()),
        Some("fix it")
    );
    assert_eq!(learning.learner().record_outcomes(id(3)), before);
    let repeated = RunStep {
        result: None,
        ..late
    };
    let events = with_context(11, |p| learning.plan_late_step(&repeated, p));
    assert!(events.is_empty(), "{events:?}");
}
