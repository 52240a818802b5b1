//! A database behind TLS: its authority is known, or nothing is sent.
//!
//! The server of the tests has no TLS; `tests/kit/tls.py` is its front, with the certificate of
//! `localhost` and the authority that lie in `tests/fixtures/tls` for nothing else.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reprise_conformance::{document, user};
use reprise_global::GlobalStore;
use reprise_postgres::PostgresStore;

use super::house::{House, database, options};

/// TLS before the server of all tests; it ends with this value.
struct TlsProxy {
    process: Child,
    port: u16,
}

impl TlsProxy {
    fn open() -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
        let mut process = Command::new("python3")
            .arg(tests.join("kit/tls.py"))
            .arg(authority_path().with_file_name("server.pem"))
            .arg(authority_path().with_file_name("server.key"))
            .arg(House::server().folder().join(".s.PGSQL.5432"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let said = process.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut port).unwrap();
        let port = port.trim().parse().unwrap();
        Self { process, port }
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn authority_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/tls/ca.pem")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_behind_tls_is_used_where_its_authority_is_known() {
    let url = database().await;
    let door = tokio::task::spawn_blocking(TlsProxy::open).await.unwrap();
    let at = |name: &str, mode: &str| {
        let folder = House::server().folder().display().to_string();
        let host = format!("host={name} hostaddr=127.0.0.1 port={}", door.port);
        let url = url.replace(&format!("host={folder}"), &host);
        let mut options = options(&format!("{url} sslmode={mode}"));
        options.authority = Some(authority_path());
        options
    };
    let store = PostgresStore::open(at("localhost", "require"))
        .await
        .unwrap();
    let thing = document("Otters", "Otters hold hands.");
    store.publish(&user("ann"), thing).await.unwrap();
    let mut unknown = at("localhost", "require");
    unknown.authority = None;
    for (options, said) in [
        (unknown, "certificate"),
        (at("db.example", "require"), "certificate"),
        // The door takes nobody without TLS.
        (at("localhost", "disable"), ""),
    ] {
        let refused = PostgresStore::open(options).await.unwrap_err().to_string();
        assert!(
            refused.contains(said) && !refused.contains('\n'),
            "{refused}"
        );
    }
    let mut other = at("localhost", "require");
    other.authority = Some(authority_path().with_file_name("server.key"));
    let refused = PostgresStore::open(other).await.unwrap_err().to_string();
    assert!(refused.contains("server.key"), "{refused}");
}
