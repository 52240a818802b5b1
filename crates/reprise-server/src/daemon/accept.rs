//! Accepting connections, with limits on their number and on the time for a request's head and for
//! a write. Each entry point has its own task and limit, so that a crowd at one does not block the
//! other.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Request};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use reprise_agent::run_blocking;
use reprise_operations::Problem;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::DaemonState;
use super::idle::IdleConnections;
use super::progress::WriteTimeoutStream;
use crate::http::Refusal;

/// Most open connections at each entry point, if the system has descriptors for them; for the next
/// one the connection that has been idle longest makes room.
const CONNECTIONS_MAX: usize = 1_024;
/// Longest time for a request's head, from the connection or the last response on.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time that a client may read nothing of its response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest such time on this machine, where a person may be paging through the response.
const LOCAL_WRITE_TIMEOUT: Duration = Duration::from_mins(10);
/// Longest time for open requests to finish when the daemon ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Wait after an accept that failed (out of descriptors, for example).
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A listener to accept on, and the router of the page that it serves; without one it serves HTTP
/// for programs with a token.
pub(crate) struct NewListener(pub(crate) TcpListener, pub(crate) Option<Router>);

/// Binds this port of the loopback address, or a free one if it is taken.
pub(crate) async fn bind_loopback(port: u16) -> std::io::Result<TcpListener> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    match first {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
    }
}

/// Raises the limit of file descriptors to the system's maximum and returns how many connections
/// each entry point may hold; half of the descriptors are left for files.
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

/// Accepts the connections of one entry point and serves their requests.
pub(crate) struct ConnectionAcceptor {
    router: Router,
    open_connections: Arc<GracefulShutdown>,
    permits: Arc<Semaphore>,
    idle: Arc<IdleConnections>,
    /// Connections get `idle_timeout` while this many permits are free, else [`HEAD_TIMEOUT`].
    spare_permits: usize,
    idle_timeout: Duration,
    /// Whether a client that has closed its side of the connection still gets its response.
    serves_half_closed: bool,
}

impl ConnectionAcceptor {
    pub(crate) fn new(
        router: Router,
        open_connections: Arc<GracefulShutdown>,
        connections_max: usize,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(connections_max));
        Self {
            router,
            open_connections,
            permits,
            idle: Arc::default(),
            spare_permits: connections_max / 2,
            idle_timeout: HEAD_TIMEOUT,
            serves_half_closed: true,
        }
    }

    /// Lets a connection wait this long for the next request's head while at least half of the
    /// permits are free.
    pub(crate) fn with_idle_timeout(self, idle_timeout: Duration) -> Self {
        Self {
            idle_timeout,
            ..self
        }
    }

    /// Takes a client that has closed its side of the connection for one that has left: what it
    /// asked for is dropped. From one that has closed both sides it cannot be told otherwise.
    pub(crate) fn drop_requests_of_closed(self) -> Self {
        Self {
            serves_half_closed: false,
            ..self
        }
    }

    /// Accepts connections at the Unix socket until it is dropped. Only processes of the same user
    /// can connect: the folder is closed to others, and the kernel names the peer's user.
    pub(super) async fn accept_unix(self, listener: UnixListener, daemon: Arc<DaemonState>) {
        let own = read_daemon_uid(&daemon).await;
        while let Some(permit) = self.acquire_permit().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let peer = stream.peer_cred().map(|peer| peer.uid()).ok();
                    // Root may look into everything anyhow.
                    if peer.is_some() && peer != own && peer != Some(0) {
                        tracing::warn!(?peer, "another user's process was turned away");
                        continue;
                    }
                    let stream = WriteTimeoutStream::new(stream, LOCAL_WRITE_TIMEOUT);
                    self.serve_connection(stream, permit, None);
                }
                Err(error) => log_and_pause(&error).await,
            }
        }
    }

    /// Accepts connections on a loopback address until it is dropped. If the system names the user
    /// of the peer's process, it must be the daemon's own.
    pub(super) async fn accept_loopback(self, listener: TcpListener, daemon: Arc<DaemonState>) {
        let own = read_daemon_uid(&daemon).await;
        while let Some(permit) = self.acquire_permit().await {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    // The list grows with the connections of the whole machine.
                    let looked = run_blocking(move || find_peer_uid(peer)).await;
                    let uid = looked.ok().flatten();
                    if uid.is_some() && uid != own && uid != Some(0) {
                        tracing::warn!(?uid, "another user's browser was turned away");
                        continue;
                    }
                    let stream = WriteTimeoutStream::new(stream, LOCAL_WRITE_TIMEOUT);
                    self.serve_connection(stream, permit, None);
                }
                Err(error) => log_and_pause(&error).await,
            }
        }
    }

    /// Accepts connections on TCP until it is dropped.
    pub(crate) async fn accept_tcp(self, listener: TcpListener) {
        while let Some(permit) = self.acquire_permit().await {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "small answers may wait");
                    }
                    let stream = WriteTimeoutStream::new(stream, WRITE_TIMEOUT);
                    self.serve_connection(stream, permit, Some(peer.ip()));
                }
                Err(error) => log_and_pause(&error).await,
            }
        }
    }

    /// Waits for the next connection's place; if all are taken, an idle one makes room.
    async fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        if self.permits.available_permits() == 0 {
            self.idle.evict_longest();
        }
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    fn serve_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        permit: OwnedSemaphorePermit,
        peer: Option<IpAddr>,
    ) {
        let place = self.idle.enter();
        let router = TowerToHyperService::new(self.router.clone());
        let marked = Arc::clone(&place);
        let service = service_fn(move |mut request: Request<Incoming>| {
            let mark = marked.begin_request();
            let refused = find_repeated_header(request.headers());
            if let Some(peer) = peer {
                request.extensions_mut().insert(PeerAddress(peer));
            }
            let answer = router.call(request);
            async move {
                let answer = match refused {
                    Some(problem) => Refusal::from(problem).into_response(),
                    None => answer.await?,
                };
                Ok::<_, Infallible>(mark.follow(answer))
            }
        });
        let is_roomy = self.permits.available_permits() >= self.spare_permits;
        let head = if is_roomy {
            self.idle_timeout
        } else {
            HEAD_TIMEOUT
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .half_close(self.serves_half_closed)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open_connections.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                served = connection => if let Err(error) = served {
                    tracing::debug!(%error, "a connection ended early");
                },
                () = place.wait_for_eviction() => {
                    tracing::debug!("an idle connection made room for another");
                }
            }
            drop(permit);
        });
    }
}

