//! Init, writes, refusals, and people at work on the same tree.

use std::fs;
use std::sync::Arc;

use reprise_types::SystemClock;

use super::{PRD, assert_at_rest, run_git, workspace, write, write_all};
use crate::{Actor, AuditAction, AuditQuery, Workspace, WorkspaceError};

const TSD: &str = "core/tsd/TSD-001.json";

#[test]
fn init_makes_the_tree_of_adr_008_and_twice_is_once() {
    let (folder, workspace) = workspace();
    let root = workspace.root();
    for place in [
        ".sdlc_ide/snapshots",
        ".sdlc_ide/tmp",
        ".sdlc_ide/logs/wal.jsonl",
        ".sdlc_ide/logs/audit_trail.jsonl",
        ".sdlc_ide/logs/merge_conflicts.jsonl",
        "core/prd",
        "core/tsd",
        "core/adr",
        "core/kb",
        "extensions",
        "memory/long_term",
        "memory/episodic",
        "memory/agent_state",
        "embeddings/index",
        "embeddings/vectors",
        "cache",
        ".gitignore",
    ] {
        assert!(root.join(place).exists(), "{place}");
    }
    assert_at_rest(root);
    // git agrees about every class.
    for (path, ignored) in [
        ("cache/x", true),
        ("memory/episodic/x", true),
        ("embeddings/vectors/x", true),
        (".sdlc_ide/logs/wal.jsonl", true),
        (".sdlc_ide/tmp/x", true),
        (".sdlc_ide/snapshots/x", true),
        (".sdlc_ide/logs/audit_trail.jsonl", false),
        (".sdlc_ide/logs/audit/01KB/2C/x.jsonl", false),
        (".sdlc_ide/logs/pending/x.jsonl", true),
        ("memory/long_term/x", false),
        ("memory/agent_state/x", false),
        ("embeddings/index/x", false),
        ("core/prd/x", false),
    ] {
        let (is_ignored, _) = super::try_git(root, &["check-ignore", "-q", path]);
        assert_eq!(is_ignored, ignored, "{path}");
    }
    let (_, made) = Workspace::init(folder.path(), Arc::new(SystemClock)).unwrap();
    assert!(made.receipt.is_none());
    assert_eq!(run_git(root, &["rev-list", "--count", "HEAD"]).trim(), "1");
}

#[test]
fn init_in_a_repository_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run_git(root, &["init", "-q", "-b", "trunk"]);
    fs::write(root.join(".gitignore"), "target/").unwrap();
    fs::write(root.join("README.md"), "mine").unwrap();
    let error = Workspace::init(root, Arc::new(SystemClock))
        .unwrap_err()
        .to_string();
    assert!(error.contains(".gitignore"), "{error}");
    run_git(root, &["add", ".gitignore"]);
    run_git(root, &["commit", "-qm", "mine"]);
    let (_, made) = Workspace::init(root, Arc::new(SystemClock)).unwrap();
    assert_eq!(made.branch, "trunk");
    let ignore = fs::read_to_string(root.join(".gitignore")).unwrap();
    assert!(
        ignore.starts_with("target/\n") && ignore.contains("/cache/"),
        "{ignore}"
    );
    assert_eq!(run_git(root, &["status", "--porcelain"]), "?? README.md\n");
    let error = Workspace::init(&root.join("sub"), Arc::new(SystemClock))
        .unwrap_err()
        .to_string();
    assert!(error.contains("inside the repository"), "{error}");
}

