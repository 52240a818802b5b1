//! Branches begin as their parent was, change on their own, and are merged once.

use std::path::Path;

use reprise_simulation::SimDisk;
use reprise_store::Disk as _;
use reprise_types::limits::EXTERNAL_IDS_MAX;

use super::*;
use crate::{EngineError, ForgetSelector, MergeReport};

fn fork_of(parent: &mut EngineBench, ago: i64) -> EngineBench {
    let mut branch = EngineBench::new();
    branch.now = parent.now + Duration::seconds(100);
    let as_of = Some(parent.now - Duration::seconds(ago));
    let engine = branch.engine.as_mut().unwrap();
    parent
        .engine()
        .fork_into(engine, "fork/ada", as_of)
        .unwrap();
    branch
}

fn ids_of(bench: &mut EngineBench) -> Vec<RecordId> {
    let snapshot = bench.engine().snapshot();
    snapshot
        .records()
        .map(|record| record.unwrap().id)
        .collect()
}

#[test]
pub(super) fn a_branch_begins_as_its_parent_was_and_neither_sees_the_other() {
    let mut parent = EngineBench::new();
    let first = inserted_ids(&parent.insert(week()));
    let now = parent.now;
    parent
        .engine()
        .set_tags(first[0], &["race".into()], now)
        .unwrap();
    parent
        .engine()
        .link(first[0], first[2], "fixed-by", now)
        .unwrap();
    parent.insert(vec![record("later", "written later", 1, "fri")]);
    let mut branch = fork_of(&mut parent, 1);
    assert_eq!(ids_of(&mut branch), first);
    let ask = |bench: &mut EngineBench| bench.ask("auth race condition", 0).results;
    let mut stopped = ask(&mut parent);
    stopped.retain(|found| found.record.find_external_id("batch") != Some("later"));
    assert_eq!(ask(&mut branch).len(), stopped.len());
    assert_eq!(branch.engine().snapshot().related(first[0], 2, 9).len(), 1);
    assert!(branch.engine().stream_cursor("fork/ada").is_some());
    for _ in 0..2 {
        branch.insert(vec![record("own", "only in the branch", 3, "x")]);
        branch.now += Duration::seconds(1);
        branch.reopen();
        assert!(branch.engine().check().unwrap().is_sound());
        assert_eq!(ids_of(&mut branch).len(), 8);
        assert_eq!(ids_of(&mut parent).len(), 8);
    }
}

#[test]
pub(super) fn what_was_forgotten_is_in_no_branch_not_even_of_the_past() {
    let mut parent = EngineBench::new();
    let ids = inserted_ids(&parent.insert(week()));
    let now = parent.now;
    parent
        .engine()
        .set_tags(ids[3], &["billing".into()], now)
        .unwrap();
    parent.engine().link(ids[3], ids[5], "near", now).unwrap();
    parent.now += Duration::seconds(5);
    let now = parent.now;
    let gone = ForgetSelector::Id(ids[3]);
    parent.engine().forget(&gone, "asked", now).unwrap();
    for compacted in [false, true] {
        if compacted {
            parent.engine().compact().unwrap();
        }
        let mut branch = fork_of(&mut parent, 5);
        assert_eq!(ids_of(&mut branch).len(), 6);
        assert!(branch.engine().check().unwrap().is_sound());
        let bytes = std::fs::read(branch.path()).unwrap();
        assert!(!bytes.windows(9).any(|window| window == b"customers"));
        assert!(branch.engine().snapshot().tag_counts().is_empty());
    }
}

#[test]
fn what_was_forgotten_does_not_come_back_into_a_branch() {
    let mut parent = EngineBench::new();
    let ids = inserted_ids(&parent.insert(week()));
    parent.now += Duration::seconds(5);
    let now = parent.now;
    let gone = ForgetSelector::Id(ids[3]);
    parent.engine().forget(&gone, "asked", now).unwrap();
    parent.insert(vec![record("later", "written later", 1, "fri")]);
    for compacted in [false, true] {
        if compacted {
            parent.engine().compact().unwrap();
        }
        for ago in [0, 5] {
            let mut branch = fork_of(&mut parent, ago);
            let kept = ids_of(&mut branch).len();
            assert_eq!(kept, 6 + usize::from(ago == 0));
            for round in 0..3 {
                let again = branch.insert(week());
                let is_known = |one: &WriteOutcome| matches!(one, WriteOutcome::Duplicate { .. });
                assert!(again.iter().all(is_known), "{ago}, {round}: {again:?}");
                assert_eq!(ids_of(&mut branch).len(), kept);
                assert!(branch.engine().snapshot().get_stored(ids[3]).is_none());
                assert!(branch.engine().check().unwrap().is_sound());
                if round == 1 {
                    branch.engine().compact().unwrap();
                }
                branch.reopen();
            }
            let mut own = EngineBench::new();
            let copied = parent.engine().fork_into(own.engine(), "fork/ada", None);
            assert_eq!(copied.unwrap(), 7, "forgotten ones are not counted");
        }
    }
}

