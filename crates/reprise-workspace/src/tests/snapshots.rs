//! Snapshots there and back, and agents' branches from the first commit to the last.

use std::fs;
use std::sync::Arc;

use super::{assert_at_rest, run_git, workspace, write};
use crate::{Actor, AuditAction, AuditQuery, Class, PrunePolicy, TransactionStep};

#[test]
fn a_snapshot_comes_back_hash_for_hash_and_logs_keep_what_came_since() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let log = "memory/long_term/x.jsonl";
    write(&workspace, "prm", "core/kb/a.md", "one\n").unwrap();
    write(&workspace, "prm", log, "{\"event_id\":\"a\"}\n").unwrap();
    let tree = run_git(root, &["rev-parse", "HEAD:core"]);
    let governor = Actor::new("governor").unwrap();
    let manifest = workspace.snapshot(&governor, true).unwrap();
    assert!(run_git(root, &["tag"]).contains(&manifest.id));
    // What the backup, a `git push`, leaves out is named.
    for named in ["embeddings/vectors/", "memory store", "memory/episodic/"] {
        let is_named = manifest.left_out.iter().any(|one| one.contains(named));
        assert!(is_named, "{named}: {:?}", manifest.left_out);
    }
    let archive = root.join(format!(".sdlc_ide/snapshots/{}.tar.gz", manifest.id));
    let listed = std::process::Command::new("tar")
        .arg("tzf")
        .arg(&archive)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("core/kb/a.md"));
    // The same commit packs to the same bytes.
    run_git(root, &["reset", "-q", "--hard", &manifest.commit]);
    let again = workspace.snapshot(&governor, false).unwrap();
    assert_eq!(again.archive_sha256, manifest.archive_sha256);
    assert_eq!(workspace.snapshots().unwrap().len(), 2);

    write(&workspace, "prm", "core/kb/a.md", "two\n").unwrap();
    write(&workspace, "prm", "core/kb/b.md", "new\n").unwrap();
    write(
        &workspace,
        "prm",
        log,
        "{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}\n",
    )
    .unwrap();
    let error = workspace
        .restore(&Actor::new("prm").unwrap(), &manifest.id)
        .unwrap_err();
    assert_eq!(error.rule(), Some("restore"));
    workspace.restore(&governor, &manifest.id).unwrap();
    assert_eq!(run_git(root, &["rev-parse", "HEAD:core"]), tree);
    assert!(
        fs::read_to_string(root.join(log))
            .unwrap()
            .contains("\"b\"")
    );
    assert_at_rest(root);

    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).unwrap();
    let error = workspace
        .restore(&governor, &manifest.id)
        .unwrap_err()
        .to_string();
    assert!(error.contains("not the one of its manifest"), "{error}");
    assert!(workspace.restore(&governor, "../../x").is_err());
    assert_at_rest(root);
}

#[test]
fn an_agents_branch_is_proposed_reviewed_merged_or_put_aside() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let proposal = workspace.propose("contradiction-fix").unwrap();
    assert_eq!(proposal.branch, "agent/contradiction-fix");
    let clock = Arc::new(reprise_types::SystemClock);
    let own = crate::Workspace::open(&proposal.directory, clock).unwrap();
    write(&own, "researcher", "core/kb/fix.md", "fixed\n").unwrap();
    assert!(!root.join("core/kb/fix.md").exists());
    let review = workspace.review("agent/contradiction-fix").unwrap();
    assert_eq!(
        (review.ahead, review.behind, review.needs_approval),
        (1, 0, false)
    );
    assert_eq!(review.paths.len(), 1);
    assert_eq!(review.paths[0].1, Class::Kb);
    write(&workspace, "prm", "core/kb/else.md", "else\n").unwrap();
    let governor = Actor::new("governor").unwrap();
    workspace
        .merge(&governor, "agent/contradiction-fix", None)
        .unwrap();
    assert_eq!(
        fs::read_to_string(root.join("core/kb/fix.md")).unwrap(),
        "fixed\n"
    );
    assert_at_rest(root);

    fs::write(proposal.directory.join("core/kb/fix.md"), "unsaved\n").unwrap();
    let error = workspace
        .abandon("contradiction-fix")
        .unwrap_err()
        .to_string();
    assert!(error.contains("core/kb/fix.md"), "{error}");
    run_git(
        &proposal.directory,
        &["checkout", "-q", "--", "core/kb/fix.md"],
    );
    let aside = workspace.abandon("contradiction-fix").unwrap();
    assert_eq!(run_git(root, &["rev-parse", &aside]).trim(), review.commit);
    assert!(!proposal.directory.exists());
    assert!(workspace.status().unwrap().agents.is_empty());
    // The name is free again.
    let again = workspace.propose("contradiction-fix").unwrap();
    // A checkout that a crash cut short is made anew: git writes its index last.
    fs::remove_file(root.join(".git/worktrees/agent-contradiction-fix/index")).unwrap();
    fs::remove_file(again.directory.join("core/kb/fix.md")).unwrap();
    workspace.propose("contradiction-fix").unwrap();
    assert!(again.directory.join("core/kb/fix.md").is_file());
    assert_eq!(run_git(&again.directory, &["status", "--porcelain"]), "");
    for bad in ["../x", "a b", ""] {
        assert!(workspace.propose(bad).is_err(), "{bad}");
    }
    assert_at_rest(root);
}

