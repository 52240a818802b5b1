//! Nothing leaves the machine: the program at work, and every process that it starts, where a
//! socket that is no Unix socket ends the process that opens it.

use std::path::Path;
use std::process::Command;

use reprise_embed::{NO_TELEMETRY, testing};
use reprise_tests::{RunOutput, find_reprise_binary, run_to_end};

/// Work of every kind by a daemon, and then the demo: with the real model.
const WORK: &str = r#"
set -e
"$0" --data-dir "$1" serve --idle-exit 60 >&2 &
daemon=$!
until "$0" --data-dir "$1" serve status >&2; do kill -0 $daemon || exit 7; done
"$0" --data-dir "$1" learn --user ada "the auth race was ended by one mutex per user" >&2
"$0" --data-dir "$1" recall --user ada "how did the auth race end?"
"$0" --data-dir "$1" serve stop >&2
wait $daemon
"$0" --data-dir "$1/demo" demo >&2
"#;
/// Somebody who does try: git is here for the workspace's tests.
const TRIES: &str = "git ls-remote git://192.0.2.1/nowhere >&2; echo $?";
/// What a shell says of a process that SIGSYS ended.
const KILLED: &str = "159\n";
/// Holds a program to Unix sockets.
const KEEPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/kit/unix_only.py");
/// Where glibc has its loader.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Runs a script on Unix sockets alone, with nothing of this machine's settings but its model.
fn on_unix_sockets(script: &str, folder: &Path) -> RunOutput {
    let mut command = Command::new("python3");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REPRISE_") {
            command.env_remove(name);
        }
    }
    command
        // What the tests are run with, and people do not have.
        .env_remove(NO_TELEMETRY)
        .env("REPRISE_MODELS_DIR", testing::shared_models().dir())
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("XDG_RUNTIME_DIR", folder)
        .args([KEEPER, "sh", "-c", script])
        .arg(find_reprise_binary().expect("reprise is built"))
        .arg(folder.join("data"));
    run_to_end(&mut command).expect("the script runs")
}

#[test]
fn the_program_at_work_reaches_for_no_network() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tried = on_unix_sockets(TRIES, folder.path());
    assert_eq!(tried.stdout, KILLED, "somebody who tries is noticed");
    let worked = on_unix_sockets(WORK, folder.path()).expect_code(0);
    assert!(worked.stdout.contains("one mutex per user"), "{worked:?}");
    assert!(worked.stderr.contains("3 days ago"), "{worked:?}");
    assert!(!worked.stderr.contains("by words"), "{worked:?}");
    // A library that sends later what it keeps now keeps it here.
    assert!(!folder.path().join("cache").exists());
}

#[test]
fn with_the_model_in_use_the_engine_is_onnx_runtime_without_its_telemetry() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let looked = on_unix_sockets(r#""$0" --data-dir "$1" doctor --json"#, folder.path());
    assert!(looked.stdout.contains("libonnxruntime"), "{looked:?}");
    assert!(!looked.stdout.contains(NO_TELEMETRY), "{looked:?}");
}

#[test]
fn a_loader_that_was_told_to_run_the_program_is_not_begun_in_its_place() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut loaders = LOADERS.into_iter().map(Path::new);
    let Some(loader) = loaders.find(|loader| loader.exists()) else {
        return;
    };
    let mut command = Command::new(loader);
    command
        .env_remove(NO_TELEMETRY)
        .arg(find_reprise_binary().expect("reprise is built"))
        .arg("--data-dir")
        .arg(folder.path())
        .args(["--no-daemon", "stats", "--user", "ada"]);
    let ran = run_to_end(&mut command).expect("the loader runs");
    assert!(ran.stderr.contains("has no memories yet"), "{ran:?}");
}