/// The address at the other end of a TCP connection, in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// Returns the problem of a request that has a header twice of which only one can be meant.
fn find_repeated_header(headers: &HeaderMap) -> Option<Problem> {
    let mut once = [HOST, ORIGIN].into_iter();
    let repeated = once.find(|name| headers.get_all(name).iter().nth(1).is_some())?;
    let detail = format!("the request has more than one `{repeated}` header; send one");
    Some(Problem::invalid(detail))
}

/// Waits until the open connections have ended; every acceptor must have been dropped before.
pub(crate) async fn drain_connections(open_connections: Arc<GracefulShutdown>) {
    let drained = async {
        match Arc::into_inner(open_connections) {
            Some(open_connections) => open_connections.shutdown().await,
            None => std::future::pending().await,
        }
    };
    if tokio::time::timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!("some connections were still open and are cut");
    }
}

async fn read_daemon_uid(daemon: &DaemonState) -> Option<u32> {
    let path = daemon.place.lock_path();
    let lock = run_blocking(move || fs_err::metadata(path)).await;
    lock.ok()?.map(|lock| lock.uid()).ok()
}

/// Finds the user whose process holds this local address, from Linux's list of connections.
#[expect(
    clippy::host_endian_bytes,
    reason = "the kernel prints the address as a number of this machine"
)]
fn find_peer_uid(peer: SocketAddr) -> Option<u32> {
    const ADDRESS: usize = 1;
    const UID: usize = 7;
    let SocketAddr::V4(peer) = peer else {
        return None;
    };
    // The list has the address in the machine's byte order and the port in network order.
    let address = u32::from_ne_bytes(peer.ip().octets());
    let wanted = format!("{address:08X}:{:04X}", peer.port());
    let sockets = fs_err::read_to_string("/proc/net/tcp").ok()?;
    let mut rows = sockets.lines().map(|row| row.split_whitespace());
    rows.find_map(|mut row| {
        let is_match = row.nth(ADDRESS)? == wanted;
        let uid = row.nth(UID - ADDRESS - 1)?.parse().ok();
        uid.filter(|_| is_match)
    })
}

async fn log_and_pause(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn where_every_place_is_taken_the_longest_idle_makes_room() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio::net::TcpStream;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", axum::routing::get(|| async { "here" }));
        let acceptor = ConnectionAcceptor::new(router, Arc::default(), 4)
            .with_idle_timeout(Duration::from_hours(1));
        let accepting = tokio::spawn(acceptor.accept_tcp(listener));
        let mut idle = Vec::new();
        for _ in 0..20 {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut asking = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        asking.write_all(request).await.unwrap();
        let mut answer = String::new();
        asking.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"),
            "{answer}"
        );
        let mut ended = Vec::new();
        let read = idle[0].read_to_end(&mut ended).await;
        assert!(read.is_err() || ended.is_empty(), "the first made room");
        accepting.abort();
    }

    #[test]
    fn a_request_with_two_hosts_or_origins_is_refused() {
        let twice = |name: axum::http::HeaderName, one: &'static str, other: &'static str| {
            let mut headers = HeaderMap::new();
            for value in [one, other] {
                headers.append(&name, axum::http::HeaderValue::from_static(value));
            }
            find_repeated_header(&headers)
        };
        assert!(twice(HOST, "127.0.0.1:7341", "eve.example").is_some());
        assert!(twice(ORIGIN, "http://127.0.0.1:7341", "http://127.0.0.1:7341").is_some());
        assert!(twice(axum::http::header::ACCEPT, "a/b", "c/d").is_none());
    }

    #[test]
    fn the_system_says_whose_process_connects() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _here = std::net::TcpStream::connect(address).unwrap();
        let (_there, peer) = listener.accept().unwrap();
        assert_eq!(
            find_peer_uid(peer),
            Some(rustix::process::getuid().as_raw())
        );
        assert_eq!(find_peer_uid("127.0.0.9:9".parse().unwrap()), None);
    }
}
