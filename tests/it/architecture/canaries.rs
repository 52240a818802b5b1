//! Each rule of the house fed a bad example: a rule that cannot fail guards nothing.
//!
//! One canary a rule, with the good twin that must pass.

use reprise_tests::{Manifest, Source};

use super::files::openers;
use super::table::{COMPOSITION, FENCES, ROOMS};
use super::{
    broken_fences, cycles, doubles_in_use, forbidden_paths, forbidden_rooms, idle_versions,
    in_circles, loose_manifests, missing_from_page, scattered_composition, unlisted,
};

fn manifest(package: &str, rest: &str) -> Manifest {
    let folder = if package == "reprise-sandbox" {
        "sandbox".to_owned()
    } else {
        format!("crates/{package}")
    };
    let text = format!("[package]\nname = \"{package}\"\n{rest}");
    Manifest::parse(&folder, &text).expect("the canary's manifest is well-formed")
}

fn with(package: &str, section: &str, wanted: &str) -> Vec<Manifest> {
    vec![manifest(
        package,
        &format!("[{section}]\n{wanted}.workspace = true"),
    )]
}

#[test]
fn an_unknown_package_is_noticed() {
    assert_eq!(unlisted(&[manifest("reprise-attic", "")], ROOMS).len(), 1);
    assert!(unlisted(&[manifest("reprise-store", "")], ROOMS).is_empty());
}

#[test]
fn a_forbidden_room_is_noticed_in_every_section() {
    let complaints =
        |package, section, wanted| forbidden_rooms(&with(package, section, wanted), ROOMS).len();
    assert_eq!(
        complaints("reprise-store", "dependencies", "reprise-index"),
        1
    );
    assert_eq!(
        complaints("reprise-store", "build-dependencies", "reprise-index"),
        1
    );
    assert_eq!(
        complaints("reprise-store", "dev-dependencies", "reprise-engine"),
        1
    );
    assert_eq!(
        complaints(
            "reprise-engine",
            "target.'cfg(unix)'.dependencies",
            "reprise-agent"
        ),
        1
    );
    assert_eq!(
        complaints("reprise-engine", "dev-dependencies", "reprise-embed"),
        0
    );
    assert_eq!(
        complaints("reprise-engine", "dependencies", "reprise-store"),
        0
    );
}

#[test]
fn a_renamed_dependency_counts_as_what_it_is() {
    let renamed = "[dependencies]\nhidden = { package = \"reprise-agent\", path = \"x\" }";
    assert_eq!(
        forbidden_rooms(&[manifest("reprise-types", renamed)], ROOMS).len(),
        1
    );
}

#[test]
fn a_broken_fence_is_noticed() {
    let complaints =
        |package, section, wanted| broken_fences(&with(package, section, wanted), FENCES).len();
    assert_eq!(complaints("reprise-engine", "dependencies", "ort"), 1);
    assert_eq!(complaints("reprise-engine", "dependencies", "tokio"), 1);
    assert_eq!(complaints("reprise-index", "dependencies", "rusqlite"), 1);
    assert_eq!(complaints("reprise-agent", "dependencies", "anyhow"), 1);
    assert_eq!(
        complaints("reprise-index", "dev-dependencies", "rusqlite"),
        0
    );
    assert_eq!(complaints("reprise-agent", "dependencies", "ractor"), 0);
}

#[test]
fn a_cycle_is_noticed_even_by_way_of_tests() {
    let there = with("reprise-store", "dependencies", "reprise-types");
    let back = with("reprise-types", "dev-dependencies", "reprise-store");
    assert_eq!(cycles(&[there.clone(), back].concat()).len(), 1);
    let alone = manifest(
        "reprise-types",
        "[dev-dependencies]\nreprise-types.workspace = true",
    );
    assert!(cycles(&[there, vec![alone]].concat()).is_empty());
}

#[test]
fn a_manifest_with_its_own_lints_or_versions_is_noticed() {
    assert_eq!(loose_manifests(&[manifest("reprise-store", "")]).len(), 1);
    let good = "[lints]\nworkspace = true\n[dependencies]\nserde = { workspace = true }\n";
    assert!(loose_manifests(&[manifest("reprise-store", good)]).is_empty());
    let own = format!("{good}regex = \"1\"");
    assert_eq!(loose_manifests(&[manifest("reprise-store", &own)]).len(), 1);
}

#[test]
fn a_pinned_version_that_nobody_takes_is_noticed() {
    let workspace = "[workspace.dependencies]\nserde = \"1\"\nregex = \"1\"";
    let workspace = workspace.parse().expect("well-formed");
    let taken = with("reprise-store", "dependencies", "serde");
    assert_eq!(idle_versions(&workspace, &taken).len(), 1);
    let both = [taken, with("reprise-index", "dev-dependencies", "regex")].concat();
    assert!(idle_versions(&workspace, &both).is_empty());
}

