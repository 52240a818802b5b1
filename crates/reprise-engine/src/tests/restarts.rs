//! Restarts: from a checkpoint, from the bare log, after compaction; and the clock going backwards.

use super::learning::run_outcome;
use super::*;
use crate::state::MARKS;
use crate::{ForgetSelector, IndexOrigin, RecallCall};
use reprise_store::Verify;
use reprise_types::DegradedPart;
use reprise_types::{SectionKey, SectionPages};

pub(super) fn origin_of(bench: &mut EngineBench) -> IndexOrigin {
    drop(bench.engine.take());
    let options = options_at(bench.now);
    let (engine, report) = Engine::open(Arc::new(RealDisk), &bench.path(), &options).unwrap();
    bench.engine = Some(engine);
    report.origin
}

#[test]
pub(super) fn every_way_to_start_gives_the_same_answers() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Rebuilt);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().checkpoint().unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.insert(vec![record("late", "a late one", 6, "fri")]);
    let expected = bench.ask("fix the bug in the auth module", 0);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().compact().unwrap();
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().rebuild().unwrap();
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
pub(super) fn nothing_is_made_anew_for_what_is_written_and_all_for_damage_and_another_version() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    bench.engine().checkpoint().unwrap();
    let same = |bench: &mut EngineBench, origin: IndexOrigin| {
        let expected = bench.ask("which port has the auth service", 3);
        assert_eq!(origin_of(bench), origin);
        assert_eq!(bench.ask("which port has the auth service", 3), expected);
    };
    // An addition, a correction, a tag, a deletion.
    let old = inserted_ids(&bench.insert(vec![record("port", "the port is 8080", 3, "s")]))[0];
    same(&mut bench, IndexOrigin::Checkpoint);
    let mut new = record("port-2", "the port is 9090", 3, "s");
    new.supersedes = Some(old);
    let new = inserted_ids(&bench.insert(vec![new]))[0];
    same(&mut bench, IndexOrigin::Checkpoint);
    let now = bench.now;
    assert!(
        bench
            .engine()
            .set_tags(new, &["auth".to_owned()], now)
            .unwrap()
    );
    same(&mut bench, IndexOrigin::Checkpoint);
    let selector = ForgetSelector::Session("tue".into());
    bench.engine().forget(&selector, "asked", now).unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);

    bench.engine().load().unwrap();
    bench.engine().checkpoint().unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);
    let newest = section_start(&bench, (MARKS, 0));
    let mut bytes = std::fs::read(bench.path()).unwrap();
    bytes[newest] ^= 1;
    std::fs::write(bench.path(), bytes).unwrap();
    same(&mut bench, IndexOrigin::Rebuilt);

    // A checkpoint of an unknown version, otherwise whole.
    bench.engine().checkpoint().unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);
    bench.engine().rebuild().unwrap();
    let mut marks = bench.engine().state.marks.to_bytes();
    marks[0] += 1;
    let forged = SectionPages::from_bytes((MARKS, 0), &marks);
    bench.engine().log.complete_checkpoint(&[forged]).unwrap();
    same(&mut bench, IndexOrigin::Rebuilt);
}

/// Returns where the first page of a section is in the file.
fn section_start(bench: &EngineBench, key: SectionKey) -> usize {
    let places = reprise_store::locate_section(&RealDisk, &bench.path(), key).unwrap();
    usize::try_from(places[0].start).unwrap()
}

#[test]
fn a_graph_grows_is_kept_and_changes_no_answer() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    let options = EngineOptions {
        graph_from: 3,
        ..EngineOptions::new(DIMENSIONS as u16, 42, bench.now)
    };
    let path = bench.path();
    let open = |bench: &mut EngineBench| {
        drop(bench.engine.take());
        let opened = Engine::open(Arc::new(RealDisk), &path, &options).unwrap();
        bench.engine = Some(opened.0);
    };
    open(&mut bench);
    bench.engine().checkpoint().unwrap();
    // An incomplete graph is saved at closing, a complete one as soon as there is time.
    assert_eq!(bench.engine().advance_graph(4).unwrap(), 3);
    let mut before = file_bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(file_bytes(&mut bench), before);
    bench.engine.take().unwrap().close().unwrap();
    open(&mut bench);
    assert_eq!(bench.engine().advance_graph(1).unwrap(), 2);
    assert_eq!(bench.engine().advance_graph(9).unwrap(), 0);
    before = file_bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert!(file_bytes(&mut bench) > before);
    open(&mut bench);
    assert_eq!(bench.engine().advance_graph(0).unwrap(), 0);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    assert!(bench.engine().check().unwrap().is_sound());
    bench.engine().rebuild().unwrap();
    assert_eq!(bench.engine().advance_graph(3).unwrap(), 4);
}

