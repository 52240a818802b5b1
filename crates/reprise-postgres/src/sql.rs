//! Statements as they are run, and what their rows say.

use deadpool_postgres::{GenericClient, Transaction};
use reprise_global::backend::Reputations;
use reprise_global::{
    AuditLine, GlobalError, GlobalRecord, GlobalResult, ListPage, Publication, Shelf, Version,
};
use reprise_types::{RecordId, UserId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::Failure;

/// What a statement has, in their order.
pub(super) type SqlParameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The rows of a statement, which its connection keeps prepared for good: one whose text is always
/// the same, and whose plan depends little on what it is given.
pub(super) async fn rows(
    client: &impl GenericClient,
    statement: &str,
    given: SqlParameters<'_>,
) -> GlobalResult<Vec<Row>, Failure> {
    let statement = client.prepare_cached(statement).await?;
    Ok(client.query(&statement, given).await?)
}

/// The row of a statement that has one at most.
pub(super) async fn row(
    client: &impl GenericClient,
    statement: &str,
    given: SqlParameters<'_>,
) -> GlobalResult<Option<Row>, Failure> {
    let statement = client.prepare_cached(statement).await?;
    Ok(client.query_opt(&statement, given).await?)
}

/// The row of a statement that always has one.
pub(super) async fn one(
    client: &impl GenericClient,
    statement: &str,
    given: SqlParameters<'_>,
) -> GlobalResult<Row, Failure> {
    let statement = client.prepare_cached(statement).await?;
    Ok(client.query_one(&statement, given).await?)
}

/// How many rows a statement changes.
pub(super) async fn change(
    client: &impl GenericClient,
    statement: &str,
    given: SqlParameters<'_>,
) -> GlobalResult<u64, Failure> {
    let statement = client.prepare_cached(statement).await?;
    Ok(client.execute(&statement, given).await?)
}

/// Deletes `from` a table, as it is narrowed there; how many rows there were.
pub(super) async fn delete(
    client: &impl GenericClient,
    from: &str,
    given: SqlParameters<'_>,
) -> GlobalResult<u64, Failure> {
    let statement = format!("DELETE FROM reprise_global.{from}");
    change(client, &statement, given).await
}

/// Writes a line of the audit log with all that it says.
pub(super) async fn append_audit_line(
    transaction: &Transaction<'_>,
    line: &AuditLine,
) -> Result<(), Failure> {
    let statement = "INSERT INTO reprise_global.audit \
         (at, who, what, id, version, shelf, about, reason, checksum) \
         VALUES (clock_timestamp(), $1, $2, $3, $4, $5, $6, $7, $8)";
    let number = line.version.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
    let about = line.about.as_ref().map(UserId::as_str);
    let (id, name) = (line.id.map(uuid), &line.name);
    let (reason, checksum) = (&line.reason, &line.checksum);
    let given: SqlParameters<'_> = &[
        &line.who, &line.what, &id, &number, name, &about, reason, checksum,
    ];
    change(transaction, statement, given).await?;
    Ok(())
}

/// A row as a record without its vector.
pub(super) fn decode_record_row(
    row: &Row,
    standings: &Reputations,
) -> Result<GlobalRecord, Failure> {
    let (shelf, id): (&str, Uuid) = (row.try_get(0)?, row.try_get(1)?);
    let id = record_id(id);
    let publication = decode_publication(id, row.try_get(4)?)?;
    let author: &str = row.try_get(3)?;
    let org = Shelf::parse_organisation(shelf).map(|(org, _)| org);
    let standing = standings.get(&id).copied().unwrap_or_default();
    Ok(GlobalRecord {
        id,
        embedding: Vec::new(),
        embedding_space: None,
        author_id: author
            .parse()
            .map_err(|_| damaged_row_error(id, "author"))?,
        org_id: org,
        published_at: row.try_get(6)?,
        version: version(row.try_get(2)?),
        checksum: row.try_get(5)?,
        quality_metrics: standing.metrics,
        publication,
    })
}

/// Decodes the publication that a row holds as JSON.
pub(super) fn decode_publication(id: RecordId, text: &str) -> Result<Publication, GlobalError> {
    serde_json::from_str(text).map_err(|_| damaged_row_error(id, "publication"))
}

pub(super) fn damaged_row_error(id: RecordId, what: &str) -> GlobalError {
    let said = format!("the row of {id} in the database is damaged ({what}); restore it");
    GlobalError::storage(&said)
}

/// The columns of [`decode_audit_line`].
pub(super) const AUDIT_COLUMNS: &str = "at, who, what, id, version, shelf, about, reason, checksum";

/// A row of the audit log.
pub(super) fn decode_audit_line(row: &Row) -> AuditLine {
    let (id, version): (Option<Uuid>, Option<i32>) = (row.get(3), row.get(4));
    let about = row.get::<_, Option<&str>>(6);
    AuditLine {
        at: row.get(0),
        who: row.get(1),
        what: row.get(2),
        id: id.map(record_id),
        version: version.and_then(|version| version.try_into().ok()),
        name: row.get(5),
        about: about.and_then(|about| about.parse().ok()),
        reason: row.get(7),
        checksum: row.get(8),
    }
}

pub(super) fn limit_and_offset(page: ListPage) -> [i64; 2] {
    [page.limit, page.offset].map(count)
}

pub(super) fn uuid(id: RecordId) -> Uuid {
    Uuid::from_u128(id.to_u128())
}

pub(super) fn record_id(id: Uuid) -> RecordId {
    RecordId::from_u128(id.as_u128())
}

pub(super) fn number(version: Version) -> i32 {
    i32::try_from(version.0).unwrap_or(i32::MAX)
}

pub(super) fn version(number: i32) -> Version {
    Version(u32::try_from(number).unwrap_or_default())
}

/// How many there are, as a column has it.
pub(super) fn count(all: usize) -> i64 {
    i64::try_from(all).unwrap_or(i64::MAX)
}
