//! Each worker of a whole host works otherwise with memory than without.

use super::*;
use crate::actors::testing::read_events;
use crate::actors::{Repertoire, RepertoirePlanner, RunReport, TurnTrace};
use crate::supervisor::WorkersConfig;

/// A way whose textbook command fails, and whose other command works.
const REPERTOIRE: &str = r#"
[[structure]]
name = "library"
words = ["library"]
tested = "src/lib.rs"
item = "x"
check = "y"
[[structure.files]]
path = "src/lib.rs"
text = "a crate of {name}"

[[way]]
name = "one way"
says = []
command = "echo 'error: no manifest'; exit 3"
instead = ["grep -q crate src/lib.rs && echo fine"]
"#;
const TEXTBOOK: &str = "echo 'error: no manifest'; exit 3";
const WORKS: &str = "grep -q crate src/lib.rs && echo fine";

/// What the second of two requests did.
struct SecondRun {
    report: RunReport,
    commands: Vec<String>,
    research: String,
    notes: String,
}

impl SecondRun {
    fn turn_of(&self, actor: &str) -> &TurnTrace {
        let mut turns = self.report.turns.iter();
        turns.find(|turn| turn.actor == actor).unwrap()
    }
}

/// Runs two requests on a host with this memory. The workspace has one file about libraries during
/// the first, and another one besides during the second.
async fn run_twice(folder: &TempDir, memory: &MemoryBridge) -> SecondRun {
    let planner = RepertoirePlanner::new(Repertoire::from_toml(REPERTOIRE).unwrap());
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("notes")).unwrap();
    std::fs::write(work.join("notes/z.md"), "a library of ours\n").unwrap();
    let mut workers = WorkersConfig::new(work.clone(), Arc::new(planner));
    workers.memory_budget = Duration::from_secs(10);
    let config = AppConfig::new(folder.path().join("events.db"), memory.clone());
    let app = AppState::start(AppConfig {
        poll: Duration::from_millis(1),
        workers: Some(workers),
        ..config
    })
    .await
    .unwrap();
    app.ensure_memory(&ada()).await.unwrap();
    let mut report = None;
    for objective in ["set up the library `clock`", "set up the library `watch`"] {
        report = Some(app.execute(&ada(), objective, "desk-1").await.unwrap());
        if let Some(caught_up) = memory.catch_up().await {
            caught_up.unwrap();
        }
        // Without memory this file comes first from now on.
        std::fs::write(work.join("a.md"), "a library of others\n").unwrap();
    }
    let report = report.unwrap();
    let events = read_events(app.event_store()).await;
    let calls = events.iter().filter(|event| {
        let of_run = event.payload["run_id"] == report.run_id.as_str();
        event.event_type == "worker.tool.call" && of_run && event.payload["tool_name"] == "bash"
    });
    let command =
        |event: &crate::event::StoredEvent| event.payload["tool_args"].as_str().unwrap().to_owned();
    let commands = calls.map(command).collect();
    app.shut_down().await.unwrap();
    let read = |path: &str| std::fs::read_to_string(work.join(path)).unwrap();
    SecondRun {
        commands,
        research: read(&format!("research/{}.md", report.run_id)),
        notes: read("watch/NOTES.md"),
        report,
    }
}

/// The second request with memory, and the same on a host without it.
async fn run_with_and_without() -> (SecondRun, SecondRun) {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = new_bridge(&with);
    (
        run_twice(&with, &memory).await,
        run_twice(&without, &MemoryBridge::without_memory()).await,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_terminal_takes_the_command_that_worked_in_the_run_before() {
    let (with, without) = run_with_and_without().await;
    assert_eq!(without.commands, [TEXTBOOK, WORKS]);
    assert_eq!(with.commands, [WORKS], "{:?}", with.report);
    let choice = with.turn_of("terminal").choice.as_deref();
    assert!(
        choice.is_some_and(|choice| choice.contains(WORKS)),
        "{choice:?}"
    );
    assert_eq!(without.turn_of("terminal").choice, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_researcher_begins_with_the_source_that_helped() {
    let (with, without) = run_with_and_without().await;
    assert!(
        without.research.starts_with("a.md:1"),
        "{}",
        without.research
    );
    assert!(
        with.research.starts_with("notes/z.md:1"),
        "{}",
        with.research
    );
    assert!(with.turn_of("researcher").choice.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_cites_what_the_run_before_left() {
    let (with, without) = run_with_and_without().await;
    assert!(
        !without.notes.contains("Related prior work"),
        "{}",
        without.notes
    );
    assert!(
        with.notes.contains("Related prior work: "),
        "{}",
        with.notes
    );
    assert!(with.turn_of("writer").choice.is_some());
}
