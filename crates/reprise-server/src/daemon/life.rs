//! What a running daemon knows of itself: since when, how busy, whether it is ending.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use crate::place::Place;

/// Requests served at once; one more is refused at once.
pub(crate) const REQUESTS_MAX: usize = 256;
/// Large bodies held at once; one more is refused at once.
const LARGE_MAX: usize = 8;
/// Shortest wait between two looks at whether anybody asks.
const LOOK: Duration = Duration::from_millis(50);

/// Why a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It got SIGTERM or SIGINT.
    Signal,
    /// A client told it to.
    Asked,
    /// Nobody asked for long enough.
    Idle,
}

/// The state shared by the doors and the routes.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) place: Place,
    pub(crate) started: Instant,
    pub(crate) http: OnceLock<SocketAddr>,
    pub(crate) idle_exit: Option<Duration>,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) large: Arc<Semaphore>,
    pub(crate) served: AtomicU64,
    used: Mutex<Instant>,
    ending: watch::Sender<bool>,
}

impl Life {
    pub(crate) fn new(place: Place, idle_exit: Option<Duration>) -> Self {
        Self {
            place,
            started: Instant::now(),
            http: OnceLock::new(),
            idle_exit,
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
            large: Arc::new(Semaphore::new(LARGE_MAX)),
            served: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
            ending: watch::Sender::new(false),
        }
    }

    /// Somebody asks.
    pub(crate) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The daemon is to end.
    pub(crate) fn end(&self) {
        self.ending.send_replace(true);
    }

    pub(crate) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    pub(crate) async fn until_told(&self) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as this value.
        let _told = ending.wait_for(|ending| *ending).await.is_ok();
    }

    /// Returns once nobody has asked for the idle time and nothing is under way; never where there
    /// is no such time.
    pub(crate) async fn until_idle(&self) {
        let Some(idle_exit) = self.idle_exit else {
            return std::future::pending().await;
        };
        loop {
            let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let busy = self.requests.available_permits() < REQUESTS_MAX;
            let left = idle_exit.saturating_sub(used.elapsed());
            if left.is_zero() && !busy {
                return;
            }
            tokio::time::sleep(left.max(LOOK)).await;
        }
    }
}
