//! What teams meet: a forge that merges, names in commits, hooks, a history to read, a tree of an
//! earlier version, and what a service looks after.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use reprise_types::SystemClock;

use super::{PRD, actor, assert_at_rest, run_git, workspace, write};
use crate::{Actor, AuditAction, AuditQuery, MaintenanceState, Workspace};

fn count_commits(root: &Path) -> usize {
    run_git(root, &["rev-list", "--count", "HEAD"])
        .trim()
        .parse()
        .unwrap()
}

fn list_event_ids(workspace: &Workspace) -> Vec<String> {
    let (lines, damaged) = workspace.audit(&AuditQuery::default()).unwrap();
    assert!(damaged.is_empty());
    lines.into_iter().map(|line| line.event_id).collect()
}

#[test]
fn a_forge_merges_the_transactions_of_two_branches() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", "core/kb/base.md", "base\n").unwrap();
    for branch in ["one", "other"] {
        run_git(root, &["switch", "-qc", branch, "main"]);
        for turn in 0..3 {
            let path = format!("core/kb/{branch}-{turn}.md");
            write(&workspace, "researcher", &path, "text\n").unwrap();
            write(&workspace, "researcher", PRD, "{}").unwrap_err();
        }
        workspace
            .approve(&Actor::human("ada").unwrap(), branch)
            .unwrap();
    }
    run_git(root, &["switch", "-q", "main"]);
    // A forge has neither our drivers nor our attributes.
    let forge = tempfile::tempdir().unwrap();
    run_git(
        forge.path(),
        &["clone", "-q", "--bare", root.to_str().unwrap(), "app.git"],
    );
    let bare = forge.path().join("app.git");
    for branch in ["one", "other"] {
        let tree = run_git(&bare, &["merge-tree", "--write-tree", "main", branch]);
        let merged = run_git(
            &bare,
            &[
                "commit-tree",
                tree.trim(),
                "-p",
                "main",
                "-p",
                branch,
                "-m",
                "Merge a request",
            ],
        );
        run_git(&bare, &["update-ref", "refs/heads/main", merged.trim()]);
    }
    run_git(root, &["pull", "-q", bare.to_str().unwrap(), "main"]);
    write(&workspace, "prm", "core/kb/after.md", "after\n").unwrap();
    let told = list_event_ids(&workspace);
    let unique: std::collections::BTreeSet<_> = told.iter().collect();
    assert_eq!(unique.len(), told.len());
    let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
    let of = |action: AuditAction| lines.iter().filter(|line| line.action == action).count();
    assert_eq!(
        (
            of(AuditAction::Write),
            of(AuditAction::Violation),
            of(AuditAction::Approve)
        ),
        (8, 6, 2)
    );
    // Who merges on a forge has written in nobody's ledger.
    assert_eq!(of(AuditAction::Git), 2);
    assert!(
        lines
            .iter()
            .all(|line| line.action != AuditAction::Git || line.rules.is_empty())
    );
    assert_at_rest(root);
}

#[test]
fn one_change_is_one_line_of_history_and_everything_is_on_record() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    let before = count_commits(root);
    // Refused, then written with the snapshot that is due, then one on demand.
    write(&workspace, "researcher", PRD, "{}").unwrap_err();
    let tsd = "{\"prd_id\":\"PRD-001\"}";
    let written = write(&workspace, "tsm", "core/tsd/TSD-001.json", tsd).unwrap();
    assert!(written.snapshot.is_some());
    workspace.snapshot(&actor("governor"), true).unwrap();
    assert_eq!(count_commits(root), before + 1);
    let actions = |workspace: &Workspace| -> Vec<AuditAction> {
        let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
        lines[2..].iter().map(|line| line.action).collect()
    };
    let expected = [
        AuditAction::Violation,
        AuditAction::Write,
        AuditAction::Snapshot,
        AuditAction::Snapshot,
    ];
    assert_eq!(actions(&workspace), expected);
    assert_at_rest(root);
    // What waited is in git with the next commit, and still there once.
    write(&workspace, "prm", "core/kb/a.md", "a\n").unwrap();
    assert_eq!(count_commits(root), before + 2);
    let waiting = fs::read_dir(root.join(".sdlc_ide/logs/pending"));
    assert_eq!(waiting.into_iter().flatten().count(), 0);
    assert_eq!(actions(&workspace)[..4], expected);
    let clone = tempfile::tempdir().unwrap();
    run_git(
        clone.path(),
        &["clone", "-q", root.to_str().unwrap(), "app"],
    );
    let app = Workspace::open(&clone.path().join("app"), Arc::new(SystemClock)).unwrap();
    assert_eq!(list_event_ids(&app), list_event_ids(&workspace));
    // A word of a person is for others to see: it is a commit.
    workspace
        .approve(&Actor::human("ada").unwrap(), "main")
        .unwrap();
    assert_eq!(count_commits(root), before + 3);
    assert_at_rest(root);
}