#[test]
fn a_forbidden_path_is_noticed_in_every_spelling() {
    let manifests = [manifest("reprise-store", "")];
    let complaints = |text: &str| {
        let source = Source::new("crates/reprise-store/src/log.rs", text);
        forbidden_paths(&manifests, &[source], ROOMS, FENCES).len()
    };
    assert_eq!(complaints("use reprise_index::IndexWriter;"), 1);
    assert_eq!(complaints("fn f() { let x = reprise_agent::start(); }"), 1);
    assert_eq!(complaints("extern crate ort;"), 1);
    assert_eq!(complaints("use tokio as t;"), 1);
    assert_eq!(complaints("#[tokio::test]"), 1);
    assert_eq!(
        complaints("// use reprise_index::IndexWriter;\nlet s = \"ort::init\";"),
        0
    );
    assert_eq!(
        complaints("use crate::ort::Session; use reprise_types::UserId;"),
        0
    );
}

#[test]
fn a_room_named_outside_its_composition_root_is_noticed() {
    let text = "use reprise_agent::MemorySupervisor;";
    let complaints =
        |path: &str| scattered_composition(&[Source::new(path, text)], COMPOSITION).len();
    assert_eq!(complaints("sandbox/src/event_bus.rs"), 1);
    assert_eq!(complaints("sandbox/src/memory_bridge.rs"), 0);
    assert_eq!(complaints("crates/reprise/src/main.rs"), 0);
}

#[test]
fn a_package_missing_from_the_page_is_noticed() {
    let manifests = [manifest("reprise-store", "")];
    assert_eq!(
        missing_from_page(&manifests, "`crates/reprise-index`").len(),
        1
    );
    assert!(missing_from_page(&manifests, "`crates/reprise-store`").is_empty());
}

#[test]
fn files_that_need_each_other_are_noticed() {
    let read = |files: &[(&str, &str)]| {
        let source = |(name, text): &(&str, &str)| {
            Source::new(&format!("crates/reprise-store/src/{name}.rs"), text)
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        in_circles("crates/reprise-store", &sources).unwrap_or_default()
    };
    let lib = (
        "lib",
        "mod a;\nmod b;\npub use a::{Left, make};\npub use b::Right;\n",
    );
    // By way of the page of contents, too: the names lead to the files that have them.
    for needed in [
        "use crate::Left;\nuse super::a;\npub struct Right(Left);",
        "use super::a::{self, Left as Other};\npub struct Right(Other);",
        "pub struct Right;\nfn left() { crate::a::make() }",
        "use crate::make;\npub struct Right;",
    ] {
        let complaint = read(&[
            lib,
            ("a", "pub struct Left;\npub fn make(_: super::b::Right) {}"),
            ("b", needed),
        ]);
        assert!(
            complaint.contains("files stand in circles"),
            "{needed}: {complaint}"
        );
    }
    let parent = ("a", "mod b;\npub struct Left;\npub fn make() { b::go() }");
    let child = (
        "a/b",
        "use super::Left;\npub(super) fn go() -> Left { Left }",
    );
    assert!(read(&[parent, child]).contains("a::b -> [\"a\"]"));
    // A parent that only hands on, one direction, and what only tests need.
    let one_way = [
        lib,
        ("a", "mod c;\npub use c::Left;\npub fn make() {}"),
        ("a/c", "use crate::b::Right;\npub struct Left(Right);"),
        (
            "b",
            "pub(in crate::a) struct Right;\n#[cfg(test)]\nmod tests {\n    use crate::Left;\n}",
        ),
    ];
    assert_eq!(read(&one_way), "");
}

#[test]
fn a_double_in_shipped_code_is_noticed() {
    let complaints = |path: &str, code: &str| doubles_in_use(&[Source::new(path, code)]).len();
    let use_it = "use reprise_store::SimDisk;";
    assert_eq!(complaints("crates/reprise-agent/src/service.rs", use_it), 1);
    let in_tests = "#[cfg(test)]\nmod tests { use reprise_store::SimDisk; }";
    assert_eq!(
        complaints("crates/reprise-agent/src/service.rs", in_tests),
        0
    );
    assert_eq!(complaints("crates/reprise-store/src/lib.rs", use_it), 0);
    assert_eq!(
        complaints("crates/reprise-agent/src/service/tests.rs", use_it),
        0
    );
}

#[test]
fn a_source_that_opens_files_by_itself_is_noticed() {
    let code = "fn f() { std::fs::read(path) }";
    let complaints = |path: &str, may_open: &[(&str, &str)]| {
        let sources = [Source::new(path, code)];
        openers(&sources, may_open).len()
    };
    let shipped = "crates/reprise-store/src/log.rs";
    assert_eq!(complaints(shipped, &[]), 1);
    assert_eq!(complaints(shipped, &[("crates/reprise-store/", "why")]), 0);
    assert_eq!(
        complaints(shipped, &[(shipped, "why"), ("crates/idle/", "why")]),
        1
    );
    assert_eq!(complaints("crates/reprise-store/src/log/tests.rs", &[]), 0);
    let tests = Source::new(
        shipped,
        "#[cfg(test)]\nmod tests { fn f() { std::fs::read(p) } }",
    );
    assert!(openers(&[tests], &[]).is_empty());
}
