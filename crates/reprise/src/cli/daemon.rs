//! The way of a command to the daemon, where one runs and the command may use it.

use reprise_server::{Call, Client, Problem};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use super::{Context, host};

/// A daemon that answers, and the runtime that asks it.
pub(super) struct Daemon {
    runtime: Runtime,
    client: Client,
}

impl Daemon {
    /// The running daemon; `None` where none runs or the caller said to leave it alone.
    pub(super) fn running(context: &Context) -> anyhow::Result<Option<Self>> {
        if context.no_daemon {
            return Ok(None);
        }
        let place = context.places.meeting();
        // Cheaper than a runtime, for the many commands that find no daemon.
        if std::os::unix::net::UnixStream::connect(place.socket()).is_err() {
            return Ok(None);
        }
        Ok(Some(Self {
            runtime: host::runtime()?,
            client: Client::new(place),
        }))
    }

    /// Asks and waits for the answer.
    pub(super) fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        self.runtime.block_on(self.client.ask(call))
    }
}
