//! Classifies a command line: it runs tests, builds, or commits.
//!
//! The tables name the programs and the arguments that do so.

use reprise_types::RecordType;

use crate::values::is_in_words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPurpose {
    /// It runs tests, which judge the work.
    Tests,
    /// It builds or lints; only a failure is worth keeping.
    Build,
    Commit,
}

impl CommandPurpose {
    /// Describes that a command passed, and the type of its record.
    pub fn describe_pass(self, command: &str) -> (String, RecordType) {
        let what = match self {
            Self::Tests => RecordType::Test,
            Self::Build | Self::Commit => RecordType::Command,
        };
        (format!("`{command}` passed"), what)
    }

    /// Describes the end of a command and the type of its record: the verdict of tests, the failure
    /// of a build, the message of a commit. `None` if it is not worth keeping. `said` is the
    /// extract of the output.
    pub fn describe_end(
        self,
        command: &str,
        went_well: Option<bool>,
        extract: &str,
    ) -> Option<(String, RecordType)> {
        let failed = match extract {
            "" => format!("`{command}` failed"),
            extract => format!("`{command}` failed:\n{extract}"),
        };
        match (self, went_well) {
            (Self::Tests, Some(true)) => Some(self.describe_pass(command)),
            (Self::Tests, Some(false)) => Some((failed, RecordType::Test)),
            (Self::Build, Some(false)) => Some((failed, RecordType::Command)),
            (Self::Commit, None | Some(true)) if !extract.is_empty() => {
                Some((format!("Committed {extract}"), RecordType::Commit))
            }
            _ => None,
        }
    }
}

/// Programs that run the command after them.
const WRAPPERS: &str = "\
    sudo env time nice timeout command exec npx bunx pnpx uv poetry pipenv hatch pdm bundle \
    xvfb-run dotenv stdbuf nohup rye xargs";
/// Words between a wrapper and its command.
const WRAPPER_WORDS: &str = "run exec dlx --";
/// Programs that only run tests.
const TEST_RUNNERS: &str = "\
    pytest py.test tox nox vitest jest mocha ava rspec phpunit pest ctest karma cypress \
    playwright behat cucumber bats busted prove gotestsum nosetests cargo-nextest testcafe trial \
    stestr";
/// Programs that run the tasks that their arguments name.
pub(super) const TASK_RUNNERS: &str = "\
    make gmake just task bazel bazelisk gradle gradlew mvn mvnw nx turbo ninja rake composer \
    mise moon deno dotnet swift mix rails flutter dart zig sbt lein stack cabal dune ng \
    xcodebuild gleam crystal meson pants buck2";
/// Programs of [`TASK_RUNNERS`] whose other tasks build.
const BUILD_TOOLS: &str = "make gmake ninja gradle gradlew mvn mvnw bazel dotnet swift";
pub(super) const PACKAGE_MANAGERS: &str = "npm pnpm yarn bun";
/// Programs that build or lint with any arguments.
const BUILD_CHECKERS: &str = "\
    tsc eslint ruff mypy pyright golangci-lint webpack rollup esbuild rustc gcc g++ clang javac \
    shellcheck biome flake8 pylint";
/// Words of a task that runs tests.
const TEST_WORDS: &str = "test tests check verify spec specs e2e unittest citest connectedcheck";
/// Words of a packager that change what is installed.
const INSTALL_WORDS: &str = "install i add remove uninstall publish create init update";

/// Classifies a command line; of several commands the most important one counts.
pub fn classify_command(command: &str) -> Option<CommandPurpose> {
    let all: Vec<CommandPurpose> = split_commands(command)
        .iter()
        .filter_map(|part| classify_part(part))
        .collect();
    let has = |wanted: &CommandPurpose| all.contains(wanted).then_some(*wanted);
    has(&CommandPurpose::Tests)
        .or_else(|| has(&CommandPurpose::Commit))
        .or_else(|| has(&CommandPurpose::Build))
}

