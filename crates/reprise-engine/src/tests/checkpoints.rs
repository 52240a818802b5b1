//! Checkpoints made during writes: they open as the log says, or are not written.

use super::restarts::origin_of;
use super::*;
use crate::{CheckpointJob, CheckpointStep, ForgetSelector, IndexOrigin};

/// Appends what the job encoded, up to the end.
fn finish_checkpoint(bench: &mut EngineBench, job: CheckpointJob) -> CheckpointStep {
    let mut parts = job.run().unwrap();
    loop {
        let step = bench.engine().advance_checkpoint(&mut parts).unwrap();
        if step != CheckpointStep::MoreToWrite {
            return step;
        }
    }
}

fn file_bytes(bench: &EngineBench) -> u64 {
    std::fs::metadata(bench.path()).unwrap().len()
}

#[test]
fn what_comes_while_a_checkpoint_is_made_is_there_after_a_restart() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let port = record("port", "the port is 8080", 3, "s");
    let host = record("host", "the host is called atlas", 4, "s");
    let ids = inserted_ids(&bench.insert(vec![port, host]));
    let job = bench.engine().start_checkpoint().unwrap().unwrap();
    // An addition, a correction, a tag, a link, a deletion.
    let mut newer = record("port-2", "the port is 9090", 3, "s");
    newer.supersedes = Some(ids[0]);
    let newer = inserted_ids(&bench.insert(vec![newer]))[0];
    let now = bench.now;
    let tags = ["auth".to_owned()];
    assert!(bench.engine().set_tags(newer, &tags, now).unwrap());
    assert!(bench.engine().set_tags(ids[1], &tags, now).unwrap());
    assert!(bench.engine().link(newer, ids[1], "runs on", now).unwrap());
    let links = bench.engine().snapshot().links(newer).len();
    assert!(links > 0);
    let tuesday = ForgetSelector::Session("tue".into());
    let gone = bench.engine().forget(&tuesday, "asked", now).unwrap();
    assert!(!gone.is_empty());
    let mut parts = job.run().unwrap();
    let mut steps = 0;
    while bench.engine().advance_checkpoint(&mut parts).unwrap() == CheckpointStep::MoreToWrite {
        bench.insert(vec![record(
            &format!("noon-{steps}"),
            "lunch was at noon",
            5,
            "thu",
        )]);
        steps += 1;
    }
    assert!(steps > 0, "nothing came between its steps");
    assert!(bench.engine().is_checkpoint_due(), "not all of it is saved");
    bench.insert(vec![record("late", "a late one", 6, "fri")]);

    let questions = [("which port has the auth service", 3), ("lunch", 5)];
    let expected = questions.map(|(query, axis)| bench.ask(query, axis));
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert_eq!(
        questions.map(|(query, axis)| bench.ask(query, axis)),
        expected
    );
    assert_eq!(bench.engine().snapshot().links(newer).len(), links);
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    bench.engine().rebuild().unwrap();
    assert_eq!(
        questions.map(|(query, axis)| bench.ask(query, axis)),
        expected
    );
}

#[test]
fn a_checkpoint_beside_no_write_saves_all() {
    let mut bench = EngineBench::new();
    assert!(bench.engine().start_checkpoint().unwrap().is_none());
    bench.insert(week());
    let job = bench.engine().start_checkpoint().unwrap().unwrap();
    assert_eq!(finish_checkpoint(&mut bench, job), CheckpointStep::Complete);
    assert!(!bench.engine().is_checkpoint_due());
    assert!(bench.engine().start_checkpoint().unwrap().is_none());
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
fn a_checkpoint_that_a_compaction_a_later_one_or_a_rebuilding_overtook_is_not_written() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let late = bench.engine().start_checkpoint().unwrap().unwrap();
    bench.engine().compact().unwrap();
    let before = file_bytes(&bench);
    assert_eq!(
        finish_checkpoint(&mut bench, late),
        CheckpointStep::Superseded
    );
    assert_eq!(file_bytes(&bench), before);

    bench.insert(vec![record("noon", "lunch was at noon", 5, "thu")]);
    let late = bench.engine().start_checkpoint().unwrap().unwrap();
    bench.insert(vec![record("late", "a late one", 6, "fri")]);
    bench.engine().checkpoint().unwrap();
    let before = file_bytes(&bench);
    assert_eq!(
        finish_checkpoint(&mut bench, late),
        CheckpointStep::Superseded
    );
    assert_eq!(file_bytes(&bench), before);
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);

    // A rebuilt index is not replaced by the one before.
    bench.insert(vec![record("evening", "dinner was at eight", 5, "thu")]);
    let late = bench.engine().start_checkpoint().unwrap().unwrap();
    bench.engine().rebuild().unwrap();
    let before = file_bytes(&bench);
    assert_eq!(
        finish_checkpoint(&mut bench, late),
        CheckpointStep::Superseded
    );
    assert_eq!(file_bytes(&bench), before);

    // Of two checkpoints at once the later is written.
    let first = bench.engine().start_checkpoint().unwrap().unwrap();
    let second = bench.engine().start_checkpoint().unwrap().unwrap();
    assert_eq!(
        finish_checkpoint(&mut bench, first),
        CheckpointStep::Superseded
    );
    assert_eq!(file_bytes(&bench), before);
    assert_eq!(
        finish_checkpoint(&mut bench, second),
        CheckpointStep::Complete
    );
    assert_eq!(origin_of(&mut bench), IndexOrigin::Checkpoint);
    assert!(bench.engine().check().unwrap().is_sound());
}
