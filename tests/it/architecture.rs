//! The structure of docs/ARCHITECTURE.md as a test: which crate may depend on which, and which
//! dependencies only one crate may use.
//!
//! The checks, each a function from what was read to complaints, each with a bad example that it
//! has to notice. The table is data in `architecture/table.rs`.

mod budget;
mod circles;
mod deadlines;
mod files;
mod folders;
mod names;
mod table;

use std::collections::BTreeSet;

use budget::over_budget;
use circles::find_circles;
use deadlines::{PAGE, waits_without_row};
use files::{MAY_OPEN, openers};
use folders::crowded_folders;
use names::{ADRS, KnownNames, names_of_nothing, read_decisions, wrong_list};
use reprise_tests::{PackageManifest, SourceFile, WorkspaceTree};
use table::{BARE, COMPOSITION, DOUBLES, FENCES, ROOMS};

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

#[test]
fn every_package_keeps_to_the_table() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let text = |path| tree.read_text(path).expect("a page of the checkout");
    let workspace = text("Cargo.toml").parse().expect("well-formed");
    let complaints = [
        forbidden_rooms(&tree.manifests),
        broken_fences(&tree.manifests),
        loose_manifests(&tree.manifests),
        idle_versions(&workspace, &tree.manifests),
        scattered_composition(&tree.sources),
        doubles_in_use(&tree.sources),
        openers(&tree.sources, MAY_OPEN),
        crowded_folders(&tree.sources),
        over_budget(&tree.sources),
        missing_from_page(&tree.manifests, &text("docs/ARCHITECTURE.md")),
        lost_steps(&tree.sources, &text("docs/ARCHITECTURE.md")),
        names_of_nothing(
            "docs/ARCHITECTURE.md",
            &text("docs/ARCHITECTURE.md"),
            &KnownNames::of_tree(&tree),
        ),
        wrong_list(&text(&format!("{ADRS}/README.md")), &read_decisions(&tree)),
        unbare(&tree.manifests, &tree.sources),
        waits_without_row(&tree.sources, &text(PAGE)),
    ]
    .concat();
    let complaints = complaints.join("\n");
    assert!(complaints.is_empty(), "out of order:\n{complaints}");
}

#[test]
fn no_files_are_in_a_circle() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let found = find_circles(&tree.sources);
    assert!(
        found.is_empty(),
        "{} are:\n{}",
        found.len(),
        found.join("\n")
    );
    let source = |(path, text)| SourceFile::new(&format!("crates/a/src/{path}.rs"), text);
    let circle = [
        ("lib", "mod b;\nmod c;\nmod d;\npub use c::{self as e, C};"),
        ("b", "mod f;\nuse crate::C;\nuse f::{F,};\npub struct B;"),
        ("c", "use super::d::{D, self};\npub struct C;"),
        ("d", "#[cfg(test)]\nmod tests {\nuse crate::c::C;\n}"),
        ("b/f", "use super::{B,};"),
    ]
    .map(source);
    assert!(
        find_circles(&circle).is_empty(),
        "{:?}",
        find_circles(&circle)
    );
    let [root, b, c, _, f] = circle;
    let found = find_circles(&[root, b, c, source(("d", "use crate::b::B;")), f]);
    assert_eq!(found, ["crates/a::b", "crates/a::c", "crates/a::d"]);
}

/// What our files and models are read with: another version may write or read other bytes.
const PINNED: [&str; 7] = [
    "ort",
    "rten",
    "rten-tensor",
    "ruvector-sona",
    "rvf-runtime",
    "rvf-types",
    "rvf-wire",
];

#[test]
fn what_formats_depend_on_is_pinned_to_one_version() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let text = tree
        .read_text("Cargo.toml")
        .expect("the workspace's manifest");
    let loose = loose_pins(&text.parse().expect("well-formed"));
    assert!(loose.is_empty(), "not pinned with `=`: {loose:?}");
    let bad = "[workspace.dependencies]\nrvf-wire = \"0.2.0\"\nort = { version = \"=2.0.0\" }";
    let loose = loose_pins(&bad.parse().expect("well-formed"));
    assert!(
        loose.contains(&"rvf-wire") && !loose.contains(&"ort"),
        "{loose:?}"
    );
}

fn loose_pins(workspace: &toml::Table) -> Vec<&'static str> {
    let version = |name: &str| {
        let of = workspace.get("workspace")?.get("dependencies")?.get(name)?;
        of.get("version").unwrap_or(of).as_str()
    };
    let pinned = |name: &&str| version(name).is_some_and(|version| version.starts_with('='));
    PINNED.into_iter().filter(|name| !pinned(name)).collect()
}

