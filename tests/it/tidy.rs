//! Tidiness as a test: what no lint sees, over every source of the workspace.
//!
//! The run over the tree. The rules are in `tidy/` by what they look at, each with a canary in
//! `tidy/canaries.rs`.

mod adr;
mod canaries;
mod orphans;
mod text;

use reprise_tests::Tree;

#[test]
fn every_source_is_tidy() {
    let tree = Tree::read().expect("the workspace is readable");
    let mut complaints = Vec::new();
    for source in &tree.sources {
        for rule in text::RULES {
            complaints.extend(rule(source));
        }
    }
    assert!(
        complaints.is_empty(),
        "untidy sources:\n{}",
        complaints.join("\n")
    );
}

#[test]
fn every_source_is_compiled() {
    let tree = Tree::read().expect("the workspace is readable");
    let complaints = orphans::unreached(&tree.manifests, &tree.sources);
    assert!(
        complaints.is_empty(),
        "sources that nothing names:\n{}",
        complaints.join("\n")
    );
}

#[test]
fn no_page_or_manifest_points_outside_the_checkout() {
    let tree = Tree::read().expect("the workspace is readable");
    let mut paths: Vec<String> = tree
        .manifests
        .iter()
        .map(|manifest| format!("{}/Cargo.toml", manifest.folder))
        .collect();
    paths.extend(["Cargo.toml", ".ci/run", ".deny.toml"].map(str::to_owned));
    for folder in ["docs", "docs/adr", "models", "data"] {
        paths.extend(pages(&tree, folder));
    }
    let mut complaints = Vec::new();
    for path in paths {
        let page = tree.text(&path).expect("a listed page is readable");
        complaints.extend(text::names_outside(&path, &page));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn decisions_are_numbered() {
    let tree = Tree::read().expect("the workspace is readable");
    let pages: Vec<(String, String)> = pages(&tree, "docs/adr")
        .into_iter()
        .map(|path| {
            let text = tree.text(&path).expect("a listed page is readable");
            (path.trim_start_matches("docs/adr/").to_owned(), text)
        })
        .collect();
    let complaints = adr::misnumbered(&pages);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Paths of the pages directly in `folder`, sorted. A folder not yet there holds none.
fn pages(tree: &Tree, folder: &str) -> Vec<String> {
    let mut paths: Vec<String> = std::fs::read_dir(tree.root.join(folder))
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy()))
        .filter(|path| {
            [".md", ".toml", ".txt"]
                .iter()
                .any(|end| path.ends_with(end))
        })
        .collect();
    paths.sort();
    paths
}
