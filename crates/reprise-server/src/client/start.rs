//! Starting a daemon on demand: whoever needs one first starts it, everybody else waits for it.

use std::ffi::OsString;
use std::fs::TryLockError;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::UnixStream;

use crate::place::{LOG, Place, START_LOCK};
use reprise_files::{Access, Folder};
use reprise_operations::{Problem, ProblemKind};

/// How long a daemon may take to accept: a predecessor may have to close its memories first.
const PATIENCE: Duration = Duration::from_secs(35);
const LOOK: Duration = Duration::from_millis(2);
/// A longer log is begun anew.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// How a daemon is started.
#[derive(Debug, Clone)]
pub struct Starter {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// A connection to a daemon that runs.
pub(super) async fn connect(place: &Place) -> std::io::Result<UnixStream> {
    let mut refused = None;
    for socket in place.sockets() {
        match UnixStream::connect(socket).await {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| std::io::ErrorKind::NotFound.into()))
}

/// A connection to a daemon that this call, or another one at the same moment, has started.
pub(super) async fn start(place: &Place, starter: &Starter) -> Result<UnixStream, Problem> {
    let failed = |what: &dyn std::fmt::Display| {
        Problem::new(
            ProblemKind::Unavailable,
            format!(
                "no daemon could be started ({what}); see `{}`, or run `reprise serve`",
                place.log().display()
            ),
        )
    };
    place.prepare().map_err(|error| failed(&error))?;
    let since = Instant::now();
    let own = place.folder().map_err(|error| failed(&error))?;
    let lock = own.file(START_LOCK, Access::Make);
    let lock = lock.map_err(|error| failed(&error))?;
    loop {
        if let Ok(stream) = connect(place).await {
            return Ok(stream);
        }
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
            Err(TryLockError::WouldBlock) if since.elapsed() > PATIENCE => {
                return Err(failed(&"another client is still starting one"));
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
        }
    }
    // Between our look and the lock another client may have finished.
    if let Ok(stream) = connect(place).await {
        return Ok(stream);
    }
    let mut child = spawn(place, &own, starter).map_err(|error| failed(&error))?;
    loop {
        if let Ok(stream) = connect(place).await {
            // Reaped whenever it ends, which may be long after this client needs it.
            std::thread::spawn(move || child.wait());
            return Ok(stream);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(failed(&status));
        }
        if since.elapsed() > PATIENCE {
            return Err(failed(&"it does not answer"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The daemon in a process group of its own: what ends its client does not end it.
fn spawn(place: &Place, own: &Folder, starter: &Starter) -> std::io::Result<std::process::Child> {
    let log = own.file(LOG, Access::Append)?;
    if log.metadata()?.len() > LOG_BYTES_MAX {
        log.set_len(0)?;
    }
    Command::new(&starter.program)
        .args(&starter.arguments)
        .current_dir(place.data())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
}
