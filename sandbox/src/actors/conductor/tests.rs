//! Whole runs on real workers, with a working memory and with every kind of failing one.

use std::sync::Mutex;

use reprise_tests::assert_contains;
use reprise_types::{Credit, MemoryFilter, MemoryProvider, RecordId};

use super::super::RecallStatus;
use super::super::task::Task;
use super::super::testing::{FakeMemory, MemoryBehaviour, TestConductor, new_lesson};
use super::super::turn::FailureKind;
use super::*;
use crate::memory_bridge::NullMemory;

const GOOD: &str = "set up the library `clock`";
const BAD: &str = "set up the bridge `arch`";

fn new_lessons() -> Vec<reprise_types::RetrievedMemory> {
    vec![
        new_lesson(0, "a library, by `the right way`: worked", "completed", 0.6),
        new_lesson(1, "a library, by `the wrong way`: failed", "failed", 0.5),
    ]
}

/// Runs two requests and describes what must not depend on memory: outcomes, failures and files.
async fn describe_runs_with(memory: Option<Arc<dyn MemoryProvider>>) -> String {
    describe_runs_of(TestConductor::new(memory).await).await
}

async fn describe_runs_of(bench: TestConductor) -> String {
    let good = bench.execute(GOOD).await.unwrap();
    let bad = bench.execute(BAD).await.unwrap();
    let mut tried: Vec<&str> = bad.attempts.iter().map(|one| one.plan.as_str()).collect();
    tried.sort_unstable();
    let plan = &good.attempts.last().unwrap().plan;
    let file = bench.read_file("clock/src/lib.rs");
    let ended: Vec<String> = bench
        .read_events()
        .await
        .into_iter()
        .filter(|event| event.event_type.starts_with("conductor.task."))
        .filter(|event| event.event_type != "conductor.task.progress")
        .map(|event| event.event_type)
        .collect();
    format!(
        "{:?} {plan} {file} {ended:?} {:?} {:?} {tried:?}",
        good.status, bad.status, bad.failure
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_off_null_slow_dead_broken_or_wrong_changes_no_runs_end() {
    let without = describe_runs_with(None).await;
    assert!(
        without.starts_with("Completed the right way lib clock"),
        "{without}"
    );
    assert_contains!(without, "Failed Some(Validation)");
    assert_eq!(
        describe_runs_with(Some(Arc::new(NullMemory))).await,
        without
    );
    let silent = TestConductor::with_silent_memory().await;
    assert_eq!(describe_runs_of(silent).await, without);
    for temper in [
        MemoryBehaviour::Dead,
        MemoryBehaviour::Panics,
        MemoryBehaviour::Wrong,
        MemoryBehaviour::Good(new_lessons()),
    ] {
        let name = format!("{temper:?}");
        assert_eq!(
            describe_runs_with(Some(FakeMemory::new(temper))).await,
            without,
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conductor_and_every_worker_get_memory_on_every_turn() {
    let bench =
        TestConductor::new(Some(FakeMemory::new(MemoryBehaviour::Good(new_lessons())))).await;
    let report = bench
        .execute("set up the library `clock` wrongly")
        .await
        .unwrap();
    let actors: Vec<&str> = report
        .turns
        .iter()
        .map(|turn| turn.actor.as_str())
        .collect();
    let first = ["conductor", "researcher", "terminal"];
    let second = ["conductor", "researcher", "terminal", "writer"];
    assert_eq!(actors, [&first[..], &second[..]].concat());
    for (at, turn) in report.turns.iter().enumerate() {
        assert_eq!(turn.number, at + 1);
        assert_eq!(turn.memory, RecallStatus::Answered, "{turn:?}");
        assert!(
            turn.injected_bytes > 40 && turn.records.len() == 2,
            "{turn:?}"
        );
    }
    let notes = bench.read_file("clock/NOTES.md");
    assert_contains!(notes, "Related prior work");
    let without = TestConductor::new(None).await.execute(GOOD).await.unwrap();
    assert!(
        without
            .turns
            .iter()
            .all(|turn| turn.memory == RecallStatus::Off)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_memory_does_not_answer_says_so_at_each_step() {
    let missed = |events: Vec<crate::event::StoredEvent>| -> Vec<String> {
        let texts = events.iter().filter_map(|event| {
            let payload = &event.payload;
            let text = payload["message"]
                .as_str()
                .or(payload["data"]["reason"].as_str())?;
            text.contains("ran without memory, which did not answer")
                .then(|| text.to_owned())
        });
        texts.collect()
    };
    let silent = TestConductor::with_silent_memory().await;
    let report = silent.execute(GOOD).await.unwrap();
    assert_eq!(report.status, RunStatus::Completed);
    assert!(report.turns.iter().all(|turn| turn.memory.is_missed()));
    let told = missed(silent.read_events().await);
    let of = |who: &str| told.iter().filter(|text| text.starts_with(who)).count();
    let steps = ["`the", "the researcher", "the terminal", "the writer"].map(of);
    assert_eq!(steps, [2, 2, 2, 1], "two plans, and who worked: {told:?}");
    let memory = FakeMemory::new(MemoryBehaviour::Good(new_lessons()));
    let bench = TestConductor::new(Some(memory)).await;
    bench.execute(GOOD).await.unwrap();
    assert!(missed(bench.read_events().await).is_empty());
    let without = TestConductor::new(None).await;
    without.execute(GOOD).await.unwrap();
    let told = missed(without.read_events().await);
    assert!(told.is_empty(), "a host without memory misses nothing");
}

/// A gateway that records its context and makes no plan.
struct RecordingGateway(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl ModelGateway for RecordingGateway {
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        self.0.lock().unwrap().push(request.render_context());
        Err(GatewayError::RateLimited {
            endpoint: "e".to_owned(),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conductor_asks_for_five_of_every_kind_and_plans_with_relevant_history() {
    let memory = FakeMemory::new(MemoryBehaviour::Good(new_lessons()));
    let gateway = Arc::new(RecordingGateway(Mutex::default()));
    let bench = TestConductor::from_gateway(Some(memory.clone()), gateway.clone()).await;
    bench.execute(GOOD).await.unwrap();
    let requests = memory.requests.lock().unwrap().clone();
    let [history] = requests.as_slice() else {
        panic!("one question about history: {requests:?}");
    };
    assert_eq!((history.query.as_str(), history.top_k), (GOOD, 5));
    assert_eq!(history.filter, MemoryFilter::default(), "of every kind");
    let contexts = gateway.0.lock().unwrap().clone();
    let [context] = contexts.as_slice() else {
        panic!("one plan was asked for: {contexts:?}");
    };
    let (guidance, history_text) = context.split_once("\n\nRelevant history:\n").unwrap();
    assert_eq!(guidance, CAPABILITY_ROUTING_GUIDANCE);
    assert_contains!(history_text, "a library, by `the right way`: worked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_asked_before_planning_and_told_how_it_went() {
    let memory = FakeMemory::new(MemoryBehaviour::Good(new_lessons()));
    let bench = TestConductor::new(Some(memory.clone())).await;
    let report = bench.execute(GOOD).await.unwrap();
    assert_eq!(report.used, [RecordId::from_u128(1)]);
    let calls = memory.calls.lock().unwrap().clone();
    assert_eq!(calls[..2], [format!("recall {GOOD}"), "begin".to_owned()]);
    assert_eq!(calls.last().unwrap(), "end");
    bench
        .execute("set up the library `clock` wrongly")
        .await
        .unwrap();
    bench.execute(BAD).await.unwrap();
    let endings = memory.endings.lock().unwrap().clone();
    let [first, second, third] = endings.as_slice() else {
        panic!("three runs, three ends: {endings:?}");
    };
    assert_eq!(
        (first.quality, first.fail_kind),
        (None, None),
        "0.8, open to revision"
    );
    assert_eq!(first.used, [RecordId::from_u128(1)]);
    assert_eq!(first.credit, Credit::Explicit);
    assert_eq!(second.quality, Some(0.4), "the first plan had failed");
    assert_eq!(
        second.used,
        [RecordId::from_u128(2)],
        "what the first plan rested on"
    );
    assert_eq!(third.fail_kind, Some(reprise_types::FailKind::Task));
}

#[tokio::test]
async fn bad_requests_are_refused_in_one_sentence() {
    let bench = TestConductor::new(None).await;
    let empty = bench.execute(" \n").await.unwrap_err().to_string();
    assert_contains!(empty, "say what is wanted");
    let long = bench
        .execute(&"x".repeat(20_000))
        .await
        .unwrap_err()
        .to_string();
    assert_contains!(long, "20000 bytes");
    assert!(
        bench.read_events().await.is_empty(),
        "a refused request leaves no trace"
    );
}

/// A gateway whose plans use a path outside the workspace, and then another worker's task.
struct RogueGateway;

#[async_trait::async_trait]
impl ModelGateway for RogueGateway {
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        let task = match request.failed.len() {
            0 => Task::Run {
                folder: "../outside".to_owned(),
                files: [("x".to_owned(), "x".to_owned())].into(),
                command: "touch made".to_owned(),
                instead: Vec::new(),
            },
            1 => Task::Write {
                path: "/etc/reprise".to_owned(),
                text: "x".to_owned(),
                summary: "x".to_owned(),
            },
            _ => {
                return Err(GatewayError::RateLimited {
                    endpoint: "e".to_owned(),
                });
            }
        };
        Ok(RoutingPlan {
            plan: format!("rogue {}", request.failed.len()),
            reason: "none".to_owned(),
            assignments: vec![Assignment {
                objective: "do harm".to_owned(),
                task,
            }],
            used: vec![RecordId::from_u128(99)],
        })
    }
}

#[tokio::test]
async fn a_rogue_plan_stays_in_the_workspace_and_takes_no_credit() {
    let memory = FakeMemory::new(MemoryBehaviour::Good(new_lessons()));
    let bench = TestConductor::from_gateway(Some(memory), Arc::new(RogueGateway)).await;
    let report = bench.execute("anything").await.unwrap();
    assert_eq!(report.status, RunStatus::Failed);
    assert_eq!(report.attempts.len(), 2);
    assert!(
        report.attempts[0].outcome.contains("leads out"),
        "{report:?}"
    );
    assert!(report.used.is_empty());
    assert!(!bench.folder.path().join("outside").exists());
    assert_eq!(
        report.failure,
        Some(FailureKind::Unknown),
        "the work's own failure is told"
    );
}
