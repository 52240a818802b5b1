//! The doors that need no token, and the people who bring one of an issuer's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reprise_conformance::{DIMENSIONS, document, for_readers, user};
use reprise_engine::Engine;
use reprise_global::{
    CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalStore, Hold, Quotas,
};
use reprise_store::RealDisk;
use reprise_types::{Clock, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::issuer::tests::Signer;
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

/// A service over that store; its address.
async fn served(
    folder: &TempDir,
    opened: &Arc<AtomicUsize>,
    people: Option<People>,
    requests_max: usize,
) -> SocketAddr {
    let tokens = Arc::new(TokenFile::new(folder.path().join("tokens.json")));
    let service = GlobalService::start(GlobalServiceOptions {
        store: Arc::new(store(folder, opened)),
        tokens: ServiceTokens::new(tokens, None),
        people,
        user_requests_a_minute: None,
        org_requests_a_minute: None,
        access_log: None,
        http: "127.0.0.1:0".parse().unwrap(),
        requests_per_second: None,
        requests_max,
    });
    let service = service.await.unwrap();
    let address = service.address().unwrap();
    tokio::spawn(service.run());
    address
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
    let address = served(&folder, &opened, None, 1).await;
    for path in ["/health/live", "/health/ready", "/health/ready"] {
        let answer = asked(address, path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 0, "the store was read");
}

/// A person of an issuer: whose groups say what is open.
#[tokio::test]
async fn people_of_an_issuer_come_in_by_their_groups_and_nobody_else_s_do() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Signer::ed();
    let keys = json!({ "keys": [signer.jwk("one")] }).to_string();
    let home = json!({ "issuer": "https://id.example", "jwks_uri": "https://id.example/keys" });
    let fetch = move |url: &str| match url {
        "https://id.example/keys" => Ok(keys.clone().into_bytes()),
        "https://id.example/.well-known/openid-configuration" => Ok(home.to_string().into_bytes()),
        other => Err(format!("nothing is at {other}")),
    };
    let settings = json!({ "issuer": "https://id.example", "audience": "https://k.example",
        "user_claim": "name", "organisations": { "staff": "acme", "guests": "other" },
        "writers": ["staff"], "operators": ["desk"] });
    let settings: PeopleSettings = serde_json::from_value(settings).unwrap();
    let people = People::new(settings, Arc::new(fetch), Arc::new(SystemClock));
    let address = served(&folder, &Arc::default(), Some(people), 8).await;
    let now = SystemClock.now().timestamp();
    let claims = |name: &str, groups: Value, audience: &str| {
        json!({ "iss": "https://id.example", "aud": audience, "exp": now + 300,
            "name": name, "groups": groups })
    };
    let here = "https://k.example";
    let ann = signer.token("one", &claims("ann", json!(["staff"]), here));
    let mia = signer.token("one", &claims("mia", json!(["staff", "desk"]), here));
    let sam = signer.token("one", &claims("sam", json!("guests"), here));
    let ours = document("plan", "words of acme");
    let ours = for_readers(reprise_global::AccessPolicy::Org, ours);
    let ours = String::from_utf8(ours.bytes()).unwrap();
    let publish = async |token: &str| send(address, "POST", "/v1/publications", token, &ours).await;
    let status = |answer: &str| answer[9..12].to_owned();
    assert_eq!(status(&publish(&ann).await), "200");
    assert_eq!(status(&publish(&sam).await), "403", "guests write nothing");
    let ask = "{\"text\": \"words\"}";
    let found = async |token: &str| send(address, "POST", "/v1/query", token, ask).await;
    assert!(found(&mia).await.contains("words of acme"));
    let theirs = found(&sam).await;
    assert!(
        status(&theirs) == "200" && !theirs.contains("acme"),
        "{theirs}"
    );
    let catalogue = async |token: &str| send(address, "GET", "/v1/catalogue", token, "").await;
    assert_eq!(status(&catalogue(&mia).await), "200");
    assert_eq!(status(&catalogue(&ann).await), "403");
    let odd_method = send(address, "PATCH", "/v1/publications", &ann, "").await;
    assert_eq!(status(&odd_method), "405");
    let others = "\r\nallow: POST,GET,HEAD\r\n";
    assert!(odd_method.contains(others), "{odd_method}");
    let both = signer.token("one", &claims("eve", json!(["staff", "guests"]), here));
    let elsewhere = signer.token("one", &claims("ann", json!(["staff"]), "https://other"));
    let odd = signer.token("one", &claims("../ann", json!(["staff"]), here));
    let forged = Signer::ed().token("one", &claims("ann", json!(["staff"]), here));
    for (token, expected) in [
        (both, "403"),
        (elsewhere, "401"),
        (odd, "401"),
        (forged, "401"),
    ] {
        assert_eq!(status(&found(&token).await), expected);
    }
}

/// The whole answer to a request with a token.
async fn send(address: SocketAddr, method: &str, path: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
