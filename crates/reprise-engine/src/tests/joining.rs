//! Two logs of one user's memory are joined: both sides then have what either had, in either order.

use std::collections::BTreeSet;

use super::learning::run_outcome;
use super::*;
use crate::{ConflictKind, ExportEntry, ForgetSelector, JoinedLog, Snapshot, join_logs};
use reprise_types::{LearningEvent, Revision};

fn export_entries(bench: &mut EngineBench) -> Vec<ExportEntry> {
    let mut told = Vec::new();
    bench
        .engine()
        .export_log(&mut |said| told.push(said))
        .unwrap();
    told
}

/// Builds a memory that begins as another is, with its clock some minutes off.
fn fork_of(parent: &mut EngineBench, minutes_off: i64) -> EngineBench {
    let mut fork = EngineBench::new();
    fork.now = parent.now + Duration::minutes(minutes_off) + Duration::milliseconds(7);
    let engine = fork.engine.as_mut().unwrap();
    parent.engine().fork_into(engine, "fork/ada", None).unwrap();
    fork
}

/// Joins two memories in both orders, and again, which must give the same.
fn join_both_ways(one: &mut EngineBench, other: &mut EngineBench) -> JoinedLog {
    let (own, theirs) = (export_entries(one), export_entries(other));
    let joined = join_logs(own.clone(), theirs.clone());
    assert_eq!(joined.entries, join_logs(theirs.clone(), own).entries);
    for again in [theirs, joined.entries.clone()] {
        let twice = join_logs(joined.entries.clone(), again);
        assert_eq!(twice.entries, joined.entries);
    }
    joined
}

/// Imports the joined log into a file of its own.
fn import_joined(joined: &JoinedLog) -> EngineBench {
    let mut memory = EngineBench::new();
    memory.engine().import_log(joined.entries.clone()).unwrap();
    memory.reopen();
    assert_eq!(export_entries(&mut memory), joined.entries);
    assert!(memory.engine().check().unwrap().is_sound());
    memory
}

fn correct(bench: &mut EngineBench, id: RecordId, text: &str) -> RecordId {
    let mut correction = record("unused", text, 0, "tue");
    correction.external_ids.clear();
    correction.supersedes = Some(id);
    inserted_ids(&bench.insert(vec![correction]))[0]
}

#[test]
fn two_machines_that_retire_one_record_into_the_other_leave_one() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let [mut one, mut other] = [fork_of(&mut base, 1), fork_of(&mut base, 2)];
    for (bench, pair) in [(&mut one, (ids[0], ids[1])), (&mut other, (ids[1], ids[0]))] {
        let now = bench.now;
        assert_eq!(bench.engine().retire(&[pair], now).unwrap().1, 1);
    }
    let joined = join_both_ways(&mut one, &mut other);
    let mut both = import_joined(&joined);
    let memory = both.engine().snapshot();
    for id in &ids[..2] {
        assert_eq!(memory.current_version(*id), Some(ids[1]));
        assert_eq!(memory.merged_into(*id), Some(ids[1]));
    }
}

#[test]
fn a_link_that_closed_a_circle_does_not_count_once_the_others_are_gone() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(vec![
        record("told", "fixed with a mutex per user, said Ada", 0, "tue"),
        record("between", "a mutex for each user", 0, "wed"),
    ]));
    let (told, between) = (ids[0], ids[1]);
    base.now += Duration::seconds(1);
    let now = base.now;
    let made = record("made", "fixed with a mutex per user", 0, "thu");
    let made = base.engine().insert_distilled(made, &[told], now);
    let made = made.unwrap().unwrap();
    let [mut one, mut other] = [fork_of(&mut base, 1), fork_of(&mut base, 2)];
    for pair in [(made, between), (between, told)] {
        let now = one.now;
        assert_eq!(one.engine().retire(&[pair], now).unwrap().1, 1);
    }
    let now = other.now;
    assert_eq!(other.engine().retire(&[(told, made)], now).unwrap().1, 1);
    let mut both = import_joined(&join_both_ways(&mut one, &mut other));
    assert_eq!(both.engine().snapshot().merged_into(made), Some(told));
    both.now += Duration::hours(1);
    let now = both.now;
    let gone = ForgetSelector::Session("wed".to_owned());
    let gone = both.engine().forget(&gone, "asked", now).unwrap();
    assert_eq!(gone.len(), 1, "{gone:?}");
    for place in ["running", "compacted", "folded anew"] {
        let memory = both.engine().snapshot();
        assert!(memory.get(told).is_some(), "{place}");
        assert!(memory.get(made).is_some(), "{place}");
        assert!(both.engine().check().unwrap().is_sound(), "{place}");
        if place == "running" {
            both.engine().compact().unwrap();
        } else {
            both.engine().rebuild().unwrap();
        }
    }
}

