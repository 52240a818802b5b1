//! Tells what a command line tests or builds, so that a later run that has all of it in it ends
//! its failures: `cargo test` has `cd shop && cargo test cart -- --nocapture` in it.
//!
//! The folder, variables and wrappers before a program, and options that only change what it
//! prints or name all of it, say nothing of what it covers. An unknown option does.

use std::collections::BTreeSet;

use super::purpose::{
    CommandPurpose, PACKAGE_MANAGERS, TASK_RUNNERS, classify_program, program_name, skip_wrappers,
    split_commands,
};
use crate::values::is_in_words;

/// Options that change only what is printed, how fast it runs or when it stops, or that name all.
const PRINTING: &str = "\
    --nocapture --no-capture --show-output -q --quiet -v -vv -vvv --verbose -s -x -l --silent \
    --ci --no-fail-fast --fail-fast --failfast --bail --offline --locked --frozen --no-color \
    --colors --run --watchAll=false --if-present --workspace --all --all-targets --runInBand -i \
    --no-coverage --no-cov --keep-going -rA -ra -race --passWithNoTests";
/// Options of this kind with a value behind them.
const PRINTING_WITH_VALUE: &str = "\
    --color --test-threads --jobs -j --tb --maxfail --reporter --reporters --message-format \
    --timeout --workers --maxWorkers --durations -count -timeout --format --verbosity";
/// Options that leave tests out.
const LIMITING: &str = "\
    --lib --bins --tests --doc --examples --benches --ignored --exact --lf --last-failed --ff \
    --onlyChanged -o -short --stepwise --sw --quick";
/// Options of this kind with a value behind them: which are left in or out.
const LIMITING_WITH_VALUE: &str = "\
    -p --package --test --bench --example --bin --exclude --skip -E --filter-expr -k -m --deselect \
    --ignore -run --run-regex -skip -t --testNamePattern --testPathPattern -g --grep -w --filter \
    --project --shard -e --tag --tests-regex -R --suite --testsuite";
/// Other options with a value behind them.
const SETTING_WITH_VALUE: &str = "\
    --features -F --target --profile --manifest-path --config -c --env --target-dir -C --prefix \
    --cwd --dir --rootdir -f -tags";
/// Runners that take a part of a name or path for all that have it in them.
const BY_PART: &str = "cargo jest vitest mocha ava script bun rspec";
/// Digits behind the name of a folder in the name of its project.
const PROJECT_DIGITS: usize = 8;

/// What a command line tests or builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunScope {
    line: String,
    parts: Vec<ProgramScope>,
}

/// What one program of a command line tests or builds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ProgramScope {
    /// The folder in which it runs; empty for the project's.
    folder: String,
    /// The program with its task: `cargo test`, `script test`, `pytest`.
    program: String,
    /// Names and paths of which it runs the tests; all if there is none.
    selected: BTreeSet<String>,
    /// Options that leave tests out.
    limits: BTreeSet<String>,
    /// Options that change what is tested.
    settings: BTreeSet<String>,
}

impl RunScope {
    /// Reads a command line of a project.
    pub fn parse(command: &str, project: &str) -> Self {
        let mut folder = String::new();
        let mut parts = Vec::new();
        for part in split_commands(command) {
            let words = split_words(&part);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let ["cd" | "pushd", to] = words.as_slice() {
                folder = strip_project(to, project);
                continue;
            }
            let Some((program, rest)) = skip_wrappers(&words).split_first() else {
                continue;
            };
            let purpose = classify_program(program, rest);
            if matches!(purpose, Some(CommandPurpose::Tests | CommandPurpose::Build)) {
                parts.push(ProgramScope {
                    folder: folder.clone(),
                    ..ProgramScope::read(program, rest)
                });
            }
        }
        Self {
            line: command.split_whitespace().collect::<Vec<_>>().join(" "),
            parts,
        }
    }

    /// Whether all that `other` tests or builds is in this run.
    pub fn covers(&self, other: &Self) -> bool {
        let is_in = |part: &ProgramScope| self.parts.iter().any(|own| own.covers(part));
        self.line == other.line || !other.parts.is_empty() && other.parts.iter().all(is_in)
    }
}

