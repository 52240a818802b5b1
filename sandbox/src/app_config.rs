//! What a host is made of: its log, its memory, its workers and its workspace.

use reprise_types::SystemClock;

use crate::governed::GovernedWorkspace;
use crate::memory_bridge::MemoryBridge;
use crate::prelude::*;
use crate::supervisor::WorkersConfig;

/// Poll interval of the relay.
const POLL: Duration = Duration::from_millis(120);

#[derive(Clone)]
pub struct AppConfig {
    /// The SQLite file of the event log.
    pub events_path: PathBuf,
    pub memory: MemoryBridge,
    /// Configuration of conductors and workers; `None` for a host without them.
    pub workers: Option<WorkersConfig>,
    /// The governed workspace; `None` for a host without one.
    pub governed: Option<Arc<dyn GovernedWorkspace>>,
    /// Poll interval of the relay.
    pub poll: Duration,
    pub clock: Arc<dyn Clock>,
}

impl AppConfig {
    /// Creates a configuration with the log at `events_path`, the machine's clock and choiros's
    /// poll interval.
    pub fn new(events_path: PathBuf, memory: MemoryBridge) -> Self {
        Self {
            events_path,
            memory,
            workers: None,
            governed: None,
            poll: POLL,
            clock: Arc::new(SystemClock),
        }
    }
}

reprise_types::show_fields!(AppConfig { events_path, poll });
