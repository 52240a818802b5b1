//! A worker's recall, and its prompt.

use ractor::{Actor as _, call_t};
use reprise_types::{MemoryKind, OutcomeSummary, RecallRequest, RetrievedMemory, SystemClock};

use super::super::testing::{
    FakeMemory, MemoryBehaviour, ada, new_lesson, read_events, spawn_event_store,
};
use super::*;
use crate::event::StoredEvent;

const LEARNED: &str = "one mutex per user ended the race";

fn new_turn(task: Task) -> TurnContext {
    TurnContext {
        run_id: "run-1".to_owned(),
        call_id: "call-1".to_owned(),
        desktop_id: "desk-1".to_owned(),
        objective: "end the race of the session".to_owned(),
        task,
    }
}

/// The requests, report and events of one turn.
struct TurnResult {
    requests: Vec<RecallRequest>,
    report: WorkerReport,
    /// The types and payloads of its events.
    events: Vec<StoredEvent>,
    folder: tempfile::TempDir,
}

impl TurnResult {
    fn list_commands(&self) -> Vec<&str> {
        let calls = self
            .events
            .iter()
            .filter(|one| one.event_type == "worker.tool.call");
        calls
            .filter_map(|one| one.payload["tool_args"].as_str())
            .collect()
    }

    fn read_file(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("work").join(path)).unwrap()
    }
}

/// Runs one turn with these memories, in a directory with these files.
async fn run_turn_with(
    memories: Vec<RetrievedMemory>,
    files: &[(&str, &str)],
    capability: Capability,
    task: Task,
) -> TurnResult {
    let folder = tempfile::tempdir().unwrap();
    let store = spawn_event_store(&folder).await;
    let memory = FakeMemory::new(MemoryBehaviour::Good(memories));
    let workspace = WorkerDirectory::new(&folder.path().join("work")).unwrap();
    for (path, text) in files {
        workspace.write(path, text).unwrap();
    }
    let arguments = WorkerArguments {
        capability,
        emitter: EventEmitter::new(store.clone(), Arc::new(SystemClock), ada()),
        workspace,
        commands: Arc::default(),
        memory_provider: Some(memory.clone()),
        memory_budget: Duration::from_secs(10),
    };
    let (worker, _) = WorkerActor::spawn(None, WorkerActor, arguments)
        .await
        .unwrap();
    let turn = new_turn(task);
    let report = call_t!(worker, |reply| WorkerMsg::Run { turn, reply }, 60_000);
    let events = read_events(&store).await;
    TurnResult {
        requests: memory.requests.lock().unwrap().clone(),
        report: report.unwrap().unwrap(),
        events,
        folder,
    }
}

/// Runs one turn; returns its recalls and its report.
async fn run_turn(capability: Capability, task: Task) -> (Vec<RecallRequest>, WorkerReport) {
    let memories = vec![new_lesson(0, LEARNED, "completed", 0.6)];
    let result = run_turn_with(memories, &[], capability, task).await;
    (result.requests, result.report)
}

/// Returns a memory with one more field of metadata.
fn new_lesson_about(name: &str, value: &str, status: &str, score: f32) -> RetrievedMemory {
    let mut memory = new_lesson(3, LEARNED, status, score);
    memory.record.metadata.insert(name.to_owned(), value.into());
    memory
}

#[tokio::test]
async fn the_terminal_begins_with_the_command_that_worked() {
    let (textbook, works) = ("echo no; exit 3", "echo fine");
    let task = || Task::Run {
        folder: String::new(),
        files: [].into(),
        command: textbook.to_owned(),
        instead: vec!["exit 4".to_owned(), works.to_owned()],
    };
    let blind = run_turn_with(Vec::new(), &[], Capability::Terminal, task()).await;
    assert_eq!(blind.list_commands(), [textbook, "exit 4", works]);
    assert_eq!(blind.report.command.as_deref(), Some(works));
    let report = blind
        .events
        .iter()
        .find(|one| one.event_type == "worker.report.received");
    assert_eq!(
        report.unwrap().payload["command"],
        works,
        "memory can keep it"
    );
    let memories = vec![new_lesson_about("command", works, "completed", 0.4)];
    let knows = run_turn_with(memories, &[], Capability::Terminal, task()).await;
    assert_eq!(knows.list_commands(), [works]);
    let memories = vec![new_lesson_about("command", textbook, "failed", 0.4)];
    let warned = run_turn_with(memories, &[], Capability::Terminal, task()).await;
    assert_eq!(warned.list_commands(), ["exit 4", works]);
    // Memory chooses among the plan's commands and adds none of its own.
    let memories = vec![new_lesson_about("command", "touch taken", "completed", 0.9)];
    let lured = run_turn_with(memories, &[], Capability::Terminal, task()).await;
    assert_eq!(lured.list_commands(), blind.list_commands());
    for result in [blind, knows, warned, lured] {
        assert_eq!(result.report.status, WorkerStatus::Completed);
    }
}

