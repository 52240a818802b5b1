//! Sixty commands and what they print: exit codes and lines of summary decide, words do not.

use reprise_types::{MemoryKind, MemorySource, NewRecord};

use super::*;
use crate::record_for_tests::record_from_new;

/// A command, its exit code if the program told it, its output, and whether it succeeded.
type Row = (&'static str, Option<i64>, &'static str, Option<bool>);

const CARGO: &[Row] = &[
    (
        "cargo test --no-fail-fast",
        Some(0),
        "running 2 tests\ntest failover::works ... ok\ntest failed_login ... ok\n\n\
         test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        Some(true),
    ),
    (
        "cargo test --no-fail-fast 2>&1 | tail -3",
        Some(0),
        "test failover::works ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored",
        Some(true),
    ),
    (
        "cargo test 2>&1 | tail -40",
        Some(0),
        "INFO retried after 2 failed requests\nWARN 3 errors were ignored\n\
         test result: ok. 9 passed; 0 failed; 0 ignored",
        Some(true),
    ),
    (
        "cargo test --no-fail-fast | grep result",
        Some(0),
        "test result: FAILED. 8 passed; 1 failed; 0 ignored\n\
         test result: ok. 3 passed; 0 failed; 0 ignored",
        Some(false),
    ),
    (
        "cargo test failover",
        Some(101),
        "test failover::works ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
        Some(false),
    ),
    (
        "cargo nextest run --no-fail-fast 2>&1 | tail -2",
        Some(0),
        "     Summary [   1.204s] 118 tests run: 118 passed, 2 skipped",
        Some(true),
    ),
    (
        "cargo nextest run | tail -3",
        Some(0),
        "     Summary [   1.204s] 118 tests run: 117 passed, 1 failed, 2 skipped\n\
         error: test run failed",
        Some(false),
    ),
    (
        "cargo clippy 2>&1 | tail -2",
        Some(0),
        "warning: unused variable: `failed`\n\
         Finished `dev` profile [unoptimized + debuginfo] target(s) in 3.21s",
        Some(true),
    ),
    (
        "cargo build 2>&1 | tail -1",
        Some(0),
        "error: could not compile `shop` (lib) due to 1 previous error",
        Some(false),
    ),
];

const PYTHON: &[Row] = &[
    (
        "pytest --maxfail=1",
        Some(0),
        "tests/test_fail2ban.py ....\n\n===== 4 passed in 0.12s =====",
        Some(true),
    ),
    (
        "pytest --maxfail=1 -q | tail -5",
        Some(0),
        "....\n4 passed, 1 xfailed, 2 warnings in 0.31s",
        Some(true),
    ),
    (
        "pytest -k \"login or failover\" 2>&1 | tail -4",
        Some(0),
        "FAILED tests/test_login.py::test_expiry - assert 1 == 2\n1 failed, 3 passed in 0.30s",
        Some(false),
    ),
    (
        "pytest -x; echo done",
        Some(0),
        "===== no tests ran in 0.01s =====\ndone",
        None,
    ),
    (
        "python -m pytest tests/test_failsafe.py",
        None,
        "tests/test_failsafe.py::test_failed_payment PASSED [ 50%]\n\
         tests/test_failsafe.py::test_error_page PASSED [100%]\n\n===== 2 passed in 0.04s =====",
        Some(true),
    ),
    (
        "pytest",
        None,
        "ERROR tests/test_a.py\n!!!!! Interrupted: 1 error during collection !!!!!\n\
         ===== 1 error in 0.20s =====",
        Some(false),
    ),
    (
        "python -m unittest 2>&1 | tail -4",
        Some(0),
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
        Some(false),
    ),
    (
        "python -m unittest tests.test_failover 2>&1 | tail -4",
        Some(0),
        "Ran 3 tests in 0.001s\n\nOK\n",
        Some(true),
    ),
    (
        "ruff check . | cat",
        Some(0),
        "All checks passed!",
        Some(true),
    ),
    (
        "ruff check src/failover.py | tail -3",
        Some(0),
        "src/failover.py:3:1: F401 `os` imported but unused\nFound 3 errors.",
        Some(false),
    ),
    (
        "ruff check failsafe.py",
        Some(1),
        "Found 1 error.",
        Some(false),
    ),
    (
        "mypy src | tail -1",
        Some(0),
        "Success: no issues found in 12 source files",
        Some(true),
    ),
    (
        "mypy src | tail -1",
        Some(0),
        "Found 2 errors in 1 file (checked 12 source files)",
        Some(false),
    ),
];

