//! Why a daemon could not run.

use std::net::SocketAddr;

use reprise_agent::StartError;

use crate::place::PlaceError;

/// The daemon could not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Another daemon has the data directory.
    #[error(
        "a daemon (process {pid}) serves `{data}` already; use it, or pass --replace to take its \
         place"
    )]
    Running { pid: String, data: String },
    /// An address that cannot be had.
    #[error("the address {address} cannot be listened on ({cause}); choose another --http")]
    Address {
        address: SocketAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// Reachable from elsewhere, and open to nobody.
    #[error(
        "{address} can be reached from other machines and there is no token; run `reprise token \
         add NAME` first, or bind 127.0.0.1"
    )]
    NoToken { address: SocketAddr },
    /// No date can be put on an answer of HTTP.
    #[error(
        "the clock of this machine stands before 1970; set it and start again (commands work \
         without a daemon)"
    )]
    Clock,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Token(#[from] crate::tokens::TokenError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