#[test]
pub(super) fn cursors_move_with_the_records_and_only_forwards() {
    let mut bench = EngineBench::new();
    let now = bench.now;
    let cursor = |seq| Some(("events".to_owned(), seq));
    bench.engine().observe(week(), cursor(7), now).unwrap();
    let bytes = std::fs::metadata(bench.path()).unwrap().len();
    for seq in [7, 3] {
        bench.engine().observe(week(), cursor(seq), now).unwrap();
        assert_eq!(bench.engine().stream_cursor("events"), Some(7));
    }
    assert_eq!(
        std::fs::metadata(bench.path()).unwrap().len(),
        bytes,
        "a replay changes nothing"
    );
    bench.reopen();
    assert_eq!(bench.engine().stream_cursor("events"), Some(7));
    assert_eq!(bench.engine().stream_cursor("other"), None);
}

#[test]
pub(super) fn a_clock_that_goes_backwards_changes_no_order() {
    let mut bench = EngineBench::new();
    let early = inserted_ids(&bench.insert(vec![record("a", "first", 0, "s")]))[0];
    bench.now -= Duration::days(400);
    let late = inserted_ids(&bench.insert(vec![record("b", "second", 0, "s")]))[0];
    assert!(early < late);
    let snapshot = bench.engine().snapshot();
    let known = |id| snapshot.get(id).unwrap().unwrap().known_at;
    assert!(known(early) <= known(late));
}

#[test]
fn a_reader_keeps_its_moment_through_writes_and_compaction() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let snapshot = bench.engine().snapshot();
    let ask = || {
        let request = RecallRequest::new("auth race");
        let (space, query) = (space(), vector(0, 0.0));
        let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
        snapshot.recall(&call.with_vectors(&[(&space, &query)]))
    };
    let expected = ask();
    let now = bench.now;
    let selector = ForgetSelector::Session("tue".into());
    bench.engine().forget(&selector, "asked", now).unwrap();
    bench.engine().compact().unwrap();
    assert_eq!(ask(), expected);
}

#[test]
fn a_request_to_forget_that_comes_again_after_a_compaction_is_told_what_it_forgot() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let request = |name| ExternalId::new(ExternalId::REQUEST, name);
    for (name, session) in [("first", "tue"), ("second", "mon")] {
        bench.now += Duration::seconds(1);
        let (name, now) = (request(name), bench.now);
        let selector = ForgetSelector::Session(session.into());
        let gone = bench
            .engine()
            .forget_for_request(Some(&name), &selector, "asked", now);
        assert!(!gone.unwrap().is_empty());
    }
    let told = |bench: &mut EngineBench, name| {
        bench.engine().forgotten_by_request(&request(name)).unwrap()
    };
    let second = [ids[4], ids[3]];
    assert_eq!(told(&mut bench, "second"), second);
    bench.engine().compact().unwrap();
    assert_eq!(told(&mut bench, "second"), second);
    bench.reopen();
    assert_eq!(told(&mut bench, "second"), second);
    assert!(told(&mut bench, "third").is_empty());
}

#[test]
pub(super) fn readers_share_the_file_with_a_writer() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let mut options = options_at(bench.now);
    options.read_only = true;
    options.create = false;
    options.verify = Verify::Everything;
    let (reader, _) = Engine::open(Arc::new(RealDisk), &bench.path(), &options).unwrap();
    assert_eq!(reader.stats().live, 7);
    options.read_only = false;
    let second = Engine::open(Arc::new(RealDisk), &bench.path(), &options);
    assert!(second.unwrap_err().to_string().contains("process"));
}

#[test]
pub(super) fn damaged_codes_are_left_out_and_then_made_anew() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    bench.engine().checkpoint().unwrap();
    drop(bench.engine.take());
    let codes = section_start(&bench, (reprise_index::CODES, 0));
    let mut bytes = std::fs::read(bench.path()).unwrap();
    bytes[codes + 3] ^= 8;
    std::fs::write(bench.path(), bytes).unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    let found = bench.ask("fix the bug in the auth module", 0);
    assert!(!found.results.is_empty() && found.degraded.contains(&DegradedPart::DamagedRecords));
    bench.engine().advance_graph(1).unwrap();
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().checkpoint().unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    // The old part stays in the file until a compaction; the new one matches the log.
    let findings = bench.engine().check().unwrap().findings;
    assert!(findings.iter().all(|finding| finding.what == "file"));
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
}

