//! The image: who runs in it, and that its build sees every file that it needs and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::workspace_root;

use super::text;

#[test]
fn the_image_runs_as_nobody_and_is_of_both_architectures() {
    let image = text("Dockerfile");
    let stages = image
        .lines()
        .filter(|line| line.starts_with("FROM "))
        .count();
    assert_eq!(stages, 3);
    let last = image.rsplit("\nFROM ").next().expect("a stage");
    let user = last.lines().find_map(|line| line.strip_prefix("USER "));
    assert!(
        user.is_some_and(|user| !user.starts_with('0') && user != "root"),
        "{user:?}"
    );
    for word in [
        "HEALTHCHECK",
        "VOLUME /data",
        "STOPSIGNAL SIGTERM",
        "ENTRYPOINT [\"reprise\"]",
    ] {
        assert!(last.contains(word), "{word}");
    }
    assert!(
        !last.contains("cargo") && image.contains("--locked"),
        "{last}"
    );
    assert!(image.contains("linux/amd64,linux/arm64"));
}

/// Returns whether the build of the image sees a file of the repository.
fn is_in_image_context(path: &Path) -> bool {
    let ignored = text("Dockerfile.dockerignore");
    let lines = ignored.lines().filter(|line| !line.starts_with('#'));
    lines.fold(true, |seen, line| match line.strip_prefix('!') {
        // `*` in a name is as in a shell.
        Some(kept) => match kept.split_once('*') {
            Some((before, after)) => {
                let path = path.to_string_lossy();
                seen || path.starts_with(before) && path.ends_with(after)
            }
            None => seen || path.starts_with(kept),
        },
        None => seen && line != "*",
    })
}

/// Lists the files outside of our crates that their code includes when it is compiled.
fn list_included_files() -> BTreeSet<PathBuf> {
    let top = workspace_root();
    let mut included = BTreeSet::new();
    let mut folders = vec![top.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|kind| kind != "rs") {
                continue;
            }
            let code = fs::read_to_string(&path).expect("code");
            for part in code.split("include_").skip(1) {
                let named = part
                    .strip_prefix("str!(\"")
                    .or(part.strip_prefix("bytes!(\""));
                let Some((name, _)) = named.and_then(|named| named.split_once('"')) else {
                    continue;
                };
                if let Ok(file) = folder.join(name).canonicalize() {
                    let file = file.strip_prefix(&top).expect("of the repository");
                    included.insert(file.to_owned());
                }
            }
        }
    }
    included
}

#[test]
fn the_build_of_the_image_sees_all_that_it_copies_and_takes_in_and_no_data() {
    let image = text("Dockerfile");
    let copies = image.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copied = copies.filter(|line| !line.contains("--from="));
    let copied = copied.filter_map(|line| line.split(' ').find(|word| !word.starts_with("--")));
    let copied = copied.filter(|name| *name != ".").map(PathBuf::from);
    let mut needed = list_included_files();
    assert!(needed.len() > 20, "{needed:?}");
    needed.extend(copied);
    needed.extend(["Cargo.lock", "crates/reprise/Cargo.toml"].map(PathBuf::from));
    let missing = needed.iter().filter(|path| {
        let is_there = workspace_root().join(path).exists();
        !is_there || !is_in_image_context(path)
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    for kept_out in [
        ".git/HEAD",
        "target/debug/reprise",
        "data/notes.jsonl",
        "deploy/secrets/x",
    ] {
        assert!(!is_in_image_context(Path::new(kept_out)), "{kept_out}");
    }
}