/// Makes changes on one side; returns the records that it made and those that it forgot.
fn make_a_thousand_changes(
    bench: &mut EngineBench,
    side: usize,
    mut live: Vec<RecordId>,
) -> (BTreeSet<RecordId>, BTreeSet<RecordId>) {
    let (mut kept, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let mut state = 17 + side as u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for change in 0..1_000 {
        bench.now += Duration::seconds(1);
        let (now, memory) = (bench.now, bench.engine().snapshot());
        live.retain(|id| memory.current_version(*id) == Some(*id));
        let (id, other) = (live[below(live.len())], live[below(live.len())]);
        match below(10) {
            0..4 => {
                let name = format!("own-{side}-{change}");
                let text = format!("side {side} learned {change}");
                let new = record(&name, &text, change, "own");
                let new = inserted_ids(&bench.insert(vec![new]));
                live.extend(&new);
                kept.extend(new);
            }
            4..6 => {
                let new = correct(bench, id, &format!("corrected {side} {change}"));
                live.push(new);
                kept.insert(new);
            }
            6 => {
                let tags = [format!("tag-{side}-{change}")];
                bench.engine().set_tags(id, &tags, now).unwrap();
            }
            7 if id != other => {
                bench.engine().link(id, other, "related_to", now).unwrap();
            }
            8 => {
                let run = run_outcome(side * 1_000 + change, &[id], 0.9);
                bench.engine().report_outcome(&run, now).unwrap();
            }
            _ => {
                let selector = ForgetSelector::Record(id);
                let forgotten = bench.engine().forget(&selector, "asked", now).unwrap();
                gone.extend(forgotten.iter().map(|one| one.id));
            }
        }
    }
    (kept, gone)
}

#[test]
fn two_forks_with_a_thousand_changes_each_become_one_and_nothing_is_lost_or_revived() {
    let mut base = EngineBench::new();
    let mut first = week();
    first.extend((0..300).map(|at| {
        record(
            &format!("base-{at}"),
            &format!("what was known at {at}"),
            at,
            "base",
        )
    }));
    let first = inserted_ids(&base.insert(first));
    // One clock is an hour off.
    let mut sides = [fork_of(&mut base, 0), fork_of(&mut base, -61)];
    let mut kept: BTreeSet<RecordId> = BTreeSet::new();
    let mut gone: BTreeSet<RecordId> = BTreeSet::new();
    for (side, bench) in sides.iter_mut().enumerate() {
        let (new, forgotten) = make_a_thousand_changes(bench, side, first.clone());
        kept.extend(new);
        gone.extend(forgotten);
    }
    let [one, other] = &mut sides;
    let runs = |bench: &mut EngineBench| bench.engine().learning_state().status().runs;
    let learned = runs(one) + runs(other);
    let joined = join_both_ways(one, other);
    let mut both = import_joined(&joined);
    let also: BTreeSet<RecordId> = joined
        .conflicts
        .iter()
        .filter(|conflict| conflict.kind == ConflictKind::Forgotten)
        .map(|conflict| conflict.record)
        .collect();
    let memory = both.engine().snapshot();
    for id in kept
        .iter()
        .filter(|id| !gone.contains(id) && !also.contains(id))
    {
        assert!(memory.get_stored(*id).is_some(), "{id} is lost");
    }
    for id in gone.union(&also) {
        assert!(memory.get_stored(*id).is_none(), "{id} is revived");
    }
    assert!(
        gone.len() > 100 && kept.len() > 1_000,
        "{} {}",
        gone.len(),
        kept.len()
    );
    assert_eq!(both.engine().learning_state().status().runs, learned);
}

#[test]
fn of_two_corrections_the_later_stands_and_the_other_is_its_history() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 1));
    let early = correct(&mut one, ids[0], "it is the cache");
    let late = correct(&mut other, ids[0], "it is the clock");
    let joined = join_both_ways(&mut one, &mut other);
    assert_eq!(joined.conflicts.len(), 1);
    let conflict = &joined.conflicts[0];
    assert_eq!(
        (conflict.record, conflict.kind),
        (late, ConflictKind::Corrected)
    );
    let memory = import_joined(&joined).engine().snapshot();
    for version in [ids[0], early, late] {
        assert_eq!(memory.current_version(version), Some(late));
    }
    assert_eq!(memory.version_history(late).len(), 3);
}