impl ProgramScope {
    fn read(program: &str, words: &[&str]) -> Self {
        let mut scope = Self::default();
        let mut names: Vec<&str> = Vec::new();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut with_value = |word: &str| {
                if word.contains('=') {
                    return word.to_owned();
                }
                [word, "=", words.next().unwrap_or_default()].concat()
            };
            let (name, _) = word.split_once('=').unwrap_or((word, ""));
            let is_of_node = word == "--test" && program_name(program) == "node";
            if word == "--" || word.starts_with('+') || is_in_words(PRINTING, word) || is_of_node {
                continue;
            }
            if is_in_words(PRINTING_WITH_VALUE, name) {
                with_value(word);
            } else if is_in_words(LIMITING, word) {
                scope.limits.insert(word.to_owned());
            } else if word == "-m" && is_python(program) && names.is_empty() {
                names.extend(words.next());
            } else if is_in_words(LIMITING_WITH_VALUE, name) {
                scope.limits.insert(with_value(word));
            } else if is_in_words(SETTING_WITH_VALUE, name) {
                scope.settings.insert(with_value(word));
            } else if word.starts_with('-') {
                scope.settings.insert(word.to_owned());
            } else if !word.contains(['>', '<']) {
                names.push(word);
            }
        }
        let (program, used) = name_task(program, &names);
        scope.program = program;
        let selected = names.iter().skip(used).filter(|word| **word != "./...");
        scope.selected = selected.map(|word| (*word).to_owned()).collect();
        scope
    }

    fn covers(&self, other: &Self) -> bool {
        let is_selected = |name: &String| {
            let by_part = self.is_by_part();
            self.selected.iter().any(|own| selects(own, name, by_part))
        };
        let has_all = self.selected.is_empty()
            || !other.selected.is_empty() && other.selected.iter().all(is_selected);
        // Where a command names files and no folder, it ran where its shell happened to be.
        let may_be_here = other.folder.is_empty()
            && !other.selected.is_empty()
            && other.selected.iter().all(|name| names_file(name));
        has_all
            && (may_be_here || is_folder_within(&self.folder, &other.folder))
            && does_work_of(&self.program, &other.program)
            && self.limits.is_subset(&other.limits)
            && self.settings == other.settings
    }

    fn is_by_part(&self) -> bool {
        let name = self.program.split(' ').next().unwrap_or_default();
        is_in_words(BY_PART, name)
    }
}

fn is_python(program: &str) -> bool {
    let name = program_name(program);
    name == "py" || name.starts_with("python") || name.starts_with("pypy")
}

/// Names a program with its task, and returns how many of its words that took.
fn name_task(program: &str, words: &[&str]) -> (String, usize) {
    let name = program_name(program);
    let first = words.first().copied().unwrap_or_default();
    let named = |task: &str, used| ([name, " ", task].concat(), used);
    match (name, first) {
        ("cargo", "nextest") => named("test", 1 + usize::from(words.get(1) == Some(&"run"))),
        ("cargo", "t") | ("bun", "test") => named("test", 1),
        ("cargo", "b") => named("build", 1),
        ("cargo", "c") => named("check", 1),
        ("cargo" | "go", task) => named(task, 1),
        ("cargo-nextest", _) => ("cargo test".to_owned(), usize::from(first == "run")),
        ("py.test", _) => ("pytest".to_owned(), 0),
        (name, "run" | "run-script") if is_in_words(PACKAGE_MANAGERS, name) => {
            let task = words.get(1).copied().unwrap_or_default();
            (["script ", task].concat(), 2)
        }
        (name, "t" | "tst") if is_in_words(PACKAGE_MANAGERS, name) => ("script test".to_owned(), 1),
        (name, "workspace") if is_in_words(PACKAGE_MANAGERS, name) => {
            (["script ", &words.join(" ")].concat(), words.len())
        }
        (name, "vitest") if is_in_words(PACKAGE_MANAGERS, name) => {
            let is_once = words.get(1) == Some(&"run");
            ("vitest".to_owned(), 1 + usize::from(is_once))
        }
        (name, task) if is_in_words(PACKAGE_MANAGERS, name) => (["script ", task].concat(), 1),
        ("vitest", "run") => ("vitest".to_owned(), 1),
        _ if is_python(program) && is_in_words("pytest nose tox", first) => (first.to_owned(), 1),
        _ if is_python(program) => (["python ", first].concat(), 1),
        // The tasks of such a tool have nothing to do with each other.
        (name, _) if is_in_words(TASK_RUNNERS, name) => {
            ([name, " ", &words.join(" ")].concat(), words.len())
        }
        _ if program.contains('/') && !program.contains("node_modules") => (program.to_owned(), 0),
        _ => (name.to_owned(), 0),
    }
}

