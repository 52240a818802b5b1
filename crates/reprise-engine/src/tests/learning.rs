//! Outcomes through the engine: they change a ranking, survive every way to stop and start, and
//! lead to a state that a clean replay reproduces.

use std::path::Path;

use super::*;
use crate::{EngineError, ForgetSelector, LinkEnd, RecallCall, RunAction};
use reprise_simulation::{Crash, SimDisk};
use reprise_store::Verify;
use reprise_types::{
    Credit, Embedding, LearningEngine, RecallReceipt, Revision, RunBeginning, RunEnding,
    RunOutcome, RunStep,
};

fn query(axis: usize, nudge: f32) -> Embedding {
    Embedding {
        space: space(),
        vector: vector(axis, nudge),
    }
}

pub(super) fn run_outcome(run: usize, used: &[RecordId], quality: f32) -> RunOutcome {
    RunOutcome {
        begin: RunBeginning {
            run_id: format!("run-{run}"),
            query: Some(query(0, run as f32 % 5.0 * 0.04)),
            recall_id: None,
        },
        end: RunEnding {
            run_id: String::new(),
            used: used.to_vec(),
            credit: Credit::Explicit,
            quality: Some(quality),
            fail_kind: None,
        },
    }
}

/// Teaches forty runs in which the second record about logins helps and the first and third do not.
fn teach_forty_runs(bench: &mut EngineBench, ids: &[RecordId]) {
    for run in 0..40 {
        bench.now += Duration::seconds(30);
        let (now, used) = (bench.now, run % 3);
        let quality = if used == 1 { 0.9 } else { 0.2 };
        let said = run_outcome(run, &ids[used..=used], quality);
        bench.engine().report_outcome(&said, now).unwrap();
    }
}

fn learned_adjustment(bench: &mut EngineBench, id: RecordId) -> f32 {
    let query = vector(0, 0.0);
    bench.engine().explain_learning(&query, id).adjustment
}

fn digest(engine: &Engine) -> String {
    engine.learning_state().digest()
}

#[test]
fn a_fit_that_began_before_a_record_was_forgotten_names_it_no_more() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    teach_forty_runs(&mut bench, &ids);
    let done = bench.engine().start_adapter_fit().unwrap().run();
    let now = bench.now;
    let gone = ForgetSelector::Id(ids[1]);
    bench.engine().forget(&gone, "asked", now).unwrap();
    bench.engine().checkpoint().unwrap();
    bench.engine().finish_adapter_fit(done).unwrap();
    for place in ["running", "opened from the checkpoint", "compacted"] {
        let report = bench.engine().check().unwrap();
        assert!(report.is_sound(), "{place}: {:?}", report.findings);
        let known = bench.engine().learning_state().learner().patterns();
        let named = known
            .iter()
            .any(|pattern| pattern.records.contains(&ids[1]));
        assert!(!named, "{place}");
        if place == "running" {
            bench.reopen();
        } else {
            bench.engine().compact().unwrap();
        }
    }
}

