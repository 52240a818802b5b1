//! The doors that need no token.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reprise_conformance::{DIMENSIONS, document, user};
use reprise_engine::Engine;
use reprise_global::{
    CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalStore, Hold, Quotas,
};
use reprise_store::RealDisk;
use reprise_types::SystemClock;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::tokens::TokenFile;

/// A store that counts how often its file is opened.
fn store(folder: &TempDir, opened: &Arc<AtomicUsize>) -> EmbeddedStore {
    let opened = Arc::clone(opened);
    EmbeddedStore::new(EmbeddedOptions {
        folder: folder.path().join("store"),
        dimensions: DIMENSIONS,
        space: None,
        open: Arc::new(move |path, options| {
            opened.fetch_add(1, Ordering::SeqCst);
            Engine::open(Arc::new(RealDisk), path, options)
        }),
        vectors: Arc::new(|_| None),
        clock: Arc::new(SystemClock),
        hold: Hold::EachWrite,
        patience: Duration::from_mins(1),
        quotas: Quotas::default(),
        coordination: CoordinationSettings::default(),
    })
}

async fn asked(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_probe_without_a_token_asks_the_store_for_nothing_but_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Arc::new(AtomicUsize::new(0));
    let first = store(&folder, &opened);
    let plan = document("plan", "words");
    first.publish(&user("ann"), plan).await.unwrap();
    opened.store(0, Ordering::SeqCst);
    let service = GlobalService::start(GlobalServiceOptions {
        store: Arc::new(store(&folder, &opened)),
        tokens: ServiceTokens::new(
            Arc::new(TokenFile::new(folder.path().join("tokens.json"))),
            None,
        ),
        user_requests_a_minute: None,
        org_requests_a_minute: None,
        access_log: None,
        http: "127.0.0.1:0".parse().unwrap(),
        requests_per_second: None,
        requests_max: 1,
    });
    let service = service.await.unwrap();
    let address = service.address().unwrap();
    tokio::spawn(service.run());
    for path in ["/health/live", "/health/ready", "/health/ready"] {
        let answer = asked(address, path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 0, "the store was read");
}
