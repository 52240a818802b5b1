//! Branches come together: rules of each class, approvals, conflicts, rollbacks.

use std::fs;

use super::{PRD, actor, assert_at_rest, run_git, workspace, write};
use crate::{Actor, AuditAction, AuditQuery, WorkspaceError};

#[test]
fn a_persons_prd_is_merged_once_a_person_has_approved_that_very_commit() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    run_git(root, &["switch", "-qc", "edit"]);
    fs::write(root.join(PRD), "{\"id\":\"PRD-001\",\"goal\":\"more\"}").unwrap();
    run_git(root, &["commit", "-qam", "Sharpen the goal"]);
    run_git(root, &["switch", "-q", "main"]);
    let governor = actor("governor");
    let error = workspace.merge(&governor, "edit", None).unwrap_err();
    assert_eq!(error.rule(), Some("core-prd"));
    let ada = Actor::human("ada").unwrap();
    assert!(workspace.approve(&governor, "edit").is_err());
    workspace.approve(&ada, "edit").unwrap();
    // Approved is what was looked at, not what came after.
    run_git(root, &["switch", "-q", "edit"]);
    run_git(root, &["commit", "-q", "--allow-empty", "-m", "later"]);
    run_git(root, &["switch", "-q", "main"]);
    assert_eq!(
        workspace.merge(&governor, "edit", None).unwrap_err().rule(),
        Some("core-prd")
    );
    workspace.approve(&ada, "edit").unwrap();
    let receipt = workspace.merge(&governor, "edit", None).unwrap();
    assert!(fs::read_to_string(root.join(PRD)).unwrap().contains("more"));
    let parents = run_git(
        root,
        &[
            "log",
            "-1",
            "--format=%P",
            receipt.commit.as_deref().unwrap(),
        ],
    );
    assert_eq!(parents.split_whitespace().count(), 2);
    assert_at_rest(root);
    assert_eq!(receipt.event.unwrap().topic, "Branch_Merged");
    let again = workspace.merge(&governor, "edit", None).unwrap();
    assert_eq!(again.event, None);
    let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
    let actions: Vec<_> = lines
        .iter()
        .map(|line| format!("{:?}", line.action))
        .collect();
    let expected = [
        "Init",
        "Write",
        "Violation",
        // An approval by the Governor.
        "Violation",
        "Approve",
        "Violation",
        "Approve",
        "Merge",
        "Snapshot",
    ];
    assert_eq!(actions, expected);
}

#[test]
fn each_class_merges_by_its_rule() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let log = "memory/contradiction_history.jsonl";
    let state = "memory/agent_state/tsm.checkpoint.json";
    let manifest = "embeddings/index/m.json";
    let saved = |when: &str, note: &str| {
        format!("{{\"agent_id\":\"tsm\",\"ts_checkpoint\":\"{when}\",\"next_action\":\"{note}\"}}")
    };
    let entry = |model: &str| {
        format!("{{\"artifacts\":[{{\"artifact_id\":\"a\",\"model_version\":\"{model}\"}}]}}")
    };
    let all = |log_text: &str, when: &str, note: &str, model: &str| {
        write(&workspace, "tsm", log, log_text).unwrap();
        write(&workspace, "tsm", state, &saved(when, note)).unwrap();
        write(&workspace, "vectorizer", manifest, &entry(model)).unwrap();
    };
    all(
        "{\"event_id\":\"a\"}\n",
        "2026-01-01T00:00:00Z",
        "start",
        "1",
    );
    run_git(root, &["switch", "-qc", "other"]);
    all(
        "{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}\n",
        "2026-01-03T00:00:00Z",
        "theirs",
        "2",
    );
    run_git(root, &["switch", "-q", "main"]);
    all(
        "{\"event_id\":\"a\"}\n{\"event_id\":\"c\"}\n",
        "2026-01-02T00:00:00Z",
        "ours",
        "3",
    );
    workspace.merge(&actor("governor"), "other", None).unwrap();
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert_eq!(
        text(log),
        "{\"event_id\":\"a\"}\n{\"event_id\":\"c\"}\n{\"event_id\":\"b\"}\n"
    );
    assert!(text(state).contains("theirs"));
    assert!(text(manifest).contains("\"re_embed\": true"));
    assert!(text(".sdlc_ide/logs/merge_conflicts.jsonl").contains("\"ours\""));
    let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
    // After it comes the snapshot that follows a merge on main.
    let merged = lines
        .iter()
        .rev()
        .find(|line| !line.details["losers"].is_null());
    assert_eq!(
        merged.unwrap().details["losers"][0]["checkpoint"]["next_action"],
        "ours"
    );
    // Both trails, each line once.
    let ids: std::collections::BTreeSet<_> = lines.iter().map(|line| &line.event_id).collect();
    assert_eq!((lines.len(), ids.len()), (12, 12));
    assert_at_rest(root);
}

