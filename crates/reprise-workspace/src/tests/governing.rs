//! Whose rules are in force, whatever way they came, and what a merge keeps of a file's mode.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{PRD, assert_at_rest, run_git, workspace, write};
use crate::{Actor, AuditAction, AuditQuery, Workspace};

const POLICY: &str = "extensions/policy/own.rego";
const OPEN: &str = "package project\nallow if input.actor.role == \"researcher\"\n";

/// Commits one file by plain git.
fn commit_by_git(workspace: &Workspace, path: &str, text: &str) {
    let root = workspace.root();
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
    run_git(root, &["add", path]);
    run_git(root, &["commit", "-qm", "by plain git"]);
}

/// The rule that refuses a PRD of a researcher, if any does.
fn find_refusing_rule(workspace: &Workspace, text: &str) -> Option<String> {
    let written = write(workspace, "researcher", PRD, text);
    written.err()?.rule().map(str::to_owned)
}

#[test]
fn a_policy_of_plain_git_is_in_force_once_a_person_approves_it() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    commit_by_git(&workspace, POLICY, OPEN);
    assert!(workspace.status().unwrap().rules_pending);
    assert_eq!(
        find_refusing_rule(&workspace, "{\"n\":1}").as_deref(),
        Some("core-prd")
    );
    // It does not grow old into force, and nobody writes over it.
    assert_eq!(
        find_refusing_rule(&workspace, "{\"n\":1}").as_deref(),
        Some("core-prd")
    );
    let error = write(&workspace, "human:ada", POLICY, OPEN).unwrap_err();
    assert_eq!(error.rule(), Some("project-rules"));
    let query = AuditQuery {
        action: Some(AuditAction::Git),
        ..AuditQuery::default()
    };
    let (lines, _) = workspace.audit(&query).unwrap();
    assert_eq!(lines[0].rules, ["project-rules"]);
    assert_eq!(
        lines[0].identity.as_deref(),
        Some("Ada <ada@example.invalid>")
    );

    run_git(root, &["config", "user.name", "Ada Lovelace"]);
    run_git(root, &["config", "user.email", "ada@example.invalid"]);
    let ada = Actor::human("ada").unwrap();
    workspace.approve(&ada, "main").unwrap();
    assert!(!workspace.status().unwrap().rules_pending);
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":1}"), None);
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":2}"), None);
    let query = AuditQuery {
        action: Some(AuditAction::Approve),
        ..AuditQuery::default()
    };
    let known = workspace.clone().with_identity("token of ada".to_owned());
    known.approve(&ada, "main").unwrap();
    let (lines, _) = workspace.audit(&query).unwrap();
    let identities: Vec<_> = lines.iter().map(|line| line.identity.as_deref()).collect();
    assert_eq!(
        identities,
        [
            Some("Ada Lovelace <ada@example.invalid>"),
            Some("token of ada")
        ]
    );
    // Taking a rule away is a change, too.
    run_git(root, &["rm", "-q", POLICY]);
    run_git(root, &["commit", "-qm", "no rules"]);
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":3}"), None);
    assert_at_rest(root);
}

