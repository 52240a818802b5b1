//! The daemon of another machine, as the configuration names it.

use std::path::PathBuf;

use serde::Deserialize;

/// `[remote]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RemoteTable {
    /// Address of the daemon.
    pub(crate) url: Option<String>,
    /// File with the token, which only its owner may read.
    pub(crate) token_file: Option<PathBuf>,
    /// Send the token and every text over plain HTTP too, although it is another machine.
    pub(crate) allow_plain_http: bool,
}
