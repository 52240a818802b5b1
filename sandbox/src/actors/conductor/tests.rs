//! Whole runs on real workers, with memory and with every failing one.

use std::sync::Mutex;

use reprise_tests::says;
use reprise_types::{Credit, MemoryFilter, MemoryProvider, RecallRequest, RecordId};

use super::super::RecallStatus;
use super::super::task::Task;
use super::super::testing::{Bench, Fake, Temper, lesson};
use super::super::turn::FailureKind;
use super::*;
use crate::memory_bridge::NullMemory;

const GOOD: &str = "set up the library `clock`";
const BAD: &str = "set up the bridge `arch`";

fn taught() -> Vec<reprise_types::RetrievedMemory> {
    vec![
        lesson(0, "a library, by `the right way`: worked", "completed", 0.6),
        lesson(1, "a library, by `the wrong way`: failed", "failed", 0.5),
    ]
}

/// What must be the same whatever memory does: outcomes, failures, and files.
async fn done_by(memory: Option<Arc<dyn MemoryProvider>>) -> String {
    let bench = Bench::new(memory).await;
    let good = bench.execute(GOOD).await.unwrap();
    let bad = bench.execute(BAD).await.unwrap();
    let mut tried: Vec<&str> = bad.attempts.iter().map(|one| one.plan.as_str()).collect();
    tried.sort_unstable();
    let plan = &good.attempts.last().unwrap().plan;
    let file = bench.file("clock/src/lib.rs");
    let ended: Vec<String> = bench
        .events()
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
    let without = done_by(None).await;
    assert!(
        without.starts_with("Completed the right way lib clock"),
        "{without}"
    );
    says!(without, "Failed Some(Validation)");
    assert_eq!(done_by(Some(Arc::new(NullMemory))).await, without);
    for temper in [
        Temper::Slow,
        Temper::Dead,
        Temper::Panics,
        Temper::Wrong,
        Temper::Good(taught()),
    ] {
        let name = format!("{temper:?}");
        assert_eq!(done_by(Some(Fake::new(temper))).await, without, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conductor_and_every_worker_get_memory_on_every_turn() {
    let bench = Bench::new(Some(Fake::new(Temper::Good(taught())))).await;
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
    let notes = bench.file("clock/NOTES.md");
    says!(notes, "Related prior work");
    let without = Bench::new(None).await.execute(GOOD).await.unwrap();
    assert!(
        without
            .turns
            .iter()
            .all(|turn| turn.memory == RecallStatus::Off)
    );
}

/// A gateway that records its context and makes no plan.
struct Noting(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl ModelGateway for Noting {
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
        self.0.lock().unwrap().push(request.routing_context());
        Err(GatewayError::RateLimited {
            endpoint: "e".to_owned(),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conductor_asks_for_five_of_every_kind_and_plans_with_relevant_history() {
    let memory = Fake::new(Temper::Good(taught()));
    let gateway = Arc::new(Noting(Mutex::default()));
    let bench = Bench::with(Some(memory.clone()), gateway.clone()).await;
    bench.execute(GOOD).await.unwrap();
    let requests = memory.requests.lock().unwrap().clone();
    let of_every_kind = |asked: &&RecallRequest| asked.filter == MemoryFilter::default();
    let history: Vec<_> = requests.iter().filter(of_every_kind).collect();
    let [history] = history.as_slice() else {
        panic!("one question about history: {requests:?}");
    };
    assert_eq!((history.query.as_str(), history.top_k), (GOOD, 5));
    let contexts = gateway.0.lock().unwrap().clone();
    let [context] = contexts.as_slice() else {
        panic!("one plan was asked for: {contexts:?}");
    };
    let (guidance, told) = context.split_once("\n\nRelevant history:\n").unwrap();
    assert_eq!(guidance, CAPABILITY_ROUTING_GUIDANCE);
    says!(told, "a library, by `the right way`: worked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_asked_before_planning_and_told_how_it_went() {
    let memory = Fake::new(Temper::Good(taught()));
    let bench = Bench::new(Some(memory.clone())).await;
    let report = bench.execute(GOOD).await.unwrap();
    assert_eq!(report.used, [RecordId::from_u128(1)]);
    let heard = memory.heard.lock().unwrap().clone();
    let recall = format!("recall {GOOD}");
    assert_eq!(heard[..3], [recall.clone(), recall, "begin".to_owned()]);
    assert!(heard.contains(&"step terminal by `the right way`".to_owned()));
    assert_eq!(heard.last().unwrap(), "end");
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
        (first.quality, first.fail),
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
    assert_eq!(third.fail, Some(reprise_types::FailKind::Task));
}

#[tokio::test]
async fn bad_requests_are_refused_in_one_sentence() {
    let bench = Bench::new(None).await;
    let empty = bench.execute(" \n").await.unwrap_err().to_string();
    says!(empty, "say what is wanted");
    let long = bench
        .execute(&"x".repeat(20_000))
        .await
        .unwrap_err()
        .to_string();
    says!(long, "20000 bytes");
    assert!(
        bench.events().await.is_empty(),
        "a refused request leaves no trace"
    );
}

/// A gateway whose plans use a path outside the workspace, and then another worker's task.
struct Rogue;

#[async_trait::async_trait]
impl ModelGateway for Rogue {
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
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
        Ok(Routing {
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
    let memory = Fake::new(Temper::Good(taught()));
    let bench = Bench::with(Some(memory), Arc::new(Rogue)).await;
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
