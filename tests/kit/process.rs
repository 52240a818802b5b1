//! The real `reprise`, found or built, and run the way a shell would.
//!
//! Lives here: where the binary is, and what a finished run left. Must never live here: an
//! assertion about what it said.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs, io};

use crate::tree::workspace_root;

/// Path of a `reprise` no older than its sources, from the profile that this test was built in.
///
/// Cargo gives a binary's path to tests of its own package only. So the one beside this test is
/// taken if it is fresh, and else cargo is asked to build it: it holds no lock while tests run.
pub fn reprise_binary() -> io::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT
        .get_or_init(|| find_or_build().map_err(|error| error.to_string()))
        .clone()
        .map_err(io::Error::other)
}

fn find_or_build() -> io::Result<PathBuf> {
    let test = env::current_exe()?;
    let profile_folder = test
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| io::Error::other("the test stands in no target directory"))?;
    let binary = profile_folder.join(format!("reprise{}", env::consts::EXE_SUFFIX));
    let built = fs::metadata(&binary).and_then(|found| found.modified());
    if let Ok(built) = built
        && newest_source(&workspace_root())? < built
    {
        return Ok(binary);
    }
    let target = profile_folder.parent().unwrap_or(profile_folder);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(workspace_root())
        .args(["build", "--quiet", "--package", "reprise"]);
    if profile_folder.file_name() == Some(OsStr::new("release")) {
        cargo.arg("--release");
    }
    let built = cargo.arg("--target-dir").arg(target).status()?;
    if built.success() {
        Ok(binary)
    } else {
        Err(io::Error::other("reprise does not build"))
    }
}

/// When the youngest of what the binary is made of was written.
fn newest_source(root: &Path) -> io::Result<SystemTime> {
    let mut newest = fs::metadata(root.join("Cargo.toml"))?.modified()?;
    let mut folders = vec![root.join("sandbox")];
    for entry in fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if !["tests", "benches", "target"]
                    .iter()
                    .any(|name| path.ends_with(name))
                {
                    folders.push(path);
                }
            } else {
                newest = newest.max(fs::metadata(&path)?.modified()?);
            }
        }
    }
    Ok(newest)
}

/// What a finished run left.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
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
