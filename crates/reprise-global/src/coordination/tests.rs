//! The loop on communities of known minds.

use chrono::{DateTime, TimeDelta};

use super::*;

fn id(number: u128) -> RecordId {
    RecordId::from_parts(1, number)
}

fn add_reports(users: std::ops::Range<u128>, thing: u128, score: f32, into: &mut Coordination) {
    for user in users {
        into.add_report(id(thing), user, score, 1, DateTime::UNIX_EPOCH);
    }
}

fn reputation_of(of: &Coordination, thing: u128) -> Reputation {
    let standings = of.compute_reputations(DateTime::UNIX_EPOCH);
    standings.get(&id(thing)).copied().unwrap_or_default()
}

/// A community in which thing 1 helps and thing 2 does not.
fn make_community() -> Coordination {
    let mut all = Coordination::default();
    add_reports(0..40, 1, 0.9, &mut all);
    add_reports(0..40, 2, 0.2, &mut all);
    all
}

#[test]
fn nothing_is_told_before_enough_users_have_spoken() {
    let mut few = Coordination::default();
    add_reports(0..4, 1, 1.0, &mut few);
    assert_eq!(reputation_of(&few, 1), Reputation::default());
    add_reports(4..5, 1, 1.0, &mut few);
    assert_ne!(reputation_of(&few, 1), Reputation::default());
}

#[test]
fn uses_are_retrievals_of_several_users_and_no_runs() {
    let mut all = make_community();
    assert_eq!(
        reputation_of(&all, 1).metrics.usage_count,
        0,
        "it was used, and never asked for here"
    );
    for user in 0..4 {
        all.add_retrieved(id(1), user, 3);
    }
    assert_eq!(reputation_of(&all, 1).metrics.usage_count, 0, "of four");
    all.add_retrieved(id(1), 4, 1_000);
    assert_eq!(
        reputation_of(&all, 1).metrics.usage_count,
        22,
        "ten of each at most"
    );
    let before = reputation_of(&all, 1).boost;
    assert_eq!(
        before.to_bits(),
        reputation_of(&make_community(), 1).boost.to_bits(),
        "no move by it"
    );
    all.forget_thing(id(1));
    assert_eq!(reputation_of(&all, 1), Reputation::default());
}

#[test]
fn what_helps_rises_and_what_does_not_sinks_within_the_cap() {
    let all = make_community();
    let (up, down) = (reputation_of(&all, 1), reputation_of(&all, 2));
    assert!(up.boost > 0.1 && up.boost <= 0.15, "{up:?}");
    assert!(down.boost < -0.1 && down.boost >= -0.15, "{down:?}");
    assert!(up.metrics.quality() > 0.7 && down.metrics.quality() < 0.4);
}

#[test]
fn one_user_is_one_voice_however_often_he_speaks() {
    let mut all = make_community();
    let before = reputation_of(&all, 1);
    for _ in 0..1_000 {
        all.add_report(id(1), 39, 0.0, 10_000, DateTime::UNIX_EPOCH);
    }
    let after = reputation_of(&all, 1);
    assert!((before.boost - after.boost).abs() < 0.01, "{after:?}");
}

#[test]
fn strangers_who_agree_among_themselves_alone_move_nothing() {
    let mut all = make_community();
    add_reports(40..200, 1, 0.9, &mut all);
    add_reports(40..200, 2, 0.2, &mut all);
    // Twenty who praise a thing that nobody else has used.
    add_reports(1_000..1_020, 3, 1.0, &mut all);
    let moved = reputation_of(&all, 3);
    assert!(moved.boost.abs() < f32::EPSILON, "{moved:?}");
    // And twenty known liars who slander what helps.
    add_reports(1_000..1_020, 1, 0.0, &mut all);
    add_reports(1_000..1_020, 2, 1.0, &mut all);
    assert!(reputation_of(&all, 1).boost > 0.1);
    assert!(reputation_of(&all, 2).boost < -0.1);
    assert!(reputation_of(&all, 3).boost.abs() < f32::EPSILON);
}

#[test]
fn voices_fade_and_what_is_taken_back_is_forgotten() {
    let mut all = make_community();
    let later = DateTime::UNIX_EPOCH + TimeDelta::days(900);
    let faded = all.compute_reputations(later)[&id(1)];
    assert!(
        faded.boost < reputation_of(&all, 1).boost / 2.0,
        "{faded:?}"
    );
    all.set_rating(id(1), 1, 1.0);
    all.forget_thing(id(1));
    assert!(!all.compute_reputations(later).contains_key(&id(1)));
}

#[test]
fn nothing_that_is_no_score_is_heard() {
    let mut all = make_community();
    let before = all.compute_reputations(DateTime::UNIX_EPOCH);
    for score in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
        all.add_report(id(1), 77, score, 1, DateTime::UNIX_EPOCH);
        all.set_rating(id(1), 77, score);
    }
    all.add_report(id(1), 77, 0.5, 0, DateTime::UNIX_EPOCH);
    assert_eq!(all.compute_reputations(DateTime::UNIX_EPOCH), before);
}