#[test]
fn a_lock_that_a_killed_git_left_at_an_agents_branch_is_in_nobodys_way() {
    let (_folder, workspace) = workspace();
    let heads = workspace.root().join(".git/refs/heads/agent");
    fs::create_dir_all(&heads).unwrap();
    fs::write(heads.join("fix.lock"), "").unwrap();
    let proposal = workspace.propose("fix").unwrap();
    assert_eq!(proposal.branch, "agent/fix");
    let aside = workspace.abandon("fix").unwrap();
    assert_eq!(
        run_git(workspace.root(), &["rev-parse", &aside]).trim(),
        proposal.commit
    );
    workspace.propose("fix").unwrap();
    run_git(workspace.root(), &["pack-refs", "--all"]);
    fs::remove_file(heads.join("fix.lock")).unwrap();
    workspace.abandon("fix").unwrap();
    assert!(workspace.status().unwrap().agents.is_empty());
}

#[test]
fn old_snapshots_and_scratch_go_and_what_scratch_wants_kept_stays() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let orchestrator = Actor::new("orchestrator").unwrap();
    let tagged = workspace.snapshot(&orchestrator, true).unwrap();
    for _ in 0..3 {
        workspace.snapshot(&orchestrator, false).unwrap();
    }
    let scratch = "[{\"ts\":\"2025-11-27\",\"status\":\"in_progress\"},\
        {\"ts\":\"2025-11-27\",\"status\":\"odd\",\"duration_ms\":7,\"promote\":true}]";
    write(
        &workspace,
        "tsm",
        "memory/episodic/deep/TSD_Check.episodic",
        scratch,
    )
    .unwrap();
    write(&workspace, "tsm", "memory/episodic/new.episodic", "[]").unwrap();
    let old = root.join("memory/episodic/deep/TSD_Check.episodic");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let policy = PrunePolicy {
        snapshots: 1,
        events: 2,
        episodic_days: 7,
    };
    assert_eq!(
        workspace
            .prune(&Actor::new("tsm").unwrap(), policy)
            .unwrap_err()
            .rule(),
        Some("care")
    );
    // Where what is promoted cannot be committed nothing goes.
    run_git(root, &["switch", "-q", "--detach"]);
    workspace.prune(&orchestrator, policy).unwrap_err();
    assert!(old.exists() && workspace.snapshots().unwrap().len() == 4);
    assert!(workspace.events(None, 10).unwrap().len() > 2);
    run_git(root, &["switch", "-q", "main"]);
    let pruned = workspace.prune(&orchestrator, policy).unwrap();
    assert_eq!((pruned.snapshots.len(), pruned.promoted), (2, 1));
    assert_eq!(pruned.episodic, ["memory/episodic/deep/TSD_Check.episodic"]);
    assert!(!old.exists() && root.join("memory/episodic/new.episodic").exists());
    let left = workspace.snapshots().unwrap();
    assert!(left.len() == 2 && left.iter().any(|one| one.id == tagged.id));
    let kept = fs::read_to_string(root.join("memory/long_term/episodic_promoted.jsonl")).unwrap();
    assert!(
        kept.contains("\"odd\"") && !kept.contains("in_progress"),
        "{kept}"
    );
    assert_eq!(workspace.events(None, 10).unwrap().len(), 2);
    assert_at_rest(root);
}

