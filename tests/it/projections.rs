//! Files that other programs read, next to a memory that many write to.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reprise_operations::WriteReport;
use reprise_server::{Call, Client};
use reprise_tests::{assert_contains, seen_if, wait_for, wait_for_async};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::home::Home;

const WRITERS: usize = 100;
const LESSONS: usize = 4_000;
/// Records of one request.
const GROUP: usize = 8;

/// A lesson and a learning by turns.
fn record(number: usize) -> Value {
    let text = format!(
        "Lesson {number} of the importer: keep a key for table {}",
        number % 97
    );
    let details = if number.is_multiple_of(2) {
        json!({"type": "lesson", "title": format!("Lesson {number}"), "content": text})
    } else {
        json!({"type": "learning", "category": "pattern", "source_type": "task"})
    };
    json!({
        "external_id": format!("n-{number}"), "text": text, "kind": "finding",
        "source": "worker_result", "confidence": 0.7, "tags": ["db"], "details": details,
    })
}

/// Returns what a projection holds at this moment, if it is there: every line whole.
fn lines(place: &Path) -> Option<usize> {
    let text = fs::read_to_string(place.join(".sunwell/memory/learnings.jsonl")).ok()?;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is whole");
        assert!(
            line["fact"].is_string() && line["created_at"].is_string(),
            "{line}"
        );
    }
    Some(text.lines().count())
}

/// The lessons of a database, which is whole.
fn lessons(file: &Path) -> Option<usize> {
    let bytes = fs::read(file).ok()?;
    assert!(bytes.starts_with(b"SQLite format 3\0"), "it is a database");
    let pages = bytes.get(28..32).map(|size| {
        size.iter()
            .fold(0_usize, |size, byte| (size << 8) | usize::from(*byte))
    });
    let page = bytes.get(16..18).map(|size| {
        size.iter()
            .fold(0_usize, |size, byte| (size << 8) | usize::from(*byte))
    });
    assert_eq!(
        pages.zip(page).map(|(pages, page)| pages * page),
        Some(bytes.len()),
        "no page is cut"
    );
    Some(bytes.len())
}