#[test]
fn after_a_compaction_nothing_derived_tells_of_more_than_the_file_holds() {
    let mut whole = EngineBench::new();
    let ids = inserted_ids(&whole.insert(week()));
    let port = inserted_ids(&whole.insert(vec![record("port", "the port is 8080", 3, "s")]))[0];
    let now = whole.now;
    let tags = ["auth".to_owned()];
    assert!(whole.engine().set_tags(ids[0], &tags, now).unwrap());
    assert!(whole.engine().link(port, ids[1], "of", now).unwrap());
    whole.engine().checkpoint().unwrap();
    let tuesday = ForgetSelector::Session("thu".into());
    whole.engine().forget(&tuesday, "asked", now).unwrap();
    whole.insert(vec![record("host", "the host is called atlas", 4, "s")]);
    whole.engine().load().unwrap();
    whole.engine().checkpoint().unwrap();
    drop(whole.engine.take());
    let bytes = std::fs::read(whole.path()).unwrap();
    let segments = reprise_store::list_segments(&RealDisk, &whole.path()).unwrap();
    let mut holes = 0;
    for segment in &segments {
        // Without the file's own facts there is no memory.
        if segment.offset == 0 {
            continue;
        }
        let (from, size) = (segment.offset as usize, segment.bytes as usize);
        for at in [from + 8, from + 64 + size / 3, from + size - 1] {
            let mut bench = EngineBench::new();
            drop(bench.engine.take());
            let mut bad = bytes.clone();
            bad[at] ^= 0x20;
            std::fs::write(bench.path(), bad).unwrap();
            bench.reopen();
            let compacted = bench.engine().compact().unwrap();
            holes += usize::from(compacted.records < 7);
            let place = format!("byte {} of {segment:?}", at - from);
            let found = bench.engine().check().unwrap();
            assert!(found.is_sound(), "{place}: {:?}", found.findings);
            let answer = bench.ask("which port has the auth service", 3);
            assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint, "{place}");
            let again = bench.ask("which port has the auth service", 3);
            assert_eq!(again, answer, "{place}");
            let found = bench.engine().check().unwrap();
            assert!(found.is_sound(), "{place}, reopened: {:?}", found.findings);
        }
    }
    assert!(holes > 0, "no memory was lost");
}

fn texts(range: std::ops::Range<u32>) -> Vec<NewRecord> {
    range
        .map(|n| record(&format!("t{n}"), "a text", 0, "s"))
        .collect()
}

fn file_bytes(bench: &mut EngineBench) -> u64 {
    bench.engine().stats().file_bytes
}

#[test]
pub(super) fn a_quiet_memory_is_checkpointed_for_what_is_worth_it_alone() {
    let mut bench = EngineBench::new();
    bench.insert(texts(0..3));
    let mut before = file_bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert!(
        file_bytes(&mut bench) > before,
        "a small memory costs little"
    );
    bench.insert(texts(3..2_000));
    bench.engine().checkpoint().unwrap();
    for (range, is_worth_it) in [(2_000..2_001, false), (2_001..2_040, true)] {
        bench.insert(texts(range));
        before = file_bytes(&mut bench);
        bench.engine().checkpoint_if_due().unwrap();
        assert_eq!(file_bytes(&mut bench) > before, is_worth_it);
    }
    before = file_bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(
        file_bytes(&mut bench),
        before,
        "it was written a moment ago"
    );
}

#[test]
pub(super) fn a_memory_that_is_never_quiet_is_due_for_a_rewrite_which_leaves_a_checkpoint() {
    let mut bench = EngineBench::new();
    bench.insert(texts(0..16_000));
    assert!(!bench.engine().is_compaction_due());
    bench.insert(texts(16_000..16_400));
    assert!(bench.engine().is_compaction_due());
    // However it starts again, the tail has the same length.
    drop(bench.engine.take());
    bench.reopen();
    assert!(bench.engine().is_compaction_due());
    let job = bench.engine().start_compaction().unwrap();
    bench.insert(texts(16_400..16_410));
    let copied = job().unwrap();
    bench.engine().finish_compaction(copied).unwrap();
    assert!(!bench.engine().is_compaction_due());
    assert_eq!(bench.engine().state.checkpoint.entries_behind(), 10);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.engine().state.checkpoint.entries_behind(), 10);
    assert_eq!(bench.engine().stats().live, 16_410);
}

