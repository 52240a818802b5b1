//! A record that is retired into another: gone from every answer of the present, still in the log,
//! and restored.

use chrono::Duration;
use reprise_store::{StoreEntry, Tombstone};
use reprise_types::{Annotation, ContentHash, ExternalId, RecallRequest, RecordId, WriteOutcome};

use super::{EngineBench, inserted_ids, record, week};
use crate::write::dedup_keys::hash_external_id;
use crate::{ActionChanges, ForgetSelector, LinkEnd, NewLink, WriteBatch};

#[test]
pub(super) fn what_is_put_behind_another_answers_no_more_and_comes_back() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let before = bench.ask("auth race condition", 0);
    let (kept, gone) = (ids[0], ids[1]);
    bench.now += Duration::seconds(1);
    let now = bench.now;
    let pairs = [(gone, kept), (gone, gone)];
    let (at, count) = bench.engine().retire(&pairs, now).unwrap();
    assert_eq!(count, 1);
    for round in 0..3 {
        if round == 1 {
            bench.engine().checkpoint().unwrap();
        }
        let answer = bench.ask("auth race condition", 0);
        assert!(!EngineBench::ids(&answer).contains(&"auth-2"));
        let snapshot = bench.engine().snapshot();
        assert_eq!(snapshot.current_version(gone), Some(kept));
        let retired = snapshot.retirements();
        assert_eq!(
            (retired.len(), retired[0].retired, retired[0].merged_into),
            (1, gone, Some(kept))
        );
        assert_eq!(retired[0].at_micros, at);
        assert!(snapshot.links(kept).is_empty() && snapshot.related(kept, 3, 9).is_empty());
        let mut request = RecallRequest::new("auth race condition");
        request.as_of = Some(now - Duration::milliseconds(1));
        let then = bench.ask_with(&request, Some(0));
        assert!(
            EngineBench::ids(&then).contains(&"auth-2"),
            "as of before it answers"
        );
        let again = bench.insert(vec![record("auth-2", "auth race condition", 0, "tue")]);
        assert!(matches!(again[0], WriteOutcome::Duplicate { .. }));
        let report = bench.engine().check().unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
        bench.reopen();
    }
    let now = bench.now;
    assert_eq!(bench.engine().restore(&[gone, kept], now).unwrap(), 1);
    for _ in 0..2 {
        let after = bench.ask("auth race condition", 0);
        assert_eq!(EngineBench::ids(&after), EngineBench::ids(&before));
        let scores = |recall: &reprise_types::RecallResponse| -> Vec<u32> {
            recall
                .results
                .iter()
                .map(|found| found.score.to_bits())
                .collect()
        };
        assert_eq!(scores(&after), scores(&before));
        bench.reopen();
    }
}

#[test]
pub(super) fn two_that_are_put_behind_each_other_do_not_both_go() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    let circle = [(ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[0])];
    assert_eq!(bench.engine().retire(&circle, now).unwrap().1, 2);
    for _ in 0..2 {
        let memory = bench.engine().snapshot();
        for id in &ids[..3] {
            assert_eq!(memory.merged_into(*id), Some(ids[2]));
            assert_eq!(memory.current_version(*id), Some(ids[2]));
        }
        bench.reopen();
    }
}

#[test]
fn one_that_is_named_twice_is_put_behind_one_and_comes_back_at_once() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    let pairs = [(ids[0], ids[1]), (ids[0], ids[2]), (ids[2], ids[0])];
    assert_eq!(bench.engine().retire(&pairs, now).unwrap().1, 2);
    let memory = bench.engine().snapshot();
    for id in &ids[..3] {
        assert_eq!(memory.merged_into(*id), Some(ids[1]));
    }
    assert_eq!(bench.engine().restore(&ids[..1], now).unwrap(), 1);
    assert_eq!(bench.engine().snapshot().merged_into(ids[0]), Some(ids[0]));
}

#[test]
pub(super) fn each_act_has_an_instant_of_its_own() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    let first = bench.engine().retire(&[(ids[0], ids[1])], now).unwrap().0;
    let second = bench.engine().retire(&[(ids[2], ids[1])], now).unwrap().0;
    let third = bench.engine().expire(&[ids[3]], now).unwrap().0;
    assert!(first < second && second < third, "{first} {second} {third}");
    // What one action changes has one instant, of which kind it may be.
    let (kept, ids) = (ids[1], &ids[4..]);
    let changes = ActionChanges {
        distilled: vec![(record("made", "a summary", 1, "s"), vec![ids[0]])],
        retired: vec![(ids[0], ids[1])],
        expired: vec![ids[2]],
        contradictions: vec![(kept, ids[1])],
    };
    let (at, made) = bench.engine().execute_action(changes, now).unwrap();
    let at = at.unwrap();
    assert!(third < at, "{third} {at}");
    let memory = bench.engine().snapshot();
    let retired = memory.list_all_retirements().into_iter();
    let retired: Vec<RecordId> = retired
        .filter_map(|one| (one.at_micros == at).then_some(one.retired))
        .collect();
    assert_eq!(retired, [ids[0], ids[2]]);
    assert_eq!(memory.contradictions()[0].at_micros, at);
    let summary = memory.get(made[0]).unwrap().unwrap();
    assert_eq!(summary.known_at.timestamp_micros(), at);
    let none = bench.engine().execute_action(ActionChanges::default(), now);
    assert_eq!(none.unwrap(), (None, Vec::new()));
}