/// Whether a run of one program does the work of another: tests are built before they run.
fn does_work_of(program: &str, other: &str) -> bool {
    let builds = match program {
        "cargo test" => "build check",
        "cargo build" => "check",
        "go test" => "build",
        _ => "",
    };
    let task = other.split_once(' ').filter(|(name, _)| {
        let own = program.split_once(' ');
        own.is_some_and(|(own, _)| own == *name)
    });
    program == other || task.is_some_and(|(_, task)| is_in_words(builds, task))
}

/// Whether the tests that are selected by `name` are among those that `own` selects.
fn selects(own: &str, name: &str, by_part: bool) -> bool {
    let bare = |path: &str| {
        path.trim_start_matches("./")
            .trim_end_matches('/')
            .to_owned()
    };
    let (own, name) = (bare(own), bare(name));
    if let Some(folder) = own.strip_suffix("...") {
        return name.starts_with(folder);
    }
    let below = name.strip_prefix(own.as_str());
    let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '[']));
    is_below || by_part && name.contains(own.as_str())
}

/// Whether a selected name is the path of a file, with or without a test in it.
fn names_file(name: &str) -> bool {
    let path = name.split("::").next().unwrap_or_default();
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    !folder.is_empty() && !ending.is_empty() && ending != ".."
}

/// Whether a run in the folder `own` has the work of `other` in it. One may be named from the root
/// of the disk and the other from the project's folder.
fn is_folder_within(own: &str, other: &str) -> bool {
    let (own, other) = (std::path::Path::new(own), std::path::Path::new(other));
    other.starts_with(own)
        || other.ends_with(own)
        || own.has_root() && own.ends_with(other) && other.file_name().is_some()
}