#[test]
pub(super) fn a_memory_that_every_command_closes_stays_small() {
    let mut bench = EngineBench::new();
    for at in 0..400 {
        bench.insert(texts(at..at + 1));
        bench.engine.take().unwrap().close().unwrap();
        bench.reopen();
    }
    let stats = bench.engine().stats();
    let live = stats.file_bytes - stats.reclaimable_bytes;
    assert!(stats.file_bytes < 5 * live.max(64 * 1024), "{stats:?}");
    assert_eq!(stats.live, 400);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert!(bench.engine().check().unwrap().findings.is_empty());
}

#[test]
pub(super) fn closing_after_a_small_write_appends_little_and_opens_the_same() {
    let mut bench = EngineBench::new();
    let text = |n: u32| format!("what the build printed about module {} in run {n}", n % 97);
    let kept = |range: std::ops::Range<u32>| -> Vec<NewRecord> {
        range
            .map(|n| record(&format!("t{n}"), &text(n), n as usize % 7, "s"))
            .collect()
    };
    bench.insert(kept(0..4_000));
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    let size = |bench: &EngineBench| std::fs::metadata(bench.path()).unwrap().len();
    for n in 4_000..4_010 {
        let before = size(&bench);
        bench.insert(kept(n..n + 1));
        let expected = bench.ask(&text(n), 0);
        bench.engine.take().unwrap().close().unwrap();
        let appended = size(&bench) - before;
        assert!(appended <= 8 * 1024, "{appended} bytes for one record");
        assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
        assert_eq!(bench.ask(&text(n), 0), expected);
    }
    // A whole graph is not saved again for one new record.
    bench.engine().state.index.set_graph_threshold(1);
    while bench.engine().advance_graph(512).unwrap() > 0 {}
    bench.engine().checkpoint_if_due().unwrap();
    bench.insert(kept(4_010..4_011));
    let before = size(&bench);
    assert_eq!(bench.engine().advance_graph(512).unwrap(), 0);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(size(&bench), before, "of the graph for one record");
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    // Nothing was written, so nothing is left.
    let before = size(&bench);
    bench.engine.take().unwrap().close().unwrap();
    assert_eq!(size(&bench), before);
    bench.reopen();
    assert!(bench.engine().check().unwrap().findings.is_empty());
    // The number of entries that an opening has to fold stays bounded, too.
    bench.insert(kept(4_011..4_090));
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    assert_eq!(bench.engine().state.checkpoint.entries_behind(), 0);
}

#[test]
fn a_withdrawal_a_forgetting_and_a_compaction_give_one_state_in_any_order() {
    let acts = ["withdraw", "forget", "compact", "rebuild", "reopen"];
    let (mut orders, mut rest) = (Vec::new(), vec![Vec::new()]);
    while let Some(order) = rest.pop() {
        let others = acts.iter().filter(|act| !order.contains(*act));
        let longer = others.map(|act| [&order[..], &[*act]].concat());
        rest.extend(longer);
        if order.len() == acts.len() {
            orders.push(order);
        }
    }
    assert_eq!(orders.len(), 120);
    for order in orders {
        let mut bench = EngineBench::new();
        let ids = inserted_ids(&bench.insert(week()));
        let now = bench.now;
        let said = run_outcome(1, &ids[1..3], 0.9);
        bench.engine().report_outcome(&said, now).unwrap();
        for act in &order {
            let engine = bench.engine();
            match *act {
                "withdraw" => drop(engine.withdraw_run("run-1", now).unwrap()),
                "forget" => {
                    let gone = ForgetSelector::Id(ids[1]);
                    engine.forget(&gone, "asked", now).unwrap();
                }
                "compact" => drop(engine.compact().unwrap()),
                "rebuild" => engine.rebuild().unwrap(),
                _ => bench.reopen(),
            }
        }
        bench.engine().compact().unwrap();
        let report = bench.engine().check().unwrap();
        assert!(report.is_sound(), "{order:?}: {:?}", report.findings);
        let expected = bench.engine().learning_state().digest();
        bench.engine().rebuild().unwrap();
        assert_eq!(
            bench.engine().learning_state().digest(),
            expected,
            "{order:?}"
        );
    }
}