/// Every record, by so many writers at once.
async fn write_all(client: &Arc<Client>) {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let client = Arc::clone(client);
        writers.spawn(async move {
            let own: Vec<usize> = (0..LESSONS)
                .filter(|number| number % WRITERS == writer)
                .collect();
            for group in own.chunks(GROUP) {
                let records: Vec<Value> = group.iter().map(|number| record(*number)).collect();
                let call = Call::post("/v1/users/ada/records", &json!({ "records": records }));
                let report: WriteReport = client.ask(&call).await.expect("it is kept");
                assert_eq!(report.inserted as usize, group.len());
            }
        });
    }
    writers.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_lose_nothing_and_projections_are_whole_at_every_read() {
    let home = Home::new();
    let (project, database) = (
        home.folder().join("project"),
        home.folder().join("knowledge.db"),
    );
    let place = |kind: &str, path: &Path| {
        let path = path.display();
        format!("[[projections]]\nuser = \"ada\"\nkind = \"{kind}\"\npath = \"{path}\"\n")
    };
    let text = place("sunwell", &project) + &place("ai-lessons", &database);
    let config = home.write("config.toml", &text);
    let mut daemon = home.command(&["--config", &config, "serve", "--idle-exit", "120"]);
    let mut daemon = daemon.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = [0; 7];
    let stderr = daemon.stderr.as_mut().expect("piped");
    stderr
        .read_exact(&mut said)
        .expect("it says that it serves");
    let client = Arc::new(home.client());
    client.ensure_running().await.expect("the daemon answers");
    let (done, reads) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let reader = {
        let (done, reads) = (Arc::clone(&done), Arc::clone(&reads));
        let (project, database) = (project.clone(), database.clone());
        tokio::task::spawn_blocking(move || {
            while !done.load(Ordering::SeqCst) {
                if lines(&project).is_some() && lessons(&database).is_some() {
                    reads.fetch_add(1, Ordering::SeqCst);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    write_all(&client).await;
    // What was written last is there soon after.
    wait_for_async("every lesson in the project", async || {
        let lines = lines(&project);
        seen_if(lines == Some(LESSONS / 2), lines)
    })
    .await;
    done.store(true, Ordering::SeqCst);
    reader.await.expect("every read was whole");
    assert_eq!(lines(&project), Some(LESSONS / 2), "none is lost");
    assert!(reads.load(Ordering::SeqCst) > 0);
    client.shut_down().await.expect("it is told to end");
    let _ended = tokio::task::block_in_place(|| daemon.wait()).expect("it ends");
    let check = |arguments: &[&str]| {
        let all = [
            &["--config", &config, "--no-daemon"],
            arguments,
            &["--user", "ada"],
        ]
        .concat();
        home.run(&all)
    };
    // The database may be a moment behind the lines.
    let both = ["doctor", "rebuild", "sunwell", "ai-lessons"];
    assert_eq!(check(&both).code, Some(0));
    check(&["doctor", "check"]).expect_code(0);
    fs::write(project.join(".sunwell/memory/decisions.jsonl"), "{}\n").expect("written");
    let changed = check(&["doctor", "check"]).expect_code(1);
    assert_contains!(changed.stdout, "decisions.jsonl");
    // What somebody changed is theirs until they say so.
    let refused = check(&["doctor", "rebuild"]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    assert_contains!(refused.stderr, "--adopt");
    let rebuilt = check(&["--json", "doctor", "rebuild", "--adopt"]);
    let rebuilt: Value = serde_json::from_str(&rebuilt.stdout).expect("JSON");
    assert_eq!(rebuilt["projections"][0]["written"], 1);
    assert_eq!(check(&["doctor", "check"]).code, Some(0));
}

#[test]
fn a_command_without_a_daemon_leaves_projections_as_memory_is() {
    let home = Home::new();
    let project = home.folder().join("project");
    let path = project.display();
    let text = format!("[[projections]]\nuser = \"ada\"\nkind = \"sunwell\"\npath = \"{path}\"\n");
    let config = home.write("config.toml", &text);
    let run = |arguments: &[&str]| {
        let begin = ["--config", &*config, "--no-daemon"];
        let all = [&begin, arguments, &["--user", "ada"]].concat();
        let done = home.run(&all);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
    };
    let learning = r#"{"fact": "User has email", "category": "type"}"#;
    run(&["call", "add_learning", learning]);
    assert_eq!(lines(&project), Some(1));
    let records = home.folder().join("lines.jsonl");
    let learnings = [1, 3].map(|number| record(number).to_string());
    fs::write(&records, learnings.join("\n")).expect("written");
    run(&["ingest", "--jsonl", &records.to_string_lossy()]);
    assert_eq!(lines(&project), Some(3));
    run(&["forget", "--external-id", "n-1"]);
    assert_eq!(lines(&project), Some(2));
    // What reads leaves them alone.
    fs::remove_dir_all(&project).expect("it is there");
    run(&["call", "knowledge"]);
    assert_eq!(lines(&project), None);
    run(&["doctor", "rebuild", "sunwell"]);
    assert_eq!(lines(&project), Some(2));
}

#[test]
fn a_projection_that_cannot_be_written_is_said() {
    let home = Home::new();
    let (project, elsewhere) = (home.folder().join("project"), home.folder().join("mine"));
    fs::create_dir_all(&project).expect("a folder");
    fs::create_dir_all(&elsewhere).expect("a folder");
    std::os::unix::fs::symlink(&elsewhere, project.join(".sunwell")).expect("a link");
    let path = project.display();
    let text = format!("[[projections]]\nuser = \"ada\"\nkind = \"sunwell\"\npath = \"{path}\"\n");
    let config = home.write("config.toml", &text);
    let begin = ["--config", &*config, "--no-daemon"];
    let learn = [&begin[..], &["learn", "--user", "ada", "Ask first"]].concat();
    let said = home.run(&learn).expect_code(0);
    for told in [&said.stdout, &said.stderr] {
        assert_contains!(told, ".sunwell/memory` is a symbolic link");
    }
    let learned = [
        &["--json"],
        &begin[..],
        &["learn", "--user", "ada", "Ask twice"],
    ]
    .concat();
    let learned: Value = serde_json::from_str(&home.run_ok(&learned)).expect("JSON");
    let warnings = learned["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1, "{learned}");
    let doctor = home.run(&[&begin[..], &["doctor"]].concat()).expect_code(1);
    assert_contains!(doctor.stdout, "is a symbolic link");

    // A daemon tries when it starts.
    let mut daemon = home.command(&["--config", &config, "serve", "--idle-exit", "120"]);
    let mut daemon = daemon.stderr(Stdio::null()).spawn().expect("it starts");
    let failing = || -> usize {
        let said = home
            .run(&["--config", &config, "--json", "serve", "status"])
            .stdout;
        let status: Value = serde_json::from_str(&said).unwrap_or_default();
        status["projections_failing"].as_array().map_or(0, Vec::len)
    };
    let fail = |wanted: usize| {
        wait_for("the projections that fail", || {
            let failing = failing();
            seen_if(failing == wanted, failing)
        })
    };
    fail(1);
    fs::remove_file(project.join(".sunwell")).expect("it is there");
    home.run_ok(&["--config", &config, "learn", "--user", "ada", "Ask again"]);
    fail(0);
    assert_eq!(lines(&project), Some(0));
    home.run_ok(&["--config", &config, "serve", "stop"]);
    let _ended = daemon.wait().expect("it ends");
    assert_eq!(fs::read_dir(elsewhere).expect("a folder").count(), 0);
}
