//! `docs/requirements.md` as data: every row well-formed, and what it names really there and run.
//!
//! `cargo test --workspace --no-fail-fast` builds every test binary before it runs the first, and
//! runs every test of each; so a test that its binary lists, and that nothing leaves out, is a
//! test that runs. The binaries are in the same folder as this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use reprise_tests::WorkspaceTree;

#[test]
fn every_row_is_well_formed_and_points_to_something() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let complaints = check(&page(&tree), &|path| tree.read_text(path).ok());
    assert!(
        complaints.is_empty(),
        "docs/requirements.md:\n{}",
        complaints.join("\n")
    );
}

#[test]
fn every_named_test_is_run_by_the_binary_of_its_file() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let page = page(&tree);
    let named: BTreeSet<String> = rows(&page)
        .flat_map(|cells| ticked(cells.last().copied().unwrap_or_default()))
        .filter(|name| name.contains("::"))
        .collect();
    let wanted: BTreeSet<String> = named.iter().filter_map(|name| binary_of(name)).collect();
    let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut built: BTreeMap<String, SystemTime> = BTreeMap::new();
    for (name, written, file) in binaries() {
        if wanted.contains(&name) {
            let newest = built.entry(name.clone()).or_insert(written);
            *newest = written.max(*newest);
            listed.entry(name).or_default().extend(tests_of(&file));
        }
    }
    // Of a part of the workspace the binaries of others may be older than what they are made of.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_fresh = |name: &String| {
        let path = name.split_once("::").map_or("", |(path, _)| path);
        let changed = std::fs::metadata(root.join(path)).and_then(|found| found.modified());
        let built = binary_of(name).and_then(|binary| built.get(&binary).copied());
        changed
            .ok()
            .zip(built)
            .is_none_or(|(changed, built)| changed <= built)
    };
    let named: BTreeSet<String> = named.into_iter().filter(is_fresh).collect();
    // This one lists itself, or the form of a list has changed.
    let own = "requirements::every_named_test_is_run_by_the_binary_of_its_file";
    assert!(listed["it"].contains(own), "{:?}", listed["it"].first());
    let missing = unlisted(&named, &listed);
    assert!(
        missing.is_empty(),
        "docs/requirements.md names tests that their binaries do not run:\n{}",
        missing.join("\n")
    );
}

fn page(tree: &WorkspaceTree) -> String {
    tree.read_text("docs/requirements.md")
        .expect("docs/requirements.md is there")
}

/// The cells of each row, that of the heads among them.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = page.lines().filter(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Complaints about the table in `page`; `read` gives a file's text, if the file is there.
fn check(page: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    let mut count = 0_usize;
    for cells in rows(page) {
        let [id, what, shown] = cells.as_slice() else {
            complaints.push(format!(
                "{}: three cells, no | inside them",
                cells.join(" ")
            ));
            continue;
        };
        if *id == "id" || id.starts_with('-') {
            continue;
        }
        count += 1;
        if !is_id(id) || !seen.insert((*id).to_owned()) {
            complaints.push(format!("{id}: not an id, or there twice"));
        }
        if what.is_empty() || shown.is_empty() {
            complaints.push(format!("{id}: an empty cell"));
        }
        let named = ticked(shown);
        if named.is_empty() && !shown.starts_with("open") {
            complaints.push(format!("{id}: shown by nothing that is named"));
        }
        complaints.extend(named.iter().filter_map(|name| missing(id, name, read)));
    }
    if count == 0 {
        complaints.push("no row at all".to_owned());
    }
    complaints
}

fn is_id(id: &str) -> bool {
    let digits = id.get(1..).unwrap_or_default();
    id.starts_with(['M', 'S', 'A', 'W', 'R', 'C'])
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit())
}

/// Returns what is between backticks and has a slash: a path, or `path::test`; `::test` is of the
/// file before it.
fn ticked(cell: &str) -> Vec<String> {
    let (mut named, mut file) = (Vec::new(), "");
    for name in cell.split('`').skip(1).step_by(2) {
        if name.starts_with("::") {
            named.push([file, name].concat());
        } else if name.contains('/') {
            file = name.split_once("::").map_or(name, |(path, _)| path);
            named.push(name.to_owned());
        }
    }
    named
}

