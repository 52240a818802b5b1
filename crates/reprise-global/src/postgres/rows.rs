//! Rows of one shelf: who may write them, and how a thing leaves them all.

use deadpool_postgres::Transaction;
use uuid::Uuid;

use super::connect::{Failure, literal};

/// The shelf that this transaction may write on.
pub(super) async fn write_on(transaction: &Transaction<'_>, shelf: &str) -> Result<(), Failure> {
    let statement = format!("SET LOCAL reprise.writing = {}", literal(shelf));
    Ok(transaction.batch_execute(&statement).await?)
}

/// Deletes the rows of a thing by which it is found and read; how many versions there were, and
/// what they were found by.
pub(super) async fn remove(
    transaction: &Transaction<'_>,
    shelf: &str,
    id: Uuid,
) -> Result<(u64, Vec<i64>), Failure> {
    let tokens = "SELECT coalesce(array_agg(DISTINCT token), '{}') \
         FROM reprise_global.thing, unnest(tokens) AS token WHERE shelf = $1 AND id = $2";
    let tokens: Vec<i64> = transaction.query_one(tokens, &[&shelf, &id]).await?.get(0);
    let postings = "DELETE FROM reprise_global.posting \
         WHERE shelf = $1 AND token = ANY($2) AND id = $3";
    transaction
        .execute(postings, &[&shelf, &tokens, &id])
        .await?;
    let mut gone = 0;
    for table in ["search", "thing"] {
        let statement = format!("DELETE FROM reprise_global.{table} WHERE shelf = $1 AND id = $2");
        gone = transaction.execute(&statement, &[&shelf, &id]).await?;
    }
    Ok((gone, tokens))
}
