//! What was deleted leaves the pages of the tables, too. A plain VACUUM leaves the bytes of a
//! row where they are until something else is stored there, so a table that holds texts is written
//! anew; nobody reads or writes it meanwhile.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use tokio_postgres::error::SqlState;

use super::connect::{Failure, get_connection};
use super::node::Node;
use super::sql::one;
use reprise_global::GlobalError;

/// What a thing is found by, and no text: vacuumed with its indexes, where pgvector overwrites a
/// vector that is deleted.
const NUMBERS: [&str; 2] = ["search", "posting"];
/// How long the lock of a table is waited for at once. Others queue behind meanwhile; an
/// autovacuum gives way after `deadlock_timeout`, which is a second by default.
const LOCK_TIME: Duration = Duration::from_secs(3);
/// How long a table may be written.
const REWRITE_TIME: Duration = Duration::from_mins(1);
/// How long after the sweep began a table that was tried may be tried again.
const TRIES_TIME: Duration = Duration::from_secs(45);
const PAUSE: Duration = Duration::from_secs(1);

/// Which tables are written anew.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    tables: &'static [&'static str],
    /// Largest table with its indexes that is written anew: it is locked for as long as that takes.
    table_bytes_max: i64,
}

/// After an operator's order.
pub(super) const LEAKED: Sweep = Sweep {
    tables: &["thing", "taken_down"],
    table_bytes_max: 1 << 30,
};

/// After a person's, which anybody may give for himself: a short pause, but where others hold a
/// table.
pub(super) const PERSON: Sweep = Sweep {
    tables: &["thing", "taken_down", "authored", "draft"],
    table_bytes_max: 64 << 20,
};

impl Sweep {
    /// Whether no page of a table has a text of what was deleted any more. By the connection of who
    /// owns the tables, and to its end also where nobody waits for the answer.
    pub(super) async fn run(self, node: &Node) -> bool {
        let Some(keeper) = node.keeper.clone() else {
            return false;
        };
        let swept = tokio::spawn(async move { self.rewrite_tables(&keeper).await });
        swept.await.unwrap_or(false)
    }

    async fn rewrite_tables(self, keeper: &Pool) -> bool {
        let until = Instant::now() + TRIES_TIME;
        let mut left = NUMBERS.to_vec();
        for &table in self.tables {
            if !self.try_rewrite(keeper, table, until).await {
                left.push(table);
            }
        }
        for table in &left {
            if let Err(failure) = vacuum_table(keeper, table).await {
                log_failure(table, failure);
                return false;
            }
        }
        left.len() == NUMBERS.len()
    }

    async fn try_rewrite(self, keeper: &Pool, table: &str, until: Instant) -> bool {
        loop {
            let why = match self.rewrite_table(keeper, table).await {
                Ok(Rewrite::Clean) => return true,
                Ok(Rewrite::TooLarge) => "the table is too large",
                Err(failure) if !is_retryable(&failure) => {
                    log_failure(table, failure);
                    return false;
                }
                Ok(Rewrite::NotClean) | Err(_) if Instant::now() >= until => {
                    "others are at work there"
                }
                Ok(Rewrite::NotClean) | Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            tracing::warn!(table, "what was deleted is not swept: {why}");
            return false;
        }
    }

    /// CLUSTER and not an ALTER TABLE that rewrites: a dump that began before would find that
    /// empty.
    async fn rewrite_table(self, keeper: &Pool, table: &str) -> Result<Rewrite, Failure> {
        let name = format!("reprise_global.{table}");
        let key = format!("{name}_pkey");
        let mut client = get_connection(keeper).await?;
        let size = "SELECT pg_total_relation_size($1::text::regclass)";
        let size = one(&client, size, &[&name]).await?;
        if size.get::<_, i64>(0) > self.table_bytes_max {
            return Ok(Rewrite::TooLarge);
        }
        let transaction = client.transaction().await?;
        let statements = format!(
            "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; \
             LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE; CLUSTER {name} USING {table}_pkey",
            LOCK_TIME.as_millis(),
            REWRITE_TIME.as_millis(),
        );
        transaction.batch_execute(&statements).await?;
        // Where an older transaction may still see a deleted row, it came along: the index has it,
        // and it does not count as one of the table's. -1 is said of an index that was always
        // empty.
        let clean = "SELECT greatest(t.reltuples, 0) = greatest(k.reltuples, 0) \
             FROM pg_class t, pg_class k \
             WHERE t.oid = $1::text::regclass AND k.oid = $2::text::regclass";
        let row = one(&transaction, clean, &[&name, &key]).await?;
        let is_clean = row.get::<_, bool>(0);
        transaction.commit().await.map_err(Failure::Commit)?;
        Ok(if is_clean {
            Rewrite::Clean
        } else {
            Rewrite::NotClean
        })
    }
}

/// What became of one try.
enum Rewrite {
    Clean,
    /// It holds rows that are deleted, for somebody who began before.
    NotClean,
    TooLarge,
}

/// Whether another try may find the table, or the connection of its owner, free.
fn is_retryable(failure: &Failure) -> bool {
    match failure {
        Failure::Database(error) => error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE),
        Failure::Said(error) => matches!(error, GlobalError::Busy { .. }),
        Failure::Commit(_) => false,
    }
}

/// With all indexes: for few rows it would pass them by.
async fn vacuum_table(keeper: &Pool, table: &str) -> Result<(), Failure> {
    let client = get_connection(keeper).await?;
    let statement = format!("VACUUM (INDEX_CLEANUP ON) reprise_global.{table}");
    Ok(client.batch_execute(&statement).await?)
}

fn log_failure(table: &str, failure: Failure) {
    let error = GlobalError::from(failure);
    tracing::warn!(table, %error, "what was deleted is not swept yet");
}
