//! The real `reprise`, found and run the way a shell would.
//!
//! Where the binary is, and what a finished run left.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// Path of the `reprise` that cargo built beside the running test, which is one of its package.
pub fn reprise_binary() -> io::Result<PathBuf> {
    let test = env::current_exe()?;
    let binary = test
        .parent()
        .and_then(Path::parent)
        .map(|profile| profile.join(format!("reprise{}", env::consts::EXE_SUFFIX)))
        .filter(|binary| binary.is_file());
    binary.ok_or_else(|| {
        io::Error::other("no reprise stands beside this test; run: cargo test --package reprise")
    })
}

/// What a finished run left.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// `reprise` with nothing of this machine's settings: its own home, its own data directory.
pub fn reprise(data: &Path) -> io::Result<Command> {
    let mut command = Command::new(reprise_binary()?);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("REPRISE_") {
            command.env_remove(name);
        }
    }
    command
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .arg("--data-dir")
        .arg(data);
    command.stdin(Stdio::null());
    Ok(command)
}

/// Runs `command` to its end.
pub fn finish(command: &mut Command) -> io::Result<Finished> {
    let output = command.output()?;
    Ok(Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
