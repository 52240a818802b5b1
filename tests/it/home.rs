//! A data directory of a test's own, with the daemon that its clients start there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reprise_server::{Client, DaemonPaths, Starter};
use reprise_tests::{RunOutput, find_reprise_binary, reprise_command, run_to_end};
use serde_json::Value;
use tempfile::TempDir;

/// A data directory whose daemon ends with the test.
pub(crate) struct Home {
    folder: TempDir,
    /// What every command ends with.
    flags: &'static [&'static str],
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// One in which every command ends with these.
    pub(crate) fn with(flags: &'static [&'static str]) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
            flags,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in its folder, as an argument.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.folder().join(name);
        path.to_string_lossy().into_owned()
    }

    /// A file with this in it, and the path of that file.
    pub(crate) fn write(&self, name: &str, text: &(impl AsRef<[u8]> + ?Sized)) -> String {
        let file = self.folder().join(name);
        let folder = file.parent().expect("it has a folder");
        fs::create_dir_all(folder).expect("the folder is made");
        fs::write(&file, text).expect("the folder takes files");
        file.to_string_lossy().into_owned()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn place(&self) -> DaemonPaths {
        DaemonPaths::new(&self.data(), Some(self.folder.path()))
    }

    pub(crate) fn client(&self) -> Client {
        let data = self.data();
        let arguments = ["--no-model", "--data-dir"].map(Into::into);
        let mut arguments: Vec<std::ffi::OsString> = arguments.into();
        arguments.push(data.into());
        arguments.extend(["serve", "--idle-exit", "60"].map(Into::into));
        // The daemon inherits the runtime directory of this process; it writes down its socket.
        Client::new(self.place()).with_starter(Starter {
            program: find_reprise_binary().expect("reprise is built"),
            arguments,
            creates_data: true,
            wants_model: false,
        })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise_command(&self.data()).expect("reprise is built");
        command
            .current_dir(self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME")
            .arg("--no-model")
            .args(arguments)
            .args(self.flags);
        command
    }

    /// What a command ends with.
    pub(crate) fn run(&self, arguments: &[&str]) -> RunOutput {
        run_to_end(&mut self.command(arguments)).expect("reprise runs")
    }

    /// What a command prints that does what it should.
    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    }

    /// Its answer as JSON.
    pub(crate) fn run_json(&self, arguments: &[&str]) -> Value {
        let said = self.run_ok(&[&["--json"], arguments].concat());
        serde_json::from_str(&said).expect("JSON")
    }

    /// The texts of a user, as an export has them.
    pub(crate) fn texts(&self, user: &str) -> Vec<String> {
        let text = |record: &Value| record["text"].as_str().expect("a text").to_owned();
        let records = rows(&self.run_ok(&["export", "--user", user]));
        records.iter().map(text).collect()
    }

    /// Keeps lines of the ingest form; `flags` say whose they are.
    pub(crate) fn keep(&self, lines: &[Value], flags: &[&str]) {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let file = self.write("lines.jsonl", &lines.join("\n"));
        self.run_ok(&[&["ingest", &file], flags].concat());
    }

    pub(crate) fn daemon(&self) -> Option<String> {
        let lines = fs::read_to_string(self.data().join(".reprise/daemon.lock")).ok()?;
        lines.lines().next().map(str::to_owned)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        kill(self.daemon(), "-TERM");
    }
}

/// Lines of JSON.
pub(crate) fn rows(text: &str) -> Vec<Value> {
    let rows = text.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().expect("lines of JSON")
}

pub(crate) fn kill(process: Option<String>, signal: &str) {
    if let Some(process) = process {
        let mut command = Command::new("kill");
        // One that is gone already is what was wanted.
        let _sent = command
            .args([signal, &process])
            .stderr(Stdio::null())
            .status()
            .is_ok();
    }
}
