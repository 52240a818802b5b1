//! The way of a command to the daemon, where one runs and the command may use it.

use std::ffi::OsString;

use reprise_server::Starter;
use serde::de::DeserializeOwned;

use super::runtime::Runtime;
use crate::cli::prelude::*;

/// A daemon that answers, and the runtime that asks it.
pub(super) struct Daemon {
    runtime: Runtime,
    client: Client,
}

/// Seconds without a request after which a daemon that was started on demand ends.
const IDLE_EXIT_SECONDS: u32 = 30 * 60;

/// A client that starts the daemon where none runs.
pub(super) fn client(context: &Context) -> anyhow::Result<Client> {
    if let Some(away) = context.away()? {
        return Ok(away);
    }
    let places = &context.places;
    let mut arguments: Vec<OsString> = vec![
        "--data-dir".into(),
        places.data.clone().into(),
        "--models-dir".into(),
        places.models.clone().into(),
    ];
    if context.is_config_named {
        arguments.extend(["--config".into(), places.config.clone().into()]);
    }
    if context.no_model {
        arguments.push("--no-model".into());
    }
    let idle_exit = IDLE_EXIT_SECONDS.to_string();
    arguments.extend(["serve".into(), "--idle-exit".into(), idle_exit.into()]);
    let starter = Starter {
        program: std::env::current_exe()?,
        arguments,
    };
    let client = Client::new(places.meeting()).patient(context.patience);
    Ok(client.starting(starter))
}

impl Daemon {
    /// The running daemon, for what is asked of memory: where it dies meanwhile, another is
    /// started. `None` where none runs or the caller said to leave it alone.
    pub(super) fn running(context: &Context) -> anyhow::Result<Option<Self>> {
        if context.remote.is_some() {
            return Self::met(context, true);
        }
        let Some(seen) = Self::seen(context)? else {
            return Ok(None);
        };
        let client = client(context)?;
        Ok(Some(Self { client, ..seen }))
    }

    /// The same, for what is asked of this very daemon.
    pub(super) fn seen(context: &Context) -> anyhow::Result<Option<Self>> {
        Self::met(context, false)
    }

    /// `tells`: first what hooks could not tell a daemon elsewhere.
    fn met(context: &Context, tells: bool) -> anyhow::Result<Option<Self>> {
        if context.no_daemon {
            return Ok(None);
        }
        if let Some(client) = context.away()? {
            let runtime = runtime::asking()?;
            if let Some(unsent) = Unsent::of(context).filter(|_| tells) {
                runtime.block_on(unsent.send_first(&client));
            }
            return Ok(Some(Self { runtime, client }));
        }
        let place = context.places.meeting();
        // Cheaper than a runtime, for the many commands that find no daemon.
        if !place.sockets().iter().any(|socket| socket.exists()) {
            return Ok(None);
        }
        let runtime = runtime::asking()?;
        if !runtime.block_on(Client::is_answered(&place)) {
            return Ok(None);
        }
        tell_of_changes(&context.places.config, &place.life_lock());
        let client = Client::new(place).patient(context.patience);
        Ok(Some(Self { runtime, client }))
    }

    /// Asks and waits for the answer.
    pub(super) fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        self.runtime.block_on(self.client.ask(call))
    }

    /// The same; `None` where it does not answer in time.
    pub(super) fn ask_within<T: DeserializeOwned>(&self, call: &Call, time: Duration) -> Option<T> {
        let asked = async { tokio::time::timeout(time, self.client.ask(call)).await };
        self.runtime.block_on(asked).ok()?.ok()
    }

    /// The version of the daemon, and how long a request takes that asks for nothing.
    pub(super) fn round_trip(&self) -> Result<(Option<String>, Duration), Problem> {
        self.runtime.block_on(self.client.round_trip())
    }

    /// Ends it; its files are closed afterwards.
    pub(super) fn end(&self) -> Result<(), Problem> {
        self.runtime.block_on(self.client.end())
    }
}

/// A daemon has read the configuration when it started, which is when it took its lock.
fn tell_of_changes(file: &Path, lock: &Path) {
    let time = |file: &Path| file.metadata().and_then(|found| found.modified()).ok();
    let times = time(file).zip(time(lock));
    if times.is_some_and(|(changed, started)| changed > started) {
        tell!(
            "`{}` has changed since the daemon read it; `reprise serve --replace` takes it into use",
            file.display()
        );
    }
}
