//! Commands that are programs of their own: found next to `reprise`, else on PATH, and where they
//! are missing the message says how to get them.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::{RunOutput, assert_contains, find_reprise_binary, reprise_command, run_to_end};

/// Runs the `reprise` of that folder.
fn run(folder: &Path, path: &Path, words: &[&str]) -> RunOutput {
    let usual = reprise_command(&folder.join("data")).expect("reprise is built");
    let mut command = std::process::Command::new(folder.join("reprise"));
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(usual.get_args()).env("PATH", path);
    run_to_end(command.args(words)).expect("it runs")
}

fn copy(program: &str, to: &Path) {
    let built: PathBuf = find_reprise_binary().expect("reprise is built");
    let (from, to) = (built.with_file_name(program), to.join(program));
    // A link cannot be busy: a copy is, while another thread of the tests starts a process.
    if fs::hard_link(&from, &to).is_err() {
        fs::copy(&from, &to).expect("copied");
    }
}

#[test]
fn a_program_that_is_missing_is_named_with_the_way_to_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, elsewhere) = (folder.path().join("here"), folder.path().join("elsewhere"));
    for made in [&here, &elsewhere] {
        fs::create_dir(made).expect("made");
    }
    copy("reprise", &here);
    let list = ["global", "token", "list"];
    let missing = run(&here, &elsewhere, &list).expect_code(2);
    assert_contains!(missing.stderr, "`reprise-global`");
    assert_contains!(
        missing.stderr,
        "cargo install --path crates/reprise-global-cli"
    );
    let status = ["workspace", "-C", "/", "status"];
    let ungoverned = run(&here, &elsewhere, &status).expect_code(2);
    assert_contains!(
        ungoverned.stderr,
        "cargo install --path crates/reprise-workspace-cli"
    );
    // A daemon says the same where it is asked for a tree.
    let asked = ["call", "workspace_status", r#"{"workspace":"/"}"#];
    let unserved = run(&here, &elsewhere, &asked).expect_code(2);
    assert_contains!(unserved.stderr, "`reprise-workspace`");
    let backup = ["backup", "ada.age", "--recipient", "age1nobody"];
    run(
        &here,
        &elsewhere,
        &["--no-model", "learn", "the lift is broken"],
    )
    .expect_code(0);
    let unsealed = run(&here, &elsewhere, &backup).expect_code(2);
    assert_contains!(unsealed.stderr, "cargo install --path crates/reprise-seal");

    copy("reprise-global", &elsewhere);
    run(&here, &elsewhere, &list).expect_code(0);
    fs::rename(
        elsewhere.join("reprise-global"),
        here.join("reprise-global"),
    )
    .expect("moved");
    run(&here, &elsewhere, &list).expect_code(0);
}

#[test]
fn help_lists_the_programs_and_passes_on_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = |words: &[&str]| {
        let mut command = reprise_command(folder.path()).expect("reprise is built");
        run_to_end(command.args(words))
            .expect("it runs")
            .expect_code(0)
            .stdout
    };
    assert_contains!(help(&["help", "--all"]), "global ");
    for words in [
        &["help", "global", "serve"][..],
        &["global", "serve", "--help"],
    ] {
        let text = help(words);
        assert_contains!(text, "Usage: reprise global serve");
        assert_contains!(text, "--requests-per-second");
    }
}
