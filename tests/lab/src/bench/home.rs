//! A place of a bench's own: the commands that work in it, and a daemon over it.

use std::ffi::OsString;

use reprise_server::{DaemonPaths, Starter};

use crate::prelude::*;
use reprise::lab::Runtime;

/// Whose memory it is.
pub(super) const USER: &str = "bench";

pub(super) struct BenchHome {
    folder: PathBuf,
    program: PathBuf,
    /// What every command begins with.
    arguments: Vec<OsString>,
}

impl BenchHome {
    pub(super) fn new(
        folder: &Path,
        more: impl IntoIterator<Item = OsString>,
    ) -> anyhow::Result<Self> {
        let own: [OsString; 2] = ["--data-dir".into(), folder.join("data").into()];
        Ok(Self {
            folder: folder.to_owned(),
            program: find_reprise_program()?,
            arguments: own.into_iter().chain(more).collect(),
        })
    }

    /// The memory's file, in a folder that is there.
    pub(super) fn memory_file(&self) -> anyhow::Result<PathBuf> {
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

    pub(super) fn daemon_paths(&self) -> anyhow::Result<DaemonPaths> {
        let place = DaemonPaths::new(&self.folder.join("data"), Some(&self.folder));
        place.create_folders()?;
        Ok(place)
    }

    /// Starts the daemon; what it says of itself.
    pub(super) fn start_daemon(&self, more: &[&str]) -> anyhow::Result<(Runtime, Client, Value)> {
        let mut arguments = self.arguments.clone();
        let serve = ["serve", "--idle-exit", "600"];
        arguments.extend(serve.iter().chain(more).map(OsString::from));
        let program = self.program.clone();
        let client = Client::new(self.daemon_paths()?).with_starter(Starter {
            program,
            arguments,
            creates_data: true,
            wants_model: false,
        });
        let runtime = runtime::build_threaded()?;
        let status = runtime.block_on(client.ask(&Call::get("/v1/status")))?;
        Ok((runtime, client, status))
    }
}

/// Path of the `reprise` that cargo built next to this program.
fn find_reprise_program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("reprise");
    ensure!(
        program.is_file(),
        "`{}` is missing; build it: cargo build --release --workspace --bins",
        program.display()
    );
    Ok(program)
}

/// A command from its start to its end, and what it said.
pub(super) fn run_for_json(name: &str, command: &mut Command) -> anyhow::Result<(Duration, Value)> {
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed: {said}");
    Ok((took, serde_json::from_slice(&output.stdout)?))
}