fn missing(id: &str, name: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (path, test) = name
        .split_once("::")
        .map_or((name, None), |(path, test)| (path, Some(test)));
    let Some(text) = read(path) else {
        return Some(format!("{id}: {path} is not there"));
    };
    let test = test?;
    // A test of the page is called by what it says; one that is run twice says how at its end.
    let found = if Path::new(path).extension() == Some("mjs".as_ref()) {
        ['"', '`']
            .iter()
            .any(|mark| text.contains(&format!("test({mark}{test}")))
    } else {
        text.contains(&format!("fn {test}("))
    };
    (!found).then(|| format!("{id}: {path} holds no test {test}"))
}

/// Packages whose files of tests are modules of one binary.
const MERGED: [&str; 4] = [
    "reprise-embed",
    "reprise-eval",
    "reprise-global",
    "reprise-redact",
];

/// Which binary runs the tests of a file, and where in it they stand; `None` of what no binary
/// runs. The suite of every store is run by several, of which one is looked at; what operators do,
/// by the store in a database.
fn place_of(path: &str) -> Option<(String, String)> {
    let path = path.strip_suffix(".rs")?;
    let parts: Vec<&str> = path.split('/').collect();
    let (binary, inside) = match parts.as_slice() {
        ["crates", package, "src", inside @ ..] => (package.replace('-', "_"), inside),
        ["sandbox", "src", inside @ ..] => ("reprise_sandbox".to_owned(), inside),
        ["tests", "conformance", "operators"] => {
            return Some(("postgres".to_owned(), "statements_and_policies".to_owned()));
        }
        ["tests", "conformance", _] => {
            return Some(("global".to_owned(), "embedded::shared".to_owned()));
        }
        ["crates", package, "tests", inside @ ..] if MERGED.contains(package) => {
            (package.trim_start_matches("reprise-").to_owned(), inside)
        }
        ["crates", _, "tests", target, inside @ ..] | ["tests", target @ "it", inside @ ..] => {
            ((*target).to_owned(), inside)
        }
        _ => return None,
    };
    let inside = inside.iter().filter(|part| !["lib", "main"].contains(part));
    Some((binary, inside.copied().collect::<Vec<_>>().join("::")))
}

fn binary_of(name: &str) -> Option<String> {
    let (path, _) = name.split_once("::")?;
    Some(place_of(path)?.0)
}

/// The named tests that a binary which is built does not list. A binary that is not built is not
/// asked: of a part of the workspace others are not run either.
fn unlisted(named: &BTreeSet<String>, listed: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let is_listed = |name: &String| {
        let Some((path, test)) = name.split_once("::") else {
            return true;
        };
        let Some((binary, module)) = place_of(path) else {
            return true;
        };
        let Some(tests) = listed.get(&binary) else {
            return true;
        };
        tests.iter().any(|one| {
            let inside = one.strip_prefix(&module).unwrap_or_default();
            let is_there = module.is_empty() || inside.starts_with("::");
            is_there && one.rsplit("::").next() == Some(test)
        })
    };
    named
        .iter()
        .filter(|name| !is_listed(name))
        .cloned()
        .collect()
}

/// The newest binaries of each name in the folder of this one: a program and its tests may have one
/// name.
fn binaries() -> Vec<(String, SystemTime, PathBuf)> {
    const SAME_NAME: usize = 3;
    let own = std::env::current_exe().expect("this binary has a path");
    let folder = own.parent().expect("a folder");
    let mut found: BTreeMap<String, Vec<(SystemTime, PathBuf)>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let Some((name, hash)) = name.rsplit_once('-') else {
            continue;
        };
        if hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()) {
            let written = entry.metadata().and_then(|found| found.modified());
            let built = found.entry(name.to_owned()).or_default();
            built.push((written.expect("a time"), path));
        }
    }
    let newest = found.into_iter().flat_map(|(name, mut built)| {
        built.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
        built.truncate(SAME_NAME);
        let own = built.into_iter();
        own.map(move |(written, file)| (name.clone(), written, file))
    });
    newest.collect()
}