fn short(package: &str) -> &str {
    package.strip_prefix("reprise-").unwrap_or(package)
}

fn lists(words: &str, word: &str) -> bool {
    words
        .split_whitespace()
        .any(|one| one == word || one == "*")
}

fn place(room: &str) -> Option<usize> {
    ROOMS.iter().position(|(package, _)| *package == room)
}

/// What the table does not permit: a room names another, or is in no row at all. In tests a
/// room may name any above it in the table, so that no circle goes by way of tests.
fn forbidden_rooms(manifests: &[PackageManifest]) -> Vec<String> {
    let mut complaints = Vec::new();
    for PackageManifest {
        folder, package, ..
    } in manifests
    {
        if place(short(package)).is_none() {
            complaints.push(format!("{folder}: {package} is not in the table of rooms"));
        }
    }
    for (manifest, section, wanted) in list_dependencies(manifests) {
        let own = place(short(&manifest.package));
        let may_name = own.and_then(|own| ROOMS.get(own)).map_or("", |own| own.1);
        let wanted = short(&wanted);
        let above = section == "dev-dependencies" && place(wanted) <= own;
        if place(wanted).is_some() && !lists(may_name, wanted) && !above {
            let folder = &manifest.folder;
            complaints.push(format!("{folder}: {section} may not name {wanted}"));
        }
    }
    complaints
}

/// Everything that a manifest names, by section.
fn list_dependencies(
    manifests: &[PackageManifest],
) -> impl Iterator<Item = (&PackageManifest, &'static str, String)> {
    let sections = manifests
        .iter()
        .flat_map(|manifest| SECTIONS.map(|section| (manifest, section)));
    sections.flat_map(|(manifest, section)| {
        let named = manifest.dependencies(section).into_iter();
        named.map(move |wanted| (manifest, section, wanted))
    })
}

fn broken_fences(manifests: &[PackageManifest]) -> Vec<String> {
    let broken = list_dependencies(manifests).filter(|(manifest, section, wanted)| {
        let room = short(&manifest.package);
        let fence = FENCES.iter().find(|fence| lists(fence.0, wanted));
        fence.is_some_and(|(_, rooms, tests_of)| {
            let in_tests = *section == "dev-dependencies" && lists(tests_of, room);
            room != "tests" && !lists(rooms, room) && !in_tests
        })
    });
    broken
        .map(|(manifest, section, wanted)| {
            format!(
                "{}: {section} names {wanted}, which is fenced",
                manifest.folder
            )
        })
        .collect()
}

/// Lints and versions come from the workspace, or a room quietly has its own.
fn loose_manifests(manifests: &[PackageManifest]) -> Vec<String> {
    let from_workspace =
        |value: &toml::Value| value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
    let mut complaints = Vec::new();
    for PackageManifest { folder, toml, .. } in manifests {
        if !toml.get("lints").is_some_and(from_workspace) {
            complaints.push(format!("{folder}: [lints] workspace = true is missing"));
        }
        let tables = SECTIONS
            .iter()
            .filter_map(|section| toml.get(*section)?.as_table());
        for (name, value) in tables.flatten().filter(|(_, value)| !from_workspace(value)) {
            if value.get("path").and_then(toml::Value::as_str) != Some(".") {
                complaints.push(format!("{folder}: {name} needs workspace = true"));
            }
        }
    }
    complaints
}

/// Versions that the workspace pins and nobody takes: each was once a reason to read a changelog.
fn idle_versions(workspace: &toml::Table, manifests: &[PackageManifest]) -> Vec<String> {
    let sections = manifests
        .iter()
        .flat_map(|manifest| SECTIONS.map(|section| manifest.toml.get(section)));
    let tables = sections.flatten().filter_map(toml::Value::as_table);
    let taken: BTreeSet<&String> = tables.flat_map(toml::Table::keys).collect();
    let pinned = workspace.get("workspace");
    let pinned = pinned.and_then(|table| table.get("dependencies")?.as_table());
    let idle = pinned.into_iter().flat_map(toml::Table::keys);
    idle.filter(|name| !taken.contains(name))
        .map(|name| format!("Cargo.toml: nobody takes {name}"))
        .collect()
}

