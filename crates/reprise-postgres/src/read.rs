//! Published things by their id, their version or their author.

use deadpool_postgres::Transaction;
use reprise_global::backend::Reputations;
use reprise_global::{
    AuditFilter, AuditLine, Caller, GlobalError, GlobalRecord, ListPage, Publication, Shelf,
    Version,
};
use reprise_types::RecordId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::{Failure, get_connection};
use super::node::{
    Node, NodeState, SqlParameters, begin_read, count, number, open_shelf_names, record_id, row,
    rows, uuid, version,
};
use super::reviews::list_own_review_shelves;
use super::search::list_common_patterns;
use super::statements;

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

pub(super) async fn get(
    shared: &NodeState,
    caller: &Caller,
    id: RecordId,
    wanted: Option<Version>,
) -> Result<GlobalRecord, Failure> {
    let none = || GlobalError::NotFound { id };
    if let Some(wanted) = wanted {
        let found =
            list_versions_of(shared, caller, id, Some(number(wanted)), ListPage::after(0)).await?;
        return Ok(found.into_iter().next().ok_or_else(none)?);
    }
    let standings = shared.voices.compute_reputations(&shared.node).await?;
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_read(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::get());
    let (mut shelves, author) = (open_shelf_names(caller), caller.user.as_str());
    shelves.extend(list_own_review_shelves(caller));
    let row = row(&transaction, &statement, &[&shelves, &uuid(id), &author]).await?;
    let row = row.ok_or_else(none)?;
    let mut found = decode_record_row(&row, &standings)?;
    if !shared.node.admits(caller, &found)
        || !is_no_lone_pattern_of_others(shared, &transaction, caller, &found).await?
    {
        return Err(none().into());
    }
    if let Some(vector) = row.try_get::<_, Option<Vec<f32>>>(7)? {
        found.embedding = vector;
        found.embedding_space.clone_from(&shared.node.options.space);
    }
    Ok(found.anonymize_for_reader(&caller.user))
}

pub(super) async fn versions(
    shared: &NodeState,
    caller: &Caller,
    id: RecordId,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let found = list_versions_of(shared, caller, id, None, page).await?;
    if found.is_empty() && page.offset == 0 {
        return Err(GlobalError::NotFound { id }.into());
    }
    Ok(found)
}

/// Returns `false` for another person's pattern that too few people have published.
async fn is_no_lone_pattern_of_others(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    record: &GlobalRecord,
) -> Result<bool, Failure> {
    Ok(!record.is_pattern_of_others(&caller.user)
        || list_common_patterns(shared, transaction, caller, record)
            .await?
            .is_some())
}

async fn list_versions_of(
    shared: &NodeState,
    caller: &Caller,
    id: RecordId,
    wanted: Option<i32>,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let standings = shared.voices.compute_reputations(&shared.node).await?;
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_read(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::versions());
    let (mut shelves, author) = (open_shelf_names(caller), caller.user.as_str());
    shelves.extend(list_own_review_shelves(caller));
    let [limit, offset] = limit_and_offset(page);
    let id = uuid(id);
    let asked: SqlParameters<'_> = &[&shelves, &id, &author, &wanted, &limit, &offset];
    let rows = rows(&transaction, &statement, asked).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let record = decode_record_row(row, &standings)?;
        if shared.node.admits(caller, &record)
            && is_no_lone_pattern_of_others(shared, &transaction, caller, &record).await?
        {
            found.push(record.anonymize_for_reader(&caller.user));
        }
    }
    Ok(found)
}

pub(super) async fn list_own_publications(
    shared: &NodeState,
    caller: &Caller,
    page: ListPage,
) -> Result<Vec<GlobalRecord>, Failure> {
    let standings = shared.voices.compute_reputations(&shared.node).await?;
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_read(&shared.node, &mut client, caller, "").await?;
    let statement = shared.node.sql(&statements::published());
    let (author, [limit, offset]) = (caller.user.as_str(), limit_and_offset(page));
    let rows = rows(&transaction, &statement, &[&author, &limit, &offset]).await?;
    rows.iter()
        .map(|row| decode_record_row(row, &standings))
        .collect()
}

pub(super) fn limit_and_offset(page: ListPage) -> [i64; 2] {
    [page.limit, page.offset].map(count)
}

pub(super) async fn audit(node: &Node, limit: usize) -> Result<Vec<AuditLine>, Failure> {
    let client = get_connection(&node.pool).await?;
    let statement =
        format!("SELECT {AUDIT_COLUMNS} FROM reprise_global.audit ORDER BY number DESC LIMIT $1");
    let rows = rows(&client, &statement, &[&count(limit)]).await?;
    Ok(rows.iter().map(decode_audit_line).collect())
}

/// Lists the lines that [`AuditFilter`] admits.
pub(super) async fn audit_told_to(
    node: &Node,
    caller: &Caller,
    limit: usize,
) -> Result<Vec<AuditLine>, Failure> {
    let client = get_connection(&node.pool).await?;
    let statement = format!(
        "SELECT {AUDIT_COLUMNS} FROM reprise_global.audit \
         WHERE shelf IS NULL OR NOT (starts_with(shelf, $1) OR starts_with(shelf, $2)) \
            OR shelf = $3 OR starts_with(shelf, $4) \
         ORDER BY number DESC LIMIT $5"
    );
    let AuditFilter {
        owned: [org, project],
        own,
        own_projects,
    } = AuditFilter::new(caller.org.as_ref());
    let given: SqlParameters<'_> = &[&org, &project, &own, &own_projects, &count(limit)];
    let rows = rows(&client, &statement, given).await?;
    Ok(rows.iter().map(decode_audit_line).collect())
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
