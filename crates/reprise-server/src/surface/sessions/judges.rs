//! Commands that judge the work.
//!
//! Lives here: which commands run tests. Must never live here: how they ended (the hook has read
//! that).

/// A test runner's name on a command line.
const JUDGES: [&str; 38] = [
    "cargo test",
    "cargo nextest",
    "pytest",
    "python -m unittest",
    "python3 -m unittest",
    "tox",
    "nox",
    "npm test",
    "npm t",
    "npm run test",
    "pnpm test",
    "pnpm run test",
    "yarn test",
    "yarn run test",
    "bun test",
    "bun run test",
    "deno test",
    "node --test",
    "vitest",
    "jest",
    "mocha",
    "playwright test",
    "go test",
    "make test",
    "make check",
    "just test",
    "ctest",
    "mvn test",
    "mvn verify",
    "gradle test",
    "gradlew test",
    "dotnet test",
    "swift test",
    "rspec",
    "rake test",
    "phpunit",
    "mix test",
    "bazel test",
];
/// Commands that name others without running them.
const READERS: [&str; 14] = [
    "grep", "rg", "ag", "echo", "printf", "cat", "sed", "awk", "ls", "find", "which", "man", "git",
    "history",
];

/// Whether a part of the command line runs tests.
pub(super) fn judges(command: &str) -> bool {
    let parts = command.split(['|', ';', '&', '\n']);
    parts.map(str::trim).any(|part| {
        let first = part.split_whitespace().next().unwrap_or_default();
        !READERS.contains(&first) && JUDGES.iter().any(|judge| names(part, judge))
    })
}

/// Whether `judge` stands in `part` as words of its own.
fn names(part: &str, judge: &str) -> bool {
    part.match_indices(judge).any(|(at, _)| {
        let before = part.get(..at).and_then(|text| text.chars().next_back());
        let after = part
            .get(at + judge.len()..)
            .and_then(|text| text.chars().next());
        let starts = before.is_none_or(|c| c.is_whitespace() || c == '/');
        starts && after.is_none_or(|c| c.is_whitespace() || c == ':' || c == ')')
    })
}

#[cfg(test)]
mod tests {
    use super::judges;

    #[test]
    fn a_command_judges_where_it_runs_tests_and_not_where_it_speaks_of_them() {
        for (command, expected) in [
            ("cargo test -p shop login", true),
            ("cd web && CI=1 npx vitest run", true),
            ("./node_modules/.bin/jest --ci 2>&1 | tail -5", true),
            ("nice -n 10 cargo nextest run", true),
            ("./gradlew test", true),
            ("npm run test:unit", true),
            ("(cd api; go test ./...)", true),
            ("python -m pytest -q", true),
            ("grep -rn 'cargo test' docs", false),
            ("echo npm test", false),
            ("git commit -m 'make test green'", false),
            ("npm install jest-junit", false),
            ("cat latest", false),
            ("cargo testify", false),
            ("", false),
        ] {
            assert_eq!(judges(command), expected, "{command}");
        }
    }
}
