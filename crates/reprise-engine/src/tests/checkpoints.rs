//! Checkpoints made in steps between writes: they open as the log says.

use super::restarts::origin_of;
use super::*;
use crate::{ForgetSelector, IndexOrigin};

fn file_bytes(bench: &EngineBench) -> u64 {
    std::fs::metadata(bench.path()).unwrap().len()
}

/// Sessions with enough words and vectors for several steps.
fn many(bench: &mut EngineBench, from: u32, count: u32) {
    let text = |n: u32| format!("what number {n} of the {} long logs said in full", n * 7);
    let records = (from..from + count).map(|n| {
        let session = format!("log-{}", n / 50);
        record(&format!("n{n}"), &text(n), n as usize % 7, &session)
    });
    bench.insert(records.collect());
}

#[test]
fn what_comes_while_a_checkpoint_is_written_is_there_after_a_restart() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    many(&mut bench, 0, 8_000);
    let port = record("port", "the port is 8080", 3, "s");
    let host = record("host", "the host is called atlas", 4, "s");
    let ids = inserted_ids(&bench.insert(vec![port, host]));
    let encode = bench.engine().begin_checkpoint().unwrap();
    let mut steps = 0;
    let mut newest = None;
    let encoded = encode();
    bench.engine().put_encoded(encoded);
    while !bench.engine().advance_checkpoint().unwrap() {
        // An addition, a correction, a tag, a link, a deletion.
        let now = bench.now;
        bench.insert(vec![record(
            &format!("noon-{steps}"),
            "lunch was at noon",
            5,
            "thu",
        )]);
        if steps == 0 {
            let mut newer = record("port-2", "the port is 9090", 3, "s");
            newer.supersedes = Some(ids[0]);
            let newer = inserted_ids(&bench.insert(vec![newer]))[0];
            let tags = ["auth".to_owned()];
            assert!(bench.engine().set_tags(newer, &tags, now).unwrap());
            assert!(bench.engine().set_tags(ids[1], &tags, now).unwrap());
            assert!(bench.engine().link(newer, ids[1], "runs on", now).unwrap());
            let tuesday = ForgetSelector::Session("tue".into());
            let gone = bench.engine().forget(&tuesday, "asked", now).unwrap();
            assert!(!gone.is_empty());
            newest = Some(newer);
        }
        steps += 1;
    }
    assert!(steps > 0, "nothing came between its steps");
    let newest = newest.unwrap();
    assert!(!bench.engine().is_checkpoint_due(), "all of it is saved");
    assert_eq!(bench.engine().state.checkpoint.entries_behind(), 0);
    let links = bench.engine().snapshot().links(newest).len();
    assert!(links > 0);
    bench.insert(vec![record("late", "a late one", 6, "fri")]);

    let questions = [("which port has the auth service", 3), ("lunch", 5)];
    let expected = questions.map(|(query, axis)| bench.ask(query, axis));
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(
        questions.map(|(query, axis)| bench.ask(query, axis)),
        expected
    );
    assert_eq!(bench.engine().snapshot().links(newest).len(), links);
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    bench.engine().rebuild().unwrap();
    assert_eq!(
        questions.map(|(query, axis)| bench.ask(query, axis)),
        expected
    );
}

#[test]
fn what_was_encoded_before_a_later_change_is_not_saved_in_its_place() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let ids = inserted_ids(&bench.insert(vec![record("port", "the port is 8080", 3, "s")]));
    let now = bench.now;
    let encode = bench.engine().begin_checkpoint().unwrap();
    let older = encode();
    let tags = ["auth".to_owned()];
    assert!(bench.engine().set_tags(ids[0], &tags, now).unwrap());
    // Another checkpoint comes first, as one at the start of a compaction does.
    bench.engine().save_checkpoint().unwrap();
    bench.engine().put_encoded(older);
    while !bench.engine().advance_checkpoint().unwrap() {}
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    let found = bench.engine().snapshot().get(ids[0]).unwrap().unwrap();
    assert_eq!(found.tags, tags);
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn a_checkpoint_appends_what_changed_and_not_the_memory() {
    let mut bench = EngineBench::new();
    many(&mut bench, 0, 3_000);
    bench.engine().checkpoint().unwrap();
    let whole = file_bytes(&bench);
    many(&mut bench, 3_000, 20);
    let before = file_bytes(&bench);
    bench.engine().checkpoint().unwrap();
    let appended = file_bytes(&bench) - before;
    assert!(appended * 6 < whole, "{appended} of {whole} bytes");
    assert!(!bench.engine().is_checkpoint_due());
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
fn a_checkpoint_is_right_after_a_compaction_a_rebuild_or_a_failure_between_its_steps() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    many(&mut bench, 0, 8_000);
    assert!(!bench.engine().advance_checkpoint().unwrap());
    bench.engine().rebuild().unwrap();
    assert!(!bench.engine().advance_checkpoint().unwrap());
    bench.insert(vec![record("noon", "lunch was at noon", 5, "thu")]);
    bench.engine().compact().unwrap();
    let expected = bench.ask("lunch", 5);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("lunch", 5), expected);
    assert!(bench.engine().check().unwrap().is_sound());
    // One that is written while the file is compacted makes everything be saved anew.
    let compaction = bench.engine().start_compaction().unwrap();
    bench.insert(vec![record("late", "a late one", 6, "fri")]);
    bench.engine().checkpoint().unwrap();
    let copied = compaction().unwrap();
    bench.engine().finish_compaction(copied).unwrap();
    let expected = bench.ask("a late one", 6);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("a late one", 6), expected);
    assert!(bench.engine().check().unwrap().is_sound());
}

/// The files of a memory that this process holds open and that have no name any more.
#[cfg(target_os = "linux")]
fn nameless_files(bench: &EngineBench) -> Vec<PathBuf> {
    let handles = std::fs::read_dir("/proc/self/fd").unwrap();
    let paths = handles.filter_map(|handle| std::fs::read_link(handle.unwrap().path()).ok());
    let own = paths.filter(|path| path.starts_with(bench.folder.path()));
    own.filter(|path| path.to_string_lossy().ends_with(" (deleted)"))
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_compaction_lets_the_old_file_go_once_no_reader_needs_it() {
    let with_graph = |bench: &mut EngineBench| {
        bench.engine().state.index.set_graph_threshold(50);
        bench.engine().state.index.set_cells_threshold(50);
    };
    for forgets in [false, true] {
        let mut bench = EngineBench::new();
        with_graph(&mut bench);
        bench.insert(week());
        many(&mut bench, 0, 400);
        while bench.engine().advance_graph(1_000).unwrap() > 0 {}
        bench.engine().checkpoint().unwrap();
        assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
        with_graph(&mut bench);
        let before = bench.engine().snapshot();
        let now = bench.now;
        if forgets {
            let tuesday = ForgetSelector::Session("tue".into());
            let gone = bench.engine().forget(&tuesday, "asked", now).unwrap();
            assert_eq!(gone.len(), 3);
        }
        bench.engine().compact().unwrap();
        assert!(
            !nameless_files(&bench).is_empty(),
            "an older reader keeps it"
        );
        assert_eq!(before.records().flatten().count(), 407);
        drop(before);
        let held = nameless_files(&bench);
        assert!(held.is_empty(), "forgets {forgets}: {held:?}");
        many(&mut bench, 400, 20);
        let answer = bench.ask("hotels in Lisbon", 4);
        assert_eq!(EngineBench::ids(&answer)[0], "trip-1");
        let report = bench.engine().check().unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        bench.engine().checkpoint().unwrap();
        assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
        let report = bench.engine().check().unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}
