//! Tidiness as a test: what no lint sees, over every source of the workspace.
//!
//! Each rule with a bad example that it has to notice.

use std::fs;

use reprise_tests::{PackageManifest, SourceFile, WorkspaceTree};

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

#[test]
fn every_source_is_tidy() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let mut complaints: Vec<String> = tree.sources.iter().flat_map(untidy).collect();
    complaints.extend(unreached(&tree.manifests, &tree.sources));
    let complaints = complaints.join("\n");
    assert!(complaints.is_empty(), "untidy sources:\n{complaints}");
}

#[test]
fn no_page_or_manifest_points_outside_the_checkout() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let manifests = tree.manifests.iter();
    let mut paths: Vec<String> = manifests
        .map(|manifest| format!("{}/Cargo.toml", manifest.folder))
        .collect();
    paths.extend(["Cargo.toml", ".ci/run", ".deny.toml"].map(str::to_owned));
    for folder in [
        "docs",
        "docs/builders",
        "docs/builders/adr",
        "models",
        "data",
    ] {
        paths.extend(pages(&tree, folder));
    }
    paths.retain(|path| points_outside(&tree.read_text(path).expect("a listed page is readable")));
    assert!(paths.is_empty(), "{paths:?} point outside the checkout");
}

#[test]
fn decisions_are_numbered_without_gaps_and_shaped_alike() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let mut pages = pages(&tree, "docs/builders/adr");
    pages.retain(|path| !path.ends_with("/README.md"));
    assert!(!pages.is_empty(), "docs/builders/adr holds no decision");
    for (expected, path) in pages.iter().enumerate() {
        let text = tree.read_text(path).expect("a listed page is readable");
        let named = path.starts_with(&format!("docs/builders/adr/{expected:04}-"));
        let titled = text.starts_with(&format!("# {expected:04} "));
        let headings = ["## Context", "## Decision", "## Consequences"];
        let shaped = headings.map(|heading| text.lines().any(|line| line == heading));
        assert!(
            named && titled && shaped == [true; 3],
            "{path}: it is decision {expected:04}, with that title, and {headings:?}"
        );
    }
}

/// Paths of the pages directly in `folder`, sorted.
fn pages(tree: &WorkspaceTree, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(tree.root.join(folder)).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut paths: Vec<String> = names
        .map(|name| format!("{folder}/{}", name.to_string_lossy()))
        .filter(|path| {
            [".md", ".toml", ".txt"]
                .iter()
                .any(|end| path.ends_with(end))
        })
        .collect();
    paths.sort();
    paths
}

/// Folders of the machine this was built on: a clone elsewhere has none of them.
fn points_outside(text: &str) -> bool {
    // Put together, so that the rule does not find itself.
    text.contains(concat!("/work", "/shared")) || text.contains(concat!("../", "shared"))
}

fn untidy(source: &SourceFile) -> Vec<String> {
    let mut complaints = Vec::new();
    let SourceFile { path, text } = source;
    let mut holds = |bad: bool, number: usize, what: &str| {
        complaints.extend(bad.then(|| format!("{path}:{number}: {what}")));
    };
    holds(text.lines().count() > LINES_MAX, 1, "more than 600 lines");
    holds(!text.starts_with("//!"), 1, "no //! head comment");
    holds(points_outside(text), 1, "points outside the checkout");
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in (1..).zip(&lines) {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let comment = comment.split(|c: char| !c.is_alphanumeric());
        let reminders = ["TODO", concat!("FIX", "ME"), concat!("XX", "X"), "HACK"];
        let reminds = comment.clone().any(|word| reminders.contains(&word));
        holds(reminds && !code.contains('"'), number, "a reminder");
        let off = [concat!("#[ig", "nore"), concat!("#[should", "_panic")];
        let off = off.iter().any(|word| code.trim_start().starts_with(word));
        holds(off, number, "a test that is switched off");
        let is_comment = line.trim_start().starts_with("//");
        let wide = line.chars().count() > COLUMNS_MAX && !line.contains("://");
        holds(is_comment && wide, number, "a comment wider than 100");
        holds(is_comment && !line.is_ascii(), number, "not ASCII");
        // `matches!(..);` as a statement looks like an assertion and is none; no lint sees it.
        let indent = line.len() - line.trim_start().len();
        let is_end = |end: &&&str| end.len() - end.trim_start().len() == indent;
        let end = lines.iter().skip(number).find(is_end);
        let idle = line.trim() == "matches!(" && end.is_some_and(|end| end.trim() == ");")
            || line.trim_start().starts_with("matches!(") && line.ends_with(");");
        holds(idle, number, "matches! asserts nothing here");
        // `lib.rs` is a page of contents.
        let opens_item = line.starts_with(|c: char| c.is_ascii_lowercase());
        let contents = [
            "mod ",
            "pub mod ",
            "pub(crate) mod ",
            "pub use ",
            "extern crate ",
        ];
        let listed = contents.iter().any(|start| line.starts_with(start))
            && (line.starts_with("pub use ") || line.ends_with(';'));
        let crowded = path.ends_with("/lib.rs") && opens_item && !listed;
        holds(crowded, number, "lib.rs holds more than its contents");
    }
    for (number, line) in source.product_lines() {
        holds(!line.is_ascii(), number, "not ASCII");
    }
    complaints
}

