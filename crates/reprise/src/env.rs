//! Where things lie: the one file of the binary that asks the environment, for directories and for
//! what a command may see.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use etcetera::BaseStrategy;
use reprise_server::Place;
use reprise_types::UserId;

/// The file of a memory in its folder.
pub(crate) const MEMORY: &str = "memory.rvf";
/// The folder in the data directory that is no user's.
const OWN: &str = ".reprise";

pub(crate) const DATA_DIR: &str = "REPRISE_DATA_DIR";
/// Overrides the directory of the models.
pub(crate) const MODELS_DIR: &str = "REPRISE_MODELS_DIR";

pub(crate) const CONFIG: &str = "REPRISE_CONFIG";
/// How long a daemon may be silent, in seconds.
pub(crate) const DAEMON_PATIENCE: &str = "REPRISE_DAEMON_PATIENCE";
/// The database of published knowledge.
pub(crate) const DATABASE_URL: &str = "REPRISE_GLOBAL_DATABASE_URL";
/// The collector of traces, as OpenTelemetry's own tools name it.
pub(crate) const OTLP: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The daemon of another machine, and the token that it knows.
const URL: &str = "REPRISE_URL";
const TOKEN: &str = "REPRISE_TOKEN";

/// Whose memory it is where a command does not say.
pub(crate) const USER: &str = "REPRISE_USER";
/// Where the session's sockets live.
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// Begins again where ONNX Runtime would send telemetry (M72). Where it comes back, the built-in
/// engine embeds, and `doctor` says why.
pub(crate) fn begin_without_telemetry() {
    if !reprise_embed::is_without_telemetry() {
        begin_again([(reprise_embed::NO_TELEMETRY, "1")]);
    }
}

/// Begins this program again, as the same process with the same words and more in its environment:
/// a process cannot safely change that for itself. Comes back where that failed.
pub(crate) fn begin_again<'a>(more: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // Where the loader was told to run this program (`ld.so reprise ...`), that is the loader.
    let name = program.file_name().unwrap_or_default();
    if name.to_string_lossy().contains(".so") {
        return;
    }
    let mut again = Command::new(program);
    let mut words = std::env::args_os();
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    let failed = again.args(words).envs(more).exec();
    tracing::debug!(%failed, "it goes on in the environment that it has");
}

/// Whether the environment has this variable.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Who works at this machine, as the system calls him; empty where it does not say.
pub(crate) fn person() -> String {
    let names = ["SUDO_USER", "LOGNAME", "USER"].into_iter();
    let named = names.filter_map(|name| std::env::var(name).ok());
    named
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

/// Where the state of the Sunwell project stands that is worked on, as Sunwell itself is told.
pub(crate) fn sunwell_state() -> Option<PathBuf> {
    let named = std::env::var_os("SUNWELL_STATE_DIR").filter(|name| !name.is_empty());
    named.map(PathBuf::from)
}

/// The address of a daemon elsewhere, which may be empty, and its token.
pub(crate) fn remote() -> (Option<String>, Option<String>) {
    let named = |name| std::env::var(name).ok();
    let token = named(TOKEN).map(|token| token.trim().to_owned());
    (named(URL), token.filter(|token| !token.is_empty()))
}

/// The configuration file that the environment names.
pub(crate) fn config() -> Option<PathBuf> {
    std::env::var_os(CONFIG).map(PathBuf::from)
}

/// Where the configurations of other programs are.
pub(crate) fn home() -> anyhow::Result<PathBuf> {
    let home = etcetera::home_dir();
    home.context("no home directory is known; set HOME")
}

/// The directories one run works in.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// One folder per user below it.
    pub(crate) data: PathBuf,
    /// Model files and ONNX Runtime.
    pub(crate) models: PathBuf,
    /// The configuration file, which need not be there.
    pub(crate) config: PathBuf,
    /// What waits to be sent to a daemon elsewhere; nothing of a memory of this machine.
    pub(crate) state: PathBuf,
}

impl Places {
    /// What the caller named, else the XDG directories.
    pub(crate) fn new(
        data: Option<PathBuf>,
        models: Option<PathBuf>,
        config: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let base = || {
            etcetera::choose_base_strategy().context(
                "no home directory is known; set HOME, or pass --data-dir and --models-dir",
            )
        };
        let data = match data {
            Some(data) => data,
            None => base()?.data_dir().join("reprise"),
        };
        let models = match models {
            Some(models) => models,
            None => base()?.cache_dir().join("reprise").join("models"),
        };
        let config = match config {
            Some(config) => config,
            None => base()?.config_dir().join("reprise").join("config.toml"),
        };
        let state = base()
            .ok()
            .and_then(|base| Some(base.state_dir()?.join("reprise")));
        let state = state.unwrap_or_else(|| data.join(OWN));
        Ok(Self {
            state: absolute(&state)?,
            data: absolute(&data)?,
            models: absolute(&models)?,
            config: absolute(&config)?,
        })
    }

    /// Where the daemon of this data directory and its clients meet.
    pub(crate) fn meeting(&self) -> Place {
        let runtime = std::env::var_os(RUNTIME_DIR).filter(|dir| !dir.is_empty());
        Place::new(&self.data, runtime.as_deref().map(Path::new))
    }

    /// What this machine knows of itself. No user id begins with a dot.
    pub(crate) fn own(&self) -> PathBuf {
        self.data.join(OWN)
    }

    /// The one file of one user (M25).
    pub(crate) fn file_of(&self, user: &UserId) -> PathBuf {
        self.home_of(user).join(MEMORY)
    }

    /// The folder of one user's memory.
    pub(crate) fn home_of(&self, user: &UserId) -> PathBuf {
        self.data.join(user.as_str())
    }
}

/// What a command of the demo's terminal gets of this process's environment: enough to find and run
/// a compiler, and no secret.
pub(crate) fn for_commands() -> Vec<(String, String)> {
    let names = [
        "PATH",
        "HOME",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
    ];
    let value = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    names.into_iter().filter_map(value).collect()
}

/// Where programs are looked for by their names.
pub(crate) fn search_path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("`{}` is not a path", path.display()))
}
