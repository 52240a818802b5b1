//! What a running daemon knows of itself: since when, how busy, whether it is ending.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_page::Setting;
use reprise_types::lock;
use tokio::sync::watch;

use super::shares::Shares;
use crate::place::Place;

/// Requests served at once at each door; one more is refused at once.
const REQUESTS_MAX: usize = 256;
/// Large bodies held at once; one more is refused at once.
const LARGE_MAX: usize = 8;
/// Exports and backups at once: each holds a thread while its reader takes what it reads.
const STREAMS_MAX: usize = 16;
/// Listeners to changes at once: each holds a connection for as long as it likes, and there are
/// others who need one.
const LISTENERS_MAX: usize = 128;
/// Shortest wait between two looks at whether anybody asks.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It got SIGTERM or SIGINT.
    Signal,
    /// A client told it to.
    Asked,
    /// Nobody asked for long enough.
    Idle,
    /// The service behind it has ended: another daemon is needed.
    Failed,
}

/// The state shared by the doors and the routes.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) place: Place,
    pub(crate) started: Instant,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) idle_exit: Option<Duration>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) requests: Arc<Shares>,
    pub(crate) large: Arc<Shares>,
    pub(crate) streams: Arc<Shares>,
    pub(crate) listeners: Arc<Shares>,
    pub(crate) served: AtomicU64,
    used: Mutex<Instant>,
    ending: watch::Sender<bool>,
}

impl Life {
    /// At this place and, over TCP, at the address `http`.
    pub(crate) fn new(
        place: Place,
        http: Option<SocketAddr>,
        idle_exit: Option<Duration>,
        settings: Vec<Setting>,
    ) -> Self {
        Self {
            place,
            started: Instant::now(),
            http,
            idle_exit,
            settings,
            requests: Shares::new(REQUESTS_MAX),
            large: Shares::new(LARGE_MAX),
            streams: Shares::new(STREAMS_MAX),
            listeners: Shares::new(LISTENERS_MAX),
            served: AtomicU64::new(0),
            used: Mutex::new(Instant::now()),
            ending: watch::Sender::new(false),
        }
    }

    pub(crate) fn touch(&self) {
        *lock(&self.used) = Instant::now();
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
            let used = *lock(&self.used);
            let idle = self.requests.is_idle() && self.streams.is_idle();
            let left = idle_exit.saturating_sub(used.elapsed());
            if left.is_zero() && idle {
                return;
            }
            tokio::time::sleep(left.max(LOOK)).await;
        }
    }
}