fn scattered_composition(sources: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (folder, root, only_in) in COMPOSITION {
        for source in sources.iter().filter(|source| source.path != *only_in) {
            let names = source.path.starts_with(folder) && source.text.contains(root);
            let path = &source.path;
            complaints.extend(names.then(|| format!("{path}: {root} is for {only_in} only")));
        }
    }
    complaints
}

/// Shipped code that names what is there for tests.
fn doubles_in_use(sources: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let path = &source.path;
        // A room's own switches stand in its own files.
        if !path.contains("/src/") || path.contains("/lib.rs") {
            continue;
        }
        let own_switch = path.contains("reprise-postgres/src/");
        for (number, line) in source.product_lines() {
            let double = DOUBLES.iter().find(|double| line.contains(**double));
            if let Some(double) = double.filter(|double| !(own_switch && double.contains('_'))) {
                complaints.push(format!("{path}:{number}: `{double}` is for tests alone"));
            }
        }
    }
    complaints
}

/// A room that is to have neither `std` nor a dependency, shipped or in its tests, and has.
fn unbare(manifests: &[PackageManifest], sources: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_bare = |manifest: &&PackageManifest| BARE.contains(&short(&manifest.package));
    for manifest in manifests.iter().filter(is_bare) {
        let folder = &manifest.folder;
        for section in SECTIONS {
            if !manifest.dependencies(section).is_empty() {
                complaints.push(format!("{folder}: {section} are to be none"));
            }
        }
        let root = format!("{folder}/src/lib.rs");
        let declares = |source: &SourceFile| source.text.contains("\n#![no_std]\n");
        if !sources
            .iter()
            .any(|source| source.path == root && declares(source))
        {
            complaints.push(format!("{root} does not say #![no_std]"));
        }
        let within = format!("{folder}/src/");
        for source in sources
            .iter()
            .filter(|source| source.path.starts_with(&within))
        {
            let lines = source
                .product_lines()
                .filter(|(_, line)| line.contains("std::"));
            complaints.extend(
                lines.map(|(number, _)| format!("{}:{number}: `std` is named", source.path)),
            );
        }
    }
    complaints
}

fn missing_from_page(manifests: &[PackageManifest], page: &str) -> Vec<String> {
    let folders = manifests.iter().map(|manifest| &manifest.folder);
    let missing = folders.filter(|folder| !page.contains(&format!("`{folder}`")));
    missing
        .map(|folder| format!("docs/ARCHITECTURE.md does not list `{folder}`"))
        .collect()
}

/// Steps of the walks, rows of number, function and file, whose function is not in that file; where
/// none is said it is that of the row above.
fn lost_steps(sources: &[SourceFile], page: &str) -> Vec<String> {
    let (mut complaints, mut place) = (Vec::new(), "");
    let walks = page.split("## Walks").nth(1).unwrap_or_default();
    for line in walks.lines() {
        let cells: Vec<&str> = line
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let [_, number, step, file, ..] = cells.as_slice() else {
            continue;
        };
        if number.parse::<u32>().is_err() {
            continue;
        }
        place = if file.is_empty() { place } else { file };
        let function = step.rsplit("::").next().unwrap_or(step);
        // An operation's `run` is made of its table.
        let forms = [
            format!("fn {function}("),
            format!("fn {function}<"),
            "operation!".to_owned(),
        ];
        let is_there = |source: &SourceFile| {
            source.path.ends_with(&format!("/{place}"))
                && forms.iter().any(|form| source.text.contains(form.as_str()))
        };
        if !sources.iter().any(is_there) {
            complaints.push(format!(
                "docs/ARCHITECTURE.md walks over `{step}` in `{place}`"
            ));
        }
    }
    complaints
}

