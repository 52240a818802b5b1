//! What agents may not do unseen: merge to the shared branch, steer git, be refused without a line,
//! or take lines out of the trail.

use std::fs;

use super::{actor, assert_at_rest, run_git, try_git, workspace, write, write_all};
use crate::{Actor, AuditAction, AuditEntry, AuditQuery, Workspace};

/// The file of the trail that a transaction added.
fn trail_file_path(tx: &str) -> String {
    format!(".sdlc_ide/logs/audit/{}/{}/{tx}.jsonl", &tx[..4], &tx[4..6])
}

fn read_trail(workspace: &Workspace) -> Vec<AuditEntry> {
    workspace.audit(&AuditQuery::default()).unwrap().0
}

fn list_violations(workspace: &Workspace) -> Vec<AuditEntry> {
    let mut lines = read_trail(workspace);
    lines.retain(|line| line.action == AuditAction::Violation);
    lines
}

#[test]
fn an_agent_brings_its_branch_to_the_shared_one_by_the_governor() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    run_git(root, &["switch", "-qc", "agent/researcher"]);
    write(&workspace, "researcher", "core/kb/fix.md", "fixed\n").unwrap();
    run_git(root, &["switch", "-q", "main"]);
    write(&workspace, "prm", "core/kb/else.md", "else\n").unwrap();
    // Nor where the branch brings nothing but lines of the trail.
    run_git(root, &["switch", "-qc", "empty"]);
    workspace
        .approve(&Actor::human("ada").unwrap(), "main")
        .unwrap();
    run_git(root, &["switch", "-q", "main"]);
    for (number, branch) in ["agent/researcher", "empty"].into_iter().enumerate() {
        let error = workspace
            .merge(&actor("researcher"), branch, None)
            .unwrap_err();
        assert_eq!(error.rule(), Some("merge-review"), "{branch}: {error}");
        assert_eq!(list_violations(&workspace).len(), number + 1, "{branch}");
    }
    assert!(!root.join("core/kb/fix.md").exists());
    // On its own branch it takes up what the shared one has.
    run_git(root, &["switch", "-q", "agent/researcher"]);
    workspace.merge(&actor("researcher"), "main", None).unwrap();
    assert!(root.join("core/kb/else.md").exists());
    run_git(root, &["switch", "-q", "main"]);
    workspace
        .merge(&actor("governor"), "agent/researcher", None)
        .unwrap();
    assert!(root.join("core/kb/fix.md").exists());
    assert_at_rest(root);
}

#[test]
fn every_refusal_is_on_record() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let prd = "core/prd/PRD-001.json";
    write(&workspace, "prm", prd, "{\"id\":\"PRD-001\"}").unwrap();
    let tsd = "{\"prd_id\":\"PRD-001\"}";
    write(&workspace, "tsm", "core/tsd/TSD-001.json", tsd).unwrap();
    let snapshot = workspace.snapshot(&actor("governor"), false).unwrap();
    run_git(root, &["switch", "-qc", "bad"]);
    fs::write(root.join(prd), "[]").unwrap();
    run_git(root, &["commit", "-qam", "no PRD"]);
    run_git(root, &["switch", "-q", "main"]);
    let first = run_git(root, &["rev-list", "--max-parents=0", "HEAD"]);
    let asked: [(&str, &str, &dyn Fn() -> crate::WorkspaceError); 9] = [
        ("schema-prd", prd, &|| {
            write(&workspace, "prm", prd, "[]").unwrap_err()
        }),
        ("dag", prd, &|| {
            write_all(&workspace, "prm", &[(prd, None)]).unwrap_err()
        }),
        ("dag", prd, &|| {
            write(&workspace, "prm", prd, "{\"depends_on\":[\"PRD-001\"]}").unwrap_err()
        }),
        ("artifact-size", "core/kb/a.md", &|| {
            write(&workspace, "prm", "core/kb/a.md", &"x".repeat(10_485_761)).unwrap_err()
        }),
        ("case-twin", "", &|| {
            let both = [("core/kb/a.md", Some("a")), ("core/kb/A.md", Some("b"))];
            write_all(&workspace, "prm", &both).unwrap_err()
        }),
        ("schema-prd", prd, &|| {
            workspace
                .merge(&actor("governor"), "bad", None)
                .unwrap_err()
        }),
        ("rollback", "", &|| {
            workspace
                .rollback(&actor("governor"), first.trim(), None)
                .unwrap_err()
        }),
        ("restore", "", &|| {
            workspace.restore(&actor("tsm"), &snapshot.id).unwrap_err()
        }),
        ("human-review", "", &|| {
            workspace.approve(&actor("tsm"), "bad").unwrap_err()
        }),
    ];
    for (number, (rule, path, ask)) in asked.into_iter().enumerate() {
        let error = ask();
        assert_eq!(error.rule(), Some(rule), "{error}");
        let told = list_violations(&workspace);
        assert_eq!(told.len(), number + 1, "{rule} leaves no line");
        let line = told.last().unwrap();
        assert_eq!(line.rules, [rule]);
        assert!(path.is_empty() || line.paths == [path], "{line:?}");
        assert!(
            !line.details["why"].as_str().unwrap().is_empty(),
            "{line:?}"
        );
        assert_at_rest(root);
    }
}

