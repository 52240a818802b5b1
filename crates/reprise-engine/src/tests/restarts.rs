//! Restarts: from a checkpoint, from the bare log, after compaction; and the clock going backwards.

use super::*;
use crate::IndexOrigin;
use crate::keys::KEYS_TAG;
use crate::marks::MARKS_TAG;
use reprise_store::{SegmentInfo, Verify};
use reprise_types::Degraded;

pub(super) fn origin_of(bench: &mut Bench) -> IndexOrigin {
    drop(bench.engine.take());
    let options = EngineOptions::new(DIMENSIONS as u16, 42, bench.now);
    let (engine, report) = Engine::open(Arc::new(RealDisk), &bench.path(), &options).unwrap();
    bench.engine = Some(engine);
    report.origin
}

#[test]
pub(super) fn every_way_to_start_gives_the_same_answers() {
    let mut bench = Bench::new();
    bench.keep(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Rebuilt);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().checkpoint().unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.keep(vec![record("late", "a late one", 6, "fri")]);
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
    let mut bench = Bench::new();
    bench.keep(week());
    bench.engine().checkpoint().unwrap();
    let same = |bench: &mut Bench, origin: IndexOrigin| {
        let expected = bench.ask("which port has the auth service", 3);
        assert_eq!(origin_of(bench), origin);
        assert_eq!(bench.ask("which port has the auth service", 3), expected);
    };
    // An addition, a correction, a tag, a deletion.
    let old = inserted(&bench.keep(vec![record("port", "the port is 8080", 3, "s")]))[0];
    same(&mut bench, IndexOrigin::Checkpoint);
    let mut new = record("port-2", "the port is 9090", 3, "s");
    new.supersedes = Some(old);
    let new = inserted(&bench.keep(vec![new]))[0];
    same(&mut bench, IndexOrigin::Checkpoint);
    let now = bench.now;
    assert!(bench.engine().tag(new, &["auth".to_owned()], now).unwrap());
    same(&mut bench, IndexOrigin::Checkpoint);
    let selector = crate::ForgetSelector::Session("tue".into());
    bench.engine().forget(&selector, "asked", now).unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);

    bench.engine().load().unwrap();
    bench.engine().checkpoint().unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);
    let segments = reprise_store::inspect(&RealDisk, &bench.path()).unwrap();
    let of_marks = |segment: &&SegmentInfo| segment.segment_type == MARKS_TAG;
    let newest = segments.iter().rfind(of_marks).unwrap().offset;
    let mut bytes = std::fs::read(bench.path()).unwrap();
    bytes[usize::try_from(newest).unwrap() + 64] ^= 1;
    std::fs::write(bench.path(), bytes).unwrap();
    same(&mut bench, IndexOrigin::Rebuilt);

    // A checkpoint of a version that this one does not know, otherwise whole.
    bench.engine().checkpoint().unwrap();
    same(&mut bench, IndexOrigin::Checkpoint);
    bench.engine().rebuild().unwrap();
    let mut parts = bench.engine().state.copy().into_parts().0;
    let (_, keys) = parts.iter_mut().find(|(tag, _)| *tag == KEYS_TAG).unwrap();
    keys[0] += 1;
    bench.engine().log.checkpoint(&parts).unwrap();
    same(&mut bench, IndexOrigin::Rebuilt);
}

