//! Published things by their id, their version or their author.

use deadpool_postgres::Transaction;
use reprise_types::RecordId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::{Failure, connection};
use super::node::{
    Given, Node, Shared, count, number, reading, record_id, row, rows, shelf_names, uuid, version,
};
use super::search::of_several;
use super::statements;
use crate::caller::{Caller, OrgId};
use crate::coordination::Standings;
use crate::error::GlobalError;
use crate::record::{GlobalRecord, Publication, Version};
use crate::store::{AuditLine, ListPage};

/// A row as a record without its vector.
pub(super) fn record(row: &Row, standings: &Standings) -> Result<GlobalRecord, Failure> {
    let (shelf, id): (&str, Uuid) = (row.try_get(0)?, row.try_get(1)?);
    let id = record_id(id);
    let publication = published_in(id, row.try_get(4)?)?;
    let author: &str = row.try_get(3)?;
    let org = shelf.strip_prefix("org:").map(str::parse::<OrgId>);
    let standing = standings.get(&id).copied().unwrap_or_default();
    Ok(GlobalRecord {
        id,
        embedding: Vec::new(),
        embedding_space: None,
        author_id: author.parse().map_err(|_| damaged(id, "author"))?,
        org_id: org.transpose().map_err(|_| damaged(id, "shelf"))?,
        published_at: row.try_get(6)?,
        version: version(row.try_get(2)?),
        checksum: row.try_get(5)?,
        quality_metrics: standing.metrics,
        publication,
    })
}

/// What a row holds of a thing.
pub(super) fn published_in(id: RecordId, text: &str) -> Result<Publication, GlobalError> {
    serde_json::from_str(text).map_err(|_| damaged(id, "publication"))
}

pub(super) fn damaged(id: RecordId, what: &str) -> GlobalError {
    let said = format!("the row of {id} in the database is damaged ({what}); restore it");
    GlobalError::storage(&said)
}

pub(super) async fn get(
    shared: &Shared,
    caller: &Caller,
    id: RecordId,
    wanted: Option<Version>,
) -> Result<GlobalRecord, Failure> {
    let none = || GlobalError::NotFound { id };
    if let Some(wanted) = wanted {
        let found = of_thing(shared, caller, id, Some(number(wanted)), ListPage::after(0)).await?;
        return Ok(found.into_iter().next().ok_or_else(none)?);
    }
    let standings = shared.voices.standings(&shared.node).await?;
    let mut client = connection(&shared.node.pool).await?;
    let transaction = reading(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::get());
    let (shelves, author) = (shelf_names(caller), caller.user.as_str());
    let row = row(&transaction, &statement, &[&shelves, &uuid(id), &author]).await?;
    let row = row.ok_or_else(none)?;
    let mut found = record(&row, &standings)?;
    if !shared.node.admits(caller, &found) || !is_told(shared, &transaction, caller, &found).await?
    {
        return Err(none().into());
    }
    if let Some(vector) = row.try_get::<_, Option<Vec<f32>>>(7)? {
        found.embedding = vector;
        found.embedding_space.clone_from(&shared.node.options.space);
    }
    Ok(found.for_reader(&caller.user))
}

pub(super) async fn versions(
    shared: &Shared,
    caller: &Caller,
    id: RecordId,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let found = of_thing(shared, caller, id, None, page).await?;
    if found.is_empty() && page.offset == 0 {
        return Err(GlobalError::NotFound { id }.into());
    }
    Ok(found)
}

/// Whether several have published it, where it is another's pattern.
async fn is_told(
    shared: &Shared,
    transaction: &Transaction<'_>,
    caller: &Caller,
    record: &GlobalRecord,
) -> Result<bool, Failure> {
    Ok(!record.is_of_others(&caller.user)
        || of_several(shared, transaction, caller, record)
            .await?
            .is_some())
}

async fn of_thing(
    shared: &Shared,
    caller: &Caller,
    id: RecordId,
    wanted: Option<i32>,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let standings = shared.voices.standings(&shared.node).await?;
    let mut client = connection(&shared.node.pool).await?;
    let transaction = reading(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::versions());
    let (shelves, author) = (shelf_names(caller), caller.user.as_str());
    let [limit, offset] = bounds(page);
    let id = uuid(id);
    let asked: Given<'_> = &[&shelves, &id, &author, &wanted, &limit, &offset];
    let rows = rows(&transaction, &statement, asked).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let record = record(row, &standings)?;
        if shared.node.admits(caller, &record)
            && is_told(shared, &transaction, caller, &record).await?
        {
            found.push(record.for_reader(&caller.user));
        }
    }
    Ok(found)
}

pub(super) async fn published(
    shared: &Shared,
    caller: &Caller,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let standings = shared.voices.standings(&shared.node).await?;
    let mut client = connection(&shared.node.pool).await?;
    let transaction = reading(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::published());
    let (author, [limit, offset]) = (caller.user.as_str(), bounds(page));
    let rows = rows(&transaction, &statement, &[&author, &limit, &offset]).await?;
    rows.iter().map(|row| record(row, &standings)).collect()
}

pub(super) fn bounds(page: ListPage) -> [i64; 2] {
    [page.limit, page.offset].map(count)
}

pub(super) async fn audit(node: &Node, limit: usize) -> Result<Vec<AuditLine>, Failure> {
    let client = connection(&node.pool).await?;
    let statement =
        format!("SELECT {AUDITED} FROM reprise_global.audit ORDER BY number DESC LIMIT $1");
    let rows = rows(&client, &statement, &[&count(limit)]).await?;
    Ok(rows.iter().map(audited).collect())
}

/// The columns of [`audited`].
pub(super) const AUDITED: &str = "at, who, what, id, version, shelf, about, reason, checksum";

/// A row of the audit log.
pub(super) fn audited(row: &Row) -> AuditLine {
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
