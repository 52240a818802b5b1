//! How much is on each shelf, as the database keeps it with each change: no shelf is counted by
//! reading it. And which large shelves have no index of their vectors.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use reprise_types::sha256_hex;

use super::connect::Failure;
use super::node::{change, row, rows};

/// Shelves and the number of newest versions on each, the largest first.
pub(super) async fn list_shelf_sizes(
    client: &impl GenericClient,
) -> Result<Vec<(String, u64)>, Failure> {
    let statement = "SELECT shelf, sum(things)::int8 FROM reprise_global.shelf_size \
         GROUP BY shelf ORDER BY 2 DESC, 1";
    let sizes = rows(client, statement, &[]).await?;
    let decode = |row: &tokio_postgres::Row| {
        let things = row.get::<_, i64>(1);
        (row.get(0), u64::try_from(things).unwrap_or_default())
    };
    Ok(sizes.iter().map(decode).collect())
}

/// Sums up the rows of each shelf, as far as no transaction holds them, and drops those of empty
/// shelves.
pub(super) async fn merge_shelf_sizes(client: &impl GenericClient) -> Result<(), Failure> {
    let merge = "WITH free AS MATERIALIZED (SELECT shelf, slot FROM reprise_global.shelf_size \
             WHERE slot <> 0 FOR UPDATE SKIP LOCKED), \
         gone AS (DELETE FROM reprise_global.shelf_size s USING free \
             WHERE s.shelf = free.shelf AND s.slot = free.slot \
             RETURNING s.shelf, s.things, s.heads) \
         INSERT INTO reprise_global.shelf_size AS s \
         SELECT shelf, 0, sum(things), sum(heads) FROM gone GROUP BY shelf \
         ON CONFLICT (shelf, slot) DO UPDATE \
         SET things = s.things + excluded.things, heads = s.heads + excluded.heads";
    change(client, merge, &[]).await?;
    let empty = "DELETE FROM reprise_global.shelf_size WHERE slot = 0 AND things = 0";
    change(client, empty, &[]).await?;
    Ok(())
}

/// Name of the index of the vectors of one shelf.
pub(super) fn vector_index_name(shelf: &str) -> String {
    let hash = sha256_hex(shelf.as_bytes());
    format!("search_by_meaning_{}", hash.get(..16).unwrap_or_default())
}

/// Names of the indexes of vectors, each with whether it was built to its end.
pub(super) async fn list_vector_indexes(
    client: &impl GenericClient,
) -> Result<HashMap<String, bool>, Failure> {
    let statement = "SELECT c.relname::text, i.indisvalid AND i.indisready \
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
         WHERE c.relnamespace = to_regnamespace('reprise_global') \
         AND c.relname LIKE 'search\\_by\\_meaning\\_%'";
    let indexes = rows(client, statement, &[]).await?;
    Ok(indexes.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns whether a shelf has an index of its vectors that was built to its end.
pub(super) async fn has_vector_index(
    client: &impl GenericClient,
    shelf: &str,
) -> Result<bool, Failure> {
    let statement = "SELECT indisvalid AND indisready FROM pg_index \
         WHERE indexrelid = to_regclass($1)";
    let name = format!("reprise_global.{}", vector_index_name(shelf));
    let found = row(client, statement, &[&name]).await?;
    Ok(found.is_some_and(|row| row.get(0)))
}
