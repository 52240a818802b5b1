//! A place of a bench's own: the commands that work in it, and a daemon over it.

use std::ffi::OsString;

use reprise_server::{Place, Starter};

use crate::cli::prelude::*;
use crate::cli::runtime::Runtime;

/// Whose memory it is.
pub(super) const USER: &str = "bench";

pub(super) struct Home {
    folder: PathBuf,
    program: PathBuf,
    /// What every command begins with.
    arguments: Vec<OsString>,
}

impl Home {
    pub(super) fn new(
        folder: &Path,
        more: impl IntoIterator<Item = OsString>,
    ) -> anyhow::Result<Self> {
        let own: [OsString; 2] = ["--data-dir".into(), folder.join("data").into()];
        Ok(Self {
            folder: folder.to_owned(),
            program: std::env::current_exe()?,
            arguments: own.into_iter().chain(more).collect(),
        })
    }

    /// The memory's file, in a folder that is there.
    pub(super) fn file(&self) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join("data").join(USER);
        fs_err::create_dir_all(&folder)?;
        Ok(folder.join("memory.rvf"))
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("XDG_RUNTIME_DIR", &self.folder)
            .env_remove("REPRISE_LOG")
            .args(&self.arguments);
        command
    }

    pub(super) fn place(&self) -> anyhow::Result<Place> {
        let place = Place::new(&self.folder.join("data"), Some(&self.folder));
        place.prepare()?;
        Ok(place)
    }

    /// Starts the daemon; what it says of itself.
    pub(super) fn serve(&self, more: &[&str]) -> anyhow::Result<(Runtime, Client, Value)> {
        let mut arguments = self.arguments.clone();
        let serve = ["serve", "--idle-exit", "600"];
        arguments.extend(serve.iter().chain(more).map(OsString::from));
        let program = self.program.clone();
        let client = Client::new(self.place()?).starting(Starter { program, arguments });
        let runtime = runtime::threaded()?;
        let status = runtime.block_on(client.ask(&Call::get("/v1/status")))?;
        Ok((runtime, client, status))
    }
}

/// A command from its start to its end, and what it said.
pub(super) fn said(name: &str, command: &mut Command) -> anyhow::Result<(Duration, Value)> {
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed: {said}");
    Ok((took, serde_json::from_slice(&output.stdout)?))
}
