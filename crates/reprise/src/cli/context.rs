//! What every command is given, and how it talks to the person at the terminal.

use std::io::Write;
use std::time::Duration;

use crate::config::Config;
use crate::env::Places;

/// What every command needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) places: Places,
    pub(crate) config: Config,
    /// Print JSON instead of prose.
    pub(crate) json: bool,
    pub(crate) no_model: bool,
    /// Leave a running daemon alone.
    pub(crate) no_daemon: bool,
    /// How long a daemon may be silent.
    pub(crate) patience: Duration,
}

/// A line for the person at the terminal, never part of the data.
pub(super) fn note(text: &str) {
    // Nothing is left to be done if stderr is gone.
    drop(writeln!(anstream::stderr(), "{text}"));
}
