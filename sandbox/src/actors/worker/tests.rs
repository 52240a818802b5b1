//! A worker's recall, and its prompt.

use ractor::{Actor as _, call_t};
use reprise_types::{MemoryKind, RecallRequest, SystemClock};

use super::super::testing::{Fake, Temper, ada, lesson};
use super::*;
use crate::event_store::{EventStoreActor, EventStoreArguments};

const LEARNED: &str = "one mutex per user ended the race";

fn turn(task: Task) -> TurnContext {
    TurnContext {
        run_id: "run-1".to_owned(),
        call_id: "call-1".to_owned(),
        desktop_id: "desk-1".to_owned(),
        objective: "end the race of the session".to_owned(),
        task,
    }
}

/// The recalls of one turn, and its report.
async fn taken(capability: Capability, task: Task) -> (Vec<RecallRequest>, WorkerReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let log = EventStoreActor::spawn(None, EventStoreActor, EventStoreArguments { path });
    let (store, _) = log.await.unwrap();
    let memory = Fake::new(Temper::Good(vec![lesson(0, LEARNED, "completed", 0.6)]));
    let arguments = WorkerArguments {
        capability,
        emitter: Emitter::new(store, Arc::new(SystemClock), ada()),
        workspace: Workspace::new(&folder.path().join("work")).unwrap(),
        commands: Arc::default(),
        memory_provider: Some(memory.clone()),
        memory_budget: Duration::from_secs(10),
    };
    let (worker, _) = WorkerActor::spawn(None, WorkerActor, arguments)
        .await
        .unwrap();
    let turn = turn(task);
    let report = call_t!(worker, |reply| WorkerMsg::Run { turn, reply }, 60_000);
    let requests = memory.requests.lock().unwrap().clone();
    (requests, report.unwrap().unwrap())
}

#[tokio::test]
async fn terminal_and_researcher_ask_for_what_is_wanted_and_work_with_relevant_history() {
    let run = Task::Run {
        folder: String::new(),
        files: Vec::new(),
        command: "true".to_owned(),
    };
    let search = Task::Search {
        words: vec!["race".to_owned()],
    };
    for (capability, role, task) in [
        (Capability::Terminal, terminal::ROLE, run),
        (Capability::Researcher, researcher::ROLE, search),
    ] {
        let (requests, report) = taken(capability, task).await;
        let [asked] = requests.as_slice() else {
            panic!("one question a turn: {requests:?}");
        };
        assert_eq!(
            (asked.query.as_str(), asked.top_k, &asked.filter.kinds),
            ("end the race of the session", 3, &None)
        );
        let prompt = &report.system_context;
        let (told, memories) = prompt.split_once("\n\nRelevant history:\n").unwrap();
        assert_eq!(told, format!("{role}\n\nObjective: {}", asked.query));
        assert!(memories.contains(LEARNED), "{prompt}");
        assert_eq!(report.status, WorkerStatus::Completed, "{report:?}");
    }
}

#[tokio::test]
async fn the_writer_asks_with_the_documents_summary_and_works_with_related_prior_work() {
    let write = |summary: &str| Task::Write {
        path: "notes.md".to_owned(),
        text: "one mutex".to_owned(),
        summary: summary.to_owned(),
    };
    let summary = "how the race of the session ended";
    for (written, query) in [(summary, summary), (" ", "end the race of the session")] {
        let (requests, report) = taken(Capability::Writer, write(written)).await;
        let [asked] = requests.as_slice() else {
            panic!("one question a turn: {requests:?}");
        };
        assert_eq!((asked.query.as_str(), asked.top_k), (query, 3));
        let kinds = vec![MemoryKind::Finding, MemoryKind::Pattern];
        assert_eq!(asked.filter.kinds, Some(kinds));
        let prompt = &report.system_context;
        let (_, memories) = prompt.split_once("\n\nRelated prior work:\n").unwrap();
        assert!(memories.contains(LEARNED), "{prompt}");
    }
}

#[tokio::test]
async fn a_worker_refuses_the_work_of_another() {
    let search = Task::Search {
        words: vec!["race".to_owned()],
    };
    let (_, report) = taken(Capability::Terminal, search).await;
    assert_eq!(report.status, WorkerStatus::Blocked);
    assert!(
        report
            .summary
            .contains("the terminal does not do the researcher's work"),
        "{report:?}"
    );
}
