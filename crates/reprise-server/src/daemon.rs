//! The daemon: one for each data directory, from taking its lock to the last synced byte.
//!
//! Listens, serves, and ends when it is idle or told to.

mod accept;
mod idle;
mod life;
mod lock;
mod progress;
mod shares;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use hyper_util::server::graceful::GracefulShutdown;
use reprise_agent::{MemoryConfig, MemoryService, StartError};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::http::{self, App, EntryPoint, Metrics, PageLauncher, Rates};
use crate::oauth::{Oauth, OauthOptions};
use crate::page::backups;
use crate::place::{DaemonPaths, DaemonPathsError};
use crate::program::ProgramCommand;
use crate::tokens::{TokenError, TokenFile};
use reprise_operations::{
    Catalogue, ConfiguredProjection, Memories, MemorySettings, PauseStore, Repositories, Sharing,
    TagRules,
};
use reprise_page::{AgentProgram, Setting};
use reprise_types::UserId;

pub(crate) use accept::{
    ConnectionAcceptor, NewListener, PeerAddress, bind_loopback, connections_max, drain_connections,
};
pub use life::DaemonExit;
pub(crate) use life::{DaemonState, MODEL_HEADER};
use lock::DaemonLock;
pub(crate) use shares::{CallerId, QuotaSlot};

/// Saves a setting in the configuration file for the next start: file, name and value. Its error is
/// a sentence for people.
pub(crate) type SaveSetting = fn(&Path, &str, &str) -> Result<(), String>;

/// The daemon, or the service of published knowledge, could not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    DaemonPaths(#[from] DaemonPathsError),
    /// Another daemon has the data directory.
    #[error(
        "a daemon (process {pid}) serves `{data}` already; use it, or pass --replace to take its \
         place"
    )]
    Running { pid: String, data: String },
    /// The address cannot be listened on.
    #[error("the address {address} cannot be listened on ({cause}); choose another --http")]
    Address {
        address: SocketAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// Other machines can reach the address, and no token exists.
    #[error(
        "{address} can be reached from other machines and there is no token; run `reprise serve token \
         add NAME` first, or bind 127.0.0.1"
    )]
    NoToken { address: SocketAddr },
    /// The clock is before 1970, and HTTP responses could not be dated.
    #[error(
        "the clock of this machine is before 1970; set it and start again (commands work \
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

/// Settings that a daemon starts with.
#[derive(Debug, Clone)]
pub struct DaemonOptions {
    /// Its data directory and socket.
    pub place: DaemonPaths,
    /// Listen on TCP too; port 0 takes a free one.
    pub http: Option<SocketAddr>,
    /// Ends after this long without a request; never if `None`.
    pub idle_exit: Option<Duration>,
    /// Whether it embeds texts as the configuration says; one that does not, and was started on
    /// demand, ends once a client wants that.
    pub has_model: bool,
    /// Tells a daemon that runs now to end, and waits for it.
    pub replace: bool,
    /// How long that daemon may be silent before it is ended by a signal.
    pub patience: Duration,
    /// Requests a second that one token may make over TCP; unlimited if `None`.
    pub requests_per_second: Option<NonZeroU32>,
    /// Settings of OAuth, if programs may sign in by it.
    pub oauth: Option<OauthOptions>,
    /// Rules of the configuration for tags.
    pub tags: TagRules,
    /// Settings of published knowledge.
    pub sharing: Sharing,
    /// Files that are kept in sync with memories.
    pub projections: Vec<ConfiguredProjection>,
    /// Most tokens that hooks put into a user's prompts on one day; no limit if `None`.
    pub prompt_tokens_per_day: Option<usize>,
    /// The operations that it offers.
    pub catalogue: Catalogue,
    /// User of a request that names none; `default` if `None`.
    pub user: Option<UserId>,
    /// Every setting with its source, for display.
    pub settings: Vec<Setting>,
    /// Lists the programs that run agents on this machine, for display.
    pub agent_programs: fn() -> Vec<AgentProgram>,
    /// Saves a setting that was changed on the page.
    pub save_setting: SaveSetting,
    /// How the program is started for the page's work on files: backups, restores and imports.
    pub program_command: ProgramCommand,
}

#[derive(Debug)]
pub struct Daemon {
    app: App,
    socket: UnixListener,
    tcp: Option<TcpListener>,
    page_listeners: mpsc::Receiver<NewListener>,
    _lock: DaemonLock,
}