#[test]
fn a_write_is_a_commit_an_audit_line_and_an_event_of_one_name() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let receipt = write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    assert_at_rest(root);
    assert_eq!(
        run_git(root, &["rev-parse", "HEAD"]).trim(),
        receipt.commit.as_deref().unwrap()
    );
    assert_eq!(
        run_git(root, &["show", &format!("HEAD:{PRD}")]),
        "{\"id\":\"PRD-001\"}"
    );
    let log = run_git(
        root,
        &[
            "log",
            "-1",
            "--format=%an%n%(trailers:key=Reprise-Tx,valueonly)",
        ],
    );
    assert_eq!(log, format!("prm\n{}\n\n", receipt.tx));
    let (lines, damaged) = workspace.audit(&AuditQuery::default()).unwrap();
    let last = lines.last().unwrap();
    assert_eq!(last.event_id, receipt.tx);
    assert_eq!(
        (last.rules.as_slice(), damaged.len()),
        (["core-prd".to_owned()].as_slice(), 0)
    );
    let event = workspace.events(None, 10).unwrap().pop().unwrap();
    assert_eq!(
        (event.topic.as_str(), &event.event_id),
        ("PRD_Written", &receipt.tx)
    );
    assert_eq!(event.commit, receipt.commit);
    assert!(run_git(root, &["reflog", "-1"]).contains("workspace: Write"));

    // The same again changes nothing and says so.
    let again = write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    assert_eq!((again.commit, again.event), (receipt.commit, None));
    // Removal and several files are one transaction.
    write_all(
        &workspace,
        "prm",
        &[
            (PRD, None),
            ("core/prd/deep/PRD-002.json", Some("{\"a\":1}")),
        ],
    )
    .unwrap();
    assert!(!root.join(PRD).exists() && root.join("core/prd/deep/PRD-002.json").exists());
    assert_at_rest(root);
}

#[test]
fn what_git_does_not_keep_is_written_without_a_commit() {
    let (_folder, workspace) = workspace();
    let head = run_git(workspace.root(), &["rev-parse", "HEAD"]);
    let receipt = write(&workspace, "researcher", "cache/a/b.txt", "one").unwrap();
    assert_eq!(receipt.commit, None);
    assert_eq!(receipt.event.unwrap().topic, "File_Written");
    write(&workspace, "researcher", "cache/a/b.txt", "two").unwrap();
    let text = fs::read_to_string(workspace.root().join("cache/a/b.txt")).unwrap();
    assert_eq!(text, "two");
    assert_eq!(run_git(workspace.root(), &["rev-parse", "HEAD"]), head);
    let log = ".sdlc_ide/logs/agent.jsonl";
    write(&workspace, "researcher", log, "{\"event_id\":\"a\"}\n").unwrap();
    write(
        &workspace,
        "prm",
        log,
        "{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}\n",
    )
    .unwrap();
    let error = write(&workspace, "prm", log, "{\"event_id\":\"b\"}\n").unwrap_err();
    assert_eq!(error.rule(), Some("logs-append-only"));
    assert_at_rest(workspace.root());
}

#[test]
fn a_refusal_changes_nothing_and_is_on_record() {
    let (_folder, workspace) = workspace();
    let both = [
        ("core/kb/a.md", Some("text")),
        (PRD, Some("{\"id\":\"PRD-001\"}")),
    ];
    let error = write_all(&workspace, "researcher", &both).unwrap_err();
    assert_eq!(error.rule(), Some("core-prd"));
    assert!(error.to_string().contains("researcher"), "{error}");
    assert!(!workspace.root().join("core/kb/a.md").exists());
    let query = AuditQuery {
        action: Some(AuditAction::Violation),
        ..AuditQuery::default()
    };
    let (lines, _) = workspace.audit(&query).unwrap();
    assert_eq!((lines.len(), lines[0].actor.as_str()), (1, "researcher"));
    assert_eq!(lines[0].paths, [PRD]);
    assert_at_rest(workspace.root());
    let error = write(&workspace, "prm", PRD, "[]").unwrap_err();
    assert_eq!(error.rule(), Some("schema-prd"));
    assert_at_rest(workspace.root());
}

