//! The house of DESIGN section 2 as a test: which room may name which, and who holds what fenced.
//!
//! The checks, each a function from what was read to complaints. The table itself is data in
//! `architecture/table.rs`.

mod canaries;
mod circles;
mod files;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use circles::{circles, without_tests};
use files::{MAY_OPEN, openers};
use reprise_tests::{Manifest, Source, Tree};
use table::{COMPOSITION, Composition, FENCES, Fence, ROOMS, Room};

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

#[test]
fn every_package_keeps_to_the_table() {
    let tree = Tree::read().expect("the workspace is readable");
    let complaints = [
        unlisted(&tree.manifests, ROOMS),
        forbidden_rooms(&tree.manifests, ROOMS),
        broken_fences(&tree.manifests, FENCES),
        cycles(&tree.manifests),
        loose_manifests(&tree.manifests),
        forbidden_paths(&tree.manifests, &tree.sources, ROOMS, FENCES),
        scattered_composition(&tree.sources, COMPOSITION),
        doubles_in_use(&tree.sources),
        openers(&tree.sources, MAY_OPEN),
    ]
    .concat();
    assert!(
        complaints.is_empty(),
        "the house is out of order:\n{}",
        complaints.join("\n")
    );
}

#[test]
fn every_pinned_version_is_taken() {
    let tree = Tree::read().expect("the workspace is readable");
    let workspace = tree.text("Cargo.toml").expect("Cargo.toml is there");
    let workspace = workspace.parse().expect("Cargo.toml is well-formed");
    let complaints = idle_versions(&workspace, &tree.manifests);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_architecture_page_lists_every_package() {
    let tree = Tree::read().expect("the workspace is readable");
    let page = tree
        .text("docs/ARCHITECTURE.md")
        .expect("docs/ARCHITECTURE.md is there");
    let complaints = missing_from_page(&tree.manifests, &page);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn no_files_of_a_package_need_each_other_in_a_circle() {
    let tree = Tree::read().expect("the workspace is readable");
    let complaints: Vec<String> = tree
        .manifests
        .iter()
        .filter_map(|manifest| in_circles(&manifest.folder, &tree.sources))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Files of the package in `folder` that need each other in a circle.
fn in_circles(folder: &str, sources: &[Source]) -> Option<String> {
    let circles = circles(sources, folder);
    let lines = circles
        .iter()
        .map(|(file, needs)| format!("\n  {file} -> {needs:?}"));
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("{folder}: files stand in circles:{lines}"))
}

/// What stands in crates for tests alone. It is always built, so that `cargo run` and `cargo test`
/// share one build.
const DOUBLES: [&str; 7] = [
    "testing::",
    "conformance::",
    "SimDisk",
    "hostile_text",
    "FakeEmbedder",
    "hot_statements",
    "policies_alone",
];

/// Shipped code that names what is there for tests.
fn doubles_in_use(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let path = source.path.as_str();
        let shipped = path.contains("/src/") && !path.starts_with("tests/");
        // A room's own switches stand in its own files.
        let names_own = |double: &str| {
            path.ends_with("/lib.rs")
                || path.contains(double)
                || double.contains('_') && path.contains("reprise-global/src/postgres")
        };
        if !shipped
            || ["testing", "tests", "/disk", "hostile", "conformance"]
                .iter()
                .any(|part| path.contains(part))
        {
            continue;
        }
        let code = without_tests(&source.masked.code);
        for double in DOUBLES {
            if code.contains(double) && !names_own(double.trim_end_matches(':')) {
                complaints.push(format!(
                    "{path}: names `{double}`, which is for tests alone"
                ));
            }
        }
    }
    complaints
}

fn room<'a>(rooms: &'a [Room], package: &str) -> Option<&'a Room> {
    rooms.iter().find(|room| room.package == package)
}

/// Packages that the table does not know: a new room is decided, not found.
fn unlisted(manifests: &[Manifest], rooms: &[Room]) -> Vec<String> {
    manifests
        .iter()
        .filter(|manifest| room(rooms, &manifest.package).is_none())
        .map(|manifest| {
            format!(
                "{}: {} is not in the table of rooms",
                manifest.folder, manifest.package
            )
        })
        .collect()
}

/// What `room` may name in the shipped code, and in tests besides: any room above it in the table.
fn may_name(rooms: &[Room], room: &Room, section: &str, wanted: &str) -> bool {
    if wanted == room.package || room.may_name.contains(&wanted) || room.may_name == ["*"] {
        return true;
    }
    let place = |package: &str| rooms.iter().position(|other| other.package == package);
    section == "dev-dependencies"
        && place(wanted).is_some_and(|wanted| Some(wanted) < place(room.package))
}

fn forbidden_rooms(manifests: &[Manifest], rooms: &[Room]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in manifests {
        let Some(own) = room(rooms, &manifest.package) else {
            continue;
        };
        for section in SECTIONS {
            for wanted in manifest.dependencies(section) {
                if wanted.starts_with("reprise") && !may_name(rooms, own, section, &wanted) {
                    complaints.push(format!(
                        "{}: {section} may not name {wanted} (allowed: {:?})",
                        manifest.folder, own.may_name
                    ));
                }
            }
        }
    }
    complaints
}

fn fence_allows(fence: &Fence, package: &str, section: &str) -> bool {
    package == "reprise-tests"
        || fence.rooms.contains(&package)
        || (section == "dev-dependencies" && fence.tests_of.contains(&package))
}

