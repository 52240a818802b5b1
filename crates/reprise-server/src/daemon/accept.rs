//! Connections in: bounded in number, with a bound on how long a request's head may take.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

use super::Life;

/// Connections open at once at each door; the next one waits to be accepted.
const CONNECTIONS_MAX: usize = 1_024;
/// A client that has begun a request has this long for its head.
const HEAD: Duration = Duration::from_secs(10);
/// After an accept that failed (out of descriptors, for example).
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts at the socket for ever. Only processes of the same user can connect: the folder is
/// closed to others, and the kernel says who the peer is.
pub(super) async fn socket(
    listener: &UnixListener,
    router: &Router,
    open: &GracefulShutdown,
    life: &Life,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let own = own_uid(life);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let peer = stream.peer_cred().map(|peer| peer.uid()).ok();
                // Root may look into everything anyhow.
                if peer.is_some() && peer != own && peer != Some(0) {
                    tracing::warn!(?peer, "another user's process was turned away");
                    continue;
                }
                serve(stream, router, open, place);
            }
            Err(error) => pause(&error).await,
        }
    }
}

fn own_uid(life: &Life) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let lock = fs_err::metadata(life.place.life_lock());
    lock.map(|lock| lock.uid()).ok()
}

/// Accepts on TCP for ever, where there is such a door.
pub(super) async fn tcp(
    listener: Option<&TcpListener>,
    router: Option<&Router>,
    open: &GracefulShutdown,
    _: &Life,
) {
    let (Some(listener), Some(router)) = (listener, router) else {
        return std::future::pending().await;
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "small answers may wait");
                }
                serve(stream, router, open, place);
            }
            Err(error) => pause(&error).await,
        }
    }
}

async fn pause(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE).await;
}

fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: &Router,
    open: &GracefulShutdown,
    place: tokio::sync::OwnedSemaphorePermit,
) {
    let service = TowerToHyperService::new(router.clone());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        // A client that has said all it has to say still wants its answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let connection = open.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(place);
    });
}
