//! What a transaction costs compared with a bare `git commit`, and what status and audit take on
//! large trees: `cargo bench -p reprise-workspace`. Prints medians and ratios of one run; holds
//! nothing to a figure.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where its world is not as it was made"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_types::SystemClock;
use reprise_workspace::{Actor, AuditQuery, RepoPath, TransactionStep, Workspace, WriteRequest};

const ROUNDS: usize = 60;
const ARTIFACTS: usize = 10_000;
const LINES: usize = 100_000;
const AGENTS: usize = 16;
const TURNS: usize = 200;

fn main() {
    // A word picks one table: `cargo bench -p reprise-workspace -- commits`.
    let asked = std::env::args()
        .nth(1)
        .filter(|word| !word.starts_with('-'));
    let tables: [(&str, fn()); 4] = [
        ("commits", commits),
        ("status", status),
        ("audit", audit),
        ("crowd", crowd),
    ];
    for (name, table) in tables {
        if asked.as_ref().is_none_or(|asked| asked == name) {
            table();
        }
    }
}

fn new_workspace() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let made = Workspace::init(folder.path(), Arc::new(SystemClock)).expect("a workspace");
    (folder, made.0)
}

fn git(root: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .current_dir(root)
        .args([
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.invalid",
        ])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(done.expect("git runs").success(), "git {arguments:?}");
}

fn write(workspace: &Workspace, actor: &str, path: &str, text: String) {
    let request = WriteRequest {
        actor: Actor::new(actor).expect("an actor"),
        changes: vec![(
            RepoPath::new(path).expect("a path"),
            Some(text.into_bytes()),
        )],
        message: None,
    };
    workspace.write(&request).expect("a transaction");
}

/// 4 KB that no earlier round had.
fn make_text(round: usize) -> String {
    let line = format!("round {round}: what agents and people agree on is written here\n");
    line.repeat(4096 / line.len() + 1)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Where the time of a transaction goes: the moment of each step, from the beginning.
type Moments = Arc<Mutex<Vec<(TransactionStep, Instant)>>>;

fn commits() {
    let (_folder, workspace) = new_workspace();
    let moments = Moments::default();
    let noted = Arc::clone(&moments);
    let workspace = workspace.with_watcher(Arc::new(move |step| {
        let mut noted = noted.lock().expect("nobody panics");
        noted.push((step, Instant::now()));
    }));
    let mut steps: Vec<Vec<Duration>> = vec![Vec::new(); TransactionStep::ALL.len()];
    let root = workspace.root();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let started = Instant::now();
        write(&workspace, "prm", "core/kb/ours.md", make_text(round));
        ours.push(started.elapsed());
        let mut before = started;
        for (index, (_, at)) in moments.lock().expect("nobody panics").drain(..).enumerate() {
            steps[index].push(at - before);
            before = at;
        }
        fs::write(root.join("core/kb/bare.md"), make_text(round)).expect("a file");
        git(root, &["add", "core/kb/bare.md"]);
        let started = Instant::now();
        git(root, &["commit", "-q", "-m", "bare"]);
        bare.push(started.elapsed());
    }
    let (ours, bare) = (median(ours), median(bare));
    println!("transaction of 4 KB         {ours:8.2} ms");
    println!(
        "git commit of 4 KB          {bare:8.2} ms   ratio {:.2}",
        ours / bare
    );
    for (step, times) in TransactionStep::ALL.into_iter().zip(steps) {
        println!(
            "    until {:<17} {:8.2} ms",
            format!("{step:?}"),
            median(times)
        );
    }
}

fn status() {
    let (_folder, workspace) = new_workspace();
    let root = workspace.root();
    for artifact in 0..ARTIFACTS {
        let file = root.join(format!("core/kb/{}/{artifact}.md", artifact % 100));
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, format!("{artifact}\n")).expect("a file");
    }
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "-m", "many"]);
    let times = (0..9).map(|_| {
        let started = Instant::now();
        workspace.status().expect("a status");
        started.elapsed()
    });
    println!(
        "status of {ARTIFACTS} artifacts   {:8.2} ms",
        median(times.collect())
    );
    let started = Instant::now();
    write(&workspace, "prm", "core/kb/0/0.md", make_text(0));
    let took = started.elapsed().as_secs_f64() * 1e3;
    println!("transaction among them      {took:8.2} ms");
}

fn audit() {
    let (_folder, workspace) = new_workspace();
    let trail = workspace.root().join(".sdlc_ide/logs/audit_trail.jsonl");
    let mut lines = String::new();
    for line in 0..LINES {
        writeln!(
            lines,
            "{{\"event_id\":\"01J{line:0>23}\",\"ts\":\"2026-01-01T00:00:00Z\",\
             \"action\":\"write\",\"actor\":\"agent-{}\",\"rules\":[\"core-kb\"],\
             \"paths\":[\"core/kb/{line}.md\"],\"branch\":\"main\"}}",
            line % 50
        )
        .expect("a text");
    }
    fs::write(trail, lines).expect("a trail");
    for (name, actor) in [("all", None), ("one actor", Some("agent-7".to_owned()))] {
        let query = AuditQuery {
            actor,
            ..AuditQuery::default()
        };
        let times = (0..5).map(|_| {
            let started = Instant::now();
            workspace.audit(&query).expect("a trail");
            started.elapsed()
        });
        println!(
            "audit of {LINES}, {name:<9}  {:8.2} ms",
            median(times.collect())
        );
    }
}

fn crowd() {
    let (_folder, workspace) = new_workspace();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for agent in 0..AGENTS {
            let workspace = workspace.clone();
            scope.spawn(move || {
                for turn in 0..TURNS {
                    let path = format!("core/kb/artifact-{}.md", (agent * 7 + turn * 11) % 50);
                    write(
                        &workspace,
                        &format!("agent-{agent}"),
                        &path,
                        format!("{agent} {turn}"),
                    );
                }
            });
        }
    });
    let took = started.elapsed().as_secs_f64();
    let all = (AGENTS * TURNS) as f64;
    println!(
        "{AGENTS} agents x {TURNS}             {took:8.2} s    {:.0} a second",
        all / took
    );
}
