//! A run that is taken back.

use super::*;

#[test]
fn a_run_that_is_taken_back_teaches_nothing_and_stays_so() {
    let mut never = Learning::new(usize::from(SIDE));
    taught(&mut never, "a", 0..4, 160);
    let fit = never.learner.consolidate(&vector_of);
    never.fold(&LearningEvent::Consolidated(fit.into()), &live);
    let mut wrong = never.clone();
    let query = question(1, 3);
    let all: Vec<RecordId> = (11..19).map(id).collect();
    for run in 0..5 {
        let told = outcome(&format!("wrong-{run}"), query.clone(), &[12], 0.0);
        let events = with(200 + run, |p| wrong.outcome(&told, p));
        take(&mut wrong, events);
    }
    let moved = |learning: &Learning| moves(&learning.learner(), &query.vector, &all);
    let far = |one: &Learning, other: &Learning| -> f32 {
        let pairs = moved(one).into_iter().zip(moved(other));
        pairs
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max)
    };
    let aim = |learning: &Learning| learning.learner.adapter.weights().down.clone();
    let aims_apart = |one: &Learning, other: &Learning| -> f32 {
        let pairs = aim(one).into_iter().zip(aim(other));
        pairs
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max)
    };
    let (before, turned) = (far(&never, &wrong), aims_apart(&never, &wrong));
    assert!(before > 0.02 && turned > 1e-3, "{before} {turned}");
    for run in 0..5 {
        let name = format!("wrong-{run}");
        let events = wrong.revise(&name, Revision::Withdrawn, None, at(300));
        take(&mut wrong, events);
        let again = wrong.revise(&name, Revision::Withdrawn, None, at(301));
        assert!(again.unwrap().is_empty(), "once");
        let praised = wrong.revise(&name, Revision::Scored, Some(1.0), at(302));
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
        wrong.learner().worked(id(12)),
        never.learner().worked(id(12))
    );
    let said = wrong.learner();
    let last = said.ended_runs().next().unwrap();
    assert_eq!(
        (last.run_id, last.revised),
        ("wrong-4", Some(Revision::Withdrawn))
    );
    // A host that says it again after a replay is not heard anew.
    let told = outcome("wrong-0", query.clone(), &[12], 0.0);
    let said = with(400, |p| wrong.outcome(&told, p));
    assert!(matches!(said, Err(LearnError::AlreadyEnded { .. })));
    let part = wrong.to_part();
    let back = Learning::from_part(usize::from(SIDE), LearnSettings::default(), &part).unwrap();
    assert_eq!(back.digest(), wrong.digest());
}