const SCRIPT: &[Row] = &[
    (
        "npx jest failover",
        Some(0),
        "PASS src/failover.test.ts\n  \u{2713} fails over (3 ms)\n\n\
         Tests:       1 passed, 1 total\nSnapshots:   0 total",
        Some(true),
    ),
    (
        "npx jest 2>&1 | tail -6",
        Some(0),
        "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 5 passed, 6 total",
        Some(false),
    ),
    (
        "jest --bail 2>&1 | tail -5",
        Some(0),
        "console.log\n  2 failed attempts were retried\n\n\
         Test Suites: 2 passed, 2 total\nTests:       6 passed, 6 total",
        Some(true),
    ),
    (
        "npx vitest run 2>&1 | tail -4",
        Some(0),
        " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 11 passed (12)",
        Some(false),
    ),
    (
        "npx vitest run src/fail.test.ts | tail -4",
        Some(0),
        " \u{2713} src/fail.test.ts (2 tests) 4ms\n Test Files  1 passed (1)\n      Tests  2 passed (2)",
        Some(true),
    ),
    (
        "npm test",
        Some(0),
        "# tests 5\n# pass 5\n# fail 0\n",
        Some(true),
    ),
    (
        "node --test | cat",
        Some(0),
        "\u{2139} tests 5\n\u{2139} pass 4\n\u{2139} fail 1",
        Some(false),
    ),
    (
        "npm run build 2>&1 | tail -3",
        Some(0),
        "npm error code ELIFECYCLE\nnpm error errno 2",
        Some(false),
    ),
    (
        "npm ci 2>&1 | tail -2",
        Some(0),
        "added 211 packages in 4s\nfound 0 vulnerabilities",
        Some(true),
    ),
    (
        "npx mocha | tail -4",
        Some(0),
        "  failover\n    \u{2714} fails once\n\n  2 passing (8ms)",
        Some(true),
    ),
    (
        "npx mocha | tail -4",
        Some(0),
        "  1 passing (8ms)\n  1 failing",
        Some(false),
    ),
    ("npx tsc --noEmit", Some(0), "", Some(true)),
    (
        "npx tsc --noEmit | tail -3",
        Some(0),
        "src/failover.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        Some(false),
    ),
    (
        "npx tsc --watch | head -3",
        Some(0),
        "Found 0 errors. Watching for file changes.",
        Some(true),
    ),
    (
        "yarn test --failed-only",
        None,
        "Tests:       0 failed, 7 passed, 7 total\nTime:        2.1 s",
        Some(true),
    ),
    (
        "npx tsc -b | cat",
        Some(0),
        "Found 2 errors in the same file.",
        Some(false),
    ),
    (
        "npx eslint . | tail -2",
        Some(0),
        "\u{2716} 3 problems (2 errors, 1 warning)",
        Some(false),
    ),
    (
        "npx eslint . | tail -2",
        Some(0),
        "\u{2716} 3 problems (0 errors, 3 warnings)",
        Some(true),
    ),
];