/// Removes the way to a project's folder from a path, if the path has its name.
fn strip_project(path: &str, project: &str) -> String {
    let path = path.trim_end_matches('/');
    let name = project.rsplit('/').next().unwrap_or_default();
    let plain = name.rsplit_once('-').filter(|(_, digits)| {
        digits.len() == PROJECT_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    let name = plain.map_or(name, |(plain, _)| plain);
    let is_absolute = path.starts_with(['/', '~', '$']);
    let mut parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    let last = parts.iter().rposition(|part| *part == name);
    if let Some(last) = last.filter(|_| is_absolute) {
        parts.drain(..=last);
    }
    parts.join("/")
}

/// Splits a command into its words; quotes keep one together and are removed.
fn split_words(part: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for c in part.chars() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, is_open) = (Some(c), begin_word(&mut words, is_open)),
            (Some(open), _) if open == c => quote = None,
            (None, '(' | ')' | '{' | '}') => is_open = false,
            (None, c) if c.is_whitespace() => is_open = false,
            (_, c) => {
                is_open = begin_word(&mut words, is_open);
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    words
}

/// Begins a word if none is open; one is open then.
fn begin_word(words: &mut Vec<String>, is_open: bool) -> bool {
    if !is_open {
        words.push(String::new());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_covers_what_is_in_it_however_it_is_written() {
        for (wide, narrow) in [
            (
                "cargo test",
                "cd /home/ada/pay && cargo test refund -- --nocapture",
            ),
            (
                "cargo test refund",
                "RUST_LOG=debug cargo test refund -- --nocapture 2>&1 | tail -5",
            ),
            ("cargo test refund -- --nocapture", "cargo test refund"),
            ("cargo nextest run", "cargo test -p shop --test it edges::"),
            ("cargo test edges", "cargo test edges::login"),
            ("timeout 600 cargo test --workspace", "cargo t --lib"),
            ("cargo test", "cargo build"),
            ("cargo build", "cargo check"),
            ("cargo fmt && cargo test", "cargo test cart"),
            ("cargo test", "cd api && cargo test"),
            (
                "cd /home/ada/pay/api && cargo test",
                "cd api && cargo test cart",
            ),
            ("cd api && cargo test", "cd /home/ada/pay/api && cargo test"),
            ("pytest", "uv run pytest -x tests/test_a.py::test_b"),
            (
                "python -m pytest tests",
                "pytest -q tests/test_a.py -k 'login and not slow'",
            ),
            (
                "pytest tests/test_a.py",
                "pytest tests/test_a.py::test_b[1]",
            ),
            ("npm test", "npm test -- src/login.test.ts -t 'logs in'"),
            ("npm run test", "yarn test login"),
            ("npm t", "npm test"),
            ("go test ./...", "go test ./api -run TestLogin"),
            ("go test ./api/...", "go test ./api/login"),
            ("npx vitest run", "npx vitest run src/a.test.ts"),
            ("make test", "make -j 8 test"),
            ("node --test", "node --test src/a.test.js"),
            ("./gradlew :app:test", "gradlew :app:test"),
            (
                "cd src && pnpm vitest run test/login.test.ts",
                "pnpm vitest run test/login.test.ts",
            ),
            (
                "pnpm vitest run test/login.test.ts",
                "cd src && pnpm vitest run test/login.test.ts",
            ),
            (
                "cd api && pytest tests/test_a.py",
                "pytest tests/test_a.py::test_b",
            ),
        ] {
            let of = |command| RunScope::parse(command, "pay-1f2e3d4c");
            assert!(of(wide).covers(&of(narrow)), "{wide} has {narrow} in it");
        }
    }

    #[test]
    fn a_run_covers_nothing_that_it_leaves_out_or_does_otherwise() {
        for (other, failed) in [
            ("cargo test login", "cargo test refund"),
            ("cargo test refund_ok", "cargo test refund"),
            ("cargo test --test it", "cargo test it_fits"),
            ("cargo test refund", "cargo test"),
            ("cargo test -p shop", "cargo test"),
            ("cargo test -p shop", "cargo test -p mail"),
            ("cargo test --lib", "cargo test --test it"),
            ("cargo test", "cargo test --features postgres"),
            ("cargo test", "cargo test --release"),
            ("cargo test --no-run", "cargo test"),
            ("cargo test", "cargo test -- --include-ignored"),
            ("cargo test -- --ignored", "cargo test"),
            ("cargo test", "cargo clippy"),
            ("cargo build", "cargo test"),
            ("cargo check", "cargo build"),
            ("cargo test", "npm test"),
            ("cargo test", "cargo test && npm test"),
            ("cd api && cargo test", "cargo test"),
            ("cd api && cargo test login", "cargo test login"),
            ("cd api && cargo test", "cd web && cargo test"),
            (
                "cd api && pytest tests/test_a.py",
                "cd web && pytest tests/test_a.py",
            ),
            ("cd api && pytest tests/test_b.py", "pytest tests/test_a.py"),
            ("pytest --collect-only", "pytest"),
            ("pytest tests/test_a.py", "pytest tests/test_ab.py"),
            ("pytest tests", "pytest more_tests/test_a.py"),
            ("pytest -k login", "pytest"),
            ("npm run test:unit", "npm test"),
            ("npm test", "npm run test:e2e"),
            ("go test ./api", "go test ./..."),
            ("make test", "make check"),
            ("git commit -m x", "cargo test"),
        ] {
            let of = |command| RunScope::parse(command, "pay");
            assert!(!of(other).covers(&of(failed)), "{other}: {failed}");
        }
    }
}