#[test]
pub(super) fn a_merge_brings_what_is_new_once() {
    let mut parent = EngineBench::new();
    let ids = inserted_ids(&parent.insert(week()));
    let mut branch = fork_of(&mut parent, 0);
    let mut fix = record("auth-1b", "users are logged out every hour", 0, "tue");
    fix.supersedes = Some(ids[0]);
    let fix = inserted_ids(&branch.insert(vec![fix]))[0];
    let mut again = record("auth-1c", "users are logged out every minute", 0, "tue");
    again.supersedes = Some(fix);
    branch.insert(vec![again, record("new", "the lift is broken", 5, "sat")]);
    let now = branch.now;
    branch
        .engine()
        .set_tags(ids[4], &["billing".into()], now)
        .unwrap();
    branch
        .engine()
        .forget(&ForgetSelector::Id(ids[5]), "asked", now)
        .unwrap();
    parent.insert(vec![record("own", "only in the parent", 6, "sun")]);

    let theirs = branch.engine().snapshot();
    let diff = parent.engine().snapshot().diff(&theirs);
    assert_eq!(diff.added.len(), 2);
    assert_eq!(diff.missing.len(), 1);
    assert_eq!(
        (diff.removed, diff.retagged),
        (vec![ids[0], ids[5]], vec![ids[4]])
    );
    let merged = parent.engine().merge_branch(&theirs, now).unwrap();
    let expected = MergeReport {
        added: 2,
        known: 0,
        retagged: 1,
        rejected: Vec::new(),
    };
    assert_eq!(merged, expected);
    assert_eq!(
        EngineBench::ids(&parent.ask("the lift is broken", 5))[0],
        "new"
    );
    assert!(parent.engine().snapshot().get(ids[5]).is_some());
    let corrected = parent.engine().snapshot().get(ids[0]).is_none();
    assert!(corrected, "a correction of a correction corrects");
    let again = parent.engine().merge_branch(&theirs, now).unwrap();
    assert_eq!((again.added, again.known, again.retagged), (0, 2, 0));
    parent.reopen();
    assert!(parent.engine().check().unwrap().is_sound());
}

#[test]
pub(super) fn a_difference_found_before_the_writers_turn_merges_as_far_as_it_still_holds() {
    let mut parent = EngineBench::new();
    let ids = inserted_ids(&parent.insert(week()));
    let mut branch = fork_of(&mut parent, 0);
    branch.insert(vec![record("new", "the lift is broken", 5, "sat")]);
    let now = branch.now;
    for id in [ids[3], ids[4]] {
        let tags = ["billing".to_owned()];
        branch.engine().set_tags(id, &tags, now).unwrap();
    }
    let theirs = branch.engine().snapshot();
    let diff = parent.engine().snapshot().diff(&theirs);
    assert_eq!(diff.added.len(), 1);
    assert_eq!(diff.retagged, [ids[3], ids[4]]);
    // Meanwhile one record is forgotten, and another comes by a second merge.
    let gone = ForgetSelector::Id(ids[3]);
    parent.engine().forget(&gone, "asked", now).unwrap();
    assert_eq!(parent.engine().merge_branch(&theirs, now).unwrap().added, 1);
    let merged = parent.engine().merge_diff(&theirs, diff, now).unwrap();
    let expected = MergeReport {
        known: 1,
        ..MergeReport::default()
    };
    assert_eq!(merged, expected);
    assert!(parent.engine().check().unwrap().is_sound());
}

#[test]
pub(super) fn what_a_merge_is_refused_is_told_apart_from_what_was_known() {
    let mut parent = EngineBench::new();
    parent.insert(week());
    let mut branch = fork_of(&mut parent, 0);
    // With the id that it had in the branch it has one external id more than a record may have.
    let mut named = record("name-0", "known by many names", 3, "x");
    let names = (1..EXTERNAL_IDS_MAX).map(|name| ExternalId::new("other", name.to_string()));
    named.external_ids.extend(names);
    let id = inserted_ids(&branch.insert(vec![named]))[0];
    let (theirs, now) = (branch.engine().snapshot(), branch.now);
    let merged = parent.engine().merge_branch(&theirs, now).unwrap();
    assert_eq!((merged.added, merged.known), (0, 0));
    assert_eq!(merged.rejected.len(), 1);
    assert_eq!(merged.rejected[0].id, id);
}

#[test]
pub(super) fn only_an_empty_memory_becomes_a_branch() {
    let (mut parent, mut other) = (EngineBench::new(), EngineBench::new());
    parent.insert(week());
    other.insert(week());
    let refused = parent.engine().fork_into(other.engine(), "fork/ada", None);
    assert!(matches!(refused, Err(EngineError::BranchNotEmpty)));
}

