//! What of a command's output is worth keeping: the lines that say what failed, or what was
//! committed.

/// Lines of a failure that are kept, and characters of each.
const LINES: usize = 12;
const LINE_CHARACTERS: usize = 200;
/// Lines kept where none says what failed.
const LAST: usize = 4;
/// What stands in a line that says what failed.
const FAILING: &[&str] = &[
    "... FAILED",
    "FAILED ",
    "panicked at",
    "assertion ",
    "AssertionError",
    "left: ",
    "right: ",
    "error[",
    "error:",
    "Error:",
    "ERROR",
    "--- FAIL",
    "FAIL ",
    "FAIL\t",
    "\u{2715}",
    "\u{2717}",
    "\u{25cf} ",
    "not ok ",
    "Exception",
    "E   ",
    "Expected",
    "expected",
    "Received",
    "undefined",
    "fatal:",
    "npm ERR!",
    "Failures:",
    "failed:",
    "cannot find",
    "No such file",
];
/// What stands in a line that only counts, or speaks of what went well.
const COUNTING: &[&str] = &[
    "test result:",
    " 0 failed",
    "... ok",
    "could not compile",
    "RUST_BACKTRACE",
    "failures:",
];

/// The lines of an output that say what failed, else its last ones.
pub fn failing(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let mut kept: Vec<&str> = Vec::new();
    let mut message = false;
    for line in &lines {
        let says = has(line, FAILING) && !has(line, COUNTING);
        // What panicked says why on the next line.
        if (says || message) && !kept.contains(line) {
            kept.push(line);
            if kept.len() == LINES {
                break;
            }
        }
        message = line.contains("panicked at");
    }
    if kept.is_empty() {
        kept = lines.iter().rev().take(LAST).rev().copied().collect();
    }
    let cut = |line: &&str| line.chars().take(LINE_CHARACTERS).collect::<String>();
    let kept: Vec<String> = kept.iter().map(cut).collect();
    kept.join("\n")
}

/// What git prints of a commit: `[main 1a2b3c4] Subject`, and how much it changed.
pub fn committed(output: &str) -> String {
    let mut lines = output.lines().map(str::trim);
    let Some(said) = lines.find(|line| is_commit(line)) else {
        return String::new();
    };
    let changed = lines.find(|line| line.contains("changed,"));
    let parts: Vec<&str> = std::iter::once(said).chain(changed).collect();
    parts.join("; ").chars().take(LINE_CHARACTERS * 2).collect()
}

fn is_commit(line: &str) -> bool {
    let inner = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "));
    inner.is_some_and(|(place, subject)| {
        let id = place.rsplit(' ').next().unwrap_or_default();
        id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit()) && !subject.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_say_what_failed_are_kept() {
        let cargo = "running 2 tests\ntest login::works ... ok\ntest login::expires ... FAILED\n\n\
            failures:\n\n---- login::expires stdout ----\nthread 'login::expires' panicked at \
            src/login.rs:41:9:\nassertion `left == right` failed: the token lives on\n  left: 1\n \
            right: 0\nnote: run with `RUST_BACKTRACE=1`\n\ntest result: FAILED. 1 passed; 1 failed;";
        let said = failing(cargo);
        for part in [
            "login::expires ... FAILED",
            "src/login.rs:41:9",
            "the token lives on",
            "left: 1",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(
            !said.contains("login::works") && !said.contains("test result"),
            "{said}"
        );
        let pytest = "x.py F\n    def test_x():\n>       assert f() == 3\nE       assert 2 == 3\n\
                      FAILED x.py::test_x - assert 2 == 3\n1 failed in 0.1s";
        assert!(failing(pytest).contains("FAILED x.py::test_x - assert 2 == 3"));
        assert_eq!(
            failing("one\n\ntwo\nthree\nfour\nfive"),
            "two\nthree\nfour\nfive"
        );
        assert_eq!(failing(""), "");
        let long = failing(&format!("error: {}\n", "x".repeat(900)).repeat(1));
        assert!(long.chars().count() == LINE_CHARACTERS);
        let many: Vec<String> = (0..99).map(|n| format!("error: {n}")).collect();
        assert_eq!(failing(&many.join("\n")).lines().count(), LINES);
    }

    #[test]
    fn a_commit_is_known_by_what_git_prints() {
        let said = "[main 1a2b3c4] Freeze the clock\n 2 files changed, 3 insertions(+)\n";
        assert_eq!(
            committed(said),
            "[main 1a2b3c4] Freeze the clock; 2 files changed, 3 insertions(+)"
        );
        let first = "[main (root-commit) 1a2b3c4d] Begin\n";
        assert_eq!(committed(first), "[main (root-commit) 1a2b3c4d] Begin");
        for other in ["[ok] done", "nothing to commit", "[main abc] x", ""] {
            assert_eq!(committed(other), "");
        }
    }
}
