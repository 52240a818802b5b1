//! A run that is taken back.

use super::*;

#[test]
fn a_run_that_is_taken_back_teaches_nothing_and_stays_so() {
    let mut never = OutcomeLearning::new(usize::from(SIDE));
    teach_runs(&mut never, "a", 0..4, 160);
    let fit = never.learner.fit_adapter(&vector_of);
    never.apply_event(&LearningEvent::AdapterFitted(fit.into()), &live);
    let mut wrong = never.clone();
    let query = question(1, 3);
    let all: Vec<RecordId> = (11..19).map(id).collect();
    for run in 0..5 {
        let reported = outcome(&format!("wrong-{run}"), query.clone(), &[12], 0.0);
        let events = with_context(200 + run, |p| wrong.plan_outcome(&reported, p));
        apply_events(&mut wrong, events);
    }
    let moved =
        |learning: &OutcomeLearning| adjustments_of(&learning.learner(), &query.vector, &all);
    let far = |one: &OutcomeLearning, other: &OutcomeLearning| -> f32 {
        let pairs = moved(one).into_iter().zip(moved(other));
        pairs
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max)
    };
    let aim = |learning: &OutcomeLearning| learning.learner.adapter.weights().down.clone();
    let aims_apart = |one: &OutcomeLearning, other: &OutcomeLearning| -> f32 {
        let pairs = aim(one).into_iter().zip(aim(other));
        pairs
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max)
    };
    let (before, turned) = (far(&never, &wrong), aims_apart(&never, &wrong));
    assert!(before > 0.02 && turned > 1e-3, "{before} {turned}");
    for run in 0..5 {
        let name = format!("wrong-{run}");
        let events = wrong.plan_revision(&name, Revision::Withdrawn, None, at(300));
        apply_events(&mut wrong, events);
        let again = wrong.plan_revision(&name, Revision::Withdrawn, None, at(301));
        assert!(again.unwrap().is_empty(), "once");
        let praised = wrong.plan_revision(&name, Revision::Scored, Some(1.0), at(302));
        assert!(
            praised.unwrap().is_empty(),
            "what is taken back is not judged"
        );
    }
    let (after, aims) = (far(&never, &wrong), aims_apart(&never, &wrong));
    assert!(
        after < before / 10.0 && aims < turned / 50.0,
        "{after} {aims}"
    );
    assert_eq!(wrong.status().runs, never.status().runs);
    assert_eq!(
        wrong.learner().record_outcomes(id(12)),
        never.learner().record_outcomes(id(12))
    );
    let result = wrong.learner();
    let last = result.runs_newest_first().next().unwrap();
    assert_eq!(
        (last.run_id, last.revision),
        ("wrong-4", Some(Revision::Withdrawn))
    );
    // A host that reports the run again after a replay gets an error.
    let reported = outcome("wrong-0", query.clone(), &[12], 0.0);
    let result = with_context(400, |p| wrong.plan_outcome(&reported, p));
    assert!(matches!(result, Err(LearnError::AlreadyEnded { .. })));
    let part = wrong.to_bytes();
    let back =
        OutcomeLearning::from_bytes(usize::from(SIDE), LearnSettings::default(), &part).unwrap();
    assert_eq!(back.digest(), wrong.digest());
}

#[test]
fn a_rating_teaches_and_is_counted_in_no_number_of_runs() {
    let mut plain = OutcomeLearning::new(usize::from(SIDE));
    teach_runs(&mut plain, "a", 0..4, 60);
    let mut rated = plain.clone();
    let query = question(1, 3);
    for number in 0..4 {
        let rating = outcome(&format!("page {number}"), query.clone(), &[12], 1.0);
        let events = with_context(100 + number, |p| rated.plan_outcome(&rating, p));
        apply_events(&mut rated, events);
    }
    assert_eq!(rated.status().runs, plain.status().runs);
    let (rated, plain) = (rated.learner(), plain.learner());
    assert_eq!(rated.record_outcomes(id(12)), plain.record_outcomes(id(12)));
    assert_eq!(rated.quality_curve().count(), plain.quality_curve().count());
    assert_eq!(rated.gate_curve().count(), plain.gate_curve().count());
    let ratings = rated.runs_newest_first().filter(|run| run.is_rating);
    assert_eq!(ratings.count(), 4);
    // The evidence for the memory is that of an outcome.
    let moved = |learner: &Learner| adjustments_of(learner, &query.vector, &[id(12)])[0];
    assert!(moved(&rated) > moved(&plain));
}
