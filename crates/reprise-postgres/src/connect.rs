//! How the database is reached: pool, TLS, limits of time, and what each failure means.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
    Timeouts, Transaction,
};
use reprise_redact::is_this_machine;
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use reprise_global::{Caller, GlobalError, GlobalResult, Shelf};

/// How long a new connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// A connection that has rested for longer is asked whether anybody is there, and that is answered
/// soon: a server that is frozen, or behind a cable that was cut, says nothing at all.
const RESTED: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(500);
/// Tries of one operation that others' transactions undid.
const TRIES_MAX: u32 = 6;
/// Before the second try; twice as long before each further one.
const PAUSE: Duration = Duration::from_millis(5);

/// Why one try of an operation did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Trying again changes nothing.
    Said(GlobalError),
    /// The database's word before the commit.
    Database(Error),
    /// The commit was not answered: it may have happened.
    Commit(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<GlobalError> for Failure {
    fn from(error: GlobalError) -> Self {
        Self::Said(error)
    }
}

impl From<Failure> for GlobalError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Said(error) => error,
            Failure::Database(error) | Failure::Commit(error) => explain(&error),
        }
    }
}

/// What an operation may do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Doing it twice is doing it once.
    Safely,
    /// Doing it twice counts twice.
    BeforeCommit,
}

impl Failure {
    /// Whether the statement took longer than it may.
    pub(super) fn is_late(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        error.code() == Some(&SqlState::QUERY_CANCELED)
    }

    /// Returns whether another try may succeed, after a pause before it.
    pub(super) async fn again(&self, tries: &mut u32, repeats: Repeats) -> bool {
        let (error, at_commit) = match self {
            Self::Said(_) => return false,
            Self::Database(error) => (error, false),
            Self::Commit(error) => (error, true),
        };
        *tries += 1;
        let undone = error.code().is_some_and(|code| {
            [
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::UNIQUE_VIOLATION,
            ]
            .contains(code)
        });
        if undone && *tries < TRIES_MAX {
            tokio::time::sleep(PAUSE * (1 << *tries)).await;
            return true;
        }
        // A connection that died while it rested: the next one is new.
        let may = !at_commit || repeats == Repeats::Safely;
        is_lost(error) && may && *tries == 1
    }
}

/// The end of one try of an operation, where the database says nothing for so long.
pub(super) async fn limit_time<T>(
    time: Duration,
    once: impl Future<Output = GlobalResult<T, Failure>>,
) -> GlobalResult<T, Failure> {
    let done = tokio::time::timeout(time, once).await;
    done.unwrap_or_else(|_| {
        let said = format!("the database said nothing for {} s", time.as_secs());
        Err(GlobalError::unavailable(said).into())
    })
}

/// Sends both before the first is answered. Where one fails, the database says of the other only
/// that something has.
pub(super) async fn join_both<A, B>(
    one: impl Future<Output = GlobalResult<A, Failure>>,
    other: impl Future<Output = GlobalResult<B, Failure>>,
) -> GlobalResult<(A, B), Failure> {
    let is_echo = |failure: &Failure| {
        let aborted = Some(&SqlState::IN_FAILED_SQL_TRANSACTION);
        matches!(failure, Failure::Database(error) if error.code() == aborted)
    };
    match tokio::join!(one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(echo), Err(cause)) if is_echo(&echo) => Err(cause),
        (Err(cause), _) | (_, Err(cause)) => Err(cause),
    }
}

/// The connection is gone, or the server does not take writes any more.
fn is_lost(error: &Error) -> bool {
    match error.code() {
        None => true,
        Some(code) => {
            code.code().starts_with("08")
                || [
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                    SqlState::READ_ONLY_SQL_TRANSACTION,
                    // A database that takes no connections.
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                ]
                .contains(code)
        }
    }
}

