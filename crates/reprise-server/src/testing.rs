//! A daemon for tests: its own folder, real doors, no model or one that counts words.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use hyper::body::Bytes;
use reprise_agent::MemoryConfig;
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{Clock, EmbedError, Embedder, EmbeddingSpace, SystemClock, normalize};
use reprise_workspace::{TreeServer, Workspace};
use reprise_workspace_types::{TreeError, TreeRequest};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::client::{Call, Client};
use crate::daemon::{Daemon, DaemonError, DaemonExit, DaemonOptions};
use crate::place::DaemonPaths;
use crate::program::ProgramCommand;
use crate::tokens::TokenFile;
use reprise_operations::{Catalogue, Sharing, TagRules};
use reprise_workspace_operations::{GovernedWorkspaces, RegisteredWorkspace, TreeHost, Workspaces};

/// A clock that is set.
pub(crate) struct AdjustableClock(Mutex<DateTime<Utc>>);

impl AdjustableClock {
    /// Seconds since 1970.
    pub(crate) fn to(seconds: i64) -> Arc<Self> {
        let now = DateTime::from_timestamp(seconds, 0).unwrap();
        Arc::new(Self(Mutex::new(now)))
    }

    pub(crate) fn advance(&self, by: TimeDelta) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for AdjustableClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

/// A daemon of this test's own.
pub(crate) struct RunningDaemon {
    pub(crate) folder: TempDir,
    pub(crate) place: DaemonPaths,
    pub(crate) client: Client,
    pub(crate) http: SocketAddr,
    pub(crate) tokens: Arc<TokenFile>,
    pub(crate) ended: JoinHandle<Result<DaemonExit, DaemonError>>,
}

pub(crate) fn config(place: &DaemonPaths) -> MemoryConfig {
    MemoryConfig::new(
        place.data().to_owned(),
        384,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(|| {
            Err(EmbedError::Unavailable {
                message: "this test has no model".to_owned(),
            })
        }),
    )
}

pub(crate) fn options(place: &DaemonPaths) -> DaemonOptions {
    DaemonOptions {
        place: place.clone(),
        http: "127.0.0.1:0".parse().ok(),
        idle_exit: None,
        has_model: true,
        replace: false,
        patience: crate::client::DEFAULT_PATIENCE,
        requests_per_second: None,
        oauth: None,
        tags: TagRules::default(),
        sharing: Sharing::default(),
        projections: Vec::new(),
        prompt_tokens_per_day: None,
        catalogue: whole_catalogue(),
        user: None,
        settings: Vec::new(),
        agent_programs: Vec::new,
        save_setting: |_, _, _| Ok(()),
        program_command: ProgramCommand {
            program: PathBuf::from("false"),
            arguments: Vec::new(),
        },
    }
}

pub(crate) async fn run_in(folder: TempDir) -> RunningDaemon {
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let options = options(&place);
    run_with_options(folder, place, options).await
}

pub(crate) async fn run_with_options(
    folder: TempDir,
    place: DaemonPaths,
    options: DaemonOptions,
) -> RunningDaemon {
    let config = config(&place);
    start_running(folder, place, config, options).await
}

async fn start_running(
    folder: TempDir,
    place: DaemonPaths,
    config: MemoryConfig,
    options: DaemonOptions,
) -> RunningDaemon {
    let daemon = Daemon::start(config, options).await.unwrap();
    let http = daemon.http_address().unwrap();
    RunningDaemon {
        client: Client::new(place.clone()),
        place,
        http,
        tokens: Arc::clone(daemon.tokens()),
        ended: tokio::spawn(daemon.run()),
        folder,
    }
}

/// Every operation of the product, as its program puts them together.
pub(crate) fn whole_catalogue() -> Catalogue {
    catalogue_with(Workspaces::default())
}

fn catalogue_with(workspaces: Workspaces) -> Catalogue {
    let trees = LinkedTrees(TreeServer::new(Arc::new(SystemClock)));
    let governed = GovernedWorkspaces::new(workspaces, Arc::new(trees));
    Catalogue::default().with_operations(governed.list_operations())
}

/// Workspaces that this process serves itself.
#[derive(Debug)]
struct LinkedTrees(TreeServer);

#[async_trait::async_trait]
impl TreeHost for LinkedTrees {
    async fn ask(&self, request: TreeRequest) -> Result<serde_json::Value, TreeError> {
        let trees = self.0.clone();
        let answered = tokio::task::spawn_blocking(move || trees.answer(request));
        answered.await.unwrap()
    }
}

/// A daemon with one governed workspace, `app`, registered for `user` in these roles; and its tree.
pub(crate) async fn run_with_tree(user: &str, roles: &[&str]) -> (RunningDaemon, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    Workspace::init(&tree, Arc::new(SystemClock)).unwrap();
    let roles = roles.iter().map(|role| (*role).to_owned()).collect();
    let app = RegisteredWorkspace {
        path: tree.clone(),
        users: BTreeMap::from([(user.parse().unwrap(), roles)]),
    };
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let registered = BTreeMap::from([("app".to_owned(), app)]);
    let options = DaemonOptions {
        catalogue: catalogue_with(registered.try_into().unwrap()),
        ..options(&place)
    };
    (run_with_options(folder, place, options).await, tree)
}

pub(crate) async fn run() -> RunningDaemon {
    run_in(tempfile::tempdir().unwrap()).await
}

impl Client {
    /// The answer to a call that does what it should.
    pub(crate) async fn ask_ok<T: DeserializeOwned>(&self, call: &Call) -> T {
        self.ask(call).await.unwrap()
    }

    /// The bytes of that answer.
    pub(crate) async fn read(&self, call: &Call) -> Bytes {
        self.ask_bytes(call).await.unwrap()
    }
}

impl RunningDaemon {
    pub(crate) async fn end(self) -> TempDir {
        self.client.shut_down().await.unwrap();
        assert_eq!(self.ended.await.unwrap().unwrap(), DaemonExit::Requested);
        self.folder
    }
}

/// A model that knows words and nothing of their meaning.
struct WordEmbedder(EmbeddingSpace);

impl Embedder for WordEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.001; usize::from(self.0.dimensions)];
        let places = vector.len();
        for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
            let hash = word.bytes().fold(7_usize, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(usize::from(byte))
            });
            vector[hash % places] += 1.0;
        }
        normalize(&mut vector);
        Ok(vector)
    }
}

/// A daemon with that model.
pub(crate) async fn run_with_words() -> RunningDaemon {
    let folder = tempfile::tempdir().unwrap();
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let mut config = config(&place);
    config.open_embedder = Arc::new(|| {
        Ok(Box::new(WordEmbedder(EmbeddingSpace {
            model: reprise_types::REFERENCE_MODEL.to_owned(),
            version: "1".to_owned(),
            dimensions: 384,
        })))
    });
    let options = options(&place);
    start_running(folder, place, config, options).await
}