type Rule = fn(&[SourceFile]) -> Vec<String>;

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "a bad example and its good twin for each rule"
)]
fn each_rule_of_the_house_notices_its_bad_example() {
    let manifest = |package: &str, rest: &str| {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        PackageManifest::parse(&format!("crates/{package}"), &text).expect("well-formed")
    };
    let with = |package: &str, section: &str, wanted: &str| {
        [manifest(
            package,
            &format!("[{section}]\n{wanted}.workspace = true"),
        )]
    };
    let unix = "target.'cfg(unix)'.dependencies";
    for (complaints, room, section, wanted) in [
        (1, "reprise-attic", "dependencies", "serde"),
        (1, "reprise-store", "dependencies", "reprise-index"),
        (1, "reprise-store", "build-dependencies", "reprise-index"),
        (1, "reprise-store", "dev-dependencies", "reprise-engine"),
        (1, "reprise-engine", unix, "reprise-agent"),
        (0, "reprise-engine", "dev-dependencies", "reprise-embed"),
        (0, "reprise-engine", "dependencies", "reprise-store"),
    ] {
        let found = forbidden_rooms(&with(room, section, wanted));
        assert_eq!(found.len(), complaints, "{room} {wanted}: {found:?}");
    }
    let renamed = "[dependencies]\nhidden = { package = \"reprise-agent\", path = \"x\" }";
    assert_eq!(
        forbidden_rooms(&[manifest("reprise-types", renamed)]).len(),
        1
    );
    for (complaints, room, section, wanted) in [
        (1, "reprise-engine", "dependencies", "tokio"),
        (1, "reprise-agent", "dependencies", "anyhow"),
        (0, "reprise-index", "dev-dependencies", "rusqlite"),
        (0, "reprise-agent", "dependencies", "ractor"),
    ] {
        let found = broken_fences(&with(room, section, wanted));
        assert_eq!(found.len(), complaints, "{room} {wanted}: {found:?}");
    }
    let good = "[lints]\nworkspace = true\n[dependencies]\nserde = { workspace = true }\n";
    let own = format!("{good}regex = \"1\"");
    for (complaints, text) in [(1, ""), (0, good), (1, &own)] {
        let found = loose_manifests(&[manifest("reprise-store", text)]);
        assert_eq!(found.len(), complaints, "{text}: {found:?}");
    }
    let workspace = "[workspace.dependencies]\nserde = \"1\"\nregex = \"1\"";
    let workspace = workspace.parse().expect("well-formed");
    let taken = with("reprise-store", "dependencies", "serde");
    assert_eq!(idle_versions(&workspace, &taken).len(), 1);
    assert_eq!(missing_from_page(&taken, "`crates/reprise-index`").len(), 1);
    assert_eq!(missing_from_page(&taken, "`crates/reprise-store`").len(), 0);
    for (complaints, rest, head, line) in [
        (0, "", "\n#![no_std]\n", "use alloc::vec::Vec;"),
        (1, "", "", "use core::cmp::Reverse;"),
        (1, "", "\n#![no_std]\n", "use std::sync::Arc;"),
        (1, "[dependencies]\nserde = \"1\"", "\n#![no_std]\n", ""),
    ] {
        let sources = [("lib", head), ("a", line)].map(|(file, text)| {
            SourceFile::new(&format!("crates/reprise-hnsw/src/{file}.rs"), text)
        });
        let found = unbare(&[manifest("reprise-hnsw", rest)], &sources);
        assert_eq!(found.len(), complaints, "{rest} {head} {line}: {found:?}");
    }
    let agent = "use reprise_agent::MemorySupervisor;";
    let disk = "use reprise_embed::testing::FakeEmbedder;";
    let tested = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{disk} fs::read(p)\n}}");
    let below = format!("{tested}\n{disk}");
    let elsewhere = format!("fn f() {{}}\n#[cfg(test)]\nmod tests;\n{disk}");
    let service = "crates/reprise-agent/src/service.rs";
    let opens: Rule = |sources| openers(sources, &[]);
    for (complaints, rule, path, text) in [
        (
            1,
            scattered_composition as Rule,
            "sandbox/src/event_bus.rs",
            agent,
        ),
        (
            0,
            scattered_composition,
            "sandbox/src/memory_bridge.rs",
            agent,
        ),
        (
            0,
            scattered_composition,
            "crates/reprise/src/main.rs",
            agent,
        ),
        (1, doubles_in_use, service, disk),
        (0, doubles_in_use, service, &tested),
        (1, doubles_in_use, service, &below),
        (1, doubles_in_use, service, &elsewhere),
        (
            0,
            doubles_in_use,
            "crates/reprise-agent/src/service/tests.rs",
            disk,
        ),
        (1, opens, service, "fn f() { std::fs::read(path) }"),
        (0, opens, service, &tested),
    ] {
        let found = rule(&[SourceFile::new(path, text)]);
        assert_eq!(found.len(), complaints, "{path} {text}: {found:?}");
    }
    let walks = "## Walks\n| 1 | `Log::commit` | `store/src/log.rs` | |\n| 2 | `Log::stage` | | |";
    let log = SourceFile::new("crates/store/src/log.rs", "fn commit(&self) {}");
    assert_eq!(lost_steps(&[log], walks).len(), 1);
    let idle = openers(&[], &[("crates/idle/", "why")]);
    assert_eq!(idle.len(), 1, "{idle:?}");
}