#[test]
fn files_that_steer_git_are_the_peoples() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    for path in [
        "core/kb/.gitignore",
        "core/adr/.gitattributes",
        "extensions/researcher/.GitIgnore",
        "memory/long_term/.gitattributes",
        "memory/agent_state/researcher/.gitmodules",
        ".sdlc_ide/logs/.gitignore",
        ".gitattributes",
    ] {
        let error = write(&workspace, "researcher", path, "*\n").unwrap_err();
        assert!(error.rule().is_some(), "{path}: {error}");
        assert!(!root.join(path).exists(), "{path}");
    }
    fs::write(root.join("core/kb/mine.md"), "mine").unwrap();
    let seen = run_git(root, &["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(seen, "?? core/kb/mine.md\n");
    fs::remove_file(root.join("core/kb/mine.md")).unwrap();
    // By plain git on its branch: the Governor alone does not bring it in.
    run_git(root, &["switch", "-qc", "agent/researcher"]);
    fs::write(root.join("core/kb/.gitignore"), "*\n").unwrap();
    run_git(root, &["add", "-f", "core/kb/.gitignore"]);
    run_git(root, &["commit", "-qm", "hide"]);
    run_git(root, &["switch", "-q", "main"]);
    assert!(workspace.review("agent/researcher").unwrap().needs_approval);
    let merge = || workspace.merge(&actor("governor"), "agent/researcher", None);
    assert_eq!(merge().unwrap_err().rule(), Some("project-rules"));
    workspace
        .approve(&Actor::human("ada").unwrap(), "agent/researcher")
        .unwrap();
    merge().unwrap();
    // A person writes them.
    write(&workspace, "human:ada", "core/kb/.gitignore", "*.tmp\n").unwrap();
    assert_at_rest(root);
}

#[test]
fn a_history_that_was_set_back_is_noticed_and_said() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", "core/kb/a.md", "one\n").unwrap();
    let kept = run_git(root, &["rev-parse", "HEAD"]);
    let lost: Vec<String> = ["two\n", "three\n"]
        .map(|text| write(&workspace, "prm", "core/kb/a.md", text).unwrap().tx)
        .to_vec();
    let tip = run_git(root, &["rev-parse", "HEAD"]);
    let missing = || {
        let status = serde_json::to_value(workspace.status().unwrap()).unwrap();
        serde_json::from_value::<Vec<String>>(status["trail_missing"].clone()).unwrap_or_default()
    };
    assert!(missing().is_empty());
    run_git(root, &["reset", "-q", "--hard", kept.trim()]);
    assert_eq!(missing(), lost);
    // What comes next says it once, in the trail itself, and keeps the history that was lost.
    write(&workspace, "prm", "core/kb/b.md", "b\n").unwrap();
    write(&workspace, "prm", "core/kb/b.md", "c\n").unwrap();
    let said: Vec<AuditEntry> = read_trail(&workspace)
        .into_iter()
        .filter(|line| line.details["missing"].is_array())
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].details["missing"], serde_json::json!(lost));
    assert_eq!(said[0].details["commit"], tip.trim());
    assert!(missing().is_empty());
    let refs = run_git(root, &["for-each-ref", "--format=%(objectname)"]);
    assert!(
        refs.contains(tip.trim()),
        "the history that was lost is kept"
    );
    assert_at_rest(root);
}

#[test]
fn a_trail_that_was_shortened_is_noticed_and_said() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let mut written = Vec::new();
    for turn in 0..3 {
        let text = format!("{turn}\n");
        written.push(write(&workspace, "prm", "core/kb/a.md", &text).unwrap().tx);
    }
    let missing = || {
        let status = serde_json::to_value(workspace.status().unwrap()).unwrap();
        serde_json::from_value::<Vec<String>>(status["trail_missing"].clone()).unwrap_or_default()
    };
    // Not yet committed: it is seen in the files.
    let second = root.join(trail_file_path(&written[1]));
    let whole = fs::read_to_string(&second).unwrap();
    fs::remove_file(&second).unwrap();
    assert_eq!(missing(), [written[1].clone()]);
    fs::write(&second, "").unwrap();
    assert_eq!(missing(), [written[1].clone()]);
    fs::write(&second, &whole).unwrap();
    assert!(missing().is_empty());
    // Committed by plain git.
    run_git(root, &["rm", "-q", &trail_file_path(&written[2])]);
    run_git(root, &["commit", "-qm", "tidy up"]);
    assert_eq!(missing(), [written[2].clone()]);
    write(&workspace, "prm", "core/kb/b.md", "b\n").unwrap();
    let said: Vec<_> = read_trail(&workspace)
        .into_iter()
        .filter(|line| line.details["missing"].is_array())
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(missing().is_empty());
    // A rebase that keeps the lines, and a branch of its own, are no loss.
    run_git(root, &["switch", "-qc", "edit"]);
    write(&workspace, "human:ada", "core/kb/c.md", "c\n").unwrap();
    run_git(root, &["commit", "-q", "--amend", "-m", "another word"]);
    assert!(missing().is_empty());
    run_git(root, &["switch", "-q", "main"]);
    assert!(missing().is_empty());
    let (is_ok, text) = try_git(root, &["pack-refs", "--all"]);
    assert!(is_ok, "{text}");
    write(&workspace, "prm", "core/kb/b.md", "again\n").unwrap();
    assert!(missing().is_empty());
    assert_at_rest(root);
}
