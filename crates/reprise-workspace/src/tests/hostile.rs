//! Files that a repository brings below `.sdlc_ide`: links and FIFOs are neither followed nor
//! waited for.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use reprise_types::SystemClock;

use super::{run_git, try_git, workspace, write};
use crate::{AuditQuery, PrunePolicy, Workspace};

/// Each file that the Orchestrator keeps, and each folder that it makes.
const FILES: [&str; 8] = [
    ".sdlc_ide/tmp/index.seen",
    "core/tsd/new/.gitignore",
    ".sdlc_ide/logs/wal.jsonl",
    ".sdlc_ide/logs/events.jsonl",
    ".sdlc_ide/logs/merge_conflicts.jsonl",
    ".sdlc_ide/logs/audit_trail.jsonl",
    ".gitignore",
    "memory/long_term/drift_history.jsonl",
];
const FOLDERS: [&str; 8] = [
    ".sdlc_ide/logs/audit",
    ".sdlc_ide/logs/pending",
    ".sdlc_ide",
    ".sdlc_ide/logs",
    ".sdlc_ide/tmp",
    ".sdlc_ide/tmp/locks",
    ".sdlc_ide/snapshots",
    "memory/long_term/audit",
];

/// Somebody's folder outside, with what must stay as it is.
fn make_outside_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "mine\n").unwrap();
    fs::create_dir(folder.path().join("tx-1")).unwrap();
    fs::write(folder.path().join("tx-1/file"), "mine\n").unwrap();
    folder
}

fn assert_untouched(folder: &Path, when: &str) {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["file", "tx-1"], "{when}");
    for file in ["file", "tx-1/file"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text, "mine\n", "{when}: {file}");
    }
}

/// Everything that a user may ask of a tree; what comes of it is looked at elsewhere.
fn run_every_operation(root: &Path) {
    let clock = || Arc::new(SystemClock);
    drop(Workspace::init(root, clock()));
    let Ok(workspace) = Workspace::open(root, clock()) else {
        return;
    };
    let orchestrator = crate::Actor::new("orchestrator").unwrap();
    let ada = crate::Actor::human("ada").unwrap();
    drop(workspace.recover());
    drop(write(&workspace, "prm", "core/kb/a.md", "text"));
    drop(write(&workspace, "prm", "cache/a", "text"));
    drop(workspace.checkpoint(&orchestrator, b"{}", None));
    drop(workspace.snapshot(&orchestrator, false));
    if let Ok(snapshots) = workspace.snapshots() {
        for one in snapshots {
            drop(workspace.restore(&ada, &one.id));
        }
    }
    drop(workspace.approve(&ada, "main"));
    drop(workspace.merge(&ada, "main", None));
    drop(workspace.rollback(&ada, "HEAD", None));
    drop(workspace.audit(&AuditQuery::default()));
    drop(workspace.events(None, 10));
    drop(workspace.status());
    drop(workspace.diff(None, None));
    let policy = PrunePolicy {
        snapshots: 0,
        events: 0,
        episodic_days: 0,
    };
    drop(workspace.prune(&orchestrator, policy));
    drop(workspace.propose("a"));
    drop(workspace.abandon("a"));
}

/// A cloned repository whose place `path` is made by `make`: before `init`, and in a workspace.
fn check_before_and_after_init(path: &str, make: &dyn Fn(&Path)) {
    let clone = tempfile::tempdir().unwrap();
    run_git(clone.path(), &["init", "-q", "-b", "main"]);
    run_git(
        clone.path(),
        &["commit", "-q", "--allow-empty", "-m", "theirs"],
    );
    let (_folder, lived_in) = workspace();
    for turn in 0..2 {
        write(&lived_in, "prm", "core/kb/old.md", &format!("{turn}")).unwrap();
    }
    for root in [clone.path(), lived_in.root()] {
        let at = root.join(path);
        if at.is_dir() {
            fs::remove_dir_all(&at).unwrap();
        } else if at.exists() {
            fs::remove_file(&at).unwrap();
        }
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        make(&at);
        // git keeps links; what it does not keep is there all the same.
        drop(try_git(root, &["add", "-f", "-A"]));
        run_git(
            root,
            &["commit", "-q", "--allow-empty", "-m", "as it comes"],
        );
        run_every_operation(root);
    }
}

#[test]
fn links_are_not_followed() {
    for path in FILES {
        let outside = make_outside_folder();
        check_before_and_after_init(path, &|at| {
            symlink(outside.path().join("file"), at).unwrap();
        });
        assert_untouched(outside.path(), path);
        check_before_and_after_init(path, &|at| symlink(outside.path().join("new"), at).unwrap());
        assert_untouched(outside.path(), path);
    }
    for path in FOLDERS {
        let outside = make_outside_folder();
        check_before_and_after_init(path, &|at| symlink(outside.path(), at).unwrap());
        assert_untouched(outside.path(), path);
    }
}

#[test]
fn fifos_and_devices_are_not_waited_for() {
    for path in FILES {
        check_before_and_after_init(path, &|at| {
            let made = std::process::Command::new("mkfifo").arg(at).status();
            assert!(made.unwrap().success());
        });
        check_before_and_after_init(path, &|at| symlink("/dev/zero", at).unwrap());
        check_before_and_after_init(path, &|at| fs::create_dir(at).unwrap());
    }
}
