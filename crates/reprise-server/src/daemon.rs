//! The daemon's life: one for each data directory, from its lock to the last synced byte.
//!
//! Listening, draining, ending when idle or told to.

mod accept;
mod life;
mod lock;
mod progress;
mod shares;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use hyper_util::server::graceful::GracefulShutdown;
use reprise_agent::{MemoryConfig, MemoryService, StartError};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::http::{self, App, Door, Metrics, NewDoor, PageDoor, Rates};
use crate::oauth::{Oauth, OauthOptions};
use crate::place::{Place, PlaceError};
use crate::tokens::{TokenError, TokenFile};
use reprise_operations::{
    Around, Catalogue, Memories, Projection, Repositories, Sharing, TagRules, Workspaces,
};
use reprise_page::Setting;
use reprise_types::UserId;

pub(crate) use accept::{Entrance, connections_max, drained};
pub use life::Ended;
pub(crate) use life::Life;
use lock::LifeLock;
pub(crate) use shares::{Asker, Share};

/// The daemon, or the service of published knowledge, could not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Another daemon has the data directory.
    #[error(
        "a daemon (process {pid}) serves `{data}` already; use it, or pass --replace to take its \
         place"
    )]
    Running { pid: String, data: String },
    /// An address that cannot be had.
    #[error("the address {address} cannot be listened on ({cause}); choose another --http")]
    Address {
        address: SocketAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// Reachable from elsewhere, and open to nobody.
    #[error(
        "{address} can be reached from other machines and there is no token; run `reprise token \
         add NAME` first, or bind 127.0.0.1"
    )]
    NoToken { address: SocketAddr },
    /// No date can be put on an answer of HTTP.
    #[error(
        "the clock of this machine stands before 1970; set it and start again (commands work \
         without a daemon)"
    )]
    Clock,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What a daemon starts from.
#[derive(Debug, Clone)]
pub struct DaemonOptions {
    /// Where its clients meet it.
    pub place: Place,
    /// Listen on TCP too; port 0 takes a free one.
    pub http: Option<SocketAddr>,
    /// End after so long without a request; `None` stays.
    pub idle_exit: Option<Duration>,
    /// Wait for a daemon that runs now to end, after telling it to.
    pub replace: bool,
    /// How long that one may be silent before it is ended by a signal.
    pub patience: Duration,
    /// Requests a second that one token may make over TCP; `None` for no limit but that on all.
    pub requests_per_second: Option<NonZeroU32>,
    /// Programs may sign in by OAuth, in this way.
    pub oauth: Option<OauthOptions>,
    /// What the configuration says of tags.
    pub tags: TagRules,
    /// The governed workspaces that requests may name.
    pub workspaces: Workspaces,
    /// How its users reach published knowledge.
    pub sharing: Sharing,
    /// Files that are kept equal to memories.
    pub projections: Vec<Projection>,
    /// What can be asked of it.
    pub catalogue: Catalogue,
    /// Whose memory it is where a request does not say; `None` for `default`'s.
    pub user: Option<UserId>,
    /// What is set and where each comes from, for whoever looks.
    pub settings: Vec<Setting>,
}

#[derive(Debug)]
pub struct Daemon {
    app: App,
    socket: UnixListener,
    tcp: Option<TcpListener>,
    doors: mpsc::Receiver<NewDoor>,
    _lock: LifeLock,
}

