//! One node before the database: its connections, what every operation of it begins with, and how a
//! thing leaves all rows of a shelf.

mod state;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool, Transaction};
use reprise_global::backend::run_on_lent_thread;
use reprise_global::{Caller, GlobalRecord, GlobalResult, Shelf};
use reprise_types::{Embedding, RecordId, check_unit_vector, system_entropy};
use tokio_postgres::IsolationLevel;
use uuid::Uuid;

pub(super) use self::state::NodeState;
use super::PostgresOptions;
use super::connect::{Failure, literal, set_caller};
use super::sql::{delete, one};

/// How long one statement of a change may take.
pub(super) const CHANGE_TIME: Duration = Duration::from_secs(20);

/// What an operation needs of its node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) options: PostgresOptions,
    pub(super) pool: Pool,
    /// The way of who owns the tables, to look after them.
    pub(super) keeper: Option<Pool>,
    /// Makes the hashes of contributors this database's own.
    pub(super) salt: String,
}

impl Node {
    /// A vector of the text that this store can keep.
    pub(super) async fn vector(&self, text: String) -> GlobalResult<Option<Vec<f32>>> {
        let make = Arc::clone(&self.options.vectors);
        let made = run_on_lent_thread(move || make(&text)).await?;
        let (own, width) = (&self.options.space, usize::from(self.options.dimensions));
        let fits = |made: &Embedding| {
            let is_own = own.as_ref().is_none_or(|own| *own == made.space);
            is_own && check_unit_vector(&made.vector, width).is_ok()
        };
        Ok(made.filter(fits).map(|made| made.vector))
    }

    pub(super) fn fresh_id(&self) -> RecordId {
        let now = self.options.clock.now().timestamp_millis();
        RecordId::from_parts(u64::try_from(now).unwrap_or_default(), system_entropy())
    }

    /// Returns a statement whose `/*open*/` conditions always hold if tests try the policies alone.
    pub(super) fn sql(&self, statement: &str) -> String {
        if self.options.policies_alone {
            return statement.replace("/*open*/(", "(true OR ");
        }
        statement.to_owned()
    }

    /// Returns whether the caller may see a record; if not, statement and policy have failed.
    pub(super) fn admits(&self, caller: &Caller, record: &GlobalRecord) -> bool {
        if self.options.policies_alone {
            return true;
        }
        if caller.may_see(record) {
            return true;
        }
        tracing::error!(id = %record.id, "the database gave something that this reader may not see");
        false
    }
}

pub(super) async fn begin_read<'c>(
    node: &Node,
    client: &'c mut Object,
    caller: &Caller,
    more: &str,
) -> GlobalResult<Transaction<'c>, Failure> {
    begin_read_within(node.options.question_time, client, caller, more).await
}

/// Begins a transaction that reads as this caller, with a limit for each statement.
pub(super) async fn begin_read_within<'c>(
    time: Duration,
    client: &'c mut Object,
    caller: &Caller,
    more: &str,
) -> GlobalResult<Transaction<'c>, Failure> {
    let begun = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(true)
        .start()
        .await?;
    set_caller(&begun, caller, time, more).await?;
    Ok(begun)
}

pub(super) async fn begin_change<'c>(
    client: &'c mut Object,
    caller: &Caller,
) -> GlobalResult<Transaction<'c>, Failure> {
    let begun = client.transaction().await?;
    set_caller(&begun, caller, CHANGE_TIME, "").await?;
    Ok(begun)
}

/// The shelf that this transaction may write on.
pub(super) async fn allow_writes_on(
    transaction: &Transaction<'_>,
    shelf: &str,
) -> GlobalResult<(), Failure> {
    let statement = format!("SET LOCAL reprise.writing = {}", literal(shelf));
    Ok(transaction.batch_execute(&statement).await?)
}

/// Deletes the rows of things by which they are found and read; how many versions there were, and
/// what they were found by.
pub(super) async fn remove(
    transaction: &Transaction<'_>,
    shelf: &str,
    ids: &[Uuid],
) -> GlobalResult<(u64, Vec<i64>), Failure> {
    let tokens = "SELECT coalesce(array_agg(DISTINCT token), '{}') \
         FROM reprise_global.thing, unnest(tokens) AS token WHERE shelf = $1 AND id = ANY($2)";
    let tokens: Vec<i64> = one(transaction, tokens, &[&shelf, &ids]).await?.get(0);
    // Not kept prepared: how it is best done depends on how many tokens and ids there are.
    let postings = "DELETE FROM reprise_global.posting \
         WHERE shelf = $1 AND token = ANY($2) AND id = ANY($3)";
    transaction
        .execute(postings, &[&shelf, &tokens, &ids])
        .await?;
    let mut gone = 0;
    for table in ["search", "thing"] {
        let those = format!("{table} WHERE shelf = $1 AND id = ANY($2)");
        gone = delete(transaction, &those, &[&shelf, &ids]).await?;
    }
    Ok((gone, tokens))
}

pub(super) fn open_shelf_names(caller: &Caller) -> Vec<String> {
    caller.open_shelves().iter().map(Shelf::to_string).collect()
}
