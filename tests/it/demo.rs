//! The README's first command as a test: the recorded week, with the real model.
//!
//! Lives here: what a person has to see in the demo's output. Must never live here: a timing.

use reprise_tests::{finish, reprise};

#[test]
fn the_demo_brings_back_the_race_of_three_days_ago() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let finished = finish(
        reprise(folder.path())
            .expect("reprise is built")
            .arg("demo"),
    )
    .expect("the demo runs");
    assert_eq!(
        finished.code,
        Some(0),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
    assert!(
        !finished.stdout.contains("degraded"),
        "{}{}",
        finished.stdout,
        finished.stderr
    );
    let (_, answer) = finished
        .stdout
        .split_once("request:")
        .expect("a request is shown");
    let race = |line: &str| line.contains("race condition") && line.contains("auth");
    let lines: Vec<String> = answer.lines().map(str::to_lowercase).collect();
    assert!(
        lines.iter().any(|line| race(line)),
        "the race is not there: {answer}"
    );
    assert!(answer.contains("3 days ago"), "when it happened: {answer}");
    assert!(answer.contains("because"), "why: {answer}");
    assert!(finished.stdout.contains("kill -9"), "{}", finished.stdout);
}