#[tokio::test]
async fn the_researcher_looks_first_where_it_helped() {
    let files = [
        ("a.md", "the race of the session, the race\n"),
        ("notes/race.md", "one mutex ended the race\n"),
    ];
    let task = || Task::Search {
        words: ["race", "session"].map(str::to_owned).to_vec(),
    };
    let first = async |memories| {
        let result = run_turn_with(memories, &files, Capability::Researcher, task()).await;
        let lines = result.read_file("research/run-1.md");
        lines.lines().next().unwrap().to_owned()
    };
    assert!(first(Vec::new()).await.starts_with("a.md:1"));
    let helped = new_lesson_about("path", "notes/race.md", "completed", 0.4);
    assert!(
        first(vec![helped.clone()])
            .await
            .starts_with("notes/race.md:1")
    );
    // A source whose runs went badly comes last, even if its lines match more words.
    let mut misled = new_lesson_about("path", "a.md", "completed", 0.4);
    misled.why.worked = Some(OutcomeSummary {
        runs: 2,
        quality: 0.1,
    });
    assert!(first(vec![misled]).await.starts_with("notes/race.md:1"));
}

#[tokio::test]
async fn the_writer_cites_the_document_that_it_builds_on() {
    let task = || Task::Write {
        path: "notes.md".to_owned(),
        text: "one mutex".to_owned(),
        summary: "how the race ended".to_owned(),
    };
    let blind = run_turn_with(Vec::new(), &[], Capability::Writer, task()).await;
    assert_eq!(blind.read_file("notes.md"), "one mutex");
    let prior = new_lesson_about("path", "sessions/race.md", "completed", 0.4);
    let id = prior.record.id;
    let knows = run_turn_with(vec![prior], &[], Capability::Writer, task()).await;
    let cited = format!("one mutex\n\nRelated prior work: `sessions/race.md` ({id})\n");
    assert_eq!(knows.read_file("notes.md"), cited);
}

#[tokio::test]
async fn terminal_and_researcher_ask_for_what_is_wanted_and_work_with_relevant_history() {
    let run = Task::Run {
        folder: String::new(),
        files: [].into(),
        command: "true".to_owned(),
        instead: Vec::new(),
    };
    let search = Task::Search {
        words: vec!["race".to_owned()],
    };
    for (capability, role, task) in [
        (Capability::Terminal, terminal::ROLE, run),
        (Capability::Researcher, researcher::ROLE, search),
    ] {
        let (requests, report) = run_turn(capability, task).await;
        let [request] = requests.as_slice() else {
            panic!("one question a turn: {requests:?}");
        };
        assert_eq!(
            (request.query.as_str(), request.top_k, &request.filter.kinds),
            ("end the race of the session", 3, &None)
        );
        let prompt = &report.context.render();
        let (role_and_objective, memories) = prompt.split_once("\n\nRelevant history:\n").unwrap();
        assert_eq!(
            role_and_objective,
            format!("{role}\n\nObjective: {}", request.query)
        );
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
        let (requests, report) = run_turn(Capability::Writer, write(written)).await;
        let [request] = requests.as_slice() else {
            panic!("one question a turn: {requests:?}");
        };
        assert_eq!((request.query.as_str(), request.top_k), (query, 3));
        let kinds = vec![MemoryKind::Finding, MemoryKind::Pattern];
        assert_eq!(request.filter.kinds, Some(kinds));
        let prompt = &report.context.render();
        let (_, memories) = prompt.split_once("\n\nRelated prior work:\n").unwrap();
        assert!(memories.contains(LEARNED), "{prompt}");
    }
}

#[tokio::test]
async fn a_worker_refuses_the_work_of_another() {
    let search = Task::Search {
        words: vec!["race".to_owned()],
    };
    let (_, report) = run_turn(Capability::Terminal, search).await;
    assert_eq!(report.status, WorkerStatus::Blocked);
    assert!(
        report
            .summary
            .contains("the terminal does not do the researcher's work"),
        "{report:?}"
    );
}
