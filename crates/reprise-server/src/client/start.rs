//! Starting a daemon on demand: the first client that needs one starts it, all others wait for it.

use std::ffi::OsString;
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hyper::header::HOST;
use hyper::http::request::Builder;
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use super::{Client, perform_handshake};
use crate::daemon::MODEL_HEADER;
use crate::place::{DaemonPaths, LOG, START_LOCK};
use reprise_files::{Folder, OpenMode};
use reprise_operations::{Problem, ProblemKind};

/// How long a daemon may take to accept: a predecessor may have to close its memories first.
const START_TIMEOUT: Duration = Duration::from_secs(35);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longest log that is appended to, in bytes; a longer one is emptied first.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// How a daemon is started.
#[derive(Debug, Clone)]
pub struct Starter {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Whether a missing data directory is created. What goes on in the background must not bring
    /// back a directory that was removed in the meantime, and a daemon with it.
    pub creates_data: bool,
    /// Whether a daemon that was started without a model makes way for one with the configured
    /// model.
    pub wants_model: bool,
}

/// Addresses a request to the daemon of this machine.
pub(super) fn address_local(request: Builder, path: &str, starter: Option<&Starter>) -> Builder {
    let request = request.uri(path).header(HOST, "localhost");
    if starter.is_some_and(|starter| starter.wants_model) {
        return request.header(MODEL_HEADER, "wanted");
    }
    request
}

/// Connects to the daemon that runs, at any of its possible sockets.
pub(super) async fn connect_to_daemon(paths: &DaemonPaths) -> std::io::Result<UnixStream> {
    let mut refused = None;
    for socket in paths.candidate_sockets() {
        match UnixStream::connect(socket).await {
            // Another user may have put a socket where ours is missing.
            Ok(stream) if !paths.has_short_socket() || is_own_daemon(&stream) => return Ok(stream),
            Ok(_) => refused = refused.or(Some(ErrorKind::PermissionDenied.into())),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| ErrorKind::NotFound.into()))
}

/// Returns whether a process of this user or of root listens at the other end.
fn is_own_daemon(stream: &UnixStream) -> bool {
    let own = rustix::process::getuid().as_raw();
    let peer = stream.peer_cred();
    peer.map_or(true, |peer| peer.uid() == own || peer.uid() == 0)
}

impl Client {
    /// Starts a daemon now if none runs, ahead of the first request.
    pub async fn ensure_running(&self) -> Result<(), Problem> {
        let sender = self.open_connection().await?;
        self.store_idle_connection(sender);
        Ok(())
    }

    /// Connects to the daemon if one runs, and keeps the connection for the next request. Returns
    /// whether one runs, even if its queue of waiting clients is full.
    pub async fn connect_to_running(&self) -> bool {
        if let Some(kept) = self.pop_idle_connection() {
            self.store_idle_connection(kept);
            return true;
        }
        let stream = match self.connect().await {
            Ok(stream) => stream,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        if let Ok(sender) = perform_handshake(stream).await {
            self.store_idle_connection(sender);
        }
        true
    }
}

/// Starts a daemon, unless another client does so at the moment, and connects to it.
pub(super) async fn start_daemon(
    paths: &DaemonPaths,
    starter: &Starter,
) -> Result<UnixStream, Problem> {
    let failed = |what: &dyn std::fmt::Display| {
        Problem::new(
            ProblemKind::Unavailable,
            format!(
                "no daemon could be started ({what}); see `{}`, or run `reprise serve`",
                paths.log().display()
            ),
        )
    };
    if !starter.creates_data && !paths.data().is_dir() {
        return Err(failed(&"its data directory was removed"));
    }
    paths.create_folders().map_err(|error| failed(&error))?;
    let since = Instant::now();
    let own = paths.open_own_folder().map_err(|error| failed(&error))?;
    let lock = own.open_file(START_LOCK, OpenMode::Create);
    let lock = lock.map_err(|error| failed(&error))?;
    loop {
        if let Ok(stream) = connect_to_daemon(paths).await {
            return Ok(stream);
        }
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
            Err(TryLockError::WouldBlock) if since.elapsed() > START_TIMEOUT => {
                return Err(failed(&"another client is still starting one"));
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
    // Another client may have started one before we got the lock.
    if let Ok(stream) = connect_to_daemon(paths).await {
        return Ok(stream);
    }
    let child = spawn_daemon(paths, &own, starter).map_err(|error| failed(&error))?;
    // A client that does not wait to the end has it reaped all the same.
    let mut ended = reap_in_background(child);
    loop {
        if let Ok(stream) = connect_to_daemon(paths).await {
            return Ok(stream);
        }
        if let Ok(status) = ended.try_recv() {
            return Err(failed(&status));
        }
        if since.elapsed() > START_TIMEOUT {
            return Err(failed(&"it does not answer"));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Reaps a process whenever it ends, which may be long after this one needs it, and tells how it
/// ended. Of a process that goes on, such as `reprise mcp`, each child stays in the system's table
/// until it is reaped.
pub fn reap_in_background(mut child: Child) -> oneshot::Receiver<ExitStatus> {
    let (sender, ended) = oneshot::channel();
    let reap = move || {
        if let Ok(status) = child.wait() {
            // Most callers do not ask.
            let _told = sender.send(status).is_ok();
        }
    };
    if let Err(error) = std::thread::Builder::new().spawn(reap) {
        tracing::debug!(%error, "a process is reaped when this one ends");
    }
    ended
}

/// Spawns the daemon in a process group of its own, so that it outlives its client.
fn spawn_daemon(paths: &DaemonPaths, own: &Folder, starter: &Starter) -> std::io::Result<Child> {
    let log = own.open_file(LOG, OpenMode::Append)?;
    if log.metadata()?.len() > LOG_BYTES_MAX {
        log.set_len(0)?;
    }
    Command::new(&starter.program)
        .args(&starter.arguments)
        .current_dir(paths.data())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
}
