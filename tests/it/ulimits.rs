//! What the limits of a shell (`ulimit`) do to commands and to a daemon: each ends in a sentence,
//! and nothing that was acknowledged is lost.

use std::process::Command;

use reprise_tests::{RunOutput, SeededRng, assert_contains, assert_lacks, run_to_end};

use crate::home::Home;

/// What a command ends with in a shell that has set this limit.
fn run_limited(home: &Home, limit: &str, arguments: &[&str]) -> RunOutput {
    let asked = home.command(arguments);
    let mut shell = Command::new("sh");
    let script = format!("ulimit {limit}; exec \"$@\"");
    shell.args(["-c", &script, "sh"]);
    shell.arg(asked.get_program()).args(asked.get_args());
    let set = asked.get_envs();
    shell.envs(set.filter_map(|(name, value)| Some((name, value?))));
    run_to_end(&mut shell).expect("the shell runs")
}

/// Lines that together are larger than a limit of 300 blocks.
fn long_lines(home: &Home) -> String {
    let mut seeded = SeededRng::new(7);
    let line = |n| {
        let words: Vec<String> = (0..40)
            .map(|_| format!("{:x}", seeded.draw_below(u64::MAX)))
            .collect();
        format!(
            "{{\"external_id\":\"{n}\",\"text\":\"{n} {}\"}}",
            words.join(" ")
        )
    };
    let lines: Vec<String> = (0..800).map(line).collect();
    home.write("long.jsonl", &lines.join("\n"))
}

#[test]
fn a_daemon_whose_file_may_not_grow_refuses_the_write_and_goes_on() {
    let home = Home::new();
    run_limited(&home, "-f 300", &["open", "--print", "--user", "ada"]).expect_code(0);
    let daemon = home.daemon().expect("it was started");
    let kept = home.run(&["ingest", "--ack", &long_lines(&home), "--user", "ada"]);
    assert_ne!(kept.code, Some(0), "the limit was never met");
    assert_contains!(kept.stderr, "too large");
    let acknowledged = kept
        .stdout
        .lines()
        .filter(|line| line.parse::<u32>().is_ok());
    let acknowledged: Vec<&str> = acknowledged.collect();
    assert_eq!(home.daemon(), Some(daemon), "it ended");
    home.run_ok(&["serve", "status"]);
    let texts = home.texts("ada");
    for id in &acknowledged {
        let begin = format!("{id} ");
        assert!(
            texts.iter().any(|text| text.starts_with(&begin)),
            "{id} is lost"
        );
    }
    home.run_ok(&["doctor", "check", "--user", "ada"]);
}

#[test]
fn a_small_address_space_ends_in_a_sentence_and_never_in_an_abort() {
    let home = Home::with(&["--no-daemon"]);
    home.run_ok(&["learn", "the gate is shut at night"]);
    let (mut refused, mut done) = (0, 0);
    for megabytes in (40..=400).step_by(20) {
        let limit = format!("-v {}", megabytes * 1024);
        let ended = run_limited(&home, &limit, &["recall", "gate"]);
        assert_lacks!(ended.stderr, "panicked");
        match ended.code {
            Some(0) => done += 1,
            Some(2) => {
                assert_contains!(ended.stderr, "`ulimit -v`");
                refused += 1;
            }
            // The program itself is larger: the system, or an allocation before `main`, ends it
            // before it begins.
            code => assert_eq!((code, refused + done), (None, 0), "at {megabytes} MB"),
        }
    }
    assert!(refused > 0 && done > 5, "{refused} refused, {done} done");
}