/// Retires records into one that was distilled from them.
pub(super) fn retire_into(bench: &mut EngineBench, made: RecordId, sources: &[RecordId]) {
    let made = LinkEnd::Stored(made);
    let links = sources.iter().flat_map(|source| {
        let source = LinkEnd::Stored(*source);
        [
            NewLink::distilled_from(made, source),
            NewLink::retired_into(source, made),
        ]
    });
    let batch = WriteBatch {
        links: links.collect(),
        ..WriteBatch::default()
    };
    let now = bench.now;
    bench.engine().write(batch, now).unwrap();
}

#[test]
pub(super) fn a_correction_is_not_taken_back_by_a_restoration() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let mut newer = record("auth-2b", "auth race condition, again", 0, "tue");
    newer.supersedes = Some(ids[1]);
    bench.insert(vec![newer]);
    let now = bench.now;
    assert_eq!(
        bench.engine().retire(&[(ids[1], ids[0])], now).unwrap().1,
        0
    );
    assert_eq!(bench.engine().restore(&[ids[1]], now).unwrap(), 0);
    assert!(bench.engine().snapshot().get(ids[1]).is_none());
}

#[test]
fn what_was_corrected_while_it_was_retired_stays_replaced() {
    for how in ["restored", "forgotten", "expired"] {
        let mut bench = EngineBench::new();
        let ids = inserted_ids(&bench.insert(week()));
        let (old, into) = (ids[1], ids[0]);
        let now = bench.now;
        let engine = bench.engine();
        if how == "expired" {
            engine.expire(&[old], now).unwrap();
        } else {
            engine.retire(&[(old, into)], now).unwrap();
        }
        bench.now += Duration::seconds(1);
        // A log that was joined of two has it so.
        let at = bench.now;
        let place = bench.engine().snapshot().index.find(old).unwrap();
        let relation = crate::snapshot::annotation_index::RETIRED.to_owned();
        let to = bench.engine().snapshot().index.find(into).unwrap();
        let entries = [StoreEntry::Superseded { id: old, at }];
        bench.engine().append_and_publish(&entries).unwrap();
        bench.now += Duration::seconds(1);
        let now = bench.now;
        if how == "forgotten" {
            let unlinked = Annotation::Unlinked { to, relation };
            let doc = bench.engine().snapshot().index.doc(to).unwrap();
            let name = ExternalId::new(ExternalId::BATCH, "auth-1");
            let tombstone = Tombstone {
                id: doc.id,
                at: now,
                reason: "asked".to_owned(),
                content_hash: ContentHash::default(),
                keys: vec![hash_external_id(&name)],
            };
            let entries = [
                StoreEntry::from_annotation(place, now, unlinked),
                StoreEntry::Forgotten {
                    ordinal: to,
                    tombstone,
                },
            ];
            bench.engine().append_and_publish(&entries).unwrap();
        } else {
            bench.engine().restore(&[old], now).unwrap();
        }
        for round in 0..4 {
            let memory = bench.engine().snapshot();
            assert!(memory.get(old).is_none(), "{how}, round {round}");
            assert_eq!(memory.index.doc(place).unwrap().superseded_at(), Some(at));
            let report = bench.engine().check().unwrap();
            assert!(report.findings.is_empty(), "{how}: {report:?}");
            if round == 1 {
                bench.engine().checkpoint().unwrap();
            } else if round == 2 {
                bench.engine().compact().unwrap();
            }
            bench.reopen();
        }
    }
}

#[test]
pub(super) fn forgetting_takes_along_what_was_put_behind() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    bench.engine().retire(&[(ids[2], ids[1])], now).unwrap();
    bench.engine().retire(&[(ids[1], ids[0])], now).unwrap();
    let by_name = ForgetSelector::External(ExternalId::new(ExternalId::BATCH, "auth-3"));
    let gone = bench.engine().forget(&by_name, "asked", now).unwrap();
    assert_eq!(
        gone.len(),
        3,
        "named by one of them, all three say the same"
    );
    bench.reopen();
    assert!(bench.engine().snapshot().retirements().is_empty());
}