#[test]
fn records_that_wait_come_to_git_by_themselves_when_they_are_many() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let before = count_commits(root);
    for _ in 0..=crate::audit::PENDING_MAX {
        write(&workspace, "researcher", PRD, "{}").unwrap_err();
    }
    assert_eq!(count_commits(root), before + 1);
    assert_eq!(
        list_event_ids(&workspace).len(),
        crate::audit::PENDING_MAX + 2
    );
    assert_at_rest(root);
}

#[test]
fn a_commit_has_the_persons_name_that_git_knows() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let last = || run_git(root, &["log", "-1", "--format=%an <%ae>, %cn <%ce>"]);
    // The person who runs the tests has another name.
    run_git(root, &["config", "user.name", ""]);
    write(&workspace, "human:ada", "core/kb/a.md", "one\n").unwrap();
    let nobody = "ada <ada@people.reprise.invalid>";
    assert_eq!(last().trim(), format!("{nobody}, {nobody}"));
    run_git(root, &["config", "user.name", "Ada Lovelace"]);
    run_git(root, &["config", "user.email", "ada@example.org"]);
    write(&workspace, "human:ada", "core/kb/a.md", "two\n").unwrap();
    let ada = "Ada Lovelace <ada@example.org>";
    assert_eq!(last().trim(), format!("{ada}, {ada}"));
    assert_eq!(workspace.log(1).unwrap()[0].actor, "human:ada");
    write(&workspace, "prm", "core/kb/a.md", "three\n").unwrap();
    assert_eq!(
        last().trim(),
        format!("prm <prm@agents.reprise.invalid>, {ada}")
    );
    // Whom the daemon let in is not whom git's configuration names.
    let token = workspace.clone().with_identity("token t of bob".to_owned());
    write(&token, "human:bob", "core/kb/a.md", "four\n").unwrap();
    assert_eq!(
        last().trim(),
        format!("bob <bob@people.reprise.invalid>, {ada}")
    );
    assert_at_rest(root);
}

#[test]
fn hooks_run_where_the_repository_asks_for_it() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let hook = |name: &str, text: &str| {
        let file = root.join(".git/hooks").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let sees = "! git diff --cached --name-only HEAD | grep -q forbidden || { echo not this one; exit 1; }";
    hook("pre-commit", sees);
    hook("commit-msg", "sed -i '1s/^/[app] /' \"$1\"");
    hook("post-commit", "git rev-parse HEAD > .git/hooks/after");
    write(&workspace, "prm", "core/kb/forbidden.md", "one\n").unwrap();
    assert!(!workspace.status().unwrap().runs_hooks);
    run_git(root, &["config", "reprise.hooks", "true"]);
    assert!(workspace.status().unwrap().runs_hooks);
    let head = run_git(root, &["rev-parse", "HEAD"]);
    let error = write(&workspace, "prm", "core/kb/forbidden.md", "two\n").unwrap_err();
    assert_eq!(error.rule(), Some("git-hook"));
    assert!(error.to_string().contains("not this one"), "{error}");
    assert_eq!(run_git(root, &["rev-parse", "HEAD"]), head);
    let query = AuditQuery {
        action: Some(AuditAction::Violation),
        ..AuditQuery::default()
    };
    assert_eq!(workspace.audit(&query).unwrap().0[0].rules, ["git-hook"]);
    let receipt = write(&workspace, "prm", "core/kb/b.md", "b\n").unwrap();
    let log = &workspace.log(1).unwrap()[0];
    assert_eq!(log.subject, "[app] Write core/kb/b.md");
    assert_eq!(log.tx.as_ref(), Some(&receipt.tx));
    let after = fs::read_to_string(root.join(".git/hooks/after")).unwrap();
    assert_eq!(after.trim(), receipt.commit.unwrap());
    assert_at_rest(root);
}

