//! What a command line does that is worth keeping: it runs tests, builds, or commits.
//!
//! Which programs with which words do that.

use reprise_types::RecordType;

use crate::values::among;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// It runs tests: they judge the work.
    Tests,
    /// It builds or lints: a failure is worth keeping, a success says little.
    Build,
    Commit,
}

impl Ran {
    /// What of its end is worth keeping, and as what: of tests how they went, of a build that it
    /// failed, of a commit what was `said`.
    pub fn told(
        self,
        command: &str,
        went_well: Option<bool>,
        said: &str,
    ) -> Option<(String, RecordType)> {
        let failed = match said {
            "" => format!("`{command}` failed"),
            said => format!("`{command}` failed:\n{said}"),
        };
        match (self, went_well) {
            (Self::Tests, Some(true)) => Some((format!("`{command}` passed"), RecordType::Test)),
            (Self::Tests, Some(false)) => Some((failed, RecordType::Test)),
            (Self::Build, Some(false)) => Some((failed, RecordType::Command)),
            (Self::Commit, None | Some(true)) if !said.is_empty() => {
                Some((format!("Committed {said}"), RecordType::Commit))
            }
            _ => None,
        }
    }
}

/// Programs that run what follows them.
const WRAPPERS: &str = "\
    sudo env time nice timeout command exec npx bunx pnpx uv poetry pipenv hatch pdm bundle \
    xvfb-run dotenv stdbuf nohup rye xargs";
/// Words between a wrapper and what it runs.
const BETWEEN: &str = "run exec dlx --";
/// Programs that do nothing but run tests.
const RUNNERS: &str = "\
    pytest py.test tox nox vitest jest mocha ava rspec phpunit pest ctest karma cypress \
    playwright behat cucumber bats busted prove gotestsum nosetests cargo-nextest testcafe trial \
    stestr";
/// Programs that do what their words say.
const TASKS: &str = "\
    make gmake just task bazel bazelisk gradle gradlew mvn mvnw nx turbo ninja rake composer \
    mise moon deno dotnet swift mix rails flutter dart zig sbt lein stack cabal dune ng \
    xcodebuild gleam crystal meson pants buck2";
/// Those among them whose other words build.
const BUILDERS: &str = "make gmake ninja gradle gradlew mvn mvnw bazel dotnet swift";
const PACKAGERS: &str = "npm pnpm yarn bun";
/// Programs that build or lint, whatever follows.
const CHECKERS: &str = "\
    tsc eslint ruff mypy pyright golangci-lint webpack rollup esbuild rustc gcc g++ clang javac \
    shellcheck biome flake8 pylint";
/// Words of a task that runs tests.
const TESTING: &str = "test tests check verify spec specs e2e unittest citest connectedcheck";
/// Words of a packager that change what is installed.
const INSTALLING: &str = "install i add remove uninstall publish create init update";

/// What a command line does; of several things the weightiest.
pub fn ran(command: &str) -> Option<Ran> {
    let all: Vec<Ran> = parts(command)
        .iter()
        .filter_map(|part| ran_by(part))
        .collect();
    let has = |wanted: &Ran| all.contains(wanted).then_some(*wanted);
    has(&Ran::Tests)
        .or_else(|| has(&Ran::Commit))
        .or_else(|| has(&Ran::Build))
}

