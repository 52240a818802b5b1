//! A daemon for tests: its own folder, real doors, no model.

use std::net::SocketAddr;
use std::sync::Arc;

use reprise_agent::MemoryConfig;
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::EmbedError;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::daemon::{Daemon, DaemonError, DaemonOptions, Ended};
use crate::place::Place;

/// A daemon of this test's own.
pub(crate) struct Running {
    pub(crate) folder: TempDir,
    pub(crate) place: Place,
    pub(crate) client: Client,
    pub(crate) http: SocketAddr,
    pub(crate) ended: JoinHandle<Result<Ended, DaemonError>>,
}

pub(crate) fn config(place: &Place) -> MemoryConfig {
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

pub(crate) fn options(place: &Place) -> DaemonOptions {
    DaemonOptions {
        place: place.clone(),
        http: "127.0.0.1:0".parse().ok(),
        idle_exit: None,
        replace: false,
    }
}

pub(crate) async fn run_in(folder: TempDir) -> Running {
    let place = Place::new(&folder.path().join("d"), Some(folder.path()));
    let daemon = Daemon::start(config(&place), options(&place))
        .await
        .unwrap();
    let http = daemon.http_address().unwrap();
    Running {
        client: Client::new(place.clone()),
        place,
        http,
        ended: tokio::spawn(daemon.run()),
        folder,
    }
}

pub(crate) async fn run() -> Running {
    run_in(tempfile::tempdir().unwrap()).await
}

impl Running {
    pub(crate) async fn end(self) -> TempDir {
        self.client.shut_down().await.unwrap();
        assert_eq!(self.ended.await.unwrap().unwrap(), Ended::Asked);
        self.folder
    }
}
