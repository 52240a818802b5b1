//! Tests the one order: what comes first, and what else stays as it is.

use reprise_types::{
    LearnedAdjustment, MemoryKind, MemorySource, RankExplanation, RecordBody, RecordId,
    RetrievedMemory, parse_timestamp,
};

use super::contradictions::Contradictions;
use super::*;
use crate::names::NamedThing;
use crate::signals::weights::COUNT;

fn ranked(ordinal: u32, logit: f32) -> RankedCandidate {
    RankedCandidate {
        scored: ScoredCandidate::new(ordinal, [0.0; COUNT], logit),
        learned: LearnedAdjustment::from_capped_parts(0.15, (1.0, 1.0), 0.0, 0.0),
        session: None,
        kind: 1,
        time: Some(i64::from(ordinal)),
    }
}

/// Records 1 to `count`, of which each is less likely than the one before.
fn candidates(count: u32) -> Vec<RankedCandidate> {
    (1..=count).map(|at| ranked(at, -(at as f32))).collect()
}

fn order(mut all: Vec<RankedCandidate>, names: &NamesInQuestion, pairs: &[(u32, u32)]) -> Vec<u32> {
    let best: Vec<u32> = all.iter().map(|one| one.scored.ordinal).collect();
    let pairs = Contradictions::from_pairs(pairs.to_vec(), &best);
    all.reverse();
    decide_order(&mut all, names, &pairs);
    all.iter().map(|one| one.scored.ordinal).collect()
}

#[test]
fn the_better_score_comes_first_and_of_two_alike_the_newer() {
    let names = NamesInQuestion::default();
    assert_eq!(order(candidates(4), &names, &[]), [1, 2, 3, 4]);
    let alike = vec![ranked(7, 1.0), ranked(9, 1.0), ranked(8, 2.0)];
    assert_eq!(order(alike, &names, &[]), [8, 9, 7]);
}

#[test]
fn of_three_that_contradict_each_other_the_newest_comes_first_however_they_were_found() {
    let names = NamesInQuestion::default();
    let pairs = [(1, 2), (1, 3), (2, 3)];
    for turned in [false, true] {
        // Their scores are in the order of their age.
        let mut all = candidates(3);
        if turned {
            all.swap(1, 2);
        }
        assert_eq!(order(all, &names, &pairs), [3, 2, 1]);
    }
}

#[test]
fn what_was_learned_moves_a_record_and_nothing_learned_moves_none() {
    let mut all = vec![ranked(1, 0.2), ranked(2, 0.1), ranked(3, 0.0)];
    all[2].learned.adjustment = 0.1;
    let names = NamesInQuestion::default();
    assert_eq!(order(all.clone(), &names, &[]), [3, 1, 2]);
    all[2].learned.adjustment = 0.0;
    assert_eq!(order(all, &names, &[]), [1, 2, 3]);
}

#[test]
fn a_tier_comes_before_every_score_and_within_it_the_score_decides() {
    let thing = |holders: &[u32]| NamedThing::new("it", Vec::new(), holders.to_vec());
    let names = NamesInQuestion {
        named_things: vec![thing(&[2, 4])],
        holders_come_first: true,
        ..NamesInQuestion::default()
    };
    let mut all = candidates(4);
    for at in [1, 3] {
        all[at].scored.named = Some(0.9);
    }
    // What was learned of the others lifts them above the holders, and not out of their tier.
    for at in [0, 2] {
        all[at].learned.adjustment = 0.15;
    }
    assert_eq!(order(all.clone(), &names, &[]), [2, 4, 1, 3]);
    let timeline = NamesInQuestion {
        is_timeline: true,
        ..names
    };
    all.swap(1, 3);
    all[1].scored.logit = 9.0;
    assert_eq!(order(all, &timeline, &[]), [2, 4, 1, 3]);
}

#[test]
fn the_newer_of_a_pair_comes_directly_before_the_older_whatever_else_decides() {
    let none = NamesInQuestion::default();
    assert_eq!(order(candidates(4), &none, &[(2, 4)]), [1, 4, 2, 3]);
    // One that is above the older stays where it is.
    assert_eq!(order(candidates(4), &none, &[(4, 2)]), [1, 2, 3, 4]);
    assert_eq!(order(candidates(4), &none, &[(1, 3), (3, 4)]), [4, 3, 1, 2]);
    let names = NamesInQuestion {
        holders_come_first: true,
        ..NamesInQuestion::default()
    };
    let mut all = candidates(4);
    all[3].scored.named = Some(1.0);
    assert_eq!(order(all, &names, &[(4, 3)]), [3, 4, 1, 2]);
    // A kind that came often gives way from the sixth place on, and a pair stays together.
    let mut all: Vec<RankedCandidate> = (1..=8)
        .map(|at| ranked(at, 1.0 - 0.01 * at as f32))
        .collect();
    all[7].kind = 2;
    assert_eq!(order(all.clone(), &none, &[]), [1, 2, 3, 4, 5, 8, 6, 7]);
    let pair = [(8, 7)];
    assert_eq!(order(all, &none, &pair), [1, 2, 3, 4, 5, 7, 8, 6]);
}

#[test]
fn merged_results_keep_these_rules() {
    let result = |number: u128, score: f32| {
        let body = RecordBody::new("text", MemorySource::UserInput, MemoryKind::Episode);
        let at = parse_timestamp("2026-03-02T10:00:00Z").unwrap();
        RetrievedMemory {
            record: body.into_record(RecordId::from_u128(number), at),
            score,
            sona_score: score,
            why: RankExplanation::default(),
            shown: false,
            published: None,
        }
    };
    let mut results = vec![
        result(1, 0.2),
        result(2, 0.9),
        result(3, 0.5),
        result(4, 0.5),
    ];
    let order = |results: &[RetrievedMemory]| -> Vec<RecordId> {
        results.iter().map(|one| one.record.id).collect()
    };
    let ids = |numbers: [u128; 4]| numbers.map(RecordId::from_u128);
    order_results(&mut results, |_| false);
    assert_eq!(order(&results), ids([2, 3, 4, 1]));
    order_results(&mut results, |one| one.record.id == RecordId::from_u128(1));
    assert_eq!(order(&results), ids([1, 2, 3, 4]));
    results[1].why.contradicted_by = Some(RecordId::from_u128(4));
    order_results(&mut results, |_| false);
    assert_eq!(order(&results), ids([4, 2, 3, 1]));
}
