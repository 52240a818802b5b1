//! The only file of the binary that reads the environment: directories, and what child processes
//! may see.

use std::num::NonZeroU16;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use reprise_server::DaemonPaths;
use reprise_types::UserId;

/// Name of a memory's file in its folder.
pub(crate) const MEMORY: &str = "memory.rvf";
/// Folder in the data directory that belongs to no user.
const OWN: &str = ".reprise";

pub(crate) const DATA_DIR: &str = "REPRISE_DATA_DIR";
/// Overrides the directory of the models.
pub(crate) const MODELS_DIR: &str = "REPRISE_MODELS_DIR";

pub(crate) const CONFIG: &str = "REPRISE_CONFIG";
/// How long a daemon may be silent, in seconds.
pub(crate) const DAEMON_PATIENCE: &str = "REPRISE_DAEMON_PATIENCE";
/// The database of published knowledge.
pub const DATABASE_URL: &str = "REPRISE_GLOBAL_DATABASE_URL";
/// The collector of traces, as OpenTelemetry's own tools name it.
pub(crate) const OTLP: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Headers of every request to the collector: `name=value`, commas between, values encoded as in
/// addresses.
const OTLP_HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

/// The daemon of another machine, and the token that it knows.
const URL: &str = "REPRISE_URL";
const TOKEN: &str = "REPRISE_TOKEN";

/// User of a command that does not name one.
pub const USER: &str = "REPRISE_USER";
/// Directory of the session's sockets.
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// Restarts this program without telemetry if ONNX Runtime would send some. If that fails, the
/// built-in engine embeds, and `doctor` reports why.
pub fn restart_without_telemetry() {
    if !reprise_embed::is_without_telemetry() {
        restart_with_environment([(reprise_embed::NO_TELEMETRY, "1")]);
    }
}

/// Restarts this program in the same process with the same arguments and more environment
/// variables, which a process cannot safely change for itself. Returns only if that failed.
pub(crate) fn restart_with_environment<'a>(more: impl IntoIterator<Item = (&'a str, &'a str)>) {
    restart_process(|again| {
        again.envs(more);
    });
}

fn restart_process(change: impl FnOnce(&mut Command)) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // If the loader runs this program (`ld.so reprise ...`), this path is the loader's.
    let name = program.file_name().unwrap_or_default();
    if name.to_string_lossy().contains(".so") {
        return;
    }
    let mut again = Command::new(program);
    let mut words = std::env::args_os();
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    change(again.args(words));
    let failed = again.exec();
    tracing::debug!(%failed, "it goes on in the environment that it has");
}

/// What was wrong with variables that an earlier start of this process passed over.
const PASSED_OVER: &str = "REPRISE_PASSED_OVER";

/// Variables that stand for options.
const OF_OPTIONS: [&str; 6] = [DATA_DIR, MODELS_DIR, CONFIG, DAEMON_PATIENCE, USER, OTLP];

/// Returns whether the environment has this variable; one that is empty counts as not set.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns the text of this variable, unless it is empty.
pub(crate) fn read_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Restarts this program without the variables that stand for options and are empty, which counts
/// as not set. Returns if there is none, or if that failed.
pub(crate) fn restart_without_empty_variables() {
    let is_empty = |name: &&str| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let empty: Vec<&str> = OF_OPTIONS.into_iter().filter(is_empty).collect();
    if !empty.is_empty() {
        restart_process(|again| {
            for name in empty {
                again.env_remove(name);
            }
        });
    }
}

/// Restarts this program without the variables whose value cannot be used, which would cost a
/// moment of a session. Returns if there is none, or if that failed.
pub(crate) fn restart_without_wrong_variables() {
    let text = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let user = text(USER).and_then(|user| user.parse::<UserId>().err());
    let patience = text(DAEMON_PATIENCE).and_then(|text| text.parse::<NonZeroU16>().err());
    let wrong = [
        (USER, user.map(|error| error.to_string())),
        (DAEMON_PATIENCE, patience.map(|error| error.to_string())),
    ];
    let wrong = wrong.into_iter();
    let wrong: Vec<(&str, String)> = wrong.filter_map(|(name, why)| Some((name, why?))).collect();
    if wrong.is_empty() {
        return;
    }
    let says = wrong
        .iter()
        .map(|(name, why)| format!("{name} is passed over: {why}"));
    let says = says.collect::<Vec<_>>().join("; ");
    restart_process(|again| {
        for (name, _) in &wrong {
            again.env_remove(name);
        }
        again.env(PASSED_OVER, says);
    });
}

/// Returns what [`restart_without_wrong_variables`] passed over, and why.
pub(crate) fn passed_over() -> Option<String> {
    std::env::var(PASSED_OVER).ok()
}