#[test]
fn outcomes_move_a_ranking_and_every_way_to_start_gives_the_same_learner() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    assert_eq!(learned_adjustment(&mut bench, ids[1]).to_bits(), 0);
    teach_forty_runs(&mut bench, &ids);
    let job = bench
        .engine()
        .start_adapter_fit()
        .expect("forty runs are enough");
    let done = job.run();
    bench.engine().finish_adapter_fit(done).unwrap();
    assert!(bench.engine().start_adapter_fit().is_none(), "nothing new");
    let expected = digest(bench.engine());
    let before: Vec<f32> = ids
        .iter()
        .map(|id| learned_adjustment(&mut bench, *id))
        .collect();
    assert!(before[1] > 0.02 && before[0] < -0.02, "{before:?}");
    let same = |bench: &mut EngineBench, how: &str| {
        assert_eq!(digest(bench.engine()), expected, "{how}");
        let now: Vec<f32> = ids
            .iter()
            .map(|id| learned_adjustment(bench, *id))
            .collect();
        assert_eq!(now, before, "{how}");
    };
    bench.reopen();
    same(&mut bench, "from the bare log");
    bench.engine().checkpoint().unwrap();
    bench.reopen();
    same(&mut bench, "from a checkpoint");
    bench.engine().compact().unwrap();
    bench.reopen();
    same(&mut bench, "after a compaction");
    bench.engine().rebuild().unwrap();
    same(&mut bench, "rebuilt");
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
fn what_helped_comes_up_from_below_and_says_which_runs_taught_it() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    // All three are equally near; the newest of them, the third, leads until runs teach otherwise.
    teach_forty_runs(&mut bench, &ids);
    let mut request = RecallRequest::new("what now");
    request.top_k = 1;
    let snapshot = bench.engine().snapshot();
    let ask = |learning: &dyn LearningEngine| {
        let (space, query) = (space(), vector(0, 0.0));
        let id = RecallId::from_u128(1);
        snapshot.recall(&RecallCall::new(&request, id, learning).with_vectors(&[(&space, &query)]))
    };
    let (plain, learned) = (ask(&NoLearning), ask(snapshot.learner().as_ref()));
    assert_eq!(plain.results[0].record.id, ids[2]);
    let first = &learned.results[0];
    assert_eq!(
        first.record.id, ids[1],
        "alike in meaning, first by outcome"
    );
    assert!(first.sona_score > first.score);
    assert!(first.sona_score - first.score <= snapshot.learner().adjustment_cap() + 1e-6);
    assert!(first.why.taught_by.iter().all(|run| run.quality > 0.8));
    assert_eq!(first.why.taught_by.len(), 5);
    let why = first.why.learning.unwrap();
    assert!(why.evidence_gate >= 1.0 && why.adjustment <= why.cap);
    assert!(plain.results[0].why.learning.is_none());
    assert_eq!(
        plain,
        ask(&NoLearning),
        "and without a learner nothing changes"
    );
}

#[test]
fn one_outcome_moves_the_very_next_recall_by_the_adapter_and_says_so() {
    for (quality, how) in [(0.8, "worked well once"), (0.0, "failed once")] {
        let mut bench = EngineBench::new();
        bench.insert(week());
        let mut run = record("run", "keep the session alive", 0, "tue");
        run.source = MemorySource::TrajectoryOutcome;
        run.kind = MemoryKind::Strategy;
        run.quality_score = Some(quality);
        let plain = record("plain", "keep the sessions open", 0, "tue");
        // Of equally near records the newer leads.
        bench.insert(vec![run]);
        bench.insert(vec![plain]);
        let mut request = RecallRequest::new("what now");
        request.now = Some(bench.now + Duration::days(2));
        let answer = bench.ask_with(&request, Some(0));
        let place = |id: &str| EngineBench::ids(&answer).iter().position(|one| *one == id);
        assert_eq!(
            place("run") < place("plain"),
            quality > 0.5,
            "{:?}",
            EngineBench::ids(&answer)
        );
        let one = &answer.results[place("run").unwrap()];
        let learned = one.why.learning.unwrap();
        assert!(learned.adapter * (quality - 0.5) > 0.0, "{learned:?}");
        assert!(learned.adjustment.abs() <= learned.cap, "{learned:?}");
        assert!(
            one.why.reason.starts_with(&format!("{how}, 2 days ago")),
            "{}",
            one.why.reason
        );
        let other = &answer.results[place("plain").unwrap()];
        assert_eq!(other.why.learning.unwrap().adapter.to_bits(), 0);
    }
}

#[test]
fn what_a_session_taught_says_of_no_run_that_it_failed_or_worked() {
    let ask = |quality: Option<f32>| {
        let mut bench = EngineBench::new();
        bench.insert(week());
        let mut lesson = record("lesson", "the root cause was a stale cookie", 0, "tue");
        (lesson.source, lesson.quality_score) = (MemorySource::TrajectoryOutcome, quality);
        lesson.details = Some(serde_json::json!({ "type": "learning", "category": "failure" }));
        bench.insert(vec![lesson]);
        let mut request = RecallRequest::new("what was the root cause");
        request.now = Some(bench.now + Duration::days(2));
        let answer = bench.ask_with(&request, Some(0));
        let mut results = answer.results.into_iter();
        results
            .find(|one| one.record.text.starts_with("the root"))
            .unwrap()
    };
    let plain = ask(None);
    for quality in [0.0, 1.0] {
        let lesson = ask(Some(quality));
        assert_eq!(lesson.why.reason, plain.why.reason);
        assert_eq!(lesson.score.to_bits(), plain.score.to_bits(), "{lesson:?}");
        assert_eq!(lesson.sona_score.to_bits(), plain.sona_score.to_bits());
    }
}