/// A database's failure in our words. What it says of values stays unsaid: they may be texts.
pub(super) fn explain(error: &Error) -> GlobalError {
    if is_lost(error) {
        return GlobalError::unavailable(match error.code() {
            Some(code) => format!("the database says {}", code.code()),
            None => describe_without_values(error),
        });
    }
    let Some(database) = error.as_db_error() else {
        return GlobalError::storage(&describe_without_values(error));
    };
    let code = database.code();
    if *code == SqlState::QUERY_CANCELED {
        return GlobalError::busy("the database took longer than this operation may take");
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS || *code == SqlState::LOCK_NOT_AVAILABLE {
        return GlobalError::busy("the database takes no more at this moment");
    }
    // Out of disk, memory or configured room: nothing is wrong with the request.
    if code.code().starts_with("53") {
        return GlobalError::unavailable(format!("the database has no room ({})", code.code()));
    }
    if code.code().starts_with("40") {
        return GlobalError::busy("others changed the same things again and again");
    }
    let of_values = ["22", "23"]
        .iter()
        .any(|class| code.code().starts_with(class));
    let said = if of_values { "" } else { database.message() };
    GlobalError::storage(&format!(
        "the database refused (SQLSTATE {}{}{said}); see its log",
        code.code(),
        if said.is_empty() { "" } else { ": " },
    ))
}

/// What failed outside the database: the kind and its cause, which name sockets and no texts.
fn describe_without_values(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// A pool of so many connections, each with its vector types loaded and this role taken on.
pub(super) fn build_pool(
    options: &PostgresOptions,
    role: Option<&str>,
    connections: usize,
) -> GlobalResult<Pool> {
    let mut config: Config = options.url.parse().map_err(|error| {
        // The address may hold a password: its parser's words are of its form alone.
        GlobalError::invalid(format!(
            "the address of the database cannot be read ({error}); write \
             postgresql://USER:PASSWORD@HOST/DATABASE or `host=... user=... dbname=...`"
        ))
    })?;
    config.application_name("reprise");
    config.connect_timeout(CONNECT);
    refuse_unencrypted_address(&config)?;
    let role = role.map_or_else(String::new, |role| format!("; SET ROLE {}", quoted(role)));
    let manager_config = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = match config.get_ssl_mode() {
        SslMode::Disable => Manager::from_config(config, NoTls, manager_config),
        _ => Manager::from_config(config, build_tls(options)?, manager_config),
    };
    let pool = Pool::builder(manager)
        .max_size(connections)
        .timeouts(Timeouts {
            wait: Some(options.patience),
            create: Some(CONNECT),
            recycle: Some(CONNECT),
        })
        .runtime(Runtime::Tokio1)
        .post_create(Hook::async_fn(move |client, _| {
            // Before its first vector a connection takes any value for any setting of the index.
            let first = format!("SELECT '[0]'::halfvec(1){role}");
            Box::pin(async move {
                let loaded = client.simple_query(&first).await;
                loaded.map(drop).map_err(HookError::Backend)
            })
        }))
        .pre_recycle(Hook::async_fn(|client, metrics| {
            let has_rested = metrics.last_used() > RESTED;
            Box::pin(async move {
                if !has_rested {
                    return Ok(());
                }
                match tokio::time::timeout(SOON, client.simple_query("")).await {
                    Ok(asked) => asked.map(drop).map_err(HookError::Backend),
                    Err(_) => Err(HookError::message("it gave no answer")),
                }
            })
        }))
        .build();
    pool.map_err(|error| GlobalError::storage(&error))
}

/// An address that names neither TLS nor plain text is TLS only if the server, or a machine in the
/// middle, wants it: that is refused for a connection to another machine.
fn refuse_unencrypted_address(config: &Config) -> GlobalResult<()> {
    let is_here = |host: &Host| match host {
        Host::Tcp(name) => is_this_machine(name),
        Host::Unix(_) => true,
    };
    let addresses = config.get_hostaddrs();
    let stays = if addresses.is_empty() {
        config.get_hosts().iter().all(is_here)
    } else {
        addresses.iter().all(std::net::IpAddr::is_loopback)
    };
    if stays || config.get_ssl_mode() != SslMode::Prefer {
        return Ok(());
    }
    Err(GlobalError::invalid(
        "the database is another machine, and `sslmode=prefer` sends texts and password in the \
         clear where TLS is not offered; write sslmode=require in its address, or sslmode=disable if \
         the way is safe",
    ))
}

/// The machine's authorities are not read: the web's are known, and one more may be named.
fn build_tls(options: &PostgresOptions) -> GlobalResult<MakeRustlsConnect> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    let Some(path) = &options.authority else {
        return Ok(MakeRustlsConnect::with_webpki_roots());
    };
    let unreadable = |error: String| {
        GlobalError::invalid(format!(
            "`{}` is no file of certificates ({error}); name the PEM file of the database's \
             authority",
            path.display()
        ))
    };
    let mut roots = rustls::RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|e| unreadable(e.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
        roots
            .add(certificate)
            .map_err(|e| unreadable(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unreadable("it holds none".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| GlobalError::storage(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// A connection of the pool: at once, or soon, or `Busy`.
pub(super) async fn get_connection(pool: &Pool) -> GlobalResult<Object, Failure> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            Failure::Database(error)
        }
        PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => {
            GlobalError::busy("every connection to the database is in use").into()
        }
        other => GlobalError::unavailable(other).into(),
    })
}

/// Finds another connection for a question at the same time as the first, if most of them are free.
pub(super) async fn find_spare_connection(pool: &Pool) -> Option<Object> {
    let status = pool.status();
    let used = status.size.saturating_sub(status.available);
    if used * 2 > status.max_size {
        return None;
    }
    let at_once = Timeouts {
        wait: Some(Duration::ZERO),
        ..pool.timeouts()
    };
    pool.timeout_get(&at_once).await.ok()
}

/// Tells the database who asks, for this transaction alone. Set by statements and not by a
/// function: those alone reach the workers of a cluster. To compile a statement, or to start
/// processes for it, takes longer than any of ours does.
pub(super) async fn set_caller(
    transaction: &Transaction<'_>,
    caller: &Caller,
    time: Duration,
    more: &str,
) -> GlobalResult<(), Failure> {
    let org = caller.org.clone().map(|org| Shelf::Org(org).to_string());
    let open = caller.open_shelves().into_iter();
    let projects = open.filter(|shelf| matches!(shelf, Shelf::Project(_)));
    let projects: Vec<String> = projects.map(|shelf| shelf.to_string()).collect();
    let statements = format!(
        "SET LOCAL statement_timeout = {}; SET LOCAL jit = off; \
         SET LOCAL max_parallel_workers_per_gather = 0; \
         SET LOCAL reprise.author = {}; SET LOCAL reprise.org = {}; SET LOCAL reprise.paid = {}; \
         SET LOCAL reprise.projects = {}; \
         SET LOCAL reprise.writing = ''; SET LOCAL reprise.branch = ''; {more}",
        time.as_millis().max(1),
        literal(caller.user.as_str()),
        literal(org.as_deref().unwrap_or_default()),
        literal(if caller.paid { "on" } else { "off" }),
        literal(&projects.join(",")),
    );
    Ok(transaction.batch_execute(&statements).await?)
}

/// A text as a literal: names have no quote in them, and would do no harm with one.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_others_may_read_is_written_out() {
        let refused =
            |address: &str| refuse_unencrypted_address(&address.parse().unwrap()).is_err();
        for address in [
            "host=127.0.0.1 user=x",
            "host=/run/postgresql user=x",
            "postgresql://x@localhost/y",
            "host=db.example hostaddr=127.0.0.1 user=x",
            "host=db.example user=x sslmode=require",
            "host=db.example user=x sslmode=disable",
        ] {
            assert!(!refused(address), "{address}");
        }
        for address in [
            "postgresql://x@db.example/y",
            "host=db.example user=x sslmode=prefer",
            "host=localhost,db.example user=x",
            "host=localhost hostaddr=10.0.0.2 user=x",
        ] {
            assert!(refused(address), "{address}");
        }
    }

    #[test]
    fn no_text_ends_its_literal() {
        assert_eq!(literal("ann"), "'ann'");
        assert_eq!(literal("'; DROP TABLE x; --"), "'''; DROP TABLE x; --'");
    }
}