#[test]
fn a_policy_on_a_branch_needs_an_approval_however_it_is_merged() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let governor = Actor::new("governor").unwrap();
    let ada = Actor::human("ada").unwrap();
    run_git(root, &["switch", "-qc", "edit"]);
    commit_by_git(&workspace, POLICY, OPEN);
    // On a branch, too, the shared branch's rules are in force.
    assert_eq!(
        find_refusing_rule(&workspace, "{\"n\":1}").as_deref(),
        Some("core-prd")
    );
    run_git(root, &["switch", "-q", "main"]);
    assert!(workspace.review("edit").unwrap().needs_approval);
    let error = workspace.merge(&governor, "edit", None).unwrap_err();
    assert_eq!(error.rule(), Some("project-rules"));
    assert!(error.to_string().contains("approve"), "{error}");
    workspace.approve(&ada, "edit").unwrap();
    workspace.merge(&governor, "edit", None).unwrap();
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":1}"), None);

    // A person's write on a branch is no approval: a fast-forward by plain git brings it unasked.
    run_git(root, &["switch", "-qc", "second"]);
    let shut = "package project\ndeny contains \"closed\" if input.act == \"write\"\n";
    write(&workspace, "human:eve", POLICY, shut).unwrap();
    run_git(root, &["switch", "-q", "main"]);
    run_git(root, &["merge", "-q", "--ff-only", "second"]);
    assert!(workspace.status().unwrap().rules_pending);
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":2}"), None);
    workspace.approve(&ada, "second").unwrap();
    assert_eq!(
        find_refusing_rule(&workspace, "{\"n\":3}").as_deref(),
        Some("project-deny")
    );
    assert_at_rest(root);
}

#[test]
fn a_snapshot_brings_rules_back_by_a_person_only() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "human:ada", POLICY, OPEN).unwrap();
    let governor = Actor::new("governor").unwrap();
    let snapshot = workspace.snapshot(&governor, false).unwrap();
    super::write_all(&workspace, "human:ada", &[(POLICY, None)]).unwrap();
    let error = workspace.restore(&governor, &snapshot.id).unwrap_err();
    assert_eq!(error.rule(), Some("project-rules"));
    assert!(!root.join(POLICY).exists());
    let ada = Actor::human("ada").unwrap();
    workspace.restore(&ada, &snapshot.id).unwrap();
    assert_eq!(find_refusing_rule(&workspace, "{\"n\":1}"), None);
    assert_at_rest(root);
}

fn is_executable(workspace: &Workspace, path: &str) -> bool {
    let mode = fs::metadata(workspace.root().join(path)).unwrap();
    let in_git = run_git(workspace.root(), &["ls-tree", "HEAD", path]);
    let is_executable = mode.permissions().mode() & 0o100 != 0;
    assert_eq!(in_git.starts_with("100755"), is_executable, "{in_git}");
    is_executable
}

#[test]
fn a_files_mode_is_merged_rolled_back_restored_and_never_overwritten() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let governor = Actor::new("governor").unwrap();
    // Two of the same content, too.
    let (old, new, twin) = ("core/kb/old.sh", "core/kb/new.sh", "core/kb/twin.sh");
    commit_by_git(&workspace, old, "one\n");
    let chmod = |path: &str, mode: u32| {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    run_git(root, &["switch", "-qc", "edit"]);
    chmod(old, 0o755);
    for path in [new, twin] {
        fs::write(root.join(path), "new\n").unwrap();
        chmod(path, 0o755);
    }
    run_git(root, &["add", "."]);
    run_git(root, &["commit", "-qm", "modes"]);
    run_git(root, &["switch", "-q", "main"]);
    write(&workspace, "prm", "core/kb/other.md", "other\n").unwrap();
    let merged = workspace.merge(&governor, "edit", None).unwrap();
    let all = || [old, new, twin].map(|path| is_executable(&workspace, path));
    assert_eq!(all(), [true; 3]);
    assert_at_rest(root);
    // A change of content keeps the mode, and a snapshot brings it back.
    write(&workspace, "prm", old, "two\n").unwrap();
    assert!(is_executable(&workspace, old));
    let snapshot = workspace.snapshot(&governor, false).unwrap();
    workspace
        .rollback(&governor, merged.commit.as_deref().unwrap(), None)
        .unwrap();
    assert!(!is_executable(&workspace, old) && !root.join(new).exists());
    workspace.restore(&governor, &snapshot.id).unwrap();
    assert_eq!(all(), [true; 3]);
    assert_at_rest(root);
    // A person's own is an edit like any other.
    chmod(old, 0o644);
    let error = write(&workspace, "prm", old, "three\n").unwrap_err();
    assert!(error.to_string().contains("mode"), "{error}");
}
