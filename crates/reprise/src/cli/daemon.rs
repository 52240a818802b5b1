//! Connection of a command to the daemon, if one runs and the command may use it.

use std::ffi::OsString;

use reprise_server::Starter;
use serde::de::DeserializeOwned;

use super::progress::show_progress;
use super::runtime::Runtime;
use crate::cli::prelude::*;

/// Connection to a daemon that answers, with the runtime that asks it.
pub(super) struct DaemonConnection {
    runtime: Runtime,
    starting_client: Client,
}

/// Seconds without a request after which a daemon that was started on demand ends.
const IDLE_EXIT_SECONDS: u32 = 30 * 60;

/// Returns a client that starts the daemon if none runs.
pub(super) fn starting_client(context: &Context) -> anyhow::Result<Client> {
    build_client(context, true)
}

/// Returns a client that starts the daemon again, but only while its data directory is there.
pub(super) fn restarting_client(context: &Context) -> anyhow::Result<Client> {
    build_client(context, false)
}

fn build_client(context: &Context, creates_data: bool) -> anyhow::Result<Client> {
    if let Some(away) = context.remote_client()? {
        return Ok(away);
    }
    let places = &context.places;
    let mut arguments = global_options(context);
    let idle_exit = IDLE_EXIT_SECONDS.to_string();
    arguments.extend(["serve".into(), "--idle-exit".into(), idle_exit.into()]);
    let starter = Starter {
        program: std::env::current_exe()?,
        arguments,
        creates_data,
        wants_model: !context.no_model,
    };
    let client = Client::new(places.daemon_place()).with_patience(context.patience);
    Ok(client.with_starter(starter))
}

/// Returns the global options with which a program of ours works on the same files.
pub(super) fn global_options(context: &Context) -> Vec<OsString> {
    let places = &context.places;
    // The other program may work in another folder.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut options: Vec<OsString> = vec![
        "--data-dir".into(),
        absolute(&places.data).into(),
        "--models-dir".into(),
        absolute(&places.models).into(),
    ];
    if context.is_config_named {
        options.extend(["--config".into(), absolute(&places.config).into()]);
    }
    if context.no_model {
        options.push("--no-model".into());
    }
    options
}

/// Starts the daemon if none runs, so that programs which follow find it; an error if it cannot be
/// started.
pub(super) fn start(context: &Context) -> anyhow::Result<()> {
    let client = starting_client(context)?;
    let asked: Map<String, Value> =
        runtime::build_single_threaded()?.block_on(client.ask(&Call::get("/v1/status")))?;
    tracing::debug!(status = ?asked, "the daemon runs");
    Ok(())
}

impl DaemonConnection {
    /// Returns the running daemon; if it dies in the meantime, the client starts another. `None` if
    /// none runs or `--no-daemon` was given.
    pub(super) fn find_running(context: &Context) -> anyhow::Result<Option<Self>> {
        if context.remote.is_some() {
            return Self::connect(context, true);
        }
        let Some(seen) = Self::find_without_restart(context)? else {
            return Ok(None);
        };
        let client = restarting_client(context)?;
        let unsent = Unsent::for_daemon(context);
        if !unsent.is_empty() {
            let sent = unsent.send_before_command(&client);
            seen.runtime.block_on(sent);
        }
        Ok(Some(Self {
            starting_client: client,
            ..seen
        }))
    }

    /// Returns the running daemon without starting another if it dies.
    pub(super) fn find_without_restart(context: &Context) -> anyhow::Result<Option<Self>> {
        Self::connect(context, false)
    }

    /// Connects to the daemon; with `sends_waiting`, the events that hooks could not send go first.
    fn connect(context: &Context, sends_waiting: bool) -> anyhow::Result<Option<Self>> {
        if context.no_daemon {
            return Ok(None);
        }
        if let Some(client) = context.remote_client()? {
            let runtime = runtime::build_single_threaded()?;
            if sends_waiting {
                let unsent = Unsent::for_daemon(context);
                runtime.block_on(unsent.send_before_command(&client));
            }
            return Ok(Some(Self {
                runtime,
                starting_client: client,
            }));
        }
        let place = context.places.daemon_place();
        // Cheaper than a runtime, for the many commands that find no daemon.
        if !place
            .candidate_sockets()
            .iter()
            .any(|socket| socket.exists())
        {
            return Ok(None);
        }
        let runtime = runtime::build_single_threaded()?;
        if !runtime.block_on(Client::is_daemon_listening(&place)) {
            return Ok(None);
        }
        warn_of_changed_config(&context.places.config, &place.lock_path());
        let client = Client::new(place).with_patience(context.patience);
        Ok(Some(Self {
            runtime,
            starting_client: client,
        }))
    }

    /// Sends a call and waits for the answer.
    pub(super) fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        self.runtime.block_on(self.starting_client.ask(call))
    }

    /// Sends a call and shows progress on stderr while the answer is late.
    pub(super) fn ask_for_person<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        let answer = show_progress(self.starting_client.ask(call));
        self.runtime.block_on(answer)
    }

    /// Asks and waits for at most `time`; `None` if there is no answer by then.
    pub(super) fn ask_within<T: DeserializeOwned>(&self, call: &Call, time: Duration) -> Option<T> {
        let asked = async { tokio::time::timeout(time, self.starting_client.ask(call)).await };
        self.runtime.block_on(asked).ok()?.ok()
    }

    /// Returns the version of the daemon, and how long an empty request takes.
    pub(super) fn round_trip(&self) -> Result<(Option<String>, Duration), Problem> {
        self.runtime
            .block_on(self.starting_client.measure_round_trip())
    }

    /// Stops the daemon; its files are closed afterwards.
    pub(super) fn stop(&self) -> Result<(), Problem> {
        self.runtime
            .block_on(self.starting_client.shut_down_and_wait())
    }
}

/// Warns if the configuration changed after the daemon took its lock, which is when it read it.
fn warn_of_changed_config(file: &Path, lock: &Path) {
    let time = |file: &Path| file.metadata().and_then(|found| found.modified()).ok();
    let times = time(file).zip(time(lock));
    if times.is_some_and(|(changed, started)| changed > started) {
        tell!(
            "`{}` has changed since the daemon read it; run `reprise serve stop`, and it starts with \
             the new settings when it is next needed",
            file.display()
        );
    }
}