impl Daemon {
    /// Takes the data directory, starts the service and listens. No memory is opened and no model
    /// is loaded yet.
    pub async fn start(config: MemoryConfig, options: DaemonOptions) -> Result<Self, DaemonError> {
        if config.clock.now() <= DateTime::UNIX_EPOCH {
            return Err(DaemonError::Clock);
        }
        let place = options.place;
        place.prepare()?;
        let repositories = Repositories::of_data(place.data());
        let lock = LifeLock::take(&place, options.replace, options.patience).await?;
        let tokens = Arc::new(TokenFile::new(place.tokens()));
        let tcp = match options.http {
            Some(address) => Some(listen(address, &tokens, options.oauth.is_some()).await?),
            None => None,
        };
        let clock = Arc::clone(&config.clock);
        let page_clock = Arc::clone(&clock);
        let signing = |oauth| Oauth::new(oauth, &place, Arc::clone(&tokens), Arc::clone(&clock));
        let oauth = options.oauth.map(signing).transpose()?.map(Arc::new);
        let service = MemoryService::start(config, None).await?;
        // Whoever held the lock before is gone: what it left is nobody's.
        remove(&place.socket())?;
        let socket = UnixListener::bind(place.socket())?;
        let http = tcp.as_ref().map(TcpListener::local_addr).transpose()?;
        let life = Life::new(place, http, options.idle_exit, options.settings);
        // The page has one door.
        let (new_doors, doors) = mpsc::channel(1);
        let app = App {
            memories: Memories::new(service, clock).with(Around {
                tags: options.tags,
                workspaces: options.workspaces,
                sharing: options.sharing,
                repositories,
                projections: options.projections,
            }),
            catalogue: options.catalogue,
            user: options.user,
            life: Arc::new(life),
            metrics: Arc::new(Metrics::default()),
            tokens,
            oauth,
            rates: Arc::new(Rates::new(options.requests_per_second)),
            page: Arc::new(PageDoor::new(new_doors, page_clock)),
            description: Arc::default(),
        };
        Ok(Self {
            app,
            socket,
            tcp,
            doors,
            _lock: lock,
        })
    }

    /// Where it listens on TCP.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.app.life.http
    }

    pub fn memories(&self) -> &Memories {
        &self.app.memories
    }

    /// Serves until it is told to end (a signal, a request) or nobody has asked for long enough,
    /// then finishes what is under way and closes every memory.
    pub async fn run(self) -> Result<Ended, DaemonError> {
        let Self {
            app,
            socket,
            tcp,
            mut doors,
            _lock,
        } = self;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let open = Arc::new(GracefulShutdown::new());
        let life = Arc::clone(&app.life);
        let most = connections_max();
        let entrance = |door| Entrance::new(http::router(&app, &door), Arc::clone(&open), most);
        let mut listening = JoinSet::new();
        listening.spawn(entrance(Door::Socket).socket(socket, Arc::clone(&life)));
        if let Some(tcp) = tcp {
            let door = Door::Tcp(tcp.local_addr()?);
            listening.spawn(entrance(door).tcp(tcp));
        }
        let memories = app.memories.clone();
        let keeping = tokio::spawn(async move {
            tokio::join!(memories.keep(), memories.keep_workspaces());
        });
        let ended = loop {
            let ended = tokio::select! {
                Some((listener, router)) = doors.recv() => {
                    let page = Entrance::new(router, Arc::clone(&open), most);
                    listening.spawn(page.own(listener, Arc::clone(&life)));
                    continue;
                }
                _ = listening.join_next() => Ended::Failed,
                _ = terminate.recv() => Ended::Signal,
                _ = interrupt.recv() => Ended::Signal,
                () = life.until_told() => Ended::Asked,
                () = life.until_idle() => Ended::Idle,
                () = app.memories.service().ended() => Ended::Failed,
            };
            break ended;
        };
        life.end();
        keeping.abort();
        // From here on a new client finds no socket, starts a successor, and that one waits for the
        // lock.
        remove(&life.place.socket())?;
        listening.shutdown().await;
        drained(open).await;
        app.memories.shut_down().await;
        Ok(ended)
    }
}

async fn listen(
    address: SocketAddr,
    tokens: &TokenFile,
    may_sign_in: bool,
) -> Result<TcpListener, DaemonError> {
    if !address.ip().is_loopback() && !may_sign_in && tokens.list()?.is_empty() {
        return Err(DaemonError::NoToken { address });
    }
    bound(address).await
}

pub(crate) async fn bound(address: SocketAddr) -> Result<TcpListener, DaemonError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|cause| DaemonError::Address { address, cause })
}

fn remove(path: &PathBuf) -> std::io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
