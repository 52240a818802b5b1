//! Worktrees, clones and spellings of a remote are one project; two folders of one name are two.

use std::path::Path;

use git2::{Repository, Signature};

use super::*;

fn repository(folder: &Path, words: &str) -> Repository {
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
    let first = repository(&at("one/api"), "first");
    fs_err::create_dir_all(at("one/api/src")).unwrap();
    let own = name(&at("one/api"));
    assert!(own.starts_with("api-") && own.len() == 12, "{own}");
    assert_eq!(name(&at("one/api/src")), own);
    first.worktree("feature", &at("elsewhere"), None).unwrap();
    assert_eq!(name(&at("elsewhere")), own);
    Repository::clone(at("one/api").to_str().unwrap(), at("copy")).unwrap();
    assert_eq!(name(&at("copy")), own);
    repository(&at("two/api"), "second");
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
        repository(&path, url).remote("upstream", url).unwrap();
        names.push(Project::of(&path).unwrap().tag());
    }
    assert_eq!(names, ["project:github.com/acme/api"; 4]);
    assert_eq!(server("/srv/git/api"), None);
    assert_eq!(server("C:\\work\\api"), None);
    assert_eq!(server("../api:2"), None);
}

/// Commits more on top of what is there.
fn committed(repository: &Repository, count: usize) {
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
    let long = repository(&folder.path().join("long"), "first");
    committed(&long, 25);
    let path = folder.path().join("long");
    let whole = Project::of(&path).unwrap();
    let mut walks = Walks::default();
    let mut step = || {
        // As it is kept between two calls.
        let kept = serde_json::to_string(&walks).unwrap();
        walks = serde_json::from_str(&kept).unwrap();
        Project::within(&path, 10, &mut walks).unwrap()
    };
    assert!(step().is_err() && step().is_err());
    assert_eq!(step(), Ok(whole.clone()));
    // From then on no commit is walked, however many come on top.
    committed(&long, 3);
    let known = Project::within(&path, 0, &mut walks).unwrap();
    assert_eq!(known, Ok(whole));
    // Another history at the same place is walked anew.
    fs_err::remove_dir_all(&path).unwrap();
    committed(&repository(&path, "another"), 5);
    let other = Project::within(&path, 10, &mut walks).unwrap();
    assert_eq!(other, Ok(Project::of(&path).unwrap()));
    assert_ne!(other, known);
}