#[test]
fn a_snapshot_that_fails_is_on_record_and_the_transaction_stands() {
    let (_folder, workspace) = workspace();
    write(&workspace, "prm", "core/prd/PRD-001.json", "{\"v\":1}").unwrap();
    let place = workspace.root().join(".sdlc_ide/snapshots");
    let taken = place.clone();
    let watched = workspace.clone().with_watcher(Arc::new(move |step| {
        if step == TransactionStep::Ended && taken.is_dir() {
            fs::remove_dir_all(&taken).unwrap();
            fs::write(&taken, "no folder").unwrap();
        }
    }));
    let tsd = "{\"prd_id\":\"PRD-001\"}";
    let receipt = write(&watched, "tsm", "core/tsd/TSD-001.json", tsd).unwrap();
    let why = receipt.snapshot_failed.unwrap();
    assert!(why.contains("snapshots"), "{why}");
    assert_eq!(receipt.snapshot, None);
    let (lines, _) = workspace
        .audit(&AuditQuery {
            action: Some(AuditAction::Snapshot),
            ..AuditQuery::default()
        })
        .unwrap();
    let line = lines.last().unwrap();
    assert_eq!(line.details["failed"], why);
    assert_eq!(line.details["commit"], receipt.commit.unwrap());
    let events = workspace.events(None, 100).unwrap();
    let event = events.last().unwrap();
    assert_eq!(
        (event.topic.as_str(), &event.event_id),
        ("Snapshot_Failed", &line.event_id)
    );
    fs::remove_file(&place).unwrap();
    assert!(workspace.snapshots().unwrap().is_empty());
    assert_at_rest(workspace.root());
}

#[test]
fn a_snapshot_is_taken_where_there_are_links_and_odd_names() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", "core/kb/a.md", "one\n").unwrap();
    std::os::unix::fs::symlink("core/kb/a.md", root.join("link.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("away")).unwrap();
    for odd in ["what?.", "tab\there", "back\\slash"] {
        fs::write(root.join(odd), "odd\n").unwrap();
    }
    run_git(root, &["add", "-A"]);
    run_git(root, &["commit", "-qm", "as people have it"]);
    let governor = Actor::new("governor").unwrap();
    let manifest = workspace.snapshot(&governor, false).unwrap();
    assert_eq!(manifest.files.len(), 6 + 1, "{:?}", manifest.files.keys());
    let row = serde_json::to_value(&manifest).unwrap();
    assert_eq!(row["links"]["link.md"], "core/kb/a.md");
    assert_eq!(row["links"]["away"], "/etc/passwd");
    let archive = root.join(format!(".sdlc_ide/snapshots/{}.tar.gz", manifest.id));
    let listed = std::process::Command::new("tar")
        .arg("tzvf")
        .arg(&archive)
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("link.md -> core/kb/a.md"), "{listed}");
    write(&workspace, "prm", "core/kb/a.md", "two\n").unwrap();
    workspace.restore(&governor, &manifest.id).unwrap();
    assert_eq!(
        fs::read_to_string(root.join("core/kb/a.md")).unwrap(),
        "one\n"
    );
    assert_eq!(
        fs::read_link(root.join("away")).unwrap().to_string_lossy(),
        "/etc/passwd"
    );
    assert_eq!(fs::read_to_string(root.join("tab\there")).unwrap(), "odd\n");
    assert_at_rest(root);
    // A branch that does not touch them merges.
    run_git(root, &["switch", "-qc", "edit"]);
    write(&workspace, "prm", "core/kb/b.md", "b\n").unwrap();
    run_git(root, &["switch", "-q", "main"]);
    std::os::unix::fs::symlink("b", root.join("another")).unwrap();
    run_git(root, &["add", "-A"]);
    run_git(root, &["commit", "-qm", "one more link"]);
    workspace.merge(&governor, "edit", None).unwrap();
    assert_at_rest(root);
}

#[test]
fn thousands_of_old_files_of_the_trail_become_one() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", "core/kb/a.md", "a\n").unwrap();
    let folder = root.join(".sdlc_ide/logs/audit/01J0/00");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..2_000 {
        let id = format!("01J000{number:0>20}");
        let line = format!(
            "{{\"event_id\":\"{id}\",\"ts\":\"2024-06-01T00:00:00Z\",\"action\":\"write\",\
             \"actor\":\"prm\"}}\n"
        );
        fs::write(folder.join(format!("{id}.jsonl")), line).unwrap();
    }
    run_git(root, &["add", "."]);
    run_git(root, &["commit", "-qm", "as if it were old"]);
    write(&workspace, "prm", "core/kb/a.md", "b\n").unwrap();
    let told = |workspace: &crate::Workspace| {
        let (lines, _) = workspace.audit(&AuditQuery::default()).unwrap();
        lines
            .into_iter()
            .map(|line| line.event_id)
            .collect::<Vec<_>>()
    };
    let before = told(&workspace);
    assert!(before.len() > 2_000);
    workspace
        .maintain(&mut crate::MaintenanceState::default())
        .unwrap();
    let files = run_git(root, &["ls-files", ".sdlc_ide/logs/audit"]);
    assert!(files.lines().count() < 5, "{files}");
    let after = told(&workspace);
    assert_eq!(after[..before.len()], before);
    assert!(workspace.trail_missing().unwrap().is_empty());
    assert_at_rest(root);
}