#[test]
fn a_persons_uncommitted_work_is_never_touched() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    write(&workspace, "prm", "core/kb/a.md", "one\n").unwrap();
    let edits: [(&str, &dyn Fn()); 4] = [
        ("an edit", &|| {
            fs::write(root.join(PRD), "{\"id\":\"mine\"}").unwrap();
        }),
        ("staged", &|| drop(run_git(root, &["add", PRD]))),
        ("deleted", &|| {
            run_git(root, &["reset", "-q", "--", PRD]);
            fs::remove_file(root.join(PRD)).unwrap();
        }),
        ("git does not track", &|| {
            run_git(root, &["checkout", "-q", "--", PRD]);
            fs::write(root.join("core/prd/PRD-002.json"), "{\"id\":\"mine\"}").unwrap();
        }),
    ];
    for (number, (word, edit)) in edits.iter().enumerate() {
        edit();
        let path = if number == 3 {
            "core/prd/PRD-002.json"
        } else {
            PRD
        };
        let before = (
            fs::read(root.join(path)).ok(),
            run_git(root, &["status", "--porcelain"]),
        );
        let error = write(&workspace, "prm", path, "{\"id\":\"new\"}").unwrap_err();
        assert!(matches!(error, WorkspaceError::Edited { .. }), "{error}");
        assert!(error.to_string().contains(word), "{word}: {error}");
        let after = (
            fs::read(root.join(path)).ok(),
            run_git(root, &["status", "--porcelain"]),
        );
        assert_eq!(before, after, "{word}");
    }
    // Meanwhile the work goes on: what a person staged and edited elsewhere stays as it was.
    fs::write(root.join("core/kb/a.md"), "one\nmine\n").unwrap();
    run_git(root, &["add", "core/kb/a.md"]);
    fs::write(root.join("core/kb/a.md"), "one\nmine\nmore\n").unwrap();
    let before = run_git(root, &["status", "--porcelain"]);
    write(&workspace, "prm", PRD, "{\"id\":\"other\"}").unwrap();
    assert_eq!(run_git(root, &["status", "--porcelain"]), before);
    assert_eq!(
        run_git(root, &["diff", "--cached", "--name-only"]),
        "core/kb/a.md\n"
    );
}

#[test]
fn commits_of_plain_git_are_on_record_with_what_the_rules_say() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    fs::write(root.join("core/kb/mine.md"), "mine").unwrap();
    run_git(root, &["add", "core/kb/mine.md"]);
    run_git(root, &["commit", "-qm", "A note"]);
    fs::write(root.join("core/prd/PRD-007.json"), "{\"id\":\"PRD-007\"}").unwrap();
    run_git(root, &["add", "core/prd/PRD-007.json"]);
    run_git(root, &["commit", "-qm", "A PRD past the rules"]);
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"n\":2}").unwrap();
    let query = AuditQuery {
        action: Some(AuditAction::Git),
        ..AuditQuery::default()
    };
    let (lines, _) = workspace.audit(&query).unwrap();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line.actor.as_str(),
                line.message.as_str(),
                line.rules.join(","),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("human:Ada", "A note", String::new()),
            ("human:Ada", "A PRD past the rules", "core-prd".to_owned()),
        ]
    );
    assert_at_rest(root);
}

#[test]
fn a_prd_by_plain_git_is_announced_and_drifts_whatever_is_made_from_it() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    write(&workspace, "tsm", TSD, "{\"prd_id\":\"PRD-001\"}").unwrap();
    let last = workspace.events(None, 100).unwrap().pop().unwrap().event_id;
    fs::write(root.join(PRD), "{\"id\":\"PRD-001\",\"v\":2}").unwrap();
    run_git(root, &["commit", "-qam", "Sharpen the goal"]);
    let head = run_git(root, &["rev-parse", "HEAD"]);
    // A service that looks tells it at once, once, and without a commit of its own.
    let mut maintained = crate::MaintenanceState::default();
    workspace.maintain(&mut maintained).unwrap();
    workspace.maintain(&mut maintained).unwrap();
    workspace
        .maintain(&mut crate::MaintenanceState::default())
        .unwrap();
    assert_eq!(run_git(root, &["rev-parse", "HEAD"]), head);
    let told = workspace.events(Some(&last), 100).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    let event = &told[0];
    assert_eq!(
        (event.topic.as_str(), event.actor.as_str(), &event.commit),
        ("PRD_Written", "human:Ada", &Some(head.trim().to_owned()))
    );
    assert_eq!(
        (event.paths.as_slice(), event.downstream.as_slice()),
        (&[PRD.to_owned()][..], &[TSD.to_owned()][..])
    );
    let query = AuditQuery {
        action: Some(AuditAction::Git),
        ..AuditQuery::default()
    };
    assert_eq!(workspace.audit(&query).unwrap().0.len(), 1);
    assert!(drift(&workspace).is_empty());
    // The next transaction keeps that the TSD was made from what is no more.
    write(&workspace, "prm", "core/kb/a.md", "a\n").unwrap();
    let drifted = drift(&workspace);
    assert_eq!(drifted.len(), 1, "{drifted:?}");
    assert_eq!(
        (&drifted[0]["tsd_id"], &drifted[0]["valid"]),
        (&"TSD-001".into(), &true.into())
    );
    write(&workspace, "prm", "core/kb/a.md", "b\n").unwrap();
    assert_eq!(
        (
            drift(&workspace).len(),
            workspace.audit(&query).unwrap().0.len()
        ),
        (1, 1)
    );
    let told = workspace.events(Some(&last), 100).unwrap();
    let of_git = told.iter().filter(|event| event.actor == "human:Ada");
    assert_eq!(of_git.count(), 1, "{told:?}");
    assert_at_rest(root);
}

