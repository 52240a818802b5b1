//! Sources that no `mod` line and no target reaches: they look alive and are never compiled.
//!
//! Following targets and `mod` lines as cargo and rustc do.

use std::collections::{BTreeMap, BTreeSet};

use reprise_tests::{Manifest, Source};

/// Paths of all sources that are compiled by nothing.
pub(super) fn unreached(manifests: &[Manifest], sources: &[Source]) -> Vec<String> {
    let by_path: BTreeMap<&str, &Source> = sources
        .iter()
        .map(|source| (source.path.as_str(), source))
        .collect();
    let mut reached = BTreeSet::new();
    for manifest in manifests {
        for root in target_roots(manifest, &by_path) {
            follow(&root, folder_of(&root), &by_path, &mut reached);
        }
    }
    by_path
        .keys()
        .filter(|path| !reached.contains(**path))
        .map(|path| format!("{path}: no mod line and no target names it"))
        .collect()
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn target_roots(manifest: &Manifest, by_path: &BTreeMap<&str, &Source>) -> Vec<String> {
    let folder = &manifest.folder;
    let mut roots: Vec<String> = ["src/lib.rs", "src/main.rs", "build.rs"]
        .iter()
        .map(|path| format!("{folder}/{path}"))
        .collect();
    for (key, place) in [
        ("autobins", "src/bin"),
        ("autotests", "tests"),
        ("autobenches", "benches"),
        ("autoexamples", "examples"),
    ] {
        let package = manifest.toml.get("package");
        let setting = package
            .and_then(|package| package.get(key))
            .and_then(toml::Value::as_bool);
        if setting != Some(false) {
            let here = format!("{folder}/{place}");
            roots.extend(
                by_path
                    .keys()
                    .filter(|path| folder_of(path) == here || path.ends_with("/main.rs"))
                    .filter(|path| path.starts_with(&format!("{here}/")))
                    .map(|path| (*path).to_owned()),
            );
        }
    }
    roots.extend(
        named_targets(&manifest.toml)
            .iter()
            .map(|path| joined(folder, path)),
    );
    roots.retain(|path| by_path.contains_key(path.as_str()));
    roots
}

/// `path` as seen from `folder`, without `..`.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn named_targets(toml: &toml::Table) -> Vec<String> {
    let lib = toml.get("lib").into_iter();
    let lists = ["bin", "test", "bench", "example"]
        .into_iter()
        .filter_map(|kind| toml.get(kind).and_then(toml::Value::as_array))
        .flatten();
    lib.chain(lists)
        .filter_map(|target| target.get("path").and_then(toml::Value::as_str))
        .map(str::to_owned)
        .collect()
}

/// Marks `path` and what its `mod` lines name; its children stand in `children`.
fn follow(
    path: &str,
    children: &str,
    by_path: &BTreeMap<&str, &Source>,
    reached: &mut BTreeSet<String>,
) {
    let Some(source) = by_path.get(path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    for (name, elsewhere) in modules(source) {
        if let Some(elsewhere) = elsewhere {
            let target = format!("{}/{elsewhere}", folder_of(path));
            follow(&target, folder_of(&target), by_path, reached);
            continue;
        }
        let inside = format!("{children}/{name}");
        follow(&format!("{inside}.rs"), &inside, by_path, reached);
    }
}

/// Names of `mod x;` lines, with the path of a `#[path]` on the line above.
fn modules(source: &Source) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut elsewhere = None;
    for (code, text) in source.masked.code.lines().zip(source.text.lines()) {
        let code = code.trim();
        if code.starts_with("#[path") {
            elsewhere = text.split('"').nth(1).map(str::to_owned);
            continue;
        }
        // `#[cfg(test)] mod tests;` on one line: what counts is how the line ends.
        let Some(before_end) = code.strip_suffix(';') else {
            continue;
        };
        let mut words = before_end.rsplit(char::is_whitespace);
        if let (Some(name), Some("mod")) = (words.next(), words.next()) {
            found.push((name.to_owned(), elsewhere.take()));
        }
    }
    found
}