/// Splits a line into its commands, but not within quotes.
pub(super) fn split_commands(command: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '|' | ';' | '&' | '\n') => {
                parts.push(String::new());
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn classify_part(part: &str) -> Option<CommandPurpose> {
    let words: Vec<&str> = part
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', '{', '}']))
        .filter(|word| !word.is_empty())
        .collect();
    let (program, rest) = skip_wrappers(&words).split_first()?;
    classify_program(program, rest)
}

/// Skips variables that are set for a command, and programs that run it.
pub(super) fn skip_wrappers<'w, 'c>(words: &'w [&'c str]) -> &'w [&'c str] {
    let mut at = 0;
    let mut wrapped = false;
    while let Some(word) = words.get(at) {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let between = wrapped
            && (word.starts_with('-')
                || word.starts_with(|c: char| c.is_ascii_digit())
                || is_in_words(WRAPPER_WORDS, word));
        if is_in_words(WRAPPERS, program_name(word)) {
            wrapped = true;
        } else if !assigns && !between {
            break;
        }
        at += 1;
    }
    words.get(at..).unwrap_or_default()
}

/// Classifies a program with its arguments.
pub(super) fn classify_program(program: &str, words: &[&str]) -> Option<CommandPurpose> {
    let name = program_name(program);
    let arguments: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with(['-', '+']))
        .collect();
    let first = arguments.first().copied().unwrap_or_default();
    let one_of = |list: &str| is_in_words(list, first);
    let tests = arguments.iter().any(|word| is_test_word(word));
    match name {
        "cargo" if one_of("test t nextest llvm-cov tarpaulin miri mutants") => {
            Some(CommandPurpose::Tests)
        }
        "cargo" if first == "xtask" && tests => Some(CommandPurpose::Tests),
        "cargo" if one_of("build b check c clippy doc") => Some(CommandPurpose::Build),
        "go" if first == "test" => Some(CommandPurpose::Tests),
        "go" if one_of("build vet") => Some(CommandPurpose::Build),
        "git" => {
            // `-C FOLDER` and `-c NAME=VALUE` come before the verb.
            let mut words = words.iter();
            let verb = loop {
                match words.next() {
                    Some(word) if ["-C", "-c"].contains(word) => {
                        words.next();
                    }
                    Some(word) if word.starts_with('-') => {}
                    other => break other,
                }
            };
            verb.filter(|verb| is_in_words("commit merge revert cherry-pick", verb))
                .map(|_| CommandPurpose::Commit)
        }
        "node" if words.contains(&"--test") => Some(CommandPurpose::Tests),
        "cmake" if words.contains(&"--build") => Some(if tests {
            CommandPurpose::Tests
        } else {
            CommandPurpose::Build
        }),
        "docker" | "podman" if arguments.contains(&"build") => Some(CommandPurpose::Build),
        "python" | "python2" | "python3" | "py" | "pypy3" => {
            let module = words.iter().skip_while(|word| **word != "-m").nth(1);
            let by_module =
                module.is_some_and(|module| is_in_words("pytest unittest nose tox", module));
            let managed = first.ends_with("manage.py") && arguments.contains(&"test");
            let script = program_name(first).starts_with("test_")
                || program_name(first).starts_with("run_tests");
            (by_module || managed || script).then_some(CommandPurpose::Tests)
        }
        name if is_in_words(TEST_RUNNERS, name) => Some(CommandPurpose::Tests),
        name if is_in_words(PACKAGE_MANAGERS, name) => classify_packager(&arguments),
        name if is_in_words(TASK_RUNNERS, name) => {
            let builds = is_in_words(BUILD_TOOLS, name) && !arguments.contains(&"clean");
            if tests {
                Some(CommandPurpose::Tests)
            } else {
                builds.then_some(CommandPurpose::Build)
            }
        }
        name if is_in_words(BUILD_CHECKERS, name) => Some(CommandPurpose::Build),
        // A script of the project's own: `./test.sh`, `scripts/run-tests`, `.ci/run`.
        _ if program.contains('/') => {
            let of_tests = program
                .split('/')
                .any(|folder| is_test_word(folder) || folder == ".ci");
            of_tests.then_some(CommandPurpose::Tests)
        }
        _ => None,
    }
}

