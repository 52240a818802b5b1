//! Branches of the catalogue: what an author tries out is on a shelf that only his own transactions
//! can name.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_global::backend::{
    DraftState, PublishedState, branch_changed_error, decide_branch, decide_draft, decide_merge,
    name_taken_error, no_branch_error,
};
use reprise_global::{Branch, Caller, Merged, Published};
use uuid::Uuid;

use super::connect::{Failure, get_connection};
use super::drafts::{list_drafts, open_branches_setting, read_draft_and_published};
use super::node::{Node, NodeState, allow_writes_on, begin_change, begin_read};
use super::reviews::{PublishedBy, find_review_cause, submit};
use super::sql::{decode_publication, delete, one, record_id, row, rows, version};
use super::things::{MOMENT, Prepared, PublishAs, append_audit_entry, apply_drafting, publish_in};

/// Locks a branch until the end of the transaction, and returns when it was opened.
async fn lock_branch(
    transaction: &Transaction<'_>,
    caller: &Caller,
    name: &str,
) -> Result<DateTime<Utc>, Failure> {
    let author = caller.user.as_str();
    let statement = "SELECT at FROM reprise_global.branch \
         WHERE author = $1 AND name = $2 FOR UPDATE";
    let row = row(transaction, statement, &[&author, &name]).await?;
    Ok(row.ok_or_else(|| no_branch_error(name))?.get(0))
}

pub(super) async fn branch(node: &Node, caller: &Caller, name: &str) -> Result<Branch, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let author = caller.user.as_str();
    let counted = "SELECT count(*) FROM reprise_global.branch WHERE author = $1";
    let open: i64 = one(&transaction, counted, &[&author]).await?.get(0);
    let open = usize::try_from(open).unwrap_or(usize::MAX);
    let statement = "INSERT INTO reprise_global.branch (author, name, at) \
         VALUES ($1, $2, clock_timestamp()) ON CONFLICT (author, name) DO NOTHING RETURNING at";
    let row = row(&transaction, statement, &[&author, &name]).await?;
    decide_branch(name, row.is_none(), open)?;
    let Some(row) = row else {
        return Err(name_taken_error("branch", name).into());
    };
    append_audit_entry(&transaction, caller, "branch", None, None, Some(name)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(Branch {
        name: name.to_owned(),
        at: row.get(0),
        things: 0,
    })
}

pub(super) async fn branches(node: &Node, caller: &Caller) -> Result<Vec<Branch>, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read(node, &mut client, caller, "").await?;
    let statement = "SELECT b.name, b.at, count(d.id) FROM reprise_global.branch b \
         LEFT JOIN reprise_global.draft d ON d.author = b.author AND d.branch = b.name \
         WHERE b.author = $1 GROUP BY b.name, b.at ORDER BY b.name COLLATE \"C\"";
    let rows = rows(&transaction, statement, &[&caller.user.as_str()]).await?;
    let branch = |row: &tokio_postgres::Row| Branch {
        name: row.get(0),
        at: row.get(1),
        things: usize::try_from(row.get::<_, i64>(2)).unwrap_or_default(),
    };
    Ok(rows.iter().map(branch).collect())
}

/// `prepared` is on the shelf where it is to stand after the merge.
pub(super) async fn draft(
    shared: &NodeState,
    caller: &Caller,
    branch: &str,
    prepared: &Prepared,
) -> Result<Published, Failure> {
    let publication = &prepared.publication;
    let checksum = publication.checksum();
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    lock_branch(&transaction, caller, branch).await?;
    let (before, standing) =
        read_draft_and_published(&transaction, caller, branch, &publication.origin).await?;
    let drafts_there = list_drafts(&transaction, caller, branch).await?.len();
    let given = (&prepared.shelf, checksum.as_str());
    let decided = decide_draft(
        branch,
        standing.as_ref(),
        before.as_ref(),
        drafts_there,
        given,
    )?;
    let drafts = (before, standing, decided);
    let published = apply_drafting(shared, &transaction, caller, branch, prepared, drafts).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(published)
}

/// A thing of a branch, with its vector.
struct PreparedDraft {
    id: Uuid,
    base: i32,
    checksum: String,
    prepared: Prepared,
}