impl Daemon {
    /// Locks the data directory, starts the service and listens. It opens no memory and loads no
    /// model yet.
    pub async fn start(config: MemoryConfig, options: DaemonOptions) -> Result<Self, DaemonError> {
        if config.clock.now() <= DateTime::UNIX_EPOCH {
            return Err(DaemonError::Clock);
        }
        let place = options.place.clone();
        place.create_folders()?;
        let repositories = Repositories::in_data_dir(place.data());
        let pauses = PauseStore::in_data_dir(place.data());
        let lock = DaemonLock::acquire(&place, options.replace, options.patience).await?;
        let tokens = Arc::new(TokenFile::new(place.tokens()));
        let tcp = match options.http {
            Some(address) => {
                Some(bind_if_guarded(address, &tokens, options.oauth.is_some()).await?)
            }
            None => None,
        };
        let http = tcp.as_ref().map(TcpListener::local_addr).transpose()?;
        let daemon_state = DaemonState::new(&options, http);
        let clock = Arc::clone(&config.clock);
        let page_clock = Arc::clone(&clock);
        let signing = |oauth| Oauth::new(oauth, &place, Arc::clone(&tokens), Arc::clone(&clock));
        let oauth = options.oauth.map(signing).transpose()?.map(Arc::new);
        let service = MemoryService::start(config, None).await?;
        // We hold the lock: what an earlier daemon left is nobody's.
        backups::remove_left_uploads(&place);
        remove_if_exists(&place.socket())?;
        let socket = UnixListener::bind(place.socket())?;
        // The page has one listener, and HTTP that is turned on there has one.
        let (new_doors, page_listeners) = mpsc::channel(1);
        let app = App {
            memories: Memories::new(service, clock).with_settings(MemorySettings {
                tags: options.tags,
                sharing: options.sharing,
                repositories,
                projections: options.projections,
                pauses,
                prompt_tokens_per_day: options.prompt_tokens_per_day,
            }),
            catalogue: options.catalogue,
            user: options.user,
            daemon: Arc::new(daemon_state),
            metrics: Arc::new(Metrics::default()),
            tokens,
            oauth,
            rates: Arc::new(Rates::new(options.requests_per_second)),
            open_rates: Arc::default(),
            page: Arc::new(PageLauncher::new(new_doors, page_clock)),
            description: Arc::default(),
        };
        Ok(Self {
            app,
            socket,
            tcp,
            page_listeners,
            _lock: lock,
        })
    }

    /// Returns the address that it listens on over TCP.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.app.daemon.http.get().copied()
    }

    #[cfg(test)]
    pub(crate) fn tokens(&self) -> &Arc<TokenFile> {
        &self.app.tokens
    }

    pub fn memories(&self) -> &Memories {
        &self.app.memories
    }

    /// Serves until a signal, a request or the idle time ends it, then finishes the requests under
    /// way and closes every memory.
    pub async fn run(self) -> Result<DaemonExit, DaemonError> {
        let Self {
            app,
            socket,
            tcp,
            mut page_listeners,
            _lock,
        } = self;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let open = Arc::new(GracefulShutdown::new());
        let daemon_state = Arc::clone(&app.daemon);
        let most = connections_max();
        let entrance =
            |entry| ConnectionAcceptor::new(http::router(&app, &entry), Arc::clone(&open), most);
        let mut listening = JoinSet::new();
        listening
            .spawn(entrance(EntryPoint::Socket).accept_unix(socket, Arc::clone(&daemon_state)));
        if let Some(tcp) = tcp {
            let entry = EntryPoint::Tcp(tcp.local_addr()?);
            listening.spawn(entrance(entry).accept_tcp(tcp));
        }
        let memories = app.memories.clone();
        let schedule = backups::run_scheduled_backups(Arc::clone(&daemon_state), app.page.clock());
        let maintenance = tokio::spawn(async move {
            tokio::join!(memories.run_background_tasks(), schedule);
        });
        let ended = loop {
            let ended = tokio::select! {
                Some(NewListener(listener, router)) = page_listeners.recv() => {
                    if let Some(router) = router {
                        let page = ConnectionAcceptor::new(router, Arc::clone(&open), most);
                        listening.spawn(page.accept_loopback(listener, Arc::clone(&daemon_state)));
                    } else {
                        let entry = EntryPoint::Tcp(listener.local_addr()?);
                        listening.spawn(entrance(entry).accept_tcp(listener));
                    }
                    continue;
                }
                _ = listening.join_next() => DaemonExit::Failed,
                _ = terminate.recv() => DaemonExit::Signal,
                _ = interrupt.recv() => DaemonExit::Signal,
                () = daemon_state.wait_for_shutdown() => DaemonExit::Requested,
                () = daemon_state.wait_until_idle() => DaemonExit::Idle,
                () = daemon_state.wait_until_obsolete() => DaemonExit::Obsolete,
                () = app.memories.service().wait_for_end() => DaemonExit::Failed,
            };
            break ended;
        };
        daemon_state.begin_shutdown();
        maintenance.abort();
        // From here on a new client finds no socket, starts a successor, and that one waits for the
        // lock.
        remove_if_exists(&daemon_state.place.socket())?;
        listening.shutdown().await;
        drain_connections(open).await;
        app.memories.shut_down().await;
        Ok(ended)
    }
}

async fn bind_if_guarded(
    address: SocketAddr,
    tokens: &TokenFile,
    may_sign_in: bool,
) -> Result<TcpListener, DaemonError> {
    if !address.ip().is_loopback() && !may_sign_in && tokens.list()?.is_empty() {
        return Err(DaemonError::NoToken { address });
    }
    bind_listener(address).await
}

pub(crate) async fn bind_listener(address: SocketAddr) -> Result<TcpListener, DaemonError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|cause| DaemonError::Address { address, cause })
}

fn remove_if_exists(path: &PathBuf) -> std::io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