#[test]
pub(super) fn a_graph_grows_is_kept_and_changes_no_answer() {
    let mut bench = Bench::new();
    bench.keep(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    let options = EngineOptions {
        graph_from: 3,
        ..EngineOptions::new(DIMENSIONS as u16, 42, bench.now)
    };
    let path = bench.path();
    let open = |bench: &mut Bench| {
        drop(bench.engine.take());
        let opened = Engine::open(Arc::new(RealDisk), &path, &options).unwrap();
        bench.engine = Some(opened.0);
    };
    open(&mut bench);
    bench.engine().checkpoint().unwrap();
    // What has grown so far is kept at the end, what is whole as soon as there is time.
    assert_eq!(bench.engine().advance_graph(4).unwrap(), 3);
    let mut before = bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(bytes(&mut bench), before);
    bench.engine.take().unwrap().close().unwrap();
    open(&mut bench);
    assert_eq!(bench.engine().advance_graph(1).unwrap(), 2);
    assert_eq!(bench.engine().advance_graph(9).unwrap(), 0);
    before = bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert!(bytes(&mut bench) > before);
    open(&mut bench);
    assert_eq!(bench.engine().advance_graph(0).unwrap(), 0);
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    assert!(bench.engine().check().unwrap().is_sound());
    bench.engine().rebuild().unwrap();
    assert_eq!(bench.engine().advance_graph(3).unwrap(), 4);
}

#[test]
pub(super) fn cursors_move_with_the_records_and_only_forwards() {
    let mut bench = Bench::new();
    let now = bench.now;
    let cursor = |seq| Some(("events".to_owned(), seq));
    bench.engine().observe(week(), cursor(7), now).unwrap();
    let bytes = std::fs::metadata(bench.path()).unwrap().len();
    for seq in [7, 3] {
        bench.engine().observe(week(), cursor(seq), now).unwrap();
        assert_eq!(bench.engine().cursor("events"), Some(7));
    }
    assert_eq!(
        std::fs::metadata(bench.path()).unwrap().len(),
        bytes,
        "a replay changes nothing"
    );
    bench.reopen();
    assert_eq!(bench.engine().cursor("events"), Some(7));
    assert_eq!(bench.engine().cursor("other"), None);
}

#[test]
pub(super) fn a_clock_that_goes_backwards_changes_no_order() {
    let mut bench = Bench::new();
    let early = inserted(&bench.keep(vec![record("a", "first", 0, "s")]))[0];
    bench.now -= Duration::days(400);
    let late = inserted(&bench.keep(vec![record("b", "second", 0, "s")]))[0];
    assert!(early < late);
    let snapshot = bench.engine().snapshot();
    let known = |id| snapshot.get(id).unwrap().unwrap().known_at;
    assert!(known(early) <= known(late));
}

#[test]
pub(super) fn a_reader_keeps_its_moment_through_writes_and_compaction() {
    let mut bench = Bench::new();
    bench.keep(week());
    let snapshot = bench.engine().snapshot();
    let ask = || {
        let request = RecallRequest::new("auth race");
        let (space, query) = (space(), vector(0, 0.0));
        snapshot.recall(
            &request,
            Some((&space, &query)),
            RecallId::from_u128(1),
            &Unlearned,
        )
    };
    let expected = ask();
    let now = bench.now;
    let selector = crate::ForgetSelector::Session("tue".into());
    bench.engine().forget(&selector, "asked", now).unwrap();
    bench.engine().compact().unwrap();
    assert_eq!(ask(), expected);
}

#[test]
fn a_request_to_forget_that_comes_again_after_a_compaction_is_told_what_it_forgot() {
    let mut bench = Bench::new();
    let ids = inserted(&bench.keep(week()));
    let request = |name| ExternalId::new(ExternalId::REQUEST, name);
    for (name, session) in [("first", "tue"), ("second", "mon")] {
        bench.now += Duration::seconds(1);
        let (name, now) = (request(name), bench.now);
        let selector = crate::ForgetSelector::Session(session.into());
        let gone = bench
            .engine()
            .forget_for(Some(&name), &selector, "asked", now);
        assert!(!gone.unwrap().is_empty());
    }
    let told = |bench: &mut Bench, name| bench.engine().forgotten_for(&request(name)).unwrap();
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
    let mut bench = Bench::new();
    bench.keep(week());
    let mut options = EngineOptions::new(DIMENSIONS as u16, 1, bench.now);
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
    let mut bench = Bench::new();
    bench.keep(week());
    let expected = bench.ask("fix the bug in the auth module", 0);
    bench.engine().checkpoint().unwrap();
    drop(bench.engine.take());
    // Behind the segment's header, at the end of the part: 7 rows of 8 codes and a scale, then the
    // preamble of 32 bytes.
    let segments = reprise_store::inspect(&RealDisk, &bench.path()).unwrap();
    let codes = |segment: &&SegmentInfo| segment.segment_type == reprise_index::PART_CODES;
    let header = usize::try_from(segments.iter().find(codes).unwrap().offset).unwrap();
    let mut bytes = std::fs::read(bench.path()).unwrap();
    let payload = u64::from_le_bytes(*bytes[header + 16..].first_chunk().unwrap());
    let rows = header + 64 + usize::try_from(payload).unwrap() - 32 - 7 * 12;
    bytes[rows + 3] ^= 8;
    std::fs::write(bench.path(), bytes).unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    let found = bench.ask("fix the bug in the auth module", 0);
    assert!(!found.results.is_empty() && found.degraded.contains(&Degraded::DamagedRecords));
    bench.engine().advance_graph(1).unwrap();
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
    bench.engine().checkpoint().unwrap();
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    // The old part stays in the file until a compaction; the new one is as the log says.
    let findings = bench.engine().check().unwrap().findings;
    assert!(findings.iter().all(|finding| finding.what == "file"));
    assert_eq!(bench.ask("fix the bug in the auth module", 0), expected);
}

fn texts(range: std::ops::Range<u32>) -> Vec<NewRecord> {
    range
        .map(|n| record(&format!("t{n}"), "a text", 0, "s"))
        .collect()
}

fn bytes(bench: &mut Bench) -> u64 {
    bench.engine().stats().file_bytes
}

#[test]
pub(super) fn a_quiet_memory_is_checkpointed_for_what_is_worth_it_alone() {
    let mut bench = Bench::new();
    bench.keep(texts(0..3));
    let mut before = bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert!(bytes(&mut bench) > before, "a small memory costs little");
    bench.keep(texts(3..2_000));
    bench.engine().checkpoint().unwrap();
    for (range, is_worth_it) in [(2_000..2_001, false), (2_001..2_040, true)] {
        bench.keep(texts(range));
        before = bytes(&mut bench);
        bench.engine().checkpoint_if_due().unwrap();
        assert_eq!(bytes(&mut bench) > before, is_worth_it);
    }
    before = bytes(&mut bench);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(bytes(&mut bench), before, "it was written a moment ago");
}

#[test]
pub(super) fn a_memory_that_is_never_quiet_is_due_for_a_rewrite_which_leaves_a_checkpoint() {
    let mut bench = Bench::new();
    bench.keep(texts(0..16_000));
    assert!(!bench.engine().is_compaction_due());
    bench.keep(texts(16_000..16_400));
    assert!(bench.engine().is_compaction_due());
    // However it starts again, the tail is as long.
    drop(bench.engine.take());
    bench.reopen();
    assert!(bench.engine().is_compaction_due());
    let job = bench.engine().start_compaction().unwrap();
    bench.keep(texts(16_400..16_410));
    let copied = job.run().unwrap();
    bench.engine().finish_compaction(copied).unwrap();
    assert!(!bench.engine().is_compaction_due());
    assert_eq!(bench.engine().state.tail(), 10);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(bench.engine().state.tail(), 10);
    assert_eq!(bench.engine().stats().live, 16_410);
}

#[test]
pub(super) fn a_memory_that_every_command_closes_stays_small() {
    let mut bench = Bench::new();
    for at in 0..400 {
        bench.keep(texts(at..at + 1));
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
    let mut bench = Bench::new();
    let text = |n: u32| format!("what the build printed about module {} in run {n}", n % 97);
    let kept = |range: std::ops::Range<u32>| -> Vec<NewRecord> {
        range
            .map(|n| record(&format!("t{n}"), &text(n), n as usize % 7, "s"))
            .collect()
    };
    bench.keep(kept(0..4_000));
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    let size = |bench: &Bench| std::fs::metadata(bench.path()).unwrap().len();
    for n in 4_000..4_010 {
        let before = size(&bench);
        bench.keep(kept(n..n + 1));
        let expected = bench.ask(&text(n), 0);
        bench.engine.take().unwrap().close().unwrap();
        let appended = size(&bench) - before;
        assert!(appended <= 8 * 1024, "{appended} bytes for one record");
        assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
        assert_eq!(bench.ask(&text(n), 0), expected);
    }
    // Nor is a whole graph saved again for the one record that it took in.
    bench.engine().state.index.set_graph_from(1);
    while bench.engine().advance_graph(512).unwrap() > 0 {}
    bench.engine().checkpoint_if_due().unwrap();
    bench.keep(kept(4_010..4_011));
    let before = size(&bench);
    assert_eq!(bench.engine().advance_graph(512).unwrap(), 0);
    bench.engine().checkpoint_if_due().unwrap();
    assert_eq!(size(&bench), before, "of the graph for one record");
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    // Nothing was written: nothing is left.
    let before = size(&bench);
    bench.engine.take().unwrap().close().unwrap();
    assert_eq!(size(&bench), before);
    bench.reopen();
    assert!(bench.engine().check().unwrap().findings.is_empty());
    // What an opening would have to fold stays bounded, too.
    bench.keep(kept(4_011..4_090));
    bench.engine.take().unwrap().close().unwrap();
    bench.reopen();
    assert_eq!(bench.engine().state.tail(), 0);
}
