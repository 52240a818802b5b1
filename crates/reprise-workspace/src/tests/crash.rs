//! `kill -9` at every step and at any instant: the tree is as before or as after, never between.
//!
//! The writers are this test's own program, started again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_types::SystemClock;

use super::{PRD, assert_at_rest, run_git, workspace, write, write_all};
use crate::sync_queue::SYNCED;
use crate::wal::WAL;
use crate::{AuditAction, AuditQuery, TransactionStep, Workspace};

const SEED: u64 = 0x5eed_0015;
/// Rounds of eight writers, each of which is killed once: 304 instants.
const ROUNDS: u64 = 38;
const WRITERS: u64 = 8;

const KILLED_AT_STEPS: &str = "tests::crash::killed_at_any_step_the_tree_is_as_before_or_as_after";
const KILLED_ANYWHERE: &str =
    "tests::crash::killed_at_any_instant_under_eight_writers_nothing_acknowledged_is_lost";
/// How an order is told from the names of tests.
const ORDER: &str = "order=";

/// Starts this program again as a writer. A test's name may be followed by others: an order is one
/// that no test has.
fn start_writer(test: &str, what: &str, root: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .arg(format!("{ORDER}{what}:{}", root.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// In a writer: what to do, and where.
fn parse_order() -> Option<(String, Workspace)> {
    let order = std::env::args().find_map(|word| Some(word.strip_prefix(ORDER)?.to_owned()))?;
    let (what, root) = order.split_once(':').unwrap();
    let workspace = Workspace::open(Path::new(root), Arc::new(SystemClock)).unwrap();
    Some((what.to_owned(), workspace))
}

/// One transaction that is killed at a step.
fn die_at(step: &str, workspace: Workspace) {
    let step = step.to_owned();
    let workspace = workspace.with_watcher(Arc::new(move |reached| {
        if format!("{reached:?}") == step {
            let me = std::process::id().to_string();
            drop(Command::new("kill").args(["-9", &me]).status());
            std::thread::sleep(Duration::from_mins(1));
        }
    }));
    let new = [
        (PRD, Some("{\"n\":2}")),
        ("core/kb/new.md", Some("new")),
        ("core/kb/old.md", None),
    ];
    write_all(&workspace, "human:ada", &new).unwrap();
}

/// What `kill -9` cannot show, for the kernel still has what was written.
#[test]
fn the_disk_is_waited_for_before_what_rests_on_an_entry_of_the_log() {
    let (_folder, workspace) = workspace();
    let steps: Arc<Mutex<Vec<TransactionStep>>> = Arc::default();
    let told = Arc::clone(&steps);
    let workspace = workspace.with_watcher(Arc::new(move |step| {
        if SYNCED.take().iter().any(|path| path.ends_with(WAL)) {
            told.lock().unwrap().push(step);
        }
    }));
    SYNCED.take();
    write(&workspace, "prm", PRD, "{\"n\":1}").unwrap();
    assert_eq!(
        *steps.lock().unwrap(),
        [TransactionStep::Begun, TransactionStep::Ended]
    );
    // An `abort`, too: of what nobody ended.
    let log = workspace.root().join(WAL);
    let mut text = fs::read_to_string(&log).unwrap();
    text += "{\"action\":\"begin\",\"tx_id\":\"t2\",\"files\":[]}\n";
    fs::write(&log, text).unwrap();
    SYNCED.take();
    assert_eq!(workspace.recover().unwrap().undone, ["t2"]);
    assert!(SYNCED.take().iter().any(|path| path.ends_with(WAL)));
}

/// Transactions until it is killed.
fn write_until_killed(number: &str, workspace: &Workspace) {
    for turn in 0_u32..100_000 {
        // Never twice the same, or it would be no change.
        let me = number.split('-').next().unwrap();
        let own = format!("core/kb/own-{me}.md");
        let shared = format!("core/adr/shared-{}.md", turn % 5);
        let text = format!("{number} {turn}");
        let changes = [
            (own.as_str(), Some(text.as_str())),
            (shared.as_str(), Some(text.as_str())),
        ];
        let receipt = write_all(workspace, &format!("agent-{me}"), &changes).unwrap();
        println!("\nacknowledged {}", receipt.tx);
    }
}

fn new_workspace_on_branch() -> (tempfile::TempDir, Workspace) {
    let (folder, workspace) = workspace();
    write(&workspace, "prm", PRD, "{\"n\":1}").unwrap();
    write(&workspace, "prm", "core/kb/old.md", "old").unwrap();
    // People change PRDs on branches only.
    run_git(workspace.root(), &["switch", "-qc", "edit"]);
    (folder, workspace)
}

fn read_tree(root: &Path) -> [Option<String>; 3] {
    [PRD, "core/kb/new.md", "core/kb/old.md"].map(|path| fs::read_to_string(root.join(path)).ok())
}

#[test]
fn killed_at_any_step_the_tree_is_as_before_or_as_after() {
    if let Some((step, workspace)) = parse_order() {
        return die_at(&step, workspace);
    }
    let before = [Some("{\"n\":1}".to_owned()), None, Some("old".to_owned())];
    let after = [Some("{\"n\":2}".to_owned()), Some("new".to_owned()), None];
    for (number, step) in TransactionStep::ALL.into_iter().enumerate() {
        for by_next_write in [false, true] {
            let (_folder, workspace) = new_workspace_on_branch();
            let root = workspace.root();
            let mut child = start_writer(KILLED_AT_STEPS, &format!("{step:?}"), root);
            assert!(!child.wait().unwrap().success(), "{step:?} was not reached");
            let has_happened = number
                >= TransactionStep::ALL
                    .iter()
                    .position(|s| *s == TransactionStep::Committed)
                    .unwrap();
            if by_next_write {
                write(&workspace, "researcher", "core/adr/next.md", "next").unwrap();
            }
            let recovered = workspace.recover().unwrap();
            assert!(recovered.left_alone.is_empty(), "{step:?}: {recovered:?}");
            let expected = if has_happened { &after } else { &before };
            assert_eq!(&read_tree(root), expected, "{step:?}");
            assert_at_rest(root);
            let query = AuditQuery {
                actor: Some("human:ada".to_owned()),
                ..AuditQuery::default()
            };
            let (lines, _) = workspace.audit(&query).unwrap();
            assert_eq!(lines.len(), usize::from(has_happened), "{step:?}");
            let events = workspace.events(None, 100).unwrap();
            let told = events.iter().filter(|event| event.actor == "human:ada");
            let topics: Vec<_> = told.map(|event| event.topic.as_str()).collect();
            // A reader that waits for PRDs is notified of one among other files, too.
            let expected: &[&str] = if has_happened {
                &["PRD_Written", "File_Written"]
            } else {
                &[]
            };
            assert_eq!(topics, expected, "{step:?}");
            assert_eq!(
                workspace.recover().unwrap(),
                crate::WorkspaceRecovery::default(),
                "{step:?}"
            );
        }
    }
}

#[test]
fn killed_at_any_instant_under_eight_writers_nothing_acknowledged_is_lost() {
    if let Some((number, workspace)) = parse_order() {
        return write_until_killed(&number, &workspace);
    }
    let (_folder, workspace) = workspace();
    let root = workspace.root().to_owned();
    let (mut seed, mut acknowledged) = (SEED, BTreeSet::new());
    for round in 0..ROUNDS {
        let writer =
            |number: u64| start_writer(KILLED_ANYWHERE, &format!("{number}-{round}"), &root);
        let mut writers: Vec<Child> = (0..WRITERS).map(writer).collect();
        for child in &mut writers {
            // xorshift: the schedule depends on the seed, how far a writer came on the kernel.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            std::thread::sleep(Duration::from_micros(seed % 30_000));
            child.kill().unwrap();
        }
        for mut child in writers {
            child.wait().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let lines = lines.map_while(Result::ok);
            acknowledged.extend(lines.filter_map(|line| {
                line.strip_prefix("acknowledged ")
                    .filter(|tx| tx.len() == 26)
                    .map(str::to_owned)
            }));
        }
        let recovered = workspace.recover().unwrap();
        assert!(
            recovered.left_alone.is_empty(),
            "round {round}: {recovered:?}"
        );
        assert_at_rest(&root);
        let (lines, damaged) = workspace.audit(&AuditQuery::default()).unwrap();
        assert!(damaged.is_empty(), "round {round}");
        let written = lines
            .iter()
            .filter(|line| line.action == AuditAction::Write);
        let audited: Vec<&str> = written.map(|line| line.event_id.as_str()).collect();
        let unique: BTreeSet<&str> = audited.iter().copied().collect();
        assert_eq!(unique.len(), audited.len(), "round {round}: a line twice");
        for tx in &acknowledged {
            assert!(unique.contains(tx.as_str()), "round {round}: {tx} is lost");
        }
        let log = run_git(
            &root,
            &["log", "--format=%(trailers:key=Reprise-Tx,valueonly)"],
        );
        let committed: BTreeSet<&str> = log.split_whitespace().collect();
        assert_eq!(
            committed.len(),
            unique.len() + 1,
            "round {round}: init and each write"
        );
        let events = workspace.events(None, usize::MAX).unwrap();
        assert_eq!(
            events.len(),
            committed.len(),
            "round {round}: an event for each"
        );
    }
    assert!(!acknowledged.is_empty(), "no writer came to anything");
}
