//! What stands on a branch, for whoever asks for it or takes it away.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, literal};
use super::node::record_id;
use super::rows::{remove, write_on};
use crate::caller::Caller;
use crate::store::no_branch;

/// What stands on a branch: each draft's id, with that of the thing which it is to replace.
pub(super) type Drafts = HashMap<Uuid, Option<RecordId>>;

/// Opens the shelf of a branch to the questions of a transaction.
pub(super) fn opening(caller: &Caller, name: &str) -> String {
    let shelf = caller.branch(name).to_string();
    format!("SET LOCAL reprise.branch = {};", literal(&shelf))
}

/// What a question that names a branch finds there in the place of what is published.
pub(super) async fn drafts(
    transaction: &Transaction<'_>,
    caller: &Caller,
    name: &str,
) -> Result<Drafts, Failure> {
    let author = caller.user.as_str();
    let statement = "SELECT d.id, d.replaces FROM reprise_global.branch b \
         LEFT JOIN reprise_global.draft d ON d.author = b.author AND d.branch = b.name \
         WHERE b.author = $1 AND b.name = $2";
    let statement = transaction.prepare_cached(statement).await?;
    let rows = transaction.query(&statement, &[&author, &name]).await?;
    if rows.is_empty() {
        return Err(no_branch(name).into());
    }
    let drafts = rows.iter().filter_map(|row| {
        let replaces = row.get::<_, Option<Uuid>>(1);
        Some((row.get::<_, Option<Uuid>>(0)?, replaces.map(record_id)))
    });
    Ok(drafts.collect())
}

/// Deletes what stands on a branch of one origin.
pub(super) async fn forget(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    id: Uuid,
) -> Result<(), Failure> {
    let shelf = caller.branch(branch).to_string();
    write_on(transaction, &shelf).await?;
    remove(transaction, &shelf, id).await?;
    let statement =
        "DELETE FROM reprise_global.draft WHERE author = $1 AND branch = $2 AND id = $3";
    let author = caller.user.as_str();
    transaction
        .execute(statement, &[&author, &branch, &id])
        .await?;
    Ok(())
}

/// What is to replace a thing that is taken back says nearly the same.
pub(super) async fn forget_replacing(
    transaction: &Transaction<'_>,
    caller: &Caller,
    thing: Uuid,
) -> Result<(), Failure> {
    let author = caller.user.as_str();
    let statement =
        "SELECT branch, id FROM reprise_global.draft WHERE author = $1 AND replaces = $2";
    for row in transaction.query(statement, &[&author, &thing]).await? {
        forget(transaction, caller, row.get(0), row.get(1)).await?;
    }
    Ok(())
}