/// Prepares the drafts of a branch for publishing, in the order in which they came.
async fn prepare_drafts(
    node: &Node,
    caller: &Caller,
    branch: &str,
) -> Result<Vec<PreparedDraft>, Failure> {
    let rows = {
        let mut client = get_connection(&node.pool).await?;
        let opened = open_branches_setting(caller, &[branch.to_owned()]);
        let transaction = begin_read(node, &mut client, caller, &opened).await?;
        list_drafts(&transaction, caller, branch).await?;
        let statement = "SELECT d.id, d.base, d.checksum, t.publication \
             FROM reprise_global.draft d JOIN reprise_global.thing t \
             ON t.shelf = $3 AND t.id = d.id AND t.version = d.base + 1 \
             WHERE d.author = $1 AND d.branch = $2 ORDER BY t.since, d.id";
        let (author, shelf) = (
            caller.user.as_str(),
            caller.branch_shelf(branch).to_string(),
        );
        rows(&transaction, statement, &[&author, &branch, &shelf]).await?
    };
    let mut ready = Vec::with_capacity(rows.len());
    for row in rows {
        let id: Uuid = row.get(0);
        let publication = decode_publication(record_id(id), row.get(3))?;
        ready.push(PreparedDraft {
            id,
            base: row.get(1),
            checksum: row.get(2),
            prepared: Prepared::new(node, caller, publication).await?,
        });
    }
    Ok(ready)
}

/// Publishes the drafts of a branch, unless the branch has changed meanwhile.
pub(super) async fn merge(
    shared: &NodeState,
    caller: &Caller,
    branch: &str,
) -> Result<Vec<Merged>, Failure> {
    let ready = prepare_drafts(&shared.node, caller, branch).await?;
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    lock_branch(&transaction, caller, branch).await?;
    let standing = "SELECT id, checksum FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2";
    let author = caller.user.as_str();
    let standing = rows(&transaction, standing, &[&author, &branch]).await?;
    let standing = standing.iter().map(|row| (row.get(0), row.get(1)));
    let standing: HashMap<Uuid, String> = standing.collect();
    let is_same = |one: &PreparedDraft| standing.get(&one.id) == Some(&one.checksum);
    if standing.len() != ready.len() || !ready.iter().all(is_same) {
        return Err(branch_changed_error().into());
    }
    // One moment for all: a snapshot has the whole of a merge or nothing of it.
    let at = one(&transaction, MOMENT, &[]).await?.get(0);
    let merged_at = PublishAs {
        id: None,
        at: Some(at),
    };
    let mut merged = Vec::with_capacity(ready.len());
    for one in &ready {
        let drafted = DraftState {
            id: record_id(one.id),
            checksum: one.checksum.clone(),
            base: version(one.base).0,
        };
        let shelf = &one.prepared.shelf;
        let decide = |standing: Option<&PublishedState>, _: &str| {
            decide_merge(branch, standing, &drafted, shelf)
        };
        let cause = find_review_cause(&transaction, &one.prepared, PublishedBy::Author).await?;
        let published = if let Some(cause) = cause {
            let origin = &one.prepared.publication.origin;
            let (_, standing) =
                read_draft_and_published(&transaction, caller, branch, origin).await?;
            decide_merge(branch, standing.as_ref(), &drafted, shelf)?;
            submit(shared, &transaction, caller, &one.prepared, cause).await?
        } else {
            publish_in(
                shared,
                &transaction,
                caller,
                &one.prepared,
                merged_at,
                decide,
            )
            .await?
        };
        merged.push(Merged {
            published,
            checksum: one.checksum.clone(),
        });
    }
    delete_branch(&transaction, caller, branch).await?;
    append_audit_entry(&transaction, caller, "merge", None, None, Some(branch)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    for one in &ready {
        shared.shelves.note_change(&one.prepared.shelf.to_string());
    }
    Ok(merged)
}

/// Deletes a branch with all its drafts.
async fn delete_branch(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
) -> Result<(), Failure> {
    let (author, shelf) = (
        caller.user.as_str(),
        caller.branch_shelf(branch).to_string(),
    );
    allow_writes_on(transaction, &shelf).await?;
    for table in ["posting", "search", "thing"] {
        delete(transaction, &format!("{table} WHERE shelf = $1"), &[&shelf]).await?;
    }
    for whole in [
        "draft WHERE author = $1 AND branch = $2",
        "branch WHERE author = $1 AND name = $2",
    ] {
        delete(transaction, whole, &[&author, &branch]).await?;
    }
    Ok(())
}

pub(super) async fn drop_branch(
    node: &Node,
    caller: &Caller,
    branch: &str,
) -> Result<Branch, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let at = lock_branch(&transaction, caller, branch).await?;
    let things = list_drafts(&transaction, caller, branch).await?.len();
    delete_branch(&transaction, caller, branch).await?;
    append_audit_entry(&transaction, caller, "drop", None, None, Some(branch)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(Branch {
        name: branch.to_owned(),
        at,
        things,
    })
}