/// A learner for which everything about axis 4 helps.
struct MovingLearner {
    helps: Vec<RecordId>,
    moves: bool,
}

impl LearningEngine for MovingLearner {
    fn adjust(&self, _query: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        let helps = |record| {
            if self.helps.contains(record) {
                0.15
            } else {
                0.0
            }
        };
        records.iter().map(helps).collect()
    }

    fn query_correction(&self, _query: &[f32]) -> Option<Vec<f32>> {
        self.moves.then(|| vector(4, 0.0))
    }

    fn learner_gates(&self) -> (f32, f32) {
        (1.0, 1.0)
    }

    fn adjustment_cap(&self) -> f32 {
        0.15
    }

    fn contributing_runs(
        &self,
        _query: Option<&[f32]>,
        _record: RecordId,
    ) -> Vec<reprise_types::ContributingRun> {
        Vec::new()
    }
}

#[test]
fn what_only_the_moved_question_finds_reaches_the_answer() {
    // The crowd has the question's word and none of its meaning: no record of it scores high.
    for crowd in [200, 1_500] {
        let mut bench = EngineBench::new();
        let mut all: Vec<_> = (0..crowd)
            .map(|n| {
                record(
                    &format!("n-{n}"),
                    &format!("login {n}"),
                    1,
                    &format!("s-{n}"),
                )
            })
            .collect();
        all.push(record("far", "hotels in Lisbon", 4, "thu"));
        let mut ids = Vec::new();
        for part in all.chunks(500) {
            ids.extend(inserted_ids(&bench.insert(part.to_vec())));
        }
        let far = *ids.last().unwrap();
        let snapshot = bench.engine().snapshot();
        let mut request = RecallRequest::new("login");
        request.top_k = 10;
        let holds_far = |moves: bool| {
            let (space, query) = (space(), vector(0, 0.0));
            let learning = MovingLearner {
                helps: vec![far],
                moves,
            };
            let id = RecallId::from_u128(1);
            let recall = snapshot.recall(
                &RecallCall::new(&request, id, &learning).with_vectors(&[(&space, &query)]),
            );
            recall.results.iter().any(|found| found.record.id == far)
        };
        assert!(!holds_far(false), "{crowd}: the question itself finds it");
        assert!(holds_far(true), "{crowd}: the moved question does not");
    }
}

#[test]
fn a_forgotten_record_is_no_longer_known_to_learning_even_after_compaction() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    teach_forty_runs(&mut bench, &ids);
    let now = bench.now;
    bench
        .engine()
        .forget(&ForgetSelector::Id(ids[1]), "asked", now)
        .unwrap();
    assert_eq!(learned_adjustment(&mut bench, ids[1]).to_bits(), 0);
    let expected = digest(bench.engine());
    bench.engine().compact().unwrap();
    bench.engine().rebuild().unwrap();
    assert_eq!(digest(bench.engine()), expected);
    let said = run_outcome(99, &ids[1..2], 0.9);
    let refused = bench.engine().report_outcome(&said, now).unwrap_err();
    assert!(matches!(refused, EngineError::Learn(_)), "{refused}");
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
fn an_outcome_is_taken_back_with_the_record_that_it_left() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    teach_forty_runs(&mut bench, &ids);
    let (now, live) = (bench.now, bench.engine().stats().live);
    let estimate = |bench: &mut EngineBench| {
        let query = vector(0, 0.0);
        bench.engine().explain_learning(&query, ids[1]).evidence
    };
    let before = (digest(bench.engine()), estimate(&mut bench));
    let said = RunAction::Outcome {
        run: run_outcome(77, &ids[1..2], 0.0).into(),
        leaves_record: true,
        question: Some("why are users logged out".to_owned()),
    };
    bench.engine().write_run_action(said, now).unwrap();
    assert_eq!(bench.engine().stats().live, live + 1, "it leaves a record");
    let wrong = (estimate(&mut bench) - before.1).abs();
    assert!(wrong > 0.01, "{wrong}");
    let used = bench.engine().withdraw_run("run-77", now).unwrap();
    assert_eq!(used, ids[1..2]);
    assert_eq!(bench.engine().stats().live, live);
    let left = (estimate(&mut bench) - before.1).abs();
    assert!(left < 1e-6, "{left} of {wrong}");
    assert_eq!(bench.engine().withdraw_run("run-77", now).unwrap(), []);
    assert!(bench.engine().withdraw_run("run-78", now).is_err());
    let after = digest(bench.engine());
    assert_ne!(after, before.0, "the log says what happened");
    bench.engine().compact().unwrap();
    bench.engine().rebuild().unwrap();
    assert_eq!(digest(bench.engine()), after);
}

