//! The service of published knowledge (ADR 0021): a store behind HTTP and tokens. It keeps nothing
//! itself, so that any number of it may stand before one database.

mod access;
mod admin;
pub mod arguments;
mod bodies;
mod context;
mod limit;
mod openapi;
mod operate;
pub mod operations;
mod people;
mod routes;
mod service_route;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use reprise_global::{AwaitedHandle, GlobalStore};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::daemon::{
    ConnectionAcceptor, DaemonError, bind_listener, connections_max, drain_connections,
};
use crate::http::{Metrics, Rates};
use crate::tokens::ServiceTokens;
pub use access::DEADLINE_HEADER;
use context::ServiceState;
pub use context::{AccessLog, ServiceContext};
use limit::{MinuteQuotas, QuestionLimit};
pub use people::{People, PeopleSettings};

/// A connection may be idle for so long: a person's next question finds it open, and does not pay
/// for a new one's round trips.
const IDLE: Duration = Duration::from_secs(75);

/// What a service starts from.
#[derive(Clone)]
pub struct GlobalServiceOptions {
    pub store: AwaitedHandle<dyn GlobalStore>,
    pub tokens: ServiceTokens,
    /// People who bring tokens of an issuer's.
    pub people: Option<People>,
    /// Where it listens; port 0 takes a free one.
    pub http: SocketAddr,
    /// Requests a second that one token may make; `None` for no limit but that on all.
    pub requests_per_second: Option<NonZeroU32>,
    /// Requests a minute of one user, over all of his tokens.
    pub user_requests_a_minute: Option<NonZeroU32>,
    /// Requests a minute of one organisation, over all tokens of its members.
    pub org_requests_a_minute: Option<NonZeroU32>,
    /// Takes a line of JSON for each request.
    pub access_log: Option<AccessLog>,
    /// Requests served at once; one more is refused.
    pub requests_max: usize,
}

reprise_types::show_fields!(GlobalServiceOptions { http });

/// A service that listens.
#[derive(Debug)]
pub struct GlobalService {
    state: ServiceState,
    tcp: TcpListener,
}

impl GlobalService {
    /// Listens; nothing is answered before [`Self::run`].
    pub async fn start(options: GlobalServiceOptions) -> Result<Self, DaemonError> {
        let tcp = bind_listener(options.http).await?;
        let state = ServiceState {
            store: options.store,
            tokens: options.tokens,
            people: options.people,
            rates: Arc::new(Rates::new(options.requests_per_second)),
            minutes: Arc::new(MinuteQuotas::new(
                options.user_requests_a_minute,
                options.org_requests_a_minute,
            )),
            access: options.access_log,
            places: Arc::new(Semaphore::new(options.requests_max)),
            questions: QuestionLimit::new(options.requests_max),
            metrics: Arc::new(Metrics::default()),
            ready: Arc::default(),
        };
        Ok(Self { state, tcp })
    }

    pub fn address(&self) -> Result<SocketAddr, DaemonError> {
        Ok(self.tcp.local_addr()?)
    }

    /// Serves until a signal, then finishes what is under way.
    pub async fn run(self) -> Result<(), DaemonError> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let open = Arc::new(GracefulShutdown::new());
        let router = routes::router(&self.state);
        let entrance = ConnectionAcceptor::new(router, Arc::clone(&open), connections_max())
            .with_idle_timeout(IDLE)
            .drop_requests_of_closed();
        let listening = tokio::spawn(entrance.accept_tcp(self.tcp));
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        listening.abort();
        // The listener's end of `open` goes with its task.
        if let Err(error) = listening.await
            && !error.is_cancelled()
        {
            tracing::error!(%error, "the listener failed");
        }
        drain_connections(open).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
