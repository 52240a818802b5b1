//! State of a running daemon: since when it runs, how busy it is, whether it is ending.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use reprise_agent::run_blocking;
use reprise_operations::Problem;
use reprise_page::{AgentProgram, Setting};
use reprise_types::lock;
use tokio::sync::{Notify, watch};

use super::shares::{CallerId, QuotaSlot, SlotQuota};
use super::{DaemonOptions, SaveSetting};
use crate::place::DaemonPaths;
use crate::program::ProgramCommand;

/// Most requests served at once for each side (this machine, all tokens); one more is refused.
const REQUESTS_MAX: usize = 256;
/// Most large bodies in memory at once; one more is refused.
const LARGE_BODIES_MAX: usize = 8;
/// Most exports and backups at once: each holds a thread until its client has read it.
const STREAMS_MAX: usize = 16;
/// Most listeners to changes at once: each holds a connection for as long as it likes.
const LISTENERS_MAX: usize = 128;
/// Shortest wait between two checks whether the daemon is idle.
const IDLE_POLL_MIN: Duration = Duration::from_millis(50);

/// Wait between two looks whether the data directory and the program are still there.
const PRESENCE_POLL: Duration = Duration::from_secs(30);

/// Header of a client that would start a daemon with the configured model.
pub(crate) const MODEL_HEADER: &str = "reprise-model";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonExit {
    /// It got SIGTERM or SIGINT.
    Signal,
    /// A client told it to end.
    Requested,
    /// No request came during the idle time.
    Idle,
    /// Its data directory was removed, or another version replaced its program.
    Obsolete,
    /// The service behind it has ended: another daemon is needed.
    Failed,
}

/// State that the acceptors and the routes share.
#[derive(Debug)]
pub(crate) struct DaemonState {
    pub(crate) place: DaemonPaths,
    pub(crate) started: Instant,
    /// Address of HTTP over TCP, if it is on.
    pub(crate) http: OnceLock<SocketAddr>,
    pub(crate) idle_exit: Option<Duration>,
    /// Whether it embeds texts as the configuration says.
    has_model: bool,
    pub(crate) settings: Vec<Setting>,
    /// Lists the programs that run agents on this machine.
    pub(crate) agent_programs: fn() -> Vec<AgentProgram>,
    /// Saves a setting for the next start.
    pub(crate) save_setting: SaveSetting,
    /// The settings that were saved since the start, each with its value.
    pub(crate) saved_settings: Mutex<BTreeMap<String, String>>,
    /// How our own program is started for work on files.
    pub(crate) program_command: ProgramCommand,
    /// Restores and imports of files are done one at a time.
    pub(crate) file_turn: tokio::sync::Mutex<()>,
    /// Tells that a schedule of backups was changed.
    pub(crate) schedule_change: Notify,
    pub(crate) request_slots: Arc<SlotQuota>,
    pub(crate) large_body_slots: Arc<SlotQuota>,
    pub(crate) stream_slots: Arc<SlotQuota>,
    pub(crate) listener_slots: Arc<SlotQuota>,
    pub(crate) requests_served: AtomicU64,
    last_used: Mutex<Instant>,
    program: ProgramFile,
    ending: watch::Sender<bool>,
}

/// A request that is being served, with its slot; it has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct ServedRequest {
    daemon: Arc<DaemonState>,
    _slot: QuotaSlot,
}

impl Drop for ServedRequest {
    fn drop(&mut self) {
        self.daemon.record_use();
        self.daemon.requests_served.fetch_add(1, Ordering::Relaxed);
    }
}

impl DaemonState {
    /// Begins to serve a request of `caller`, or refuses it with the message `full`.
    pub(crate) fn begin_request(
        self: &Arc<Self>,
        caller: &CallerId,
        full: &str,
    ) -> Result<ServedRequest, Problem> {
        let slot = self.request_slots.acquire(caller, full)?;
        self.record_use();
        let daemon = Arc::clone(self);
        Ok(ServedRequest {
            daemon,
            _slot: slot,
        })
    }

