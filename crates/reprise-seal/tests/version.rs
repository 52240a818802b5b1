//! The program starts. Being an integration test, it also makes `cargo test` build the program that
//! the tests of the whole product run.

use std::process::Command;

#[test]
fn the_program_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_reprise-seal"))
        .arg("--version")
        .output()
        .expect("the program starts");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}
