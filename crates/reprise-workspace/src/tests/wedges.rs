//! Half states: a transaction that cannot be done as a whole is refused before the commit, and
//! recovery ends and the next write goes on whatever blocks a path afterwards.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use reprise_types::SystemClock;

use super::{assert_at_rest, run_git, workspace, write, write_all};
use crate::{TransactionStep, Workspace, WorkspaceRecovery};

/// Makes what a log of one entry names.
type Crafted<'a> = dyn Fn(&Workspace, &str) -> serde_json::Value + 'a;

const NEW: &str = "core/kb/deep/new.md";

/// Ends a transaction at a step, as a crash would: nothing after it is done.
fn die_at_step(workspace: &Workspace, at: TransactionStep, changes: &[(&str, Option<&str>)]) {
    let dying = workspace.clone().with_watcher(Arc::new(move |step| {
        assert!(step != at, "the crash that this test is about");
    }));
    let ended = catch_unwind(AssertUnwindSafe(|| write_all(&dying, "prm", changes)));
    assert!(ended.is_err(), "{at:?} was not reached");
}

#[test]
fn one_name_for_a_file_and_a_folder_is_refused_before_anything_happens() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "prm", "core/kb/there.md", "there").unwrap();
    let tree = |path: &str| run_git(root, &["rev-parse", &format!("HEAD:{path}")]);
    let (core, kept) = (tree("core"), tree("core/kb/there.md"));
    let refused: [(&[&str], &str); 6] = [
        (&["core/kb/x.md", "core/kb/x.md/y"], "one-name"),
        (&["core/kb/a", "core/kb/a/b/c/d"], "one-name"),
        (&["cache/x", "cache/x/y"], "one-name"),
        (&["core/kb/there.md/below.md"], "one-name"),
        (&["core/kb/A/one.md", "core/kb/a/two.md"], "case-twin"),
        (&["core/kb/X.md", "core/kb/x.md/y"], "case-twin"),
    ];
    for (paths, rule) in refused {
        let changes: Vec<_> = paths.iter().map(|path| (*path, Some("text"))).collect();
        let error = write_all(&workspace, "prm", &changes).unwrap_err();
        assert_eq!(error.rule(), Some(rule), "{paths:?}: {error}");
        assert_eq!(tree("core"), core, "{paths:?}");
        assert_at_rest(root);
    }
    // What a person has taken away and not committed is still there for git.
    fs::remove_file(root.join("core/kb/there.md")).unwrap();
    let error = write(&workspace, "prm", "core/kb/there.md/below.md", "text").unwrap_err();
    assert_eq!(error.rule(), Some("one-name"), "{error}");
    assert_eq!(tree("core/kb/there.md"), kept);
    run_git(root, &["checkout", "-q", "--", "core/kb/there.md"]);
    // A folder whose last file has gone is none for git: its name is free.
    write(&workspace, "prm", "core/kb/name/file.md", "text").unwrap();
    write_all(&workspace, "prm", &[("core/kb/name/file.md", None)]).unwrap();
    write(&workspace, "prm", "core/kb/name", "text").unwrap();
    write_all(&workspace, "prm", &[("core/kb/name", None)]).unwrap();
    assert!(root.join("core/kb").is_dir(), "the tree's own folders stay");
    assert_at_rest(root);
}

#[test]
fn two_links_of_one_file_are_both_removed() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let both = ["core/kb/one.md", "core/kb/two.md"];
    let put = |text: Option<&'static str>| {
        write_all(&workspace, "prm", &both.map(|path| (path, text))).unwrap();
    };
    put(Some("same\n"));
    fs::remove_file(root.join(both[1])).unwrap();
    fs::hard_link(root.join(both[0]), root.join(both[1])).unwrap();
    put(None);
    assert_eq!(both.map(|path| root.join(path).exists()), [false; 2]);
    assert_at_rest(root);
}