    /// Returns the state of a daemon that starts now and, if given, listens at `http` over TCP.
    pub(crate) fn new(options: &DaemonOptions, http: Option<SocketAddr>) -> Self {
        Self {
            place: options.place.clone(),
            started: Instant::now(),
            http: http.map(OnceLock::from).unwrap_or_default(),
            idle_exit: options.idle_exit,
            has_model: options.has_model,
            settings: options.settings.clone(),
            agent_programs: options.agent_programs,
            save_setting: options.save_setting,
            saved_settings: Mutex::default(),
            program_command: options.program_command.clone(),
            file_turn: tokio::sync::Mutex::default(),
            schedule_change: Notify::new(),
            request_slots: SlotQuota::new(REQUESTS_MAX),
            large_body_slots: SlotQuota::new(LARGE_BODIES_MAX),
            stream_slots: SlotQuota::new(STREAMS_MAX),
            listener_slots: SlotQuota::new(LISTENERS_MAX),
            requests_served: AtomicU64::new(0),
            last_used: Mutex::new(Instant::now()),
            program: ProgramFile::of_this_process(),
            ending: watch::Sender::new(false),
        }
    }

    /// Ends a daemon without a model that a client has started on demand: the next
    /// request of a client that wants the configured model starts another.
    pub(crate) fn make_way_for_model(&self) {
        if !self.has_model && self.idle_exit.is_some() {
            self.begin_shutdown();
        }
    }

    pub(crate) fn record_use(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    /// Tells the daemon to end.
    pub(crate) fn begin_shutdown(&self) {
        self.ending.send_replace(true);
    }

    pub(crate) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    pub(crate) async fn wait_for_shutdown(&self) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as this value.
        let _told = ending.wait_for(|ending| *ending).await.is_ok();
    }

    /// Waits until the data directory was removed, or until another version replaced the program of
    /// a daemon that clients start on demand and no request is under way.
    pub(crate) async fn wait_until_obsolete(&self) {
        loop {
            tokio::time::sleep(PRESENCE_POLL).await;
            let (program, lock_path) = (self.program.clone(), self.place.lock_path());
            // One that was started on demand works in its data directory, which differs from a new
            // directory of the same name.
            let look = move || {
                let is_gone = std::env::current_dir().is_err();
                (program.is_replaced(), is_gone, lock_path.exists())
            };
            let Ok((is_replaced, is_gone, has_lock)) = run_blocking(look).await else {
                continue;
            };
            let is_busy = !self.request_slots.is_idle() || !self.stream_slots.is_idle();
            let is_on_demand = self.idle_exit.is_some();
            if is_on_demand && (is_gone || is_replaced && !is_busy) || !has_lock {
                return;
            }
        }
    }

    /// Waits until the daemon was unused for the idle time and no request is under way; for ever if
    /// there is no idle time.
    pub(crate) async fn wait_until_idle(&self) {
        let Some(idle_exit) = self.idle_exit else {
            return std::future::pending().await;
        };
        loop {
            let used = *lock(&self.last_used);
            let idle = self.request_slots.is_idle() && self.stream_slots.is_idle();
            let left = idle_exit.saturating_sub(used.elapsed());
            if left.is_zero() && idle {
                return;
            }
            tokio::time::sleep(left.max(IDLE_POLL_MIN)).await;
        }
    }
}

/// The file that this process runs, as it was when the process started.
#[derive(Debug, Clone)]
struct ProgramFile {
    path: Option<PathBuf>,
    /// Device and inode.
    file: Option<(u64, u64)>,
}

impl ProgramFile {
    fn of_this_process() -> Self {
        Self::of(std::env::current_exe().ok())
    }

    fn of(path: Option<PathBuf>) -> Self {
        let file = path.as_deref().and_then(find_file);
        Self { path, file }
    }

    /// Returns whether the path leads to another file now, or to none.
    fn is_replaced(&self) -> bool {
        self.file.is_some() && self.path.as_deref().and_then(find_file) != self.file
    }
}

fn find_file(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_replaced_once_its_path_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let [path, new] = ["reprise", "new"].map(|name| folder.path().join(name));
        std::fs::write(&path, "one").unwrap();
        std::fs::write(&new, "two").unwrap();
        let program = ProgramFile::of(Some(path.clone()));
        assert!(!program.is_replaced());
        std::fs::rename(&new, &path).unwrap();
        assert!(program.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(program.is_replaced());
        assert!(
            !ProgramFile::of(Some(path)).is_replaced(),
            "it never was there"
        );
    }
}