fn broken_fences(manifests: &[Manifest], fences: &[Fence]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in manifests {
        for section in SECTIONS {
            for wanted in manifest.dependencies(section) {
                let fence = fences
                    .iter()
                    .find(|fence| fence.outside.contains(&wanted.as_str()));
                if fence.is_some_and(|fence| !fence_allows(fence, &manifest.package, section)) {
                    complaints.push(format!(
                        "{}: {section} names {wanted}, which is fenced to {:?}",
                        manifest.folder,
                        fence.map(|fence| fence.rooms)
                    ));
                }
            }
        }
    }
    complaints
}

/// Cycles over every kind of dependency: cargo itself lets one through by way of tests.
fn cycles(manifests: &[Manifest]) -> Vec<String> {
    let mut edges: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for manifest in manifests {
        let named = SECTIONS
            .iter()
            .flat_map(|section| manifest.dependencies(section));
        let named = named.filter(|name| *name != manifest.package).collect();
        edges.insert(&manifest.package, named);
    }
    // Take away, again and again, what depends on nothing that is left; a cycle is the rest.
    loop {
        let left: BTreeSet<&str> = edges.keys().copied().collect();
        let free = edges
            .iter()
            .find(|(_, wanted)| wanted.iter().all(|name| !left.contains(name.as_str())))
            .map(|(package, _)| *package);
        match free {
            Some(package) => edges.remove(package),
            None if left.is_empty() => return Vec::new(),
            None => return vec![format!("a cycle runs through some of {left:?}")],
        };
    }
}

/// Lints and versions come from the workspace, or a room quietly has its own.
fn loose_manifests(manifests: &[Manifest]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in manifests {
        let from_workspace = |value: &toml::Value| {
            value.get("workspace").and_then(toml::Value::as_bool) == Some(true)
        };
        if !manifest.toml.get("lints").is_some_and(from_workspace) {
            complaints.push(format!(
                "{}: [lints] workspace = true is missing",
                manifest.folder
            ));
        }
        for section in SECTIONS {
            let table = manifest.toml.get(section).and_then(toml::Value::as_table);
            for (name, value) in table.into_iter().flatten() {
                let own_features = value.get("path").and_then(toml::Value::as_str) == Some(".");
                if !from_workspace(value) && !own_features {
                    complaints.push(format!(
                        "{}: {name} in {section} needs workspace = true",
                        manifest.folder
                    ));
                }
            }
        }
    }
    complaints
}

/// Versions that the workspace pins and nobody takes: each was once a reason to read a changelog.
fn idle_versions(workspace: &toml::Table, manifests: &[Manifest]) -> Vec<String> {
    let pinned = workspace
        .get("workspace")
        .and_then(|table| table.get("dependencies"));
    let taken: BTreeSet<&String> = manifests
        .iter()
        .flat_map(|manifest| SECTIONS.iter().map(|section| manifest.toml.get(*section)))
        .flatten()
        .filter_map(toml::Value::as_table)
        .flat_map(toml::Table::keys)
        .collect();
    pinned
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::keys)
        .filter(|name| !taken.contains(name))
        .map(|name| format!("Cargo.toml: nobody takes {name} from [workspace.dependencies]"))
        .collect()
}

/// Paths in sources. The manifests already decide most of it; this sees renames and `extern crate`.
fn forbidden_paths(
    manifests: &[Manifest],
    sources: &[Source],
    rooms: &[Room],
    fences: &[Fence],
) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let owner = manifests
            .iter()
            .find(|manifest| source.path.starts_with(&format!("{}/", manifest.folder)));
        let Some(own) = owner.and_then(|manifest| room(rooms, &manifest.package)) else {
            continue;
        };
        for (line, name) in path_roots(&source.masked.code) {
            let package = name.replace('_', "-");
            let fence = fences
                .iter()
                .find(|fence| fence.outside.contains(&package.as_str()));
            let known = room(rooms, &package).is_some();
            let forbidden = (known && !may_name(rooms, own, "dev-dependencies", &package))
                || fence.is_some_and(|fence| !fence_allows(fence, own.package, "dev-dependencies"));
            if forbidden {
                complaints.push(format!("{}:{line}: may not name {name}", source.path));
            }
        }
    }
    complaints
}

/// Some rooms may name another in one file only: their composition root.
fn scattered_composition(sources: &[Source], composition: &[Composition]) -> Vec<String> {
    let mut complaints = Vec::new();
    for rule in composition {
        let inside = sources.iter().filter(|source| {
            source.path.starts_with(&format!("{}/", rule.folder)) && source.path != rule.only_in
        });
        for source in inside {
            for (line, name) in path_roots(&source.masked.code) {
                if name == rule.path_root {
                    complaints.push(format!(
                        "{}:{line}: {name} is named in {} only",
                        source.path, rule.only_in
                    ));
                }
            }
        }
    }
    complaints
}

/// First segments of paths, and names after `use` or `extern crate`, with their line numbers.
fn path_roots(code: &str) -> Vec<(usize, String)> {
    let mut roots = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut from = 0;
        while let Some(start) = line.get(from..).and_then(|rest| rest.find(is_word)) {
            let start = from + start;
            let rest = line.get(start..).unwrap_or_default();
            let end = start + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = line.get(start..end).unwrap_or_default();
            let before = line.get(..start).unwrap_or_default().trim_end();
            let after = line.get(end..).unwrap_or_default().trim_start();
            let imported = before.ends_with("use") || before.ends_with("extern crate");
            let rooted = !before.ends_with("::") && !before.ends_with('.');
            if rooted && (imported || after.starts_with("::")) {
                roots.push((number + 1, word.to_owned()));
            }
            from = end;
        }
    }
    roots
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn missing_from_page(manifests: &[Manifest], page: &str) -> Vec<String> {
    manifests
        .iter()
        .filter(|manifest| !page.contains(&format!("`{}`", manifest.folder)))
        .map(|manifest| format!("docs/ARCHITECTURE.md does not list `{}`", manifest.folder))
        .collect()
}