#[test]
fn a_contradiction_is_refused_with_a_report_and_nothing_else_changes() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let note = "core/kb/note.md";
    write(&workspace, "prm", note, "one\ntwo\nthree\n").unwrap();
    run_git(root, &["switch", "-qc", "other"]);
    write(&workspace, "prm", note, "one\nTHEIRS\nthree\n").unwrap();
    run_git(root, &["switch", "-q", "main"]);
    write(&workspace, "prm", note, "one\nOURS\nthree\n").unwrap();
    let error = workspace
        .merge(&actor("governor"), "other", None)
        .unwrap_err();
    let WorkspaceError::Conflict { report, count, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*count, 1);
    let report = fs::read_to_string(root.join(report)).unwrap();
    for part in ["OURS", "THEIRS", "git switch other", note] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert_eq!(
        fs::read_to_string(root.join(note)).unwrap(),
        "one\nOURS\nthree\n"
    );
    assert_at_rest(root);
    // A person resolves it with plain git, and then it merges.
    run_git(root, &["switch", "-q", "other"]);
    let (is_ok, _) = super::try_git(root, &["merge", "-q", "main"]);
    assert!(!is_ok);
    fs::write(root.join(note), "one\nBOTH\nthree\n").unwrap();
    run_git(root, &["add", note]);
    run_git(root, &["commit", "-qm", "Bring both together"]);
    run_git(root, &["switch", "-q", "main"]);
    workspace.merge(&actor("governor"), "other", None).unwrap();
    assert_eq!(
        fs::read_to_string(root.join(note)).unwrap(),
        "one\nBOTH\nthree\n"
    );
    assert_at_rest(root);
}

#[test]
fn a_rollback_is_a_new_commit_that_logs_survive() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"v\":1}").unwrap();
    let bad = write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"v\":2}").unwrap();
    let bad = bad.commit.unwrap();
    let error = workspace.rollback(&actor("prm"), &bad, None).unwrap_err();
    assert_eq!(error.rule(), Some("core-prd"));
    let receipt = workspace
        .rollback(&actor("governor"), &bad, Some("it was wrong"))
        .unwrap();
    assert_eq!(receipt.event.unwrap().topic, "Artifact_Rolled_Back");
    assert!(
        fs::read_to_string(root.join(PRD))
            .unwrap()
            .contains("\"v\":1")
    );
    assert!(
        run_git(root, &["log", "--format=%H"]).contains(&bad),
        "history is whole"
    );
    assert_at_rest(root);
    let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.action == AuditAction::Rollback)
            .count(),
        1
    );
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\",\"v\":3}").unwrap();
    let error = workspace
        .rollback(&actor("governor"), &bad, None)
        .unwrap_err();
    assert_eq!(error.rule(), Some("rollback-conflict"));
    assert!(
        workspace
            .rollback(&actor("governor"), "nonsense", None)
            .is_err()
    );
}

#[test]
fn a_checkpoint_is_saved_and_found_under_each_of_its_names() {
    let (_folder, workspace) = workspace();
    let fixture = include_bytes!("../../tests/fixtures/ours.checkpoint.json");
    workspace.checkpoint(&actor("tsm"), fixture, None).unwrap();
    for name in ["tsm", "TSM-001", "tsd_manager"] {
        let saved = workspace.require_checkpoint(name).unwrap();
        assert_eq!(saved.checkpoint["last_prd_hash"], "abc123def456", "{name}");
    }
    assert!(workspace.require_checkpoint("prm").is_err());
    let error = workspace
        .checkpoint(&actor("prm"), fixture, None)
        .unwrap_err();
    assert_eq!(error.rule(), Some("agent-state-owner"));
    workspace
        .checkpoint(&actor("prm"), b"{\"next_action\":\"rest\"}", None)
        .unwrap();
    assert_eq!(
        workspace.require_checkpoint("prm").unwrap().checkpoint["agent_id"],
        "prm"
    );
    assert!(workspace.checkpoint(&actor("prm"), b"[]", None).is_err());
    assert_at_rest(workspace.root());
}