/// The tests that a binary runs, by their whole names; none of a program that is no test.
fn tests_of(file: &Path) -> Vec<String> {
    let mut command = Command::new(file);
    let asked = command
        .args(["--list", "--format", "terse"])
        .stdin(Stdio::null());
    let Ok(said) = asked.output() else {
        return Vec::new();
    };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let tests = said.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.map(str::to_owned).collect()
}

#[cfg(test)]
mod canaries {
    //! The table's rules fed bad rows.

    use std::collections::{BTreeMap, BTreeSet};

    use super::{check, unlisted};

    fn complaints(rows: &str) -> usize {
        let read = |path: &str| match path {
            "src/a.rs" => Some("fn shows_it() {}".to_owned()),
            "tests/a.test.mjs" => Some("test(`it is shown, by hand`, async () => {".to_owned()),
            _ => None,
        };
        check(
            &format!("# Title\n\n| id | what | test |\n|---|---|---|\n{rows}"),
            &read,
        )
        .len()
    }

    #[test]
    fn good_rows_pass() {
        assert_eq!(complaints("| M1 | x | `src/a.rs::shows_it` |"), 0);
        assert_eq!(
            complaints("| M3 | x | `src/a.rs::shows_it`, `::shows_it` |"),
            0
        );
        assert_eq!(complaints("| C10 | x | open |"), 0);
        assert_eq!(
            complaints("| M4 | x | `tests/a.test.mjs::it is shown` |"),
            0
        );
        assert_eq!(complaints("| M2 | x | partial: `src/a.rs` only |"), 0);
    }

    #[test]
    fn bad_rows_are_noticed() {
        assert_eq!(complaints(""), 1);
        assert_eq!(complaints("| M1 | `src/a.rs` |"), 2);
        assert_eq!(complaints("| Q1 | x | open |"), 1);
        assert_eq!(complaints("| M1 | x | open |\n| M1 | x | open |"), 1);
        assert_eq!(complaints("| M1 |  | open |"), 1);
        assert_eq!(complaints("| M1 | x | yes |"), 1);
        assert_eq!(complaints("| M1 | x | open: `src/gone.rs` |"), 1);
        assert_eq!(complaints("| M1 | x | `src/gone.rs::t` |"), 1);
        assert_eq!(complaints("| M1 | x | `src/a.rs::shows_nothing` |"), 1);
        assert_eq!(
            complaints("| M1 | x | `tests/a.test.mjs::nothing is shown` |"),
            1
        );
        assert_eq!(
            complaints("| M1 | x | `src/a.rs::shows_it`, `::shows_nothing` |"),
            1
        );
        assert_eq!(complaints("| M1 | x | `::shows_it` |"), 1);
    }

    #[test]
    fn a_test_that_is_not_run_is_noticed() {
        let missing = |names: &[&str]| {
            let tests = ["dedup_keys::tests::a", "b", "tests::c"].map(str::to_owned);
            let listed = BTreeMap::from([
                ("reprise_engine".to_owned(), BTreeSet::from(tests)),
                ("it".to_owned(), BTreeSet::from(["records::d".to_owned()])),
                (
                    "global".to_owned(),
                    BTreeSet::from(["embedded::shared::f".to_owned(), "tier::g".to_owned()]),
                ),
            ]);
            let named: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            unlisted(&named, &listed).len()
        };
        let run = [
            "crates/reprise-engine/src/dedup_keys.rs::a",
            "crates/reprise-engine/src/lib.rs::b",
            "crates/reprise-engine/src/tests.rs::c",
            "tests/it/records.rs::d",
            "crates/reprise-store/tests/it/records.rs::d",
            "tests/conformance/suite.rs::f",
            "crates/reprise-global/tests/tier.rs::g",
        ];
        assert_eq!(missing(&run), 0);
        let not_run = [
            "crates/reprise-engine/src/dedup_keys.rs::b",
            "crates/reprise-engine/src/other.rs::a",
            "tests/it/records.rs::a",
            "tests/it/requirements.rs::d",
            "tests/conformance/suite.rs::d",
        ];
        assert_eq!(missing(&not_run), 5);
        assert_eq!(
            missing(&["crates/reprise-page/src/lib.rs::e"]),
            0,
            "it is not built"
        );
    }
}