const OTHERS: &[Row] = &[
    (
        "go test ./... 2>&1 | tail -3",
        Some(0),
        "ok  \texample.org/shop/failover\t0.012s\nok  \texample.org/shop/failed\t0.004s",
        Some(true),
    ),
    (
        "go test ./... | tail -3",
        Some(0),
        "--- FAIL: TestLogin (0.00s)\nFAIL\nFAIL\texample.org/shop/login\t0.012s",
        Some(false),
    ),
    (
        "go test -failfast ./failover",
        Some(0),
        "ok  \texample.org/shop/failover\t0.012s",
        Some(true),
    ),
    (
        "make test | tail -2",
        Some(0),
        "make: *** [Makefile:12: test] Error 1",
        Some(false),
    ),
    (
        "make test-failover",
        Some(0),
        "cc -DFAIL=1 -o failover failover.c\n./failover\n12 tests passed, 0 failed",
        Some(true),
    ),
    (
        "make -k check",
        Some(2),
        "3 passed\nmake: Target 'check' not remade",
        Some(false),
    ),
    (
        "./gradlew test --fail-fast | tail -2",
        Some(0),
        "BUILD SUCCESSFUL in 3s\n4 actionable tasks: 2 executed, 2 up-to-date",
        Some(true),
    ),
    (
        "./gradlew test | tail -4",
        Some(0),
        "12 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.\nBUILD FAILED in 2s",
        Some(false),
    ),
    (
        "mvn -q verify -DskipITs=false | tail -5",
        Some(0),
        "[INFO] --- maven-failsafe-plugin:3.2.5:verify (default) @ shop ---\n\
         [INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
        Some(true),
    ),
    (
        "mvn test | tail -3",
        Some(0),
        "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
        Some(false),
    ),
    (
        "mvn failsafe:verify",
        None,
        "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
        Some(true),
    ),
    (
        "docker build -t fail2ban . 2>&1 | tail -2",
        Some(0),
        "Successfully built 1f2e3d4c5b6a\nSuccessfully tagged fail2ban:latest",
        Some(true),
    ),
    (
        "docker build . 2>&1 | tail -1",
        Some(0),
        "ERROR: failed to solve: process \"/bin/sh -c make\" did not complete successfully: exit \
         code: 2",
        Some(false),
    ),
    (
        "docker compose up -d failover; docker ps",
        Some(0),
        " \u{2714} Container failover-1  Started",
        None,
    ),
    (
        "kubectl rollout status deploy/failover | cat",
        Some(0),
        "deployment \"failover\" successfully rolled out",
        Some(true),
    ),
    (
        "kubectl rollout status deploy/shop | cat",
        Some(0),
        "error: deployment \"shop\" exceeded its progress deadline",
        Some(false),
    ),
    (
        "kubectl get pods",
        Some(1),
        "Error from server (NotFound): pods not found",
        Some(false),
    ),
    (
        "git commit -m 'Fix the failover; no test failed'",
        Some(0),
        "[main 1a2b3c4] Fix the failover; no test failed\n 1 file changed, 2 insertions(+)",
        Some(true),
    ),
    (
        "git push origin main 2>&1 | cat",
        Some(0),
        "error: failed to push some refs to 'origin'",
        Some(false),
    ),
    (
        "git merge failover | cat",
        Some(0),
        "CONFLICT (content): Merge conflict in a.rs\n\
         Automatic merge failed; fix conflicts and then commit the result.",
        Some(false),
    ),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    [CARGO, PYTHON, SCRIPT, OTHERS].into_iter().flatten()
}

