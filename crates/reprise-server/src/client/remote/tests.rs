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
async fn serve_tls(address: SocketAddr, pem: &str) -> SocketAddr {
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
    Client::new_remote(remote)
        .ask(&Call::get("/v1/status"))
        .await
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_taken_once_and_no_other_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("config/known_hosts");
    let address = serve_tls("127.0.0.1:0".parse().unwrap(), FIRST).await;
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
    let other = serve_tls("127.0.0.1:0".parse().unwrap(), SECOND).await;
    let moved = written.replace(&address.to_string(), &other.to_string());
    fs_err::write(&known, &moved).unwrap();
    let problem = ask(other, &known).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Forbidden, "{problem}");
    assert!(problem.detail.contains("not the one that was seen before"));
    assert_eq!(fs_err::read_to_string(&known).unwrap(), moved);
    // A user who looked into it may remove the line.
    fs_err::write(&known, "").unwrap();
    ask(other, &known).await.unwrap();
}

/// A daemon of another version that refuses all but a probe with this status.
async fn serve_status(status: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            let read = stream.read(&mut asked).await.unwrap_or_default();
            let is_probe = asked[..read].starts_with(b"GET /health/live");
            let status = if is_probe { "200 OK" } else { status };
            let answer = format!(
                "HTTP/1.1 {status}\r\nreprise-version: 0.0.0\r\ncontent-length: 2\r\n\
                 connection: close\r\n\r\nno"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

#[tokio::test]
async fn another_version_is_named_only_where_it_may_not_know_what_was_asked() {
    for (status, kind, said) in [
        ("404 Not Found", ProblemKind::Method, "(0.0.0; this is"),
        ("401 Unauthorized", ProblemKind::Unauthorized, "this token"),
        ("409 Conflict", ProblemKind::Conflict, "status 409"),
    ] {
        let url = format!("http://{}", serve_status(status).await);
        let remote = Remote::new(&url, "rpr_1", PathBuf::new(), false).unwrap();
        let client = Client::new_remote(remote);
        let asked = client.ask::<Value>(&Call::get("/v1/status")).await;
        let problem = asked.unwrap_err();
        assert_eq!(problem.kind, kind, "{problem}");
        assert!(problem.detail.contains(said), "{problem}");
    }
}

/// An attacker in between could sign a certificate at any time.
#[tokio::test]
async fn a_host_that_an_authority_answers_for_is_never_again_taken_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("config/known_hosts");
    let address = serve_tls("127.0.0.1:0".parse().unwrap(), FIRST).await;
    let url = format!("https://{address}");
    let remote = Remote::new(&url, "rpr_1", known.clone(), false).unwrap();
    let verifier = CertificateVerifier::new(&remote).unwrap();
    let verified = Ok(ServerCertVerified::assertion());
    verifier.decide(verified, "sha256:0".to_owned()).unwrap();
    verifier.save_pin().unwrap();
    let written = fs_err::read_to_string(&known).unwrap();
    assert_eq!(written.trim_end(), format!("{address} {AUTHORITY_PIN}"));
    // The same authority's next certificate is as good, and written down no second time.
    let verifier = CertificateVerifier::new(&remote).unwrap();
    let verified = Ok(ServerCertVerified::assertion());
    verifier.decide(verified, "sha256:1".to_owned()).unwrap();
    verifier.save_pin().unwrap();
    let problem = ask(address, &known).await.unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Forbidden, "{problem}");
    assert!(problem.detail.contains("one of an authority then"));
    assert_eq!(fs_err::read_to_string(&known).unwrap(), written);
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
