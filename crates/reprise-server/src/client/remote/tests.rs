//! Whose certificate is taken, and which addresses are none.

use std::net::SocketAddr;
use std::path::Path;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::client::{Call, Client};

const FIRST: &str = include_str!("first.pem");
const SECOND: &str = include_str!("second.pem");

/// Serves `{}` at an address with a certificate that signs itself, three times.
async fn serve(address: SocketAddr, pem: &str) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for _ in 0..3 {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut asked = [0; 1024];
            let read = stream.read(&mut asked).await.unwrap_or_default();
            let asked = String::from_utf8_lossy(&asked[..read]).to_lowercase();
            assert!(asked.contains("authorization: bearer rpr_1"), "{asked}");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    address
}

async fn ask(address: SocketAddr, known: &Path) -> Result<Value, Problem> {
    let url = format!("https://{address}");
    let remote = Remote::new(&url, "rpr_1", known.to_owned(), false)?;
    Client::remote(remote).ask(&Call::get("/v1/status")).await
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_taken_once_and_no_other_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("config/known_hosts");
    let address = serve("127.0.0.1:0".parse().unwrap(), FIRST).await;
    for _ in 0..2 {
        ask(address, &known).await.unwrap();
    }
    let written = fs_err::read_to_string(&known).unwrap();
    assert_eq!(written.lines().count(), 1, "{written}");
    assert!(
        written.starts_with(&format!("{address} sha256:")),
        "{written}"
    );

    // Somebody else at the same address.
    let other = serve("127.0.0.1:0".parse().unwrap(), SECOND).await;
    let moved = written.replace(&address.to_string(), &other.to_string());
    fs_err::write(&known, &moved).unwrap();
    let problem = ask(other, &known).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Forbidden, "{problem}");
    assert!(problem.detail.contains("not the one that was seen before"));
    assert_eq!(fs_err::read_to_string(&known).unwrap(), moved);
    // Whoever looked into it may take the line out.
    fs_err::write(&known, "").unwrap();
    ask(other, &known).await.unwrap();
}

#[test]
fn an_address_or_a_token_that_cannot_be_used_is_refused_in_a_sentence() {
    let new = |url: &str, token: &str, plain| Remote::new(url, token, PathBuf::new(), plain);
    for (url, word) in [
        ("memory.example.com", "neither https:// nor http://"),
        ("ftp://memory.example.com", "neither"),
        ("https://", "neither"),
        ("https://ada:secret@memory.example.com", "more than host"),
        ("https://memory.example.com/?a=b", "more than host"),
        ("http://memory.example.com", "allow_plain_http"),
        ("http://127.0.0.1.evil.example", "allow_plain_http"),
    ] {
        let problem = new(url, "rpr_1", false).unwrap_err();
        assert!(problem.detail.contains(word), "{url}: {problem}");
    }
    for token in ["", "rpr 1", "rpr_1\r\nX: y", "\u{e9}"] {
        assert!(new("https://memory.example.com", token, false).is_err());
    }
    for url in [
        "http://[::1]:7341",
        "http://localhost:7341",
        "https://m.example/a/",
    ] {
        new(url, "rpr_1", false).unwrap();
    }
    let far = new("http://memory.example.com", "rpr_1", true).unwrap();
    assert_eq!((far.host.as_str(), far.port), ("memory.example.com", 80));
    assert!(
        !format!("{far:?}").contains("rpr_1"),
        "a token is never shown"
    );
}
