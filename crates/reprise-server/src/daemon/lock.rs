//! One daemon for each data directory: an OS lock, which no crash leaves behind.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use super::DaemonError;
use crate::client::Client;
use crate::place::Place;

/// How long a predecessor may take to close its memories.
const PREDECESSOR: Duration = Duration::from_secs(30);
/// Between two looks at the lock.
const LOOK: Duration = Duration::from_millis(10);

/// Held for as long as the daemon lives; the file says where it is for whoever asks.
#[derive(Debug)]
pub(super) struct LifeLock(File);

impl LifeLock {
    /// Takes the lock. A predecessor that is ending (its socket is gone already) is waited for; one
    /// that serves is told to end where `replace` says so, and else is a reason not to start.
    pub(super) async fn take(place: &Place, replace: bool) -> Result<Self, DaemonError> {
        let mut file = fs_err::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(place.life_lock())?
            .into_parts()
            .0;
        let since = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) => {}
            }
            let serves = Client::is_answered(place).await;
            if serves && replace && !told {
                told = true;
                let asked = Client::new(place.clone()).shut_down().await;
                tracing::info!(?asked, "the running daemon was told to end");
            }
            if (serves && !replace) || since.elapsed() > PREDECESSOR {
                let mut lines = String::new();
                file.read_to_string(&mut lines)?;
                return Err(DaemonError::Running {
                    pid: lines.lines().next().unwrap_or("unknown").to_owned(),
                    data: place.data().display().to_string(),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}\n{}", std::process::id(), place.socket().display())?;
        Ok(Self(file))
    }
}

impl Drop for LifeLock {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(%error, "the daemon's lock goes with its process");
        }
    }
}