/// Sources that no `mod` line and no target names: they look alive and are never compiled.
fn unreached(manifests: &[PackageManifest], sources: &[SourceFile]) -> Vec<String> {
    let lost = sources.iter().filter(|source| {
        let (folder, file) = source.path.rsplit_once('/').unwrap_or_default();
        let name = file.trim_end_matches(".rs");
        let root = ["lib", "main", "build"].contains(&name);
        let found = ["/tests", "/benches", "/examples", "/src/bin"];
        let found = found.iter().any(|place| folder.ends_with(place));
        let by_file = format!("{file}\"");
        let by_name = [format!("mod {name};"), format!("mod {name} ")];
        let parents = sources.iter().filter(|parent| {
            let path = parent.path.trim_end_matches(".rs");
            path == folder || path.rsplit_once('/').is_some_and(|(own, _)| own == folder)
        });
        let mut parents = parents.map(|parent| &parent.text);
        let named = parents.any(|text| by_name.iter().any(|mod_line| text.contains(mod_line)));
        let in_manifest = manifests.iter().any(|manifest| {
            source.path.starts_with(&manifest.folder)
                && manifest.toml.to_string().contains(&by_file)
        });
        let by_path = || sources.iter().any(|other| other.text.contains(&by_file));
        !(root || found || named || in_manifest || by_path())
    });
    lost.map(|source| format!("{}: no mod line and no target names it", source.path))
        .collect()
}

#[test]
fn each_rule_of_tidiness_notices_its_bad_example() {
    let log = "crates/reprise-store/src/log.rs";
    let test = "crates/reprise-store/src/log/tests.rs";
    let lib = "crates/reprise-store/src/lib.rs";
    let contents = "//! Head; with more.\n#![deny(x)]\nmod log;\npub use log::{\n    Log,\n};\n";
    let words = "x ".repeat(60);
    for (complaints, path, text) in [
        (0, log, "//! x\n".repeat(600)),
        (1, log, "//! x\n".repeat(601)),
        (1, log, "// not it\nfn f() {}".to_owned()),
        (1, log, concat!("//! x\n// TO", "DO: later").to_owned()),
        (
            1,
            test,
            concat!("//! x\n#[ig", "nore = \"slow\"]").to_owned(),
        ),
        (
            1,
            test,
            "//! x\n    matches!(\n        g(1)\n    );\n".to_owned(),
        ),
        (
            0,
            test,
            "//! x\nlet b = matches!(c, D);\nmatches!(b, E)\n".to_owned(),
        ),
        (1, test, ["//! x\nlet p = \"../", "shared/x\";"].concat()),
        (1, test, format!("//! x\n// {words}")),
        (0, test, format!("//! x\n// https://x.invalid/{words}")),
        (1, log, "//! x\nlet s = \"\u{e9}\";".to_owned()),
        (0, test, "//! x\nlet s = \"\u{e9}\";".to_owned()),
        (1, test, "//! x\n// \u{2192}".to_owned()),
        (0, lib, contents.to_owned()),
        (1, lib, format!("{contents}fn f() {{ g(); }}\n")),
        (1, lib, format!("{contents}pub mod m {{\n}}\n")),
    ] {
        let found = untidy(&SourceFile::new(path, &text));
        assert_eq!(found.len(), complaints, "{path} {text}: {found:?}");
    }
    let at =
        |path: &str, text: &str| SourceFile::new(&format!("crates/reprise-store/{path}"), text);
    let all = [
        at(
            "src/lib.rs",
            "mod log;\n#[path = \"odd/place.rs\"]\nmod odd;",
        ),
        at("src/log.rs", "#[cfg(test)]\nmod tests;"),
        at("src/log/tests.rs", ""),
        at("src/odd/place.rs", ""),
        at("benches/append.rs", "mod table;"),
        at("src/log/gone.rs", ""),
    ];
    let found = unreached(&[], &all);
    assert_eq!(found.len(), 1, "{found:?}");
}