/// What blocks the path of `core/kb/deep/new.md` once its transaction has died.
type Obstacle = (&'static str, fn(&Path, &Path));

const OBSTACLES: [Obstacle; 6] = [
    ("a folder in its place", |root, _| {
        fs::create_dir_all(root.join(NEW).join("mine")).unwrap();
    }),
    ("a file where its folder must be", |root, _| {
        fs::write(root.join("core/kb/deep"), "mine").unwrap();
    }),
    ("a link in its place", |root, elsewhere| {
        fs::create_dir_all(root.join("core/kb/deep")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("file"), root.join(NEW)).unwrap();
    }),
    ("a link on its way", |root, elsewhere| {
        std::os::unix::fs::symlink(elsewhere, root.join("core/kb/deep")).unwrap();
    }),
    ("a file of somebody else", |root, _| {
        fs::create_dir_all(root.join("core/kb/deep")).unwrap();
        fs::write(root.join(NEW), "mine").unwrap();
    }),
    (
        "a link where the tree's folder must be",
        |root, elsewhere| {
            fs::rename(root.join("core/kb"), root.join("core/old")).unwrap();
            std::os::unix::fs::symlink(elsewhere, root.join("core/kb")).unwrap();
        },
    ),
];

#[test]
fn recovery_ends_whatever_stands_in_the_way() {
    for (name, obstruct) in OBSTACLES {
        let (_folder, workspace) = workspace();
        let root = workspace.root();
        let elsewhere = tempfile::tempdir().unwrap();
        die_at_step(
            &workspace,
            TransactionStep::Committed,
            &[(NEW, Some("new"))],
        );
        obstruct(root, elsewhere.path());
        let recovered = workspace
            .recover()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(recovered.left_alone, [NEW], "{name}");
        assert_eq!(recovered.finished.len(), 1, "{name}");
        assert_eq!(
            fs::read_dir(elsewhere.path()).unwrap().count(),
            0,
            "{name}: written outside"
        );
        assert_eq!(
            workspace.recover().unwrap(),
            WorkspaceRecovery::default(),
            "{name}"
        );
        write(&workspace, "prm", "core/adr/next.md", "next")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(workspace.status().unwrap().loose_ends.is_empty(), "{name}");
        // Plain git brings it back once the way is free.
        if name.contains("tree's folder") {
            fs::remove_file(root.join("core/kb")).unwrap();
        }
        run_git(root, &["checkout", "-q", "--force", "HEAD", "--", NEW]);
        assert_eq!(fs::read_to_string(root.join(NEW)).unwrap(), "new", "{name}");
    }
}

/// Appends an entry to the WAL.
fn append_wal_entry(workspace: &Workspace, entry: &serde_json::Value) {
    let wal = workspace.root().join(".sdlc_ide/logs/wal.jsonl");
    let text = fs::read_to_string(&wal).unwrap();
    fs::write(&wal, format!("{text}{entry}\n")).unwrap();
}

#[test]
fn recovery_ends_whatever_the_log_says() {
    let outside = tempfile::tempdir().unwrap();
    let hash = |text: &str| crate::git::blob_id(text.as_bytes()).unwrap().to_string();
    let after = |text: &str| serde_json::json!({ "before": null, "after": hash(text) });
    let (x, y) = ("core/kb/x.md", "core/kb/x.md/y");
    let far = format!(
        "../{}/far",
        outside.path().file_name().unwrap().to_string_lossy()
    );
    let absolute = outside.path().join("far").to_string_lossy().into_owned();
    let entries: [(&str, &Crafted<'_>); 6] = [
        ("file and folder of one name", &|workspace, head| {
            // What an earlier version made of such a write: git keeps the folder alone.
            fs::create_dir_all(workspace.root().join(x)).unwrap();
            fs::write(workspace.root().join(y), "y").unwrap();
            run_git(workspace.root(), &["add", "core"]);
            run_git(workspace.root(), &["commit", "-qm", "half"]);
            fs::remove_dir_all(workspace.root().join(x)).unwrap();
            fs::write(workspace.root().join(x), "x").unwrap();
            let now = run_git(workspace.root(), &["rev-parse", "HEAD"]);
            assert_ne!(now.trim(), head);
            serde_json::json!({ "files": [x, y], "commit": now.trim(),
                "hashes": { x: after("x"), y: after("y") }, "branch": "refs/heads/main" })
        }),
        ("paths that lead out", &|workspace, _| {
            let stage = workspace.root().join(".sdlc_ide/tmp/tx-T1");
            fs::create_dir_all(&stage).unwrap();
            fs::write(stage.join(hash("bad")), "bad").unwrap();
            serde_json::json!({ "files": [far, absolute, ".git/hooks/post-commit"],
                "hashes": { &far: after("bad"), &absolute: after("bad"),
                    ".git/hooks/post-commit": after("bad") } })
        }),
        ("a commit that is none", &|_, _| {
            serde_json::json!({ "files": [x], "hashes": { x: after("x") },
                "commit": "nonsense", "branch": "refs/heads/main" })
        }),
        ("a branch that is none", &|_, head| {
            serde_json::json!({ "files": [x], "hashes": { x: after("x") },
                "commit": head, "branch": "../../x y" })
        }),
        ("hashes that are none", &|_, head| {
            serde_json::json!({ "files": [x], "hashes": { x: { "before": "?", "after": "?" } },
                "commit": head, "branch": "refs/heads/main" })
        }),
        ("content that has gone", &|_, head| {
            serde_json::json!({ "files": ["cache/gone"], "hashes": { "cache/gone": after("gone") },
                "commit": head, "branch": "refs/heads/main" })
        }),
    ];
    for (name, entry) in entries {
        let (_folder, workspace) = workspace();
        let root = workspace.root();
        let head = run_git(root, &["rev-parse", "HEAD"]);
        let mut entry = entry(&workspace, head.trim());
        entry["action"] = "begin".into();
        entry["tx_id"] = "T1".into();
        append_wal_entry(&workspace, &entry);
        workspace
            .recover()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            workspace.recover().unwrap(),
            WorkspaceRecovery::default(),
            "{name}"
        );
        assert_eq!(
            fs::read_dir(outside.path()).unwrap().count(),
            0,
            "{name}: written outside"
        );
        assert!(!root.join(".git/hooks/post-commit").exists(), "{name}");
        assert!(!root.join("cache/gone").exists(), "{name}: made of nothing");
        write(&workspace, "prm", "core/adr/next.md", "next")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn an_init_that_is_refused_leaves_nothing_and_one_that_died_is_said() {
    let clock = || Arc::new(SystemClock);
    let listed = |root: &Path| {
        let mut names: Vec<_> = fs::read_dir(root)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    };
    // A `.gitignore` that nobody has committed.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run_git(root, &["init", "-q", "-b", "main"]);
    fs::write(root.join(".gitignore"), "target/").unwrap();
    let config = fs::read_to_string(root.join(".git/config")).unwrap();
    Workspace::init(root, clock()).unwrap_err();
    assert_eq!(listed(root), [".git", ".gitignore"]);
    assert_eq!(
        fs::read_to_string(root.join(".git/config")).unwrap(),
        config
    );
    assert!(!root.join(".git/info/attributes").exists());
    // Something else where a folder must be, and no repository yet.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("memory"), "mine").unwrap();
    let error = Workspace::init(&root, clock()).unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
    assert_eq!(listed(&root), ["memory"]);
    // A folder that was not there goes again.
    let inside = tempfile::tempdir().unwrap();
    run_git(inside.path(), &["init", "-q"]);
    Workspace::init(&inside.path().join("sub"), clock()).unwrap_err();
    assert_eq!(listed(inside.path()), [".git"]);
    // The folders alone are no workspace.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run_git(root, &["init", "-q", "-b", "main"]);
    fs::create_dir_all(root.join(".sdlc_ide/logs")).unwrap();
    let error = Workspace::open(root, clock()).unwrap_err().to_string();
    assert!(error.contains("workspace init"), "{error}");
    let (workspace, _) = Workspace::init(root, clock()).unwrap();
    write(&workspace, "prm", "core/kb/a.md", "text").unwrap();
    assert_at_rest(root);
}

#[test]
fn a_folder_of_any_name_is_nobodys_obstacle() {
    let (_folder, workspace) = workspace();
    for (number, path) in [
        "core/kb/x/a.md",
        "cache/x/a",
        "memory/episodic/x/a",
        "core/prd/x/b.json",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{{\"n\":{number}}}");
        write(&workspace, "prm", path, &text).unwrap();
        write(&workspace, "prm", "core/kb/next.md", &text).unwrap();
        assert_eq!(
            workspace.recover().unwrap(),
            WorkspaceRecovery::default(),
            "{path}"
        );
    }
    assert_at_rest(workspace.root());
}