/// Classifies a call of a package manager: `npm test`, `npm run test:unit`, `yarn workspace web
/// test`.
fn classify_packager(arguments: &[&str]) -> Option<CommandPurpose> {
    if arguments
        .iter()
        .take(2)
        .any(|word| is_in_words(INSTALL_WORDS, word))
    {
        return None;
    }
    let runs = arguments
        .iter()
        .position(|word| is_in_words("run run-script workspace", word));
    let scripts = runs.map_or(arguments, |at| arguments.get(at + 1..).unwrap_or_default());
    let short = arguments
        .first()
        .is_some_and(|word| ["t", "tst"].contains(word));
    if short || scripts.iter().any(|word| is_test_word(word)) {
        return Some(CommandPurpose::Tests);
    }
    let builds = |part| is_in_words("build lint typecheck tsc compile", part);
    let builds = scripts
        .iter()
        .any(|word| word.split([':', '-']).any(builds));
    builds.then_some(CommandPurpose::Build)
}

/// Whether a part of `word` names tests: `test:unit`, `:app:test`, `integration-tests`.
fn is_test_word(word: &str) -> bool {
    let mut parts = word.split([':', '-', '_', '.', '/']);
    parts.any(|part| is_in_words(TEST_WORDS, &part.to_ascii_lowercase()))
}

/// Returns the name of a program without its folder and version.
pub(super) fn program_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    match name {
        "pytest-3" => "pytest",
        name if name.starts_with("python3.") => "python3",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandPurpose, classify_command};

    #[test]
    fn a_command_is_known_by_what_it_runs_and_not_by_what_it_speaks_of() {
        let (tests, build, commit) = (
            Some(CommandPurpose::Tests),
            Some(CommandPurpose::Build),
            Some(CommandPurpose::Commit),
        );
        for (command, expected) in [
            ("cargo test -p shop login", tests),
            ("cargo +nightly nextest run -p shop", tests),
            ("cargo t", tests),
            ("RUST_LOG=debug cargo nextest run 2>&1 | tail -5", tests),
            ("cd web && CI=1 npx vitest run", tests),
            ("./node_modules/.bin/jest --ci 2>&1 | tail -5", tests),
            ("nice -n 10 cargo nextest run", tests),
            ("timeout 600 make -C api test", tests),
            ("make unit-tests", tests),
            ("make check", tests),
            ("./gradlew :app:test", tests),
            ("mvn -q verify", tests),
            ("npm t", tests),
            ("npm --prefix web test", tests),
            ("npm run test:unit", tests),
            ("pnpm -r test", tests),
            ("yarn workspace web test", tests),
            ("bun test", tests),
            ("(cd api; go test ./...)", tests),
            ("python -m pytest -q", tests),
            ("python3.12 manage.py test shop", tests),
            ("uv run pytest -x", tests),
            ("poetry run pytest", tests),
            ("bundle exec rspec", tests),
            ("ctest --output-on-failure", tests),
            ("just test-all", tests),
            ("deno task test", tests),
            ("node --test src", tests),
            ("./scripts/run-tests.sh", tests),
            ("tests/abuse/run.sh", tests),
            ("bazel test //...", tests),
            ("cargo build --release", build),
            ("make", build),
            ("npm run build", build),
            ("npx tsc --noEmit", build),
            ("go vet ./...", build),
            ("git commit -m 'make test green'", commit),
            ("git -C api commit -am 'x'", commit),
            ("git add -A && git commit -m \"a; b | c\"", commit),
            ("cargo test && git commit -m x", tests),
            ("git log --grep test", None),
            ("grep -rn 'cargo test' docs", None),
            ("echo npm test", None),
            ("npm install jest-junit", None),
            ("npm ci", None),
            ("cat latest", None),
            ("cargo testify", None),
            ("cargo install cargo-nextest", None),
            ("", None),
            ("sudo", None),
        ] {
            assert_eq!(classify_command(command), expected, "{command}");
        }
    }
}