#[test]
fn what_is_forgotten_on_one_side_comes_back_by_no_way() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 1));
    let brought = || record("mail-7", "the pin of the door is on the note", 2, "thu");
    let theirs = inserted_ids(&other.insert(vec![brought()]))[0];
    let own = inserted_ids(&one.insert(vec![brought()]))[0];
    let now = one.now;
    for id in [ids[0], own] {
        let selector = ForgetSelector::Record(id);
        one.engine().forget(&selector, "asked", now).unwrap();
    }
    // It corrects the record there, and links to it.
    let edited = correct(&mut other, ids[0], "the pin, said in other words");
    let now = other.now;
    other
        .engine()
        .link(ids[1], edited, "related_to", now)
        .unwrap();
    let joined = join_both_ways(&mut one, &mut other);
    let named: Vec<RecordId> = joined.conflicts.iter().map(|one| one.record).collect();
    assert!(
        named.contains(&edited) && named.contains(&theirs),
        "{named:?}"
    );
    let text = serde_json::to_string(&joined.entries).unwrap();
    assert!(!text.contains("the pin"), "its words are in no place");
    let mut both = import_joined(&joined);
    for id in [ids[0], own, theirs, edited] {
        assert!(both.engine().snapshot().get_stored(id).is_none());
    }
    let again = both.insert(vec![brought()]);
    assert!(
        matches!(again[..], [WriteOutcome::Duplicate { .. }]),
        "{again:?}"
    );
}

#[test]
fn a_text_that_both_learned_and_one_forgot_takes_its_corrections_along() {
    let mut base = EngineBench::new();
    base.insert(week());
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 1));
    let text = "the pin of the door is on the note";
    let learned = || {
        let mut learned = record("unused", text, 2, "thu");
        learned.external_ids = vec![Snapshot::learned_external_id(text, 0)];
        learned
    };
    let own = inserted_ids(&one.insert(vec![learned()]))[0];
    let theirs = inserted_ids(&other.insert(vec![learned()]))[0];
    assert_ne!(own, theirs);
    let edited = correct(&mut other, theirs, "the pin, said in other words");
    let last = correct(&mut other, edited, "the pin, said once more");
    let now = one.now;
    let selector = ForgetSelector::Record(own);
    one.engine().forget(&selector, "asked", now).unwrap();
    let joined = join_both_ways(&mut one, &mut other);
    let named: BTreeSet<RecordId> = joined.conflicts.iter().map(|one| one.record).collect();
    assert_eq!(named, BTreeSet::from([theirs, edited, last]));
    let memory = import_joined(&joined).engine().snapshot();
    for id in [own, theirs, edited, last] {
        assert!(memory.get_stored(id).is_none());
    }
}

#[test]
fn tags_of_both_sides_are_put_together_and_what_either_took_off_is_off() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let now = base.now;
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    base.engine()
        .set_tags(ids[0], &tags(&["old", "both"]), now)
        .unwrap();
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 1));
    let (then, later) = (one.now, other.now);
    one.engine()
        .set_tags(ids[0], &tags(&["both", "mine"]), then)
        .unwrap();
    other
        .engine()
        .set_tags(ids[0], &tags(&["old", "both", "theirs"]), later)
        .unwrap();
    let joined = join_both_ways(&mut one, &mut other);
    assert_eq!(joined.conflicts[0].kind, ConflictKind::Tagged);
    let memory = import_joined(&joined).engine().snapshot();
    let mut held = memory.get(ids[0]).unwrap().unwrap().tags.clone();
    held.sort();
    assert_eq!(held, ["both", "mine", "theirs"]);
}

