//! One server for all tests of this binary, and a database for each.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reprise_conformance::{DIMENSIONS, word_space, word_vectors};
use reprise_postgres::PostgresOptions;
use reprise_tests::{Postgres, seen_if, wait_for_async};
use reprise_types::SystemClock;
use tokio_postgres::{Client, NoTls};

/// The role that connects and owns the tables: no superuser.
pub(crate) const ROLE: &str = "reprise";
/// The role that it serves as.
pub(crate) const SERVING: &str = "reprise_serving";
/// A database with pgvector, of which the others are copies.
const BASE: &str = "base";

/// The server. It ends with this process, which holds the only way to its keeper.
pub(crate) struct House;

impl House {
    pub(crate) fn server() -> &'static Postgres {
        static SERVER: OnceLock<Postgres> = OnceLock::new();
        SERVER.get_or_init(|| Postgres::start(&["fsync=off"]).unwrap())
    }

    /// As its administrator, in the database of an address.
    pub(crate) async fn admin(url: &str) -> Client {
        Self::client(&url.replace(&format!("user={ROLE}"), "user=postgres")).await
    }

    /// As that, holding a table from everybody else.
    pub(crate) async fn connect_and_lock_table(url: &str, table: &str) -> Client {
        let admin = Self::admin(url).await;
        let lock = format!("BEGIN; LOCK TABLE reprise_global.{table} IN ACCESS EXCLUSIVE MODE");
        admin.batch_execute(&lock).await.unwrap();
        admin
    }

    pub(crate) async fn client(url: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

/// Makes the role and the base of all databases on a server.
pub(crate) async fn furnish(server: &Postgres) {
    let admin = House::client(&server.url("postgres", "postgres")).await;
    let role = format!(
        "CREATE ROLE {ROLE} LOGIN; CREATE ROLE {SERVING} NOLOGIN; GRANT {SERVING} TO {ROLE}"
    );
    admin.batch_execute(&role).await.unwrap();
    let base = format!("CREATE DATABASE {BASE}");
    admin.batch_execute(&base).await.unwrap();
    let inside = House::client(&server.url("postgres", BASE)).await;
    inside
        .batch_execute("CREATE EXTENSION vector")
        .await
        .unwrap();
}

/// A fresh database in which the role may make its tables: its address.
pub(crate) async fn create_database_on(server: &Postgres, template: &str) -> String {
    let name = server.new_database_name();
    let admin = House::client(&server.url("postgres", "postgres")).await;
    for statement in [
        format!("CREATE DATABASE {name} TEMPLATE {template}"),
        format!("GRANT CREATE ON DATABASE {name} TO {ROLE}"),
    ] {
        admin.batch_execute(&statement).await.unwrap();
    }
    server.url(ROLE, &name)
}

/// Makes a database with pgvector on the server that all tests share.
pub(crate) async fn database() -> String {
    static FURNISHED: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let server = tokio::task::spawn_blocking(House::server).await.unwrap();
    FURNISHED.get_or_init(|| furnish(server)).await;
    // A template is copied by one session at a time.
    let _alone = ONE_AT_A_TIME.lock().await;
    create_database_on(server, BASE).await
}

/// What the tests' stores are lent; what runs say is told at once.
pub(crate) fn options(url: &str) -> PostgresOptions {
    let clock = Arc::new(SystemClock);
    let space = Some(word_space());
    let mut options = PostgresOptions::new(url, DIMENSIONS, space, word_vectors(), clock);
    options.standings_age = Duration::ZERO;
    options.connections = 6;
    options.patience = Duration::from_secs(30);
    // A machine that is at work with builds may take its time.
    options.question_time = Duration::from_mins(1);
    options
}

/// A guarded list that tasks add to.
#[derive(Debug, Clone)]
pub(crate) struct SharedList<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }
}

impl<T: Clone> SharedList<T> {
    pub(crate) fn add(&self, one: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(one);
    }

    /// Waits until there are so many more than now.
    pub(crate) async fn wait_for_more(&self, more: usize) {
        let wanted = self.all().len() + more;
        wait_for_async("what tasks add to a list", async || {
            let count = self.all().len();
            seen_if(count >= wanted, count)
        })
        .await;
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
