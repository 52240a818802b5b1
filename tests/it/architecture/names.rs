//! Whether a page names what there is: every file, folder, type and function that it writes
//! between backticks, and every decision in the list of decisions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reprise_tests::{PackageManifest, SourceFile, WorkspaceTree};

use super::SECTIONS;

pub(super) const ADRS: &str = "docs/builders/adr";
/// How a decision says that another one took its place.
const REPLACED: [&str; 2] = ["Replaced by ADR ", "Replaced in part by ADR "];
/// Ends of the names of files that a page may name.
const FILE_ENDS: [&str; 7] = [".rs", ".md", ".toml", ".py", ".css", ".mjs", ".sh"];
/// Folders that are not ours, or are built.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// What a page may name.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    /// Files and folders from the root, with `/` before and, for a folder, after them.
    paths: BTreeSet<String>,
    /// Words of product code, each with the sources that have it.
    sources: Vec<(String, BTreeSet<String>)>,
    /// Packages, and what they depend on.
    packages: BTreeSet<String>,
}

impl KnownNames {
    pub(super) fn of_tree(tree: &WorkspaceTree) -> Self {
        let mut known = Self::new(&tree.manifests, &tree.sources);
        known.collect_paths(&tree.root, "/");
        known
    }

    fn new(manifests: &[PackageManifest], sources: &[SourceFile]) -> Self {
        let mut packages = BTreeSet::new();
        for manifest in manifests {
            packages.insert(manifest.package.clone());
            packages.extend(SECTIONS.iter().flat_map(|one| manifest.dependencies(one)));
        }
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        let words = |source: &SourceFile| {
            let lines = source.product_lines();
            let words = lines.flat_map(|(_, line)| line.split(|one| !is_word(one)));
            let words = words.map(str::to_owned).collect();
            (format!("/{}", source.path), words)
        };
        Self {
            paths: BTreeSet::new(),
            sources: sources.iter().map(words).collect(),
            packages,
        }
    }

    fn collect_paths(&mut self, folder: &Path, path: &str) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if PASSED_OVER.contains(&name.as_str()) {
                continue;
            }
            if entry.path().is_dir() {
                let below = format!("{path}{name}/");
                self.collect_paths(&entry.path(), &below);
                self.paths.insert(below);
            } else {
                self.paths.insert(format!("{path}{name}"));
            }
        }
    }

    /// Whether there is a file or folder whose path ends so; `*` is the rest of a name.
    fn has_path(&self, path: &str) -> bool {
        let (begin, end) = path.split_once('*').unwrap_or((path, ""));
        let begin = format!("/{begin}");
        let is_it = |known: &String| {
            let ends = known.ends_with(end) && known.len() >= begin.len() + end.len();
            let found = known.rmatch_indices(&begin).next();
            ends && found.is_some_and(|(at, _)| {
                let rest = &known[at + begin.len()..];
                [end, "/"].contains(&rest) || (path.contains('*') && !rest.contains('/'))
            })
        };
        self.paths.iter().any(is_it)
    }

    /// Whether a source has this word, and belongs to `owner` or names it.
    fn has_word(&self, owner: Option<&str>, word: &str) -> bool {
        self.sources.iter().any(|(path, words)| {
            let is_of = |owner: &str| {
                let parts = [format!("/{owner}.rs"), format!("/{owner}/")];
                words.contains(owner) || parts.iter().any(|part| path.contains(part.as_str()))
            };
            words.contains(word) && owner.is_none_or(is_of)
        })
    }

    fn has(&self, name: &str) -> bool {
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        if name.contains('/') || FILE_ENDS.iter().any(|end| name.ends_with(end)) {
            return expand_braces(name).iter().all(|path| self.has_path(path));
        }
        let name = name.split('(').next().unwrap_or(name).trim_end_matches('!');
        if let Some((owner, word)) = name.rsplit_once("::") {
            let owner = owner.rsplit("::").next();
            return self.has_word(owner, word);
        }
        if name.contains('-') {
            return self.packages.contains(name);
        }
        // A setting, a flag, a command line or a character is no name of code.
        let is_name = name.chars().all(is_word);
        !is_name || self.has_word(None, name) || self.packages.contains(name) || self.has_path(name)
    }
}

/// Returns the paths of a name with `{a,b}` in it.
fn expand_braces(name: &str) -> Vec<String> {
    let Some((begin, rest)) = name.split_once('{') else {
        return vec![name.to_owned()];
    };
    let (among, end) = rest.split_once('}').unwrap_or((rest, ""));
    let paths = among.split(',').map(|one| [begin, one, end].concat());
    paths.collect()
}