#[test]
fn a_refused_outcome_writes_nothing() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let bytes = std::fs::metadata(bench.path()).unwrap().len();
    let now = bench.now;
    let said = run_outcome(1, &ids[..1], f32::NAN);
    assert!(bench.engine().report_outcome(&said, now).is_err());
    let said = run_outcome(1, &[RecordId::from_u128(3)], 0.5);
    assert!(bench.engine().report_outcome(&said, now).is_err());
    let ending = run_outcome(1, &ids[..1], 0.5).end;
    assert!(bench.engine().end_run(&ending, now).is_err());
    assert_eq!(std::fs::metadata(bench.path()).unwrap().len(), bytes);
    assert_eq!(bench.engine().learning_state().status().runs, 0);
}

#[test]
fn a_receipt_is_remembered_over_a_close_and_credit_outside_it_is_refused() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let recall_id = RecallId::from_u128(5);
    let at = bench.now;
    bench.engine().remember_recall(RecallReceipt {
        recall_id,
        at,
        query: Some(query(0, 0.0)),
        records: ids[..2].to_vec(),
    });
    let engine = bench.engine.take().unwrap();
    engine.close().unwrap();
    bench.reopen();
    let mut said = run_outcome(1, &ids[2..3], 0.9);
    said.begin.recall_id = Some(recall_id);
    said.begin.query = None;
    let refused = bench
        .engine()
        .report_outcome(&said, at)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("did not return"), "{refused}");
    said.end.used = vec![ids[0]];
    bench.engine().report_outcome(&said, at).unwrap();
    assert_eq!(bench.engine().learning_state().status().records, 1);
}

pub(super) fn step(run_id: &str, used: &[RecordId]) -> RunAction {
    let step = RunStep {
        run_id: run_id.to_owned(),
        action: "act".to_owned(),
        used: used.to_vec(),
        result: None,
    };
    let result = used.first().copied().map(LinkEnd::Stored);
    RunAction::Step { step, result }
}

/// Runs everything that learning writes, one act after the other; returns the digest after each.
fn learning_digests(engine: &mut Engine) -> Vec<Result<String, EngineError>> {
    let mut now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let mut digests = vec![Ok(digest(engine))];
    let mut ids = Vec::new();
    for act in 0..66 {
        now += Duration::minutes(7);
        let done = match act {
            0 => engine
                .observe(week(), None, now)
                .map(|kept| ids = inserted_ids(&kept)),
            1..=40 => {
                let used = act % 3;
                let quality = if used == 1 { 0.9 } else { 0.2 };
                engine.report_outcome(&run_outcome(act, &ids[used..=used], quality), now)
            }
            41 => engine.checkpoint(),
            42 | 60 => match engine.start_adapter_fit() {
                Some(job) => {
                    let done = job.run();
                    engine.finish_adapter_fit(done)
                }
                None => Ok(()),
            },
            43 | 49 => engine.begin_run(&run_outcome(act, &[], 0.0).begin, now),
            44 => engine.write_run_action(step("run-43", &ids[..1]), now),
            45 => {
                let mut ending = run_outcome(43, &ids[1..2], 0.0).end;
                ending.run_id = "run-43".to_owned();
                ending.quality = None;
                engine.end_run(&ending, now)
            }
            46 => engine.revise_run("run-43", Revision::Approved, None, now),
            47 => engine
                .forget(&ForgetSelector::Id(ids[2]), "asked", now)
                .map(drop),
            48 => engine.compact().map(drop),
            50 => engine.begin_run(&run_outcome(act, &[], 0.0).begin, now + Duration::days(2)),
            53 => engine
                .abandon_stale_runs()
                .map(|swept| assert_eq!(swept, 1)),
            54 => engine.withdraw_run("run-30", now).map(drop),
            51 => engine.switch_learning(false, now),
            52 => engine.switch_learning(true, now),
            _ => engine.report_outcome(&run_outcome(act, &ids[..1], 0.3), now),
        };
        let failed = done.is_err();
        digests.push(done.map(|()| digest(engine)));
        if failed {
            break;
        }
    }
    digests
}