/// Returns the system's name of the person at this machine; empty if it is unknown.
pub fn user_name() -> String {
    let names = ["SUDO_USER", "LOGNAME", "USER"].into_iter();
    let named = names.filter_map(|name| std::env::var(name).ok());
    named
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

/// Returns the folder of the current Sunwell project's state, from Sunwell's own variable.
pub(crate) fn sunwell_state() -> Option<PathBuf> {
    let named = std::env::var_os("SUNWELL_STATE_DIR").filter(|name| !name.is_empty());
    named.map(PathBuf::from)
}

/// Returns the address of a remote daemon, which may be empty, and its token.
pub(crate) fn remote_daemon() -> (Option<String>, Option<String>) {
    let named = |name| std::env::var(name).ok();
    let token = named(TOKEN).map(|token| token.trim().to_owned());
    (named(URL), token.filter(|token| !token.is_empty()))
}

/// Returns the configuration file that the environment names.
pub(crate) fn config_file() -> Option<PathBuf> {
    let named = std::env::var_os(CONFIG).filter(|name| !name.is_empty());
    named.map(PathBuf::from)
}

/// Returns the home directory, which has the configurations of other programs.
pub(crate) fn home_folder() -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir();
    home.context("no home directory is known; set HOME")
}

/// Returns the folder that an XDG variable names by an absolute path, or else the one below the
/// home directory.
fn base_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named
        .filter(|named| named.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(below_home)))
}

/// The directories one run works in.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// Directory with one folder per user.
    pub(crate) data: PathBuf,
    /// Directory of model files and ONNX Runtime.
    pub(crate) models: PathBuf,
    /// Configuration file, which may be missing.
    pub(crate) config: PathBuf,
    /// Directory of events that wait for a remote daemon; nothing of a local memory.
    pub(crate) state: PathBuf,
}

impl Places {
    /// Returns the named directories, or else the XDG directories.
    pub(crate) fn new(
        data: Option<PathBuf>,
        models: Option<PathBuf>,
        config: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let base = |variable, below_home| {
            base_folder(variable, below_home).context(
                "no home directory is known; set HOME, or pass --data-dir and --models-dir",
            )
        };
        let data = match data {
            Some(data) => data,
            None => base("XDG_DATA_HOME", ".local/share")?.join("reprise"),
        };
        let models = match models {
            Some(models) => models,
            None => base("XDG_CACHE_HOME", ".cache")?.join("reprise/models"),
        };
        let config = match config {
            Some(config) => config,
            None => base("XDG_CONFIG_HOME", ".config")?.join("reprise/config.toml"),
        };
        let state = base_folder("XDG_STATE_HOME", ".local/state");
        let state = state.map_or_else(|| data.join(OWN), |base| base.join("reprise"));
        Ok(Self {
            state: absolute_path(&state)?,
            data: absolute_path(&data)?,
            models: absolute_path(&models)?,
            config: absolute_path(&config)?,
        })
    }

    /// Returns the sockets and files by which clients find the daemon of this data directory.
    pub(crate) fn daemon_place(&self) -> DaemonPaths {
        let runtime = std::env::var_os(RUNTIME_DIR).filter(|dir| !dir.is_empty());
        DaemonPaths::new(&self.data, runtime.as_deref().map(Path::new))
    }

    /// Returns the folder of this machine's own files; no user id begins with a dot.
    pub(crate) fn own_folder(&self) -> PathBuf {
        self.data.join(OWN)
    }

    /// Returns the path of a user's memory file.
    pub(crate) fn memory_file_of(&self, user: &UserId) -> PathBuf {
        self.home_of(user).join(MEMORY)
    }

    /// Returns the folder of a user's memory.
    pub(crate) fn home_of(&self, user: &UserId) -> PathBuf {
        self.data.join(user.as_str())
    }
}

/// Returns the environment variables for commands of the demo: enough to run a compiler, and no
/// secret.
pub(crate) fn command_environment() -> Vec<(String, String)> {
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

/// Headers that the collector of traces asks for, such as its token.
pub(crate) fn collector_headers() -> Vec<(String, String)> {
    let named = OTLP_HEADERS
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let decode = |text: &str| {
        let decoded = percent_encoding::percent_decode_str(text.trim());
        decoded.decode_utf8_lossy().into_owned()
    };
    let named = named.unwrap_or_default();
    let pairs = named.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), decode(value)))
        .collect()
}

/// Finds a program of ours: next to this one, else by the search path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = search_path().unwrap_or_default();
    let folders = beside.into_iter().chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Returns the search path of programs.
pub(crate) fn search_path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

fn absolute_path(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("`{}` is not a path", path.display()))
}
