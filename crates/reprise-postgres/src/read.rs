//! Published things by their id, their version or their author.

use deadpool_postgres::Transaction;
use reprise_global::{
    AuditFilter, AuditLine, Caller, GlobalError, GlobalRecord, ListPage, Version,
};
use reprise_types::RecordId;

use super::connect::{Failure, get_connection};
use super::drafts::list_own_review_shelves;
use super::node::{Node, NodeState, begin_read, open_shelf_names};
use super::search::list_common_patterns;
use super::sql::{
    AUDIT_COLUMNS, SqlParameters, count, decode_audit_line, decode_record_row, limit_and_offset,
    number, row, rows, uuid,
};
use super::statements;

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