#[test]
fn what_was_done_while_a_clock_stood_still_keeps_its_order() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 60));
    let later = other.now;
    other
        .engine()
        .set_tags(ids[1], &["elsewhere".to_owned()], later)
        .unwrap();
    let mut one_again = import_joined(&join_both_ways(&mut one, &mut other));
    // An hour behind what it has read, this clock assigns one moment.
    let behind = one.now;
    let engine = one_again.engine();
    for tag in ["zebra", "apple"] {
        engine.set_tags(ids[0], &[tag.to_owned()], behind).unwrap();
    }
    engine.link(ids[1], ids[2], "related_to", behind).unwrap();
    engine.unlink(ids[1], ids[2], "related_to", behind).unwrap();
    let joined = join_both_ways(&mut one_again, &mut other);
    let mut both = import_joined(&joined);
    let memory = both.engine().snapshot();
    assert_eq!(memory.get(ids[0]).unwrap().unwrap().tags, ["apple"]);
    assert_eq!(memory.get(ids[1]).unwrap().unwrap().tags, ["elsewhere"]);
    assert!(memory.related(ids[1], 1, 9).is_empty());
}

#[test]
fn what_both_did_while_their_clocks_stood_still_is_there_once_and_in_its_order() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let (mut one, mut other) = (fork_of(&mut base, -60), fork_of(&mut base, -60));
    for (side, bench) in [&mut one, &mut other].into_iter().enumerate() {
        let now = bench.now;
        // The external ids descend, and so would the order of the words.
        for run in (0..3).rev() {
            let run = run_outcome(10 * side + run, &[ids[0]], 0.9);
            bench.engine().report_outcome(&run, now).unwrap();
        }
    }
    let joined = join_both_ways(&mut one, &mut other);
    assert_eq!(
        import_joined(&joined)
            .engine()
            .learning_state()
            .status()
            .runs,
        6
    );
    let ended = joined.entries.iter().filter_map(|said| match said {
        ExportEntry::Learned(event) => match &**event {
            LearningEvent::Ended(run) => Some(run.run_id.as_str()),
            _ => None,
        },
        _ => None,
    });
    let ended: Vec<&str> = ended.collect();
    assert_eq!(ended.len(), 6, "{ended:?}");
    let place = |run: &str| ended.iter().position(|one| *one == run);
    assert!(place("run-2") < place("run-1") && place("run-1") < place("run-0"));
    assert!(place("run-12") < place("run-11") && place("run-11") < place("run-10"));
}

#[test]
fn outcomes_that_one_side_took_back_stay_taken_back() {
    let mut base = EngineBench::new();
    let ids = inserted_ids(&base.insert(week()));
    let now = base.now;
    for run in 0..3 {
        let run = run_outcome(run, &[ids[0]], 0.9);
        base.engine().report_outcome(&run, now).unwrap();
    }
    let (mut one, mut other) = (fork_of(&mut base, 0), fork_of(&mut base, 1));
    let now = one.now;
    for run in ["run-0", "run-1"] {
        one.engine().withdraw_run(run, now).unwrap();
    }
    // The other side judges one of them later.
    let later = other.now + Duration::minutes(1);
    let engine = other.engine();
    engine
        .revise_run("run-0", Revision::Scored, Some(1.0), later)
        .unwrap();
    let joined = join_both_ways(&mut one, &mut other);
    let mut both = import_joined(&joined);
    let learning = both.engine().learning_state();
    assert_eq!(learning.status().runs, 1);
    for run in ["run-0", "run-1"] {
        let run = learning.find_ended_run(run).unwrap();
        assert_eq!(run.revision, Some(Revision::Withdrawn));
    }
}

#[test]
fn a_mark_at_the_end_of_time_is_joined_like_any_other() {
    let mut base = EngineBench::new();
    let record = inserted_ids(&base.insert(week()))[0];
    let tagged = |tags: [&str; 2]| {
        tags.map(|tag| ExportEntry::Tagged {
            record,
            at: DateTime::<Utc>::MAX_UTC,
            tags: vec![tag.to_owned()],
        })
    };
    let (mut own, mut theirs) = (export_entries(&mut base), export_entries(&mut base));
    own.extend(tagged(["zebra", "apple"]));
    theirs.extend(tagged(["yak", "bear"]));
    let joined = join_logs(own, theirs);
    let marks = joined.entries.iter();
    let marks = marks.filter(|said| matches!(said, ExportEntry::Tagged { .. }));
    assert!(marks.count() >= 4, "{:?}", joined.entries);
}
