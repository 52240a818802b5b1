//! Worktrees, clones and spellings of a remote are one project; two folders of one name are two.

use std::path::Path;

use git2::{Repository, Signature};

use super::*;
use crate::git_repository::{names_server, parse_remotes};

fn init_repository(folder: &Path, words: &str) -> Repository {
    let repository = Repository::init(folder).unwrap();
    let author = Signature::now("Ada", "ada@example.com").unwrap();
    let tree = repository.treebuilder(None).unwrap().write().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    repository
        .commit(Some("HEAD"), &author, &author, words, &tree, &[])
        .unwrap();
    drop(tree);
    repository
}

#[test]
fn worktrees_and_clones_are_one_project_and_two_folders_of_one_name_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let name = |path: &Path| Project::of(path).unwrap().name().to_owned();
    let first = init_repository(&at("one/api"), "first");
    fs_err::create_dir_all(at("one/api/src")).unwrap();
    let own = name(&at("one/api"));
    assert!(own.starts_with("api-") && own.len() == 12, "{own}");
    assert_eq!(name(&at("one/api/src")), own);
    first.worktree("feature", &at("elsewhere"), None).unwrap();
    assert_eq!(name(&at("elsewhere")), own);
    Repository::clone(at("one/api").to_str().unwrap(), at("copy")).unwrap();
    assert_eq!(name(&at("copy")), own);
    init_repository(&at("two/api"), "second");
    assert_ne!(name(&at("two/api")), own);
    fs_err::create_dir_all(at("none")).unwrap();
    assert_eq!(Project::of(&at("none")), None);
    Repository::init(at("empty")).unwrap();
    assert!(name(&at("empty")).starts_with("empty-"));
}

#[test]
fn a_remote_names_the_project_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (number, url) in [
        "https://github.com/Acme/API.git",
        "git@github.com:acme/api.git",
        "ssh://git@github.com:22/acme/api",
        "https://token:secret@github.com/acme/api/",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(number.to_string());
        init_repository(&path, url).remote("upstream", url).unwrap();
        names.push(Project::of(&path).unwrap().tag());
    }
    let short = init_repository(&folder.path().join("short"), "short");
    let mut config = short.config().unwrap();
    config
        .set_str("url.git@github.com:.insteadOf", "gh:")
        .unwrap();
    short.remote("origin", "gh:acme/api").unwrap();
    names.push(Project::of(&folder.path().join("short")).unwrap().tag());
    assert_eq!(names, ["project:github.com/acme/api"; 5]);
    let written = "[remote \"up\"]\n\turl = gh:acme/api\n\turl = b\n[core]\n\turl = c\n";
    let up = ("up".to_owned(), "gh:acme/api".to_owned());
    assert_eq!(parse_remotes(written), BTreeMap::from([up]));
    let in_full = ["https://a.b/c", "git@a.b:c", "ssh://box/c"];
    assert!(in_full.into_iter().all(names_server));
    let not = ["gh:acme/api", "../a.b:2", "file:///srv/c", "/srv/git/api"];
    assert!(!not.into_iter().any(names_server));
    assert_eq!(parse_remote_host_and_path("/srv/git/api"), None);
    assert_eq!(parse_remote_host_and_path("C:\\work\\api"), None);
    assert_eq!(parse_remote_host_and_path("../api:2"), None);
}

/// Commits more on top of what is there.
fn add_commits(repository: &Repository, count: usize) {
    let author = Signature::now("Ada", "ada@example.com").unwrap();
    for number in 0..count {
        let parent = repository.head().unwrap().peel_to_commit().unwrap();
        let tree = parent.tree().unwrap();
        let words = format!("more {number}");
        repository
            .commit(Some("HEAD"), &author, &author, &words, &tree, &[&parent])
            .unwrap();
    }
}

#[test]
fn a_long_history_is_walked_in_steps_that_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let long = init_repository(&folder.path().join("long"), "first");
    add_commits(&long, 25);
    let path = folder.path().join("long");
    let whole = Project::of(&path).unwrap();
    let mut walks = HistoryWalkCache::default();
    let mut step = || {
        // As it is kept between two calls.
        let kept = serde_json::to_string(&walks).unwrap();
        walks = serde_json::from_str(&kept).unwrap();
        Project::find_within_commits(&path, 10, &mut walks).unwrap()
    };
    assert!(step().is_err() && step().is_err());
    assert_eq!(step(), Ok(whole.clone()));
    // From then on no commit is walked, however many come on top.
    add_commits(&long, 3);
    let known = Project::find_within_commits(&path, 0, &mut walks).unwrap();
    assert_eq!(known, Ok(whole));
    // Another history at the same place is walked anew.
    fs_err::remove_dir_all(&path).unwrap();
    add_commits(&init_repository(&path, "another"), 5);
    let other = Project::find_within_commits(&path, 10, &mut walks).unwrap();
    assert_eq!(other, Ok(Project::of(&path).unwrap()));
    assert_ne!(other, known);
}

#[test]
fn folders_outside_of_repositories_are_projects_of_their_own() {
    let name = |path: &str| name_plain_folder(Path::new(path)).unwrap();
    assert!(name("/p6/plain/src").starts_with("src-"));
    assert_ne!(name("/p6/plain/src"), name("/p6/other/src"));
    assert_eq!(name("/p6/plain/src"), name("/p6/plain/src/"));
    assert_eq!(name("/p6/plain/src"), name("/p6/plain/./other/../src"));
    assert_eq!(name_plain_folder(Path::new("/")), None);
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real/src");
    fs_err::create_dir_all(&real).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("real"), &link).unwrap();
    assert_eq!(
        name_plain_folder(&real),
        name_plain_folder(&link.join("src"))
    );
}

#[test]
fn what_a_checkout_ignores_is_not_committed_and_the_rest_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let repository = init_repository(&at("api"), "first");
    for name in ["api/.gitignore", "api/kept.json"] {
        fs_err::write(at(name), "*.json\n").unwrap();
    }
    let mut index = repository.index().unwrap();
    index.add_path(Path::new("kept.json")).unwrap();
    index.write().unwrap();
    for (name, expected) in [
        ("api/memory.jsonl", true),
        ("api/deep/er/memory.jsonl", true),
        ("api/memory.json", false),
        ("api/kept.json", false),
        ("memory.jsonl", false),
    ] {
        assert_eq!(may_be_committed(&at(name)), expected, "{name}");
    }
}

#[test]
fn a_folder_of_windows_has_its_own_name_and_its_path_tells_it_from_others() {
    let name = |path: &str| name_plain_folder(Path::new(path));
    for (path, begins) in [
        (
            "D:\\\u{41f}\u{440}\u{43e}\u{435}\u{43a}\u{442}\u{44b}\\shop",
            "shop-",
        ),
        ("c:/Users/Ann/shop/", "shop-"),
        ("\\\\server\\share\\work\\shop", "shop-"),
    ] {
        let named = name(path).unwrap();
        assert!(named.starts_with(begins) && named.len() == 13, "{named}");
    }
    assert_ne!(name("C:\\a\\shop"), name("C:\\b\\shop"));
    assert_eq!((name("C:\\"), name("/")), (None, None));
    // A file name with a colon in it is no drive.
    assert!(name("/w/a:b").unwrap().starts_with("a:b-"));
}