fn drift(workspace: &Workspace) -> Vec<serde_json::Value> {
    let log = workspace
        .root()
        .join("memory/long_term/drift_history.jsonl");
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_merge_announces_the_prds_that_it_brings() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    write(&workspace, "tsm", TSD, "{\"prd_id\":\"PRD-001\"}").unwrap();
    run_git(root, &["switch", "-qc", "edit"]);
    write(&workspace, "human:ada", PRD, "{\"id\":\"PRD-001\",\"v\":2}").unwrap();
    run_git(root, &["switch", "-q", "main"]);
    workspace
        .approve(&Actor::human("ada").unwrap(), "edit")
        .unwrap();
    let last = workspace.events(None, 100).unwrap().pop().unwrap().event_id;
    let merged = workspace
        .merge(&Actor::new("governor").unwrap(), "edit", None)
        .unwrap();
    assert_eq!(merged.event.unwrap().topic, "Branch_Merged");
    let told = workspace.events(Some(&last), 100).unwrap();
    let topics: Vec<_> = told.iter().map(|event| event.topic.as_str()).collect();
    assert_eq!(topics, ["PRD_Written", "Branch_Merged", "Snapshot_Taken"]);
    assert_eq!(
        (&told[0].commit, told[0].downstream.as_slice()),
        (&merged.commit, &[TSD.to_owned()][..])
    );
    // On the branch, and again where the branch comes to the TSD.
    assert_eq!(drift(&workspace).len(), 2);
    // A TSD that a changed schema or PRD makes invalid says so.
    let strict = "{\"required\":[\"owner\"]}";
    write(
        &workspace,
        "human:ada",
        "extensions/schemas/tsd.schema.json",
        strict,
    )
    .unwrap();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"v\":3}").unwrap();
    let last = drift(&workspace).pop().unwrap();
    assert_eq!(last["valid"], false);
    assert!(last["why"].as_str().unwrap().contains("owner"), "{last}");
    assert_at_rest(root);
}

#[test]
fn a_tsd_follows_its_prd_and_is_told_when_that_moves_on() {
    let (_folder, workspace) = workspace();
    let tsd = "core/tsd/TSD-001.json";
    let error = write(&workspace, "tsm", tsd, "{\"prd_id\":\"PRD-001\"}").unwrap_err();
    assert_eq!(error.rule(), Some("core-tsd"));
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    let hash = run_git(workspace.root(), &["rev-parse", &format!("HEAD:{PRD}")]);
    let text = format!(
        "{{\"prd_id\":\"PRD-001\",\"prd_hash\":\"{}\"}}",
        hash.trim()
    );
    write(&workspace, "tsm", tsd, &text).unwrap();
    let moved = write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"v\":2}").unwrap();
    assert_eq!(moved.event.unwrap().downstream, [tsd]);
    let drift = workspace
        .root()
        .join("memory/long_term/drift_history.jsonl");
    assert!(fs::read_to_string(drift).unwrap().contains("\"drifted\""));
    assert_eq!(
        write(&workspace, "tsm", tsd, &(text + " "))
            .unwrap_err()
            .rule(),
        Some("core-tsd")
    );
    let error = write_all(&workspace, "prm", &[(PRD, None)]).unwrap_err();
    assert_eq!(error.rule(), Some("dag"));
    let cycle = "{\"depends_on\":[\"PRD-001\"]}";
    assert_eq!(
        write(&workspace, "prm", PRD, cycle).unwrap_err().rule(),
        Some("dag")
    );
    assert_at_rest(workspace.root());
}
