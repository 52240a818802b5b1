//! What may be typed to run the daemon and to speak with it.

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use reprise_types::UserId;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Listen on this address too, for requests with a token; `127.0.0.1:7341` for example
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// End after so many seconds without a request [default: stay]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_exit: Option<u64>,
    /// Take the place of a daemon that runs now, once it has finished what is under way
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it: the only time that it is shown
    Add {
        /// What to call it
        name: String,
        /// Whose memory alone it opens [default: every user's]
        #[arg(long)]
        user: Option<UserId>,
    },
    /// List the tokens by name
    List,
    /// Replace a token by a new one and print that
    Rotate {
        /// Which
        name: String,
    },
    /// Withdraw a token
    Revoke {
        /// Which
        name: String,
    },
}
