//! One daemon for each data directory: an OS lock, which no crash leaves behind.

use std::fs::{File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::DaemonError;
use crate::client::Client;
use crate::place::{LIFE_LOCK, Place, PlaceError};
use reprise_files::Access;
use reprise_operations::ProblemKind;

/// How long a predecessor may take to close its memories.
const PREDECESSOR: Duration = Duration::from_secs(30);
/// Between two looks at the lock.
const LOOK: Duration = Duration::from_millis(10);

/// Held for as long as the daemon lives; the file says where it is for whoever asks.
#[derive(Debug)]
pub(super) struct LifeLock(File);

/// What a predecessor has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    ToEnd,
    Terminate,
    Kill,
}

impl LifeLock {
    /// Takes the lock. A predecessor that is ending (its socket is gone already) is waited for; one
    /// that serves is told to end where `replace` says so, and else is a reason not to start. One
    /// that is silent for longer than `patience` is ended all the same: what it acknowledged is on
    /// the disk.
    pub(super) async fn take(
        place: &Place,
        replace: bool,
        patience: Duration,
    ) -> Result<Self, DaemonError> {
        let own = place.folder().map_err(PlaceError::from)?;
        let mut file = own
            .file(LIFE_LOCK, Access::Make)
            .map_err(PlaceError::from)?;
        let client = Client::new(place.clone()).patient(patience);
        let (mut told, mut since) = (Told::Nothing, Instant::now());
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) => {}
            }
            let serves = if replace {
                Client::is_answered(place).await
            } else {
                client.serves().await
            };
            let signalled = matches!(told, Told::Terminate | Told::Kill);
            let late = since.elapsed() > if signalled { patience } else { PREDECESSOR };
            told = match told {
                _ if !replace && (serves || late) => return Err(running(place)),
                Told::Nothing if serves && replace => match client.shut_down().await {
                    Err(silent) if silent.kind == ProblemKind::TimedOut => {
                        tracing::warn!(%silent, "it is ended by a signal");
                        signal(place, &file, Signal::TERM).await?;
                        Told::Terminate
                    }
                    asked => {
                        tracing::info!(?asked, "the running daemon was told to end");
                        Told::ToEnd
                    }
                },
                Told::Nothing | Told::ToEnd if late => {
                    signal(place, &file, Signal::TERM).await?;
                    Told::Terminate
                }
                Told::Terminate if late => {
                    signal(place, &file, Signal::KILL).await?;
                    Told::Kill
                }
                Told::Kill if late => return Err(running(place)),
                unchanged => {
                    tokio::time::sleep(LOOK).await;
                    told = unchanged;
                    continue;
                }
            };
            since = Instant::now();
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}\n{}", std::process::id(), place.socket().display())?;
        Ok(Self(file))
    }
}

fn running(place: &Place) -> DaemonError {
    DaemonError::Running {
        pid: place.process().unwrap_or_else(|| "unknown".to_owned()),
        data: place.data().display().to_string(),
    }
}

/// Sends a signal to the process that holds the lock: the one that has written itself down there,
/// and only if the kernel too says so, by the socket that it listens at or by its list of locks.
async fn signal(place: &Place, lock: &File, signal: Signal) -> Result<(), DaemonError> {
    let written = place.process().and_then(|process| process.parse().ok());
    let Some(written) = written.filter(|pid| u32::try_from(*pid) != Ok(std::process::id())) else {
        return Err(running(place));
    };
    let listens = Client::listener(place).await == Some(written);
    match Pid::from_raw(written).filter(|_| listens || is_listed(lock, written)) {
        Some(pid) => {
            tracing::warn!(?pid, ?signal, "the running daemon is ended");
            // One that has ended meanwhile is what was wanted: the lock is looked at next.
            let _gone = kill_process(pid, signal).is_err();
            Ok(())
        }
        // It may have let go at this moment.
        None if lock.try_lock().is_ok() => Ok(lock.unlock()?),
        None => Err(running(place)),
    }
}

/// Whether Linux lists the lock as this process's: `1: FLOCK ADVISORY WRITE 1234 08:02:5678 0 EOF`.
fn is_listed(lock: &File, pid: i32) -> bool {
    let locks = fs_err::read_to_string("/proc/locks").unwrap_or_default();
    let Ok(inode) = lock.metadata().map(|lock| format!(":{}", lock.ino())) else {
        return false;
    };
    locks.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_flock = words.next() == Some("FLOCK");
        let [holder, place] = [words.nth(2), words.next()].map(Option::unwrap_or_default);
        is_flock && holder == pid.to_string() && place.ends_with(&inode)
    })
}

impl Drop for LifeLock {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(%error, "the daemon's lock goes with its process");
        }
    }
}
