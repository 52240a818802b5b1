//! The lock that keeps a data directory to one daemon: an OS lock, which no crash leaves behind.

use std::fs::{File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::DaemonError;
use crate::client::Client;
use crate::place::{DAEMON_LOCK, DaemonPaths, DaemonPathsError};
use reprise_files::OpenMode;
use reprise_operations::ProblemKind;

/// How long a predecessor may take to close its memories.
const PREDECESSOR_TIMEOUT: Duration = Duration::from_secs(30);
/// Wait between two attempts to take the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Lock of a data directory; its file holds the daemon's process id and socket for clients.
#[derive(Debug)]
pub(super) struct DaemonLock(File);

/// How far this daemon went to end its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndRequestStep {
    NotAsked,
    AskedToEnd,
    SentTerm,
    SentKill,
}

impl DaemonLock {
    /// Takes the lock. Waits for a predecessor that is ending (its socket is gone already). Tells
    /// one that serves to end if `replace` is set, and else fails. Ends one that is silent for
    /// longer than `patience` by a signal: what it acknowledged is on the disk.
    pub(super) async fn acquire(
        paths: &DaemonPaths,
        replace: bool,
        patience: Duration,
    ) -> Result<Self, DaemonError> {
        let own = paths.open_own_folder().map_err(DaemonPathsError::from)?;
        let mut file = own
            .open_file(DAEMON_LOCK, OpenMode::Create)
            .map_err(DaemonPathsError::from)?;
        let client = Client::new(paths.clone()).with_patience(patience);
        let (mut step, mut since) = (EndRequestStep::NotAsked, Instant::now());
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) => {}
            }
            let serves = if replace {
                Client::is_daemon_listening(paths).await
            } else {
                client.is_serving().await
            };
            let signalled = matches!(step, EndRequestStep::SentTerm | EndRequestStep::SentKill);
            let late = since.elapsed()
                > if signalled {
                    patience
                } else {
                    PREDECESSOR_TIMEOUT
                };
            step = match step {
                _ if !replace && (serves || late) => return Err(already_running_error(paths)),
                EndRequestStep::NotAsked if serves && replace => match client.shut_down().await {
                    Err(silent) if silent.kind == ProblemKind::TimedOut => {
                        tracing::warn!(%silent, "it is ended by a signal");
                        signal_holder(paths, &file, Signal::TERM).await?;
                        EndRequestStep::SentTerm
                    }
                    asked => {
                        tracing::info!(?asked, "the running daemon was told to end");
                        EndRequestStep::AskedToEnd
                    }
                },
                EndRequestStep::NotAsked | EndRequestStep::AskedToEnd if late => {
                    signal_holder(paths, &file, Signal::TERM).await?;
                    EndRequestStep::SentTerm
                }
                EndRequestStep::SentTerm if late => {
                    signal_holder(paths, &file, Signal::KILL).await?;
                    EndRequestStep::SentKill
                }
                EndRequestStep::SentKill if late => return Err(already_running_error(paths)),
                unchanged => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    step = unchanged;
                    continue;
                }
            };
            since = Instant::now();
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}\n{}", std::process::id(), paths.socket().display())?;
        Ok(Self(file))
    }
}

fn already_running_error(paths: &DaemonPaths) -> DaemonError {
    DaemonError::Running {
        pid: paths
            .recorded_process()
            .unwrap_or_else(|| "unknown".to_owned()),
        data: paths.data().display().to_string(),
    }
}

/// Sends a signal to the process that the lock's file names, but only if the kernel confirms that
/// it holds the lock, by the peer of its socket or by the list of locks.
async fn signal_holder(
    paths: &DaemonPaths,
    lock: &File,
    signal: Signal,
) -> Result<(), DaemonError> {
    let written = paths
        .recorded_process()
        .and_then(|process| process.parse().ok());
    let Some(written) = written.filter(|pid| u32::try_from(*pid) != Ok(std::process::id())) else {
        return Err(already_running_error(paths));
    };
    let listens = Client::listening_process(paths).await == Some(written);
    match Pid::from_raw(written).filter(|_| listens || is_listed_holder(lock, written)) {
        Some(pid) => {
            tracing::warn!(?pid, ?signal, "the running daemon is ended");
            // If it has ended meanwhile, the next attempt gets the lock.
            let _gone = kill_process(pid, signal).is_err();
            Ok(())
        }
        // It may have released the lock at this moment.
        None if lock.try_lock().is_ok() => Ok(lock.unlock()?),
        None => Err(already_running_error(paths)),
    }
}

/// Returns whether Linux lists this process as the lock's holder: `1: FLOCK ADVISORY WRITE 1234
/// 08:02:5678 0 EOF`.
fn is_listed_holder(lock: &File, pid: i32) -> bool {
    let locks = fs_err::read_to_string("/proc/locks").unwrap_or_default();
    let Ok(inode) = lock.metadata().map(|lock| format!(":{}", lock.ino())) else {
        return false;
    };
    locks.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_flock = words.next() == Some("FLOCK");
        let [holder, paths] = [words.nth(2), words.next()].map(Option::unwrap_or_default);
        is_flock && holder == pid.to_string() && paths.ends_with(&inode)
    })
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(%error, "the daemon's lock goes with its process");
        }
    }
}