#[test]
pub(super) fn forgetting_a_source_forgets_its_summary_and_the_other_sources_answer_again() {
    let by_id = |id| ForgetSelector::Id(id);
    let by_name = |_| ForgetSelector::External(ExternalId::new(ExternalId::BATCH, "auth-2"));
    let by: [&dyn Fn(RecordId) -> ForgetSelector; 2] = [&by_id, &by_name];
    for selector in by {
        let mut bench = EngineBench::new();
        let ids = inserted_ids(&bench.insert(week()));
        let now = bench.now;
        let made =
            inserted_ids(&bench.insert(vec![record("made", "auth, told once", 0, "wed")]))[0];
        retire_into(&mut bench, made, &ids[..3]);
        assert_eq!(bench.engine().snapshot().retirements().len(), 3);
        assert_eq!(
            bench.engine().snapshot().current_version(ids[1]),
            Some(made)
        );
        bench.reopen();
        let asked = selector(ids[1]);
        let would = bench.engine().snapshot().preview_forget(&asked);
        let gone = bench.engine().forget(&asked, "asked", now).unwrap();
        let gone: Vec<RecordId> = gone.iter().map(|one| one.id).collect();
        assert_eq!(gone, [ids[1], made]);
        assert_eq!(would, gone);
        for round in 0..3 {
            let memory = bench.engine().snapshot();
            assert!(memory.get_stored(ids[1]).is_none() && memory.get_stored(made).is_none());
            assert!(memory.get(ids[0]).is_some() && memory.get(ids[2]).is_some());
            assert!(memory.retirements().is_empty());
            let report = bench.engine().check().unwrap();
            assert!(report.findings.is_empty(), "{report:?}");
            if round == 1 {
                bench.engine().compact().unwrap();
            }
            bench.reopen();
        }
    }
}

#[test]
pub(super) fn forgetting_a_summary_itself_forgets_what_stands_behind_it() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    retire_into(&mut bench, ids[0], &ids[1..3]);
    let asked = ForgetSelector::Id(ids[0]);
    let gone = bench.engine().forget(&asked, "asked", now).unwrap();
    assert_eq!(gone.len(), 3);
}

#[test]
pub(super) fn what_was_set_apart_stays_so_and_shows_in_no_walk() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    assert!(bench.engine().mark_distinct(ids[0], ids[1], now).unwrap());
    assert!(!bench.engine().mark_distinct(ids[1], ids[0], now).unwrap());
    bench.reopen();
    let snapshot = bench.engine().snapshot();
    assert!(snapshot.are_distinct(ids[1], ids[0]) && !snapshot.are_distinct(ids[0], ids[2]));
    assert!(snapshot.related(ids[0], 3, 9).is_empty());
}

#[test]
pub(super) fn what_had_its_time_is_away_can_come_back_and_is_forgotten_when_told() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    let (at, count) = bench.engine().expire(&[ids[0], ids[1]], now).unwrap();
    assert_eq!(count, 2);
    for _ in 0..2 {
        let memory = bench.engine().snapshot();
        assert!(memory.get(ids[0]).is_none() && memory.current_version(ids[0]).is_none());
        assert!(memory.get_stored(ids[0]).is_some());
        let retired = memory.retirements();
        assert_eq!((retired.len(), retired[0].merged_into), (2, None));
        assert_eq!(retired[0].at_micros, at);
        assert!(bench.engine().check().unwrap().findings.is_empty());
        bench.reopen();
    }
    assert_eq!(bench.engine().restore(&[ids[0]], now).unwrap(), 1);
    let memory = bench.engine().snapshot();
    assert_eq!(memory.current_version(ids[0]), Some(ids[0]));
    assert!(memory.list_all_retirements()[0].undone_micros.is_some());
    let early = bench.engine().forget_expired(now - Duration::days(1), now);
    assert_eq!(early.unwrap(), []);
    let after = now + Duration::seconds(1);
    let gone = bench.engine().forget_expired(after, after).unwrap();
    assert_eq!((gone.len(), gone[0].id), (1, ids[1]));
    bench.reopen();
    let memory = bench.engine().snapshot();
    assert!(memory.get_stored(ids[1]).is_none() && memory.get(ids[0]).is_some());
}

#[test]
fn what_is_made_of_others_is_kept_with_what_it_cites_in_one_commit() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let now = bench.now;
    let commits = |bench: &mut EngineBench| bench.engine().log.stats().commits;
    let before = commits(&mut bench);
    let made = record("made", "what the others have in common", 4, "x");
    let made = bench
        .engine()
        .insert_distilled(made, &ids[..2], now)
        .unwrap()
        .unwrap();
    assert_eq!(commits(&mut bench), before + 1);
    let snapshot = bench.engine().snapshot();
    assert_eq!(snapshot.related(made, 1, 9).len(), 2);
}