#[test]
pub(super) fn a_clone_is_a_branch_without_a_byte_copied_unless_something_forgotten_is_in_the_file()
{
    let disk = SimDisk::new();
    let open = |path: &str| {
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let entropy = path.len() as u128;
        let options = EngineOptions::new(DIMENSIONS as u16, entropy, now);
        Engine::open(Arc::new(disk.clone()), Path::new(path), &options)
            .unwrap()
            .0
    };
    let now = parse_timestamp("2026-02-16T09:00:01Z").unwrap();
    let mut parent = open("/m/ada.rvf");
    let ids = inserted_ids(&parent.observe(week(), None, now).unwrap());
    parent
        .forget(&ForgetSelector::Id(ids[6]), "asked", now)
        .unwrap();
    let path = Path::new("/m/ada+try.rvf");
    assert!(
        !parent.clone_file_to(path).unwrap(),
        "it would have what was forgotten"
    );
    assert_eq!(disk.identity(path).unwrap(), None);
    parent.compact().unwrap();
    assert!(parent.clone_file_to(path).unwrap());
    let mut branch = open("/m/ada+try.rvf");
    assert_eq!(branch.mark_as_branch("fork/ada").unwrap(), 6);
    assert_eq!(branch.stream_cursor("fork/ada"), Some(parent.log.seq().0));
    let new = vec![record("new", "tried out in the branch", 1, "wed")];
    branch.observe(new, None, now).unwrap();
    parent
        .observe(vec![record("own", "went on at home", 1, "wed")], None, now)
        .unwrap();
    let diff = parent.snapshot().diff(&branch.snapshot());
    assert_eq!((diff.added.len(), diff.missing.len()), (1, 1));
    assert!(branch.check().unwrap().is_sound() && parent.check().unwrap().is_sound());
    assert!(
        parent.clone_file_to(path).is_err(),
        "there is a memory already"
    );
}

/// Opens ada's memory on a disk.
fn open_ada(disk: &SimDisk, read_only: bool) -> Engine {
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let mut options = EngineOptions::new(DIMENSIONS as u16, 1, now);
    options.read_only = read_only;
    let path = Path::new("/m/ada.rvf");
    Engine::open(Arc::new(disk.clone()), path, &options)
        .unwrap()
        .0
}

#[test]
fn no_clone_has_what_was_forgotten_though_a_compaction_or_a_check_left_only_holes() {
    let now = parse_timestamp("2026-02-16T09:00:01Z").unwrap();
    let path = Path::new("/m/ada+try.rvf");
    for is_checked in [false, true] {
        let disk = SimDisk::new();
        let mut parent = open_ada(&disk, false);
        let ids = inserted_ids(&parent.observe(week(), None, now).unwrap());
        parent
            .forget(&ForgetSelector::Id(ids[6]), "asked", now)
            .unwrap();
        if is_checked {
            assert!(parent.check().unwrap().is_sound());
            parent.save_checkpoint().unwrap();
        } else {
            // The process ends before the copying does.
            drop(parent.start_compaction().unwrap());
        }
        drop(parent);
        let reader = open_ada(&disk, true);
        assert!(!reader.clone_file_to(path).unwrap(), "{is_checked}");
        assert_eq!(disk.identity(path).unwrap(), None);
    }
}

#[test]
fn a_clone_is_what_was_read_and_not_what_another_process_wrote_meanwhile() {
    let disk = SimDisk::new();
    let now = parse_timestamp("2026-02-16T09:00:01Z").unwrap();
    let path = Path::new("/m/ada+try.rvf");
    let mut daemon = open_ada(&disk, false);
    let ids = inserted_ids(&daemon.observe(week(), None, now).unwrap());
    let reader = open_ada(&disk, true);
    daemon
        .forget(&ForgetSelector::Id(ids[6]), "asked", now)
        .unwrap();
    assert!(!reader.clone_file_to(path).unwrap());
    assert_eq!(disk.identity(path).unwrap(), None);
    let reader = {
        daemon.compact().unwrap();
        open_ada(&disk, true)
    };
    daemon.compact().unwrap();
    assert!(!reader.clone_file_to(path).unwrap(), "another file now");
    assert!(open_ada(&disk, true).clone_file_to(path).unwrap());
}

#[test]
fn a_merge_is_one_commit() {
    let mut parent = EngineBench::new();
    let first = inserted_ids(&parent.insert(week()));
    let mut branch = fork_of(&mut parent, 0);
    branch.insert(vec![record("own", "only in the branch", 3, "x")]);
    let now = branch.now;
    for id in &first[..3] {
        branch
            .engine()
            .set_tags(*id, &["race".into()], now)
            .unwrap();
    }
    let theirs = branch.engine().snapshot();
    let now = parent.now;
    let before = parent.engine().log.stats().commits;
    let merged = parent.engine().merge_branch(&theirs, now).unwrap();
    assert_eq!((merged.added, merged.retagged), (1, 3));
    assert_eq!(parent.engine().log.stats().commits, before + 1);
    assert_eq!(parent.engine().snapshot().tags_of(0), ["race"]);
    // A second merge has nothing to do.
    parent.engine().merge_branch(&theirs, now).unwrap();
    assert_eq!(parent.engine().log.stats().commits, before + 1);
}
