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

impl Finished {
    /// The run, which has to have ended with this code.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "that it ended so is often all there is to know"
    )]
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }
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

/// Plain git, as a person of that name would run it.
pub fn try_git(folder: &Path, arguments: &[&str]) -> Finished {
    let mut git = Command::new("git");
    let person = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.invalid",
    ];
    let git = git.current_dir(folder).args(person).args(arguments);
    finish(git).unwrap_or_else(|error| Finished {
        code: None,
        stdout: String::new(),
        stderr: error.to_string(),
    })
}

/// What git says that does what it should.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    try_git(folder, arguments).ended(0).stdout
}