#[test]
fn sixty_commands_end_as_their_codes_and_summaries_say() {
    assert_eq!(rows().count(), 60);
    let wrong = rows().filter_map(|(command, code, output, expected)| {
        let ended = CommandExit::new(*code, None, (*output).to_owned(), None);
        let verdict = ended.verdict(command);
        (verdict != *expected).then(|| format!("{command}: {verdict:?}\n{output}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(
        wrong.is_empty(),
        "{} of 60:\n{}",
        wrong.len(),
        wrong.join("\n---\n")
    );
}

/// A record of a test with this text.
fn test_record(text: &str, details: Value) -> MemoryRecord {
    let mut record = NewRecord::new(text, MemorySource::WorkerResult, MemoryKind::Episode);
    record.session_id = "s".to_owned();
    record.details = Some(details);
    record_from_new(record, 1)
}

#[test]
fn a_record_of_a_run_says_how_it_ended_whatever_the_command_is_called() {
    let plain = || json!({ "type": "test" });
    for (command, _, output, expected) in rows().filter(|row| row.3.is_some()) {
        let purpose = CommandPurpose::Tests;
        let extract = extract_failure_lines(output);
        let described = purpose.describe_end(command, *expected, &extract);
        let (text, _) = described.unwrap();
        let record = test_record(&text, plain());
        assert_eq!(find_test_verdict(&record), *expected, "{text}");
    }
    for (text, details, expected) in [
        // What was imported, or told by hand.
        (
            "cargo test --no-fail-fast: 12 passed, 0 failed",
            plain(),
            Some(true),
        ),
        ("all 12 tests of the failover passed", plain(), Some(true)),
        (
            "test result: FAILED. 3 passed; 1 failed",
            plain(),
            Some(false),
        ),
        ("The login test fails since Monday", plain(), None),
        ("fail2ban is tested", plain(), None),
        (
            "cargo test: 3 passed, 1 failed: total",
            plain(),
            Some(false),
        ),
        ("npm test: 0 failed, on 17 and on 18", plain(), Some(true)),
        (
            "npm test: 1 failed: reconnects after the proxy closes",
            plain(),
            Some(false),
        ),
        ("cargo test --no-fail-fast", plain(), None),
        (
            "`npm test` failed",
            json!({ "type": "test", "passed": true }),
            Some(true),
        ),
        ("ok", json!({ "type": "test", "exit_code": 1 }), Some(false)),
        // A command may have the marks of code in it.
        (
            "`cargo test -p \"`cat failed`\"` passed",
            plain(),
            Some(true),
        ),
        (
            "`make test` failed:\nthe shop said `all` passed",
            plain(),
            Some(false),
        ),
    ] {
        let record = test_record(text, details);
        assert_eq!(find_test_verdict(&record), expected, "{text}");
    }
    let note = record_from_new(
        NewRecord::new("`x` failed", MemorySource::UserInput, MemoryKind::Finding),
        2,
    );
    assert_eq!(find_test_verdict(&note), None);
}

#[test]
fn the_lines_that_say_what_failed_are_kept() {
    let cargo = "running 2 tests\ntest login::works ... ok\ntest login::expires ... FAILED\n\n\
        failures:\n\n---- login::expires stdout ----\nthread 'login::expires' panicked at \
        src/login.rs:41:9:\nassertion `left == right` failed: the token lives on\n  left: 1\n \
        right: 0\nnote: run with `RUST_BACKTRACE=1`\n\ntest result: FAILED. 1 passed; 1 failed;";
    let extract = extract_failure_lines(cargo);
    for part in [
        "login::expires ... FAILED",
        "src/login.rs:41:9",
        "the token lives on",
        "left: 1",
    ] {
        assert!(extract.contains(part), "{part}: {extract}");
    }
    assert!(
        !extract.contains("login::works") && !extract.contains("test result"),
        "{extract}"
    );
    let pytest = "x.py F\n    def test_x():\n>       assert f() == 3\nE       assert 2 == 3\n\
                  FAILED x.py::test_x - assert 2 == 3\n1 failed in 0.1s";
    assert!(extract_failure_lines(pytest).contains("FAILED x.py::test_x - assert 2 == 3"));
    assert_eq!(
        extract_failure_lines("one\n\ntwo\nthree\nfour\nfive"),
        "two\nthree\nfour\nfive"
    );
    assert_eq!(extract_failure_lines(""), "");
    let long = extract_failure_lines(&format!("error: {}\n", "x".repeat(900)).repeat(1));
    assert!(long.chars().count() == LINE_CHARS_MAX);
    let many: Vec<String> = (0..99).map(|n| format!("error: {n}")).collect();
    assert_eq!(
        extract_failure_lines(&many.join("\n")).lines().count(),
        FAILURE_LINES_MAX
    );
}

#[test]
fn what_tail_leaves_of_cargo_is_a_failure() {
    for (command, end) in [
        (
            "cargo test 2>&1 | tail -2",
            "error: test failed, to rerun pass `--lib`",
        ),
        (
            "cargo test",
            "\nerror: could not compile `x` (lib test) due to 2 errors",
        ),
        (
            "cargo build | tail -1",
            "error: could not compile `x` due to 1 error",
        ),
    ] {
        let ended = CommandExit::new(None, Some(true), end.to_owned(), Some(0));
        assert_eq!(ended.verdict(command), Some(false), "{command}: {end}");
    }
}

#[test]
fn a_commit_is_known_by_what_git_prints() {
    let output = "[main 1a2b3c4] Freeze the clock\n 2 files changed, 3 insertions(+)\n";
    assert_eq!(
        extract_commit_line(output),
        "[main 1a2b3c4] Freeze the clock; 2 files changed, 3 insertions(+)"
    );
    let first = "[main (root-commit) 1a2b3c4d] Begin\n";
    assert_eq!(
        extract_commit_line(first),
        "[main (root-commit) 1a2b3c4d] Begin"
    );
    for other in ["[ok] done", "nothing to commit", "[main abc] x", ""] {
        assert_eq!(extract_commit_line(other), "");
    }
}
