//! Connections in: bounded in number and in how long a request's head and a write may take.
//! Each door has a task and connections of its own, so that a crowd at one is nothing to the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Life;
use super::progress::Progress;

/// Connections open at once at each door, where the system has descriptors for them; the next one
/// waits to be accepted.
const CONNECTIONS_MAX: usize = 1_024;
/// A client has this long for a request's head, from its connection or the last answer on.
const HEAD: Duration = Duration::from_secs(10);
/// A client that takes nothing of its answer for so long loses it; on this machine somebody may be
/// paging through it.
const UNREAD: Duration = Duration::from_secs(10);
const UNREAD_HERE: Duration = Duration::from_mins(10);
/// How long open requests may take to end once whoever serves them is to end.
const DRAIN: Duration = Duration::from_secs(10);
/// After an accept that failed (out of descriptors, for example).
const PAUSE: Duration = Duration::from_millis(50);

/// Takes as many descriptors as the system lets this process have; answers how many connections
/// each door may hold: half of them all are left for files.
pub(crate) fn connections_max() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, most) {
        tracing::warn!(%error, "the limit of descriptors stays as it is");
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors / 4).map_or(CONNECTIONS_MAX, |most| most.min(CONNECTIONS_MAX))
}

/// A way in: its requests, its open connections, and how many there may be.
pub(crate) struct Entrance {
    router: Router,
    open: Arc<GracefulShutdown>,
    places: Arc<Semaphore>,
    /// Connections get `idle` while so many places are free, else [`HEAD`].
    spare: usize,
    idle: Duration,
}

impl Entrance {
    pub(crate) fn new(router: Router, open: Arc<GracefulShutdown>, connections_max: usize) -> Self {
        let places = Arc::new(Semaphore::new(connections_max));
        Self {
            router,
            open,
            places,
            spare: connections_max / 2,
            idle: HEAD,
        }
    }

    /// The same, where a connection may wait so long for the next request's head, as long as half
    /// of the places are free for those who come.
    pub(crate) fn idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// Accepts at the socket for ever. Only processes of the same user can connect: the folder is
    /// closed to others, and the kernel says who the peer is.
    pub(super) async fn socket(self, listener: UnixListener, life: Arc<Life>) {
        let own = own_uid(&life);
        while let Ok(place) = Arc::clone(&self.places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let peer = stream.peer_cred().map(|peer| peer.uid()).ok();
                    // Root may look into everything anyhow.
                    if peer.is_some() && peer != own && peer != Some(0) {
                        tracing::warn!(?peer, "another user's process was turned away");
                        continue;
                    }
                    self.serve(Progress::new(stream, UNREAD_HERE), place);
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    /// Accepts on a loopback address for ever, where the system says whose process connects from
    /// that user's alone.
    pub(super) async fn own(self, listener: TcpListener, life: Arc<Life>) {
        let own = own_uid(&life);
        while let Ok(place) = Arc::clone(&self.places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    // The list grows with the connections of the whole machine.
                    let looked = tokio::task::spawn_blocking(move || uid_of(peer)).await;
                    let uid = looked.ok().flatten();
                    if uid.is_some() && uid != own && uid != Some(0) {
                        tracing::warn!(?uid, "another user's browser was turned away");
                        continue;
                    }
                    self.serve(Progress::new(stream, UNREAD_HERE), place);
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    /// Accepts on TCP for ever.
    pub(crate) async fn tcp(self, listener: TcpListener) {
        while let Ok(place) = Arc::clone(&self.places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "small answers may wait");
                    }
                    self.serve(Progress::new(stream, UNREAD), place);
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        place: OwnedSemaphorePermit,
    ) {
        let service = TowerToHyperService::new(self.router.clone());
        let is_roomy = self.places.available_permits() >= self.spare;
        let head = if is_roomy { self.idle } else { HEAD };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            // A client that has said all it has to say still wants its answer.
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
}

/// Waits for what is under way, once every entrance is gone with its end of `open`.
pub(crate) async fn drained(open: Arc<GracefulShutdown>) {
    let drained = async {
        match Arc::into_inner(open) {
            Some(open) => open.shutdown().await,
            None => std::future::pending().await,
        }
    };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some connections were still open and are cut");
    }
}

fn own_uid(life: &Life) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let lock = fs_err::metadata(life.place.life_lock());
    lock.map(|lock| lock.uid()).ok()
}

/// The user whose process holds this address of this machine, as Linux lists it.
#[expect(
    clippy::host_endian_bytes,
    reason = "the kernel prints the address as a number of this machine"
)]
fn uid_of(peer: SocketAddr) -> Option<u32> {
    const ADDRESS: usize = 1;
    const UID: usize = 7;
    let SocketAddr::V4(peer) = peer else {
        return None;
    };
    // The address stands there as the machine's number, the port as it is written.
    let address = u32::from_ne_bytes(peer.ip().octets());
    let wanted = format!("{address:08X}:{:04X}", peer.port());
    let sockets = fs_err::read_to_string("/proc/net/tcp").ok()?;
    let mut rows = sockets.lines().map(|row| row.split_whitespace());
    rows.find_map(|mut row| {
        let held = row.nth(ADDRESS)? == wanted;
        let uid = row.nth(UID - ADDRESS - 1)?.parse().ok();
        uid.filter(|_| held)
    })
}

async fn pause(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_whose_process_connects() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _here = std::net::TcpStream::connect(address).unwrap();
        let (_there, peer) = listener.accept().unwrap();
        assert_eq!(uid_of(peer), Some(rustix::process::getuid().as_raw()));
        assert_eq!(uid_of("127.0.0.9:9".parse().unwrap()), None);
    }
}