/// Returns a complaint for each name on a page, between backticks, of which there is nothing.
pub(super) fn names_of_nothing(page: &str, text: &str, known: &KnownNames) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let names: BTreeSet<&str> = prose.split('`').skip(1).step_by(2).collect();
    // An address, a setting, an option, an element or a command line.
    let is_other = |name: &&str| {
        name.starts_with(['/', '[', '-', '<', '\\']) || name.contains([' ', '\n', '='])
    };
    let names = names.into_iter().filter(|name| !is_other(name));
    let unknown = names.filter(|name| !known.has(name));
    let unknown = unknown.map(|name| format!("{page} names `{name}`: there is none"));
    unknown.collect()
}

/// Reads every decision: its file's name and its text.
pub(super) fn read_decisions(tree: &WorkspaceTree) -> Vec<(String, String)> {
    let entries = fs::read_dir(tree.root.join(ADRS))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: BTreeSet<String> = names.filter(|name| !name.starts_with("README")).collect();
    let decisions = names.into_iter().filter(|name| !name.starts_with("0000"));
    let decisions = decisions.map(|name| {
        let text = tree.read_text(&format!("{ADRS}/{name}"));
        (name, text.expect("a decision"))
    });
    decisions.collect()
}

/// Returns a complaint for each decision whose line in the list is missing or says something else,
/// and for each line of none.
pub(super) fn wrong_list(list: &str, decisions: &[(String, String)]) -> Vec<String> {
    let mut rows: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("| ["))
        .collect();
    let mut complaints = Vec::new();
    for (name, text) in decisions {
        let number = name.split('-').next().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let title = first.trim_start_matches(&format!("# {number} "));
        let mut by = text.lines();
        let by = by.find(|line| REPLACED.iter().any(|begin| line.starts_with(begin)));
        let by = by.map_or_else(String::new, |by| [by, " "].concat());
        let row = format!("| [{number}]({name}) | {title} | {by}|");
        match rows.iter().position(|known| *known == row) {
            Some(at) => drop(rows.remove(at)),
            None => complaints.push(format!("{ADRS}/README.md needs the line `{row}`")),
        }
    }
    let others = rows
        .into_iter()
        .map(|row| format!("{ADRS}/README.md: of no decision is `{row}`"));
    complaints.extend(others);
    complaints
}

#[test]
fn a_name_of_nothing_and_a_wrong_line_of_a_decision_are_noticed() {
    let source =
        "pub struct Memory;\nimpl Memory { fn answer() {} }\nmacro_rules! codec { () => {} }";
    let manifest = "[package]\nname = \"reprise-types\"\n[dependencies]\nrvf-wire.workspace = true";
    let manifest = PackageManifest::parse("crates/reprise-types", manifest).expect("well-formed");
    let source = SourceFile::new("crates/reprise-types/src/memory.rs", source);
    let mut known = KnownNames::new(&[manifest], &[source]);
    for path in [
        "/crates/reprise-types/",
        "/crates/reprise-types/src/",
        "/crates/reprise-types/src/memory.rs",
        "/guide/commands1.md",
    ] {
        known.paths.insert(path.to_owned());
    }
    let good = "`Memory`, `Memory::answer`, `memory::answer`, `codec!`, `memory.rs`, \
        `src/memory.rs`, `src/`, `crates/reprise-types`, `guide/commands*.md`, `reprise-types`, \
        `rvf-wire`, `src/{memory,memory}.rs`, `--why`, `[a] b`\n```\n`Gone`\n```\n";
    assert_eq!(names_of_nothing("page", good, &known), [""; 0]);
    for bad in [
        "Gone",
        "Memory::gone",
        "Gone::answer",
        "gone!",
        "gone.rs",
        "emory.rs",
        "gone/",
        "gone/memory.rs",
        "guide/gone*.md",
        "reprise-gone",
        "src/{memory,gone}.rs",
    ] {
        let found = names_of_nothing("page", &format!("`{bad}`"), &known);
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
    }

    let decision = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let decisions = [
        decision(
            "0001-a.md",
            "# 0001 A\n\nDecided: a.\n\nReplaced in part by ADR 0002: b.\n",
        ),
        decision("0002-b.md", "# 0002 B\n"),
    ];
    let rows = [
        "| [0001](0001-a.md) | A | Replaced in part by ADR 0002: b. |",
        "| [0002](0002-b.md) | B | |",
    ];
    assert_eq!(wrong_list(&rows.join("\n"), &decisions), [""; 0]);
    assert_eq!(
        wrong_list(rows[0], &decisions).len(),
        1,
        "a decision is missing"
    );
    let silent = rows
        .join("\n")
        .replace("Replaced in part by ADR 0002: b. ", "");
    assert_eq!(
        wrong_list(&silent, &decisions).len(),
        2,
        "it does not say what replaced it"
    );
    assert_eq!(
        wrong_list(&rows.join("\n"), &decisions[..1]).len(),
        1,
        "of no decision"
    );
}