fn open(disk: &SimDisk) -> Engine {
    let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let mut options = EngineOptions::new(DIMENSIONS as u16, 42, now);
    options.verify = Verify::Tail;
    let opened = Engine::open(Arc::new(disk.clone()), Path::new("/m/memory.rvf"), &options);
    opened.unwrap().0
}

#[test]
fn after_a_crash_anywhere_the_digest_is_that_of_a_clean_replay() {
    let dry = SimDisk::new();
    let expected: Vec<String> = learning_digests(&mut open(&dry))
        .into_iter()
        .map(|digest| digest.unwrap())
        .collect();
    assert_eq!(expected.len(), 67);
    let first = {
        let disk = SimDisk::new();
        drop(open(&disk));
        disk.sync_count()
    };
    let mut tried = 0;
    for sync in first..dry.sync_count() {
        let disk = SimDisk::new();
        disk.cut_power_at_sync(sync);
        let mut engine = open(&disk);
        let digests = learning_digests(&mut engine);
        drop(engine);
        let acked = digests.iter().filter(|digest| digest.is_ok()).count();
        for crash in [
            Crash::Prefix(0),
            Crash::Prefix(disk.pending_bytes()),
            Crash::Scattered(sync),
        ] {
            let mut engine = open(&disk.crash(crash));
            let found = digest(&engine);
            let place = format!("sync {sync}, {crash:?}, after act {acked}");
            assert!(
                expected[acked - 1..=acked.min(66)].contains(&found),
                "{place}: neither what was acknowledged nor what was under way"
            );
            engine.rebuild().unwrap();
            assert_eq!(digest(&engine), found, "{place}: a clean replay differs");
            tried += 1;
        }
    }
    assert!(tried > 200, "only {tried} crashes tried");
}

#[test]
fn sona_json_is_written_from_the_log_whatever_stands_there() {
    use reprise_learn::SonaState;
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    teach_forty_runs(&mut bench, &ids);
    let expected = digest(bench.engine());
    let path = bench.folder.path().join("sona.json");
    let refreshed = |bench: &mut EngineBench| bench.engine().refresh_sona().unwrap();
    assert_eq!(refreshed(&mut bench), SonaState::Missing);
    assert_eq!(refreshed(&mut bench), SonaState::Current);
    let text = std::fs::read_to_string(&path).unwrap();
    let forged = text.replace("\"runs\": 40", "\"runs\": 90");
    assert_ne!(forged, text);
    for (content, state) in [
        (&text[..text.len() / 2], SonaState::Unreadable),
        (&forged, SonaState::Forged),
        ("", SonaState::Unreadable),
    ] {
        std::fs::write(&path, content).unwrap();
        bench.reopen();
        assert_eq!(refreshed(&mut bench), state, "{}", state.message());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(
            digest(bench.engine()),
            expected,
            "nothing is learned from it"
        );
    }
    let now = bench.now;
    bench
        .engine()
        .report_outcome(&run_outcome(77, &ids[..1], 0.3), now)
        .unwrap();
    assert_eq!(refreshed(&mut bench), SonaState::Old);
}

#[test]
fn the_chain_of_earlier_runs_stands_in_an_answer_and_in_a_context() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    for run in 0..3 {
        bench.now += Duration::seconds(30);
        let (now, said) = (bench.now, run_outcome(run, &ids[..1], 0.9));
        let engine = bench.engine();
        engine.begin_run(&said.begin, now).unwrap();
        let name = said.begin.run_id.clone();
        engine.write_run_action(step(&name, &[]), now).unwrap();
        let quality = if run == 1 { Some(0.1) } else { Some(0.9) };
        let ending = RunEnding {
            run_id: name,
            quality,
            ..said.end
        };
        engine.end_run(&ending, now).unwrap();
    }
    let chain = "done like this before: act: worked 2 of 3 times";
    let answer = bench.ask("keep the session alive", 0);
    assert_eq!(answer.chain_note(), Some(chain), "{:?}", answer.notes);
    let block = crate::build_context_block(&answer, 2_000, 7);
    assert!(block.text.contains(chain), "{}", block.text);
    let other = bench.ask("keep the session alive", 4);
    assert_eq!(other.chain_note(), None, "another situation");
}