/// The commands of a line, split where no quote holds them together.
fn parts(command: &str) -> Vec<String> {
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

fn ran_by(part: &str) -> Option<Ran> {
    let words: Vec<&str> = part
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', '{', '}']))
        .filter(|word| !word.is_empty())
        .collect();
    let mut at = 0;
    let mut wrapped = false;
    while let Some(word) = words.get(at) {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let between = wrapped
            && (word.starts_with('-')
                || word.starts_with(|c: char| c.is_ascii_digit())
                || among(BETWEEN, word));
        if among(WRAPPERS, name_of(word)) {
            wrapped = true;
        } else if !assigns && !between {
            break;
        }
        at += 1;
    }
    let (program, rest) = words.get(at..)?.split_first()?;
    does(program, rest)
}

/// What a program does with these words.
fn does(program: &str, words: &[&str]) -> Option<Ran> {
    let name = name_of(program);
    let said: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with(['-', '+']))
        .collect();
    let first = said.first().copied().unwrap_or_default();
    let one_of = |list: &str| among(list, first);
    let tests = said.iter().any(|word| is_testing(word));
    match name {
        "cargo" if one_of("test t nextest llvm-cov tarpaulin miri mutants") => Some(Ran::Tests),
        "cargo" if first == "xtask" && tests => Some(Ran::Tests),
        "cargo" if one_of("build b check c clippy doc") => Some(Ran::Build),
        "go" if first == "test" => Some(Ran::Tests),
        "go" if one_of("build vet") => Some(Ran::Build),
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
            verb.filter(|verb| among("commit merge revert cherry-pick", verb))
                .map(|_| Ran::Commit)
        }
        "node" if words.contains(&"--test") => Some(Ran::Tests),
        "cmake" if words.contains(&"--build") => Some(if tests { Ran::Tests } else { Ran::Build }),
        "docker" | "podman" if said.contains(&"build") => Some(Ran::Build),
        "python" | "python2" | "python3" | "py" | "pypy3" => {
            let module = words.iter().skip_while(|word| **word != "-m").nth(1);
            let by_module = module.is_some_and(|module| among("pytest unittest nose tox", module));
            let managed = first.ends_with("manage.py") && said.contains(&"test");
            let script =
                name_of(first).starts_with("test_") || name_of(first).starts_with("run_tests");
            (by_module || managed || script).then_some(Ran::Tests)
        }
        name if among(RUNNERS, name) => Some(Ran::Tests),
        name if among(PACKAGERS, name) => packager(&said),
        name if among(TASKS, name) => {
            let builds = among(BUILDERS, name) && !said.contains(&"clean");
            if tests {
                Some(Ran::Tests)
            } else {
                builds.then_some(Ran::Build)
            }
        }
        name if among(CHECKERS, name) => Some(Ran::Build),
        // A script of the project's own: `./test.sh`, `scripts/run-tests`, `.ci/run`.
        _ if program.contains('/') => {
            let of_tests = program
                .split('/')
                .any(|folder| is_testing(folder) || folder == ".ci");
            of_tests.then_some(Ran::Tests)
        }
        _ => None,
    }
}

/// `npm test`, `npm run test:unit`, `yarn workspace web test`.
fn packager(said: &[&str]) -> Option<Ran> {
    if said.iter().take(2).any(|word| among(INSTALLING, word)) {
        return None;
    }
    let runs = said
        .iter()
        .position(|word| among("run run-script workspace", word));
    let scripts = runs.map_or(said, |at| said.get(at + 1..).unwrap_or_default());
    let short = said.first().is_some_and(|word| ["t", "tst"].contains(word));
    if short || scripts.iter().any(|word| is_testing(word)) {
        return Some(Ran::Tests);
    }
    let builds = |part| among("build lint typecheck tsc compile", part);
    let builds = scripts
        .iter()
        .any(|word| word.split([':', '-']).any(builds));
    builds.then_some(Ran::Build)
}

/// Whether one of the words in `word` is of tests: `test:unit`, `:app:test`, `integration-tests`.
fn is_testing(word: &str) -> bool {
    let mut parts = word.split([':', '-', '_', '.', '/']);
    parts.any(|part| among(TESTING, &part.to_ascii_lowercase()))
}

/// The name of a program, without its folder and version.
fn name_of(program: &str) -> &str {
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
    use super::{Ran, ran};

    #[test]
    fn a_command_is_known_by_what_it_runs_and_not_by_what_it_speaks_of() {
        let (tests, build, commit) = (Some(Ran::Tests), Some(Ran::Build), Some(Ran::Commit));
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
            assert_eq!(ran(command), expected, "{command}");
        }
    }
}