#[test]
fn a_service_puts_scratch_away_after_its_time() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let step = |ts: &str, more: &str| {
        format!("[{{\"ts\":\"{ts}\",\"status\":\"done\",\"duration_ms\":1{more}}}]")
    };
    let now = chrono::DateTime::<chrono::Utc>::from(std::time::UNIX_EPOCH + file_system_time(root));
    let old = step("2025-11-27T10:00:00Z", ",\"promote\":true");
    write(&workspace, "tsm", "memory/episodic/old.episodic", &old).unwrap();
    let new = step(&now.to_rfc3339(), "");
    write(&workspace, "tsm", "memory/episodic/new.episodic", &new).unwrap();
    let mut maintained = MaintenanceState::default();
    workspace.maintain(&mut maintained).unwrap();
    assert!(!root.join("memory/episodic/old.episodic").exists());
    assert!(root.join("memory/episodic/new.episodic").exists());
    let kept = fs::read_to_string(root.join("memory/long_term/episodic_promoted.jsonl")).unwrap();
    assert!(kept.contains("old.episodic"), "{kept}");
    // Within the hour it does not look again; how long scratch stays is configured.
    run_git(root, &["config", "reprise.episodicdays", "0"]);
    workspace.maintain(&mut maintained).unwrap();
    assert!(root.join("memory/episodic/new.episodic").exists());
    workspace
        .maintain(&mut MaintenanceState::default())
        .unwrap();
    assert!(!root.join("memory/episodic/new.episodic").exists());
    assert_at_rest(root);
}

/// The present, as the file system tells it.
fn file_system_time(root: &Path) -> std::time::Duration {
    let written = fs::metadata(root.join(".gitignore"))
        .unwrap()
        .modified()
        .unwrap();
    written.duration_since(std::time::UNIX_EPOCH).unwrap()
}

#[test]
fn a_tree_of_the_version_before_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/before.bundle");
    let cloned = Command::new("git")
        .current_dir(folder.path())
        .args(["clone", "-q", "-b", "main"])
        .arg(&bundle)
        .arg("app")
        .status()
        .unwrap();
    assert!(cloned.success());
    let root = folder.path().join("app");
    run_git(&root, &["branch", "-q", "edit", "origin/edit"]);
    let workspace = Workspace::open(&root, Arc::new(SystemClock)).unwrap();
    let before = list_event_ids(&workspace);
    assert_eq!(before.len(), 9, "the trail of the version before");
    let trail = root.join(".sdlc_ide/logs/audit_trail.jsonl");
    // What a person approved then holds now.
    let merged = workspace.merge(&actor("governor"), "edit", None).unwrap();
    assert!(merged.commit.is_some());
    write(&workspace, "prm", "core/kb/new.md", "new\n").unwrap();
    let now = list_event_ids(&workspace);
    assert_eq!(now[..before.len()], before);
    assert!(now.len() > before.len() && workspace.trail_missing().unwrap().is_empty());
    assert_at_rest(&root);
    // `init` makes the rest of it so.
    Workspace::init(&root, Arc::new(SystemClock)).unwrap();
    let (is_ignored, _) = super::try_git(
        &root,
        &["check-ignore", "-q", ".sdlc_ide/logs/audit/01KB/2C/x.jsonl"],
    );
    assert!(!is_ignored);
    // A line taken out of the old file is missed as before.
    let text = fs::read_to_string(&trail).unwrap();
    let short: String = text.split_inclusive('\n').skip(1).collect();
    fs::write(&trail, short).unwrap();
    assert_eq!(workspace.trail_missing().unwrap(), before[..1]);
}

#[test]
fn a_repository_without_prds_gets_a_first_one_and_the_words() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run_git(root, &["init", "-q", "-b", "main"]);
    fs::write(
        root.join("README.md"),
        "# Parcel app\n\nTracks parcels\nby their number.\n\nMore.\n",
    )
    .unwrap();
    run_git(root, &["add", "."]);
    run_git(root, &["commit", "-qm", "begin"]);
    let (workspace, _) = Workspace::init(root, Arc::new(SystemClock)).unwrap();
    let before = count_commits(root);
    let started = workspace.start(None).unwrap();
    assert_eq!(started.prds, [PRD]);
    assert_eq!(count_commits(root), before + 1);
    let prd: serde_json::Value =
        serde_json::from_slice(&fs::read(root.join(PRD)).unwrap()).unwrap();
    assert_eq!(
        (&prd["title"], &prd["summary"]),
        (
            &"Parcel app".into(),
            &"Tracks parcels by their number.".into()
        )
    );
    let words = fs::read_to_string(root.join("core/kb/glossary.md")).unwrap();
    for word in ["PRD", "TSD", "Governor", "drift"] {
        assert!(words.contains(&format!("| {word} |")), "{word}");
    }
    // A second call changes nothing, and existing PRDs stay.
    assert!(workspace.start(Some("Other")).unwrap().receipt.is_none());
    assert_eq!(count_commits(root), before + 1);
    assert_at_rest(root);
}
