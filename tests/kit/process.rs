//! The real `reprise`, found and run the way a shell would.
//!
//! Where the binary is, and what a finished run left.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

/// Finds the `reprise` that cargo built next to the running test, which is a test of its package.
pub fn find_reprise_binary() -> io::Result<PathBuf> {
    let test = env::current_exe()?;
    let binary = test
        .parent()
        .and_then(Path::parent)
        .map(|profile| profile.join(format!("reprise{}", env::consts::EXE_SUFFIX)))
        .filter(|binary| binary.is_file());
    binary.ok_or_else(|| {
        io::Error::other(
            "there is no reprise binary next to this test; run: cargo test --package reprise",
        )
    })
}

/// What a finished run left.
#[derive(Debug, Clone)]
pub struct RunOutput {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl RunOutput {
    /// Asserts that the run ended with this code.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "that it ended so is often all there is to know"
    )]
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }
}

/// Returns a `reprise` command without this machine's settings and with its own data directory.
pub fn reprise_command(data: &Path) -> io::Result<Command> {
    let mut command = Command::new(find_reprise_binary()?);
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
pub fn run_to_end(command: &mut Command) -> io::Result<RunOutput> {
    let output = command.output()?;
    Ok(RunOutput {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs git as a fixed author and returns its output.
pub fn try_run_git(folder: &Path, arguments: &[&str]) -> RunOutput {
    let mut git = Command::new("git");
    let person = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.invalid",
    ];
    let git = git.current_dir(folder).args(person).args(arguments);
    run_to_end(git).unwrap_or_else(|error| RunOutput {
        code: None,
        stdout: String::new(),
        stderr: error.to_string(),
    })
}

/// Runs git, which must succeed, and returns its standard output.
#[track_caller]
pub fn run_git(folder: &Path, arguments: &[&str]) -> String {
    try_run_git(folder, arguments).expect_code(0).stdout
}
