//! Branches of the catalogue: what an author tries out is on a shelf that only his own transactions
//! can name.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_global::backend::{
    DraftState, Drafting, PublishedState, branch_changed_error, build_published_report,
    decide_branch, decide_draft, decide_merge, name_taken_error, no_branch_error,
};
use reprise_global::{Branch, Caller, Merged, Published};
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, get_connection, literal};
use super::node::{Node, NodeState, allow_writes_on, begin_change, begin_read, remove};
use super::publish::{Prepared, PublishAs, PublishedBy, append_audit_entry, insert, publish_in};
use super::reviews::{find_review_cause, submit};
use super::search;
use super::sql::{
    SqlParameters, change, decode_publication, delete, one, record_id, row, rows, uuid, version,
};

/// The drafts of a branch: the id of each, with that of the thing which it is to replace.
pub(super) type Drafts = HashMap<Uuid, Option<RecordId>>;

/// The moment of this statement.
const MOMENT: &str = "SELECT clock_timestamp()";

/// Returns the setting that opens the shelves of branches to the questions of a transaction.
pub(super) fn open_branches_setting(caller: &Caller, names: &[String]) -> String {
    let shelves = names
        .iter()
        .map(|name| caller.branch_shelf(name).to_string());
    let shelves: Vec<String> = shelves.collect();
    format!(
        "SET LOCAL reprise.branch = {};",
        literal(&shelves.join(","))
    )
}

/// What a question that names a branch finds there in the place of what is published.
pub(super) async fn list_drafts(
    transaction: &Transaction<'_>,
    caller: &Caller,
    name: &str,
) -> Result<Drafts, Failure> {
    let author = caller.user.as_str();
    let statement = "SELECT d.id, d.replaces FROM reprise_global.branch b \
         LEFT JOIN reprise_global.draft d ON d.author = b.author AND d.branch = b.name \
         WHERE b.author = $1 AND b.name = $2";
    let rows = rows(transaction, statement, &[&author, &name]).await?;
    if rows.is_empty() {
        return Err(no_branch_error(name).into());
    }
    let drafts = rows.iter().filter_map(|row| {
        let replaces = row.get::<_, Option<Uuid>>(1);
        Some((row.get::<_, Option<Uuid>>(0)?, replaces.map(record_id)))
    });
    Ok(drafts.collect())
}

/// Deletes one draft from a branch; returns what it was found by.
pub(super) async fn delete_draft(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    id: Uuid,
) -> Result<Vec<i64>, Failure> {
    let tokens = delete_draft_text(transaction, caller, branch, id).await?;
    let draft = "draft WHERE author = $1 AND branch = $2 AND id = $3";
    let author = caller.user.as_str();
    delete(transaction, draft, &[&author, &branch, &id]).await?;
    Ok(tokens)
}

/// Deletes the text of a draft with all that it is found by, which is returned.
pub(super) async fn delete_draft_text(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    id: Uuid,
) -> Result<Vec<i64>, Failure> {
    let shelf = caller.branch_shelf(branch).to_string();
    allow_writes_on(transaction, &shelf).await?;
    let (_, tokens) = remove(transaction, &shelf, &[id]).await?;
    Ok(tokens)
}

/// What is to replace a thing that is taken back says nearly the same.
pub(super) async fn delete_replacing_drafts(
    transaction: &Transaction<'_>,
    caller: &Caller,
    thing: Uuid,
) -> Result<(), Failure> {
    let author = caller.user.as_str();
    let statement =
        "SELECT branch, id FROM reprise_global.draft WHERE author = $1 AND replaces = $2";
    for row in rows(transaction, statement, &[&author, &thing]).await? {
        delete_draft(transaction, caller, row.get(0), row.get(1)).await?;
    }
    Ok(())
}

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

/// Reads the draft of one origin on a branch, and what is published of it.
pub(super) async fn read_draft_and_published(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    origin: &str,
) -> Result<(Option<DraftState>, Option<PublishedState>), Failure> {
    let author = caller.user.as_str();
    let draft = "SELECT id, checksum, base FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2 AND origin = $3";
    let draft = row(transaction, draft, &[&author, &branch, &origin]).await?;
    let published = "SELECT id, shelf, version, checksum FROM reprise_global.authored \
         WHERE author = $1 AND origin = $2";
    let published = row(transaction, published, &[&author, &origin]).await?;
    let drafted = draft.map(|row| DraftState {
        id: record_id(row.get(0)),
        checksum: row.get(1),
        base: version(row.get(2)).0,
    });
    let standing = published.map(|row| PublishedState {
        id: record_id(row.get(0)),
        shelf: row.get(1),
        version: version(row.get(2)).0,
        checksum: row.get(3),
    });
    Ok((drafted, standing))
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

/// Carries out, as a part of a transaction, what was decided of a draft.
pub(super) async fn apply_drafting(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    prepared: &Prepared,
    (before, standing, decided): (Option<DraftState>, Option<PublishedState>, Drafting),
) -> Result<Published, Failure> {
    let (publication, checksum) = (&prepared.publication, prepared.publication.checksum());
    let next = match decided {
        Drafting::Withdrawn(id, version) => {
            if let Some(before) = &before {
                delete_draft(transaction, caller, branch, uuid(before.id)).await?;
            }
            return Ok(build_published_report(id, version, publication, true));
        }
        Drafting::Unchanged(id, version) => {
            return Ok(build_published_report(id, version, publication, true));
        }
        Drafting::Replace(_, version) => version,
    };
    if let Some(before) = &before {
        delete_draft(transaction, caller, branch, uuid(before.id)).await?;
    }
    let fresh = shared.node.fresh_id();
    let id = uuid(before.map_or(fresh, |before| before.id));
    let thing = standing.map(|standing| uuid(standing.id));
    let base = i32::try_from(next.0).unwrap_or(i32::MAX) - 1;
    let author = caller.user.as_str();
    let statement = "INSERT INTO reprise_global.draft \
         (author, branch, origin, id, replaces, base, checksum) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let origin = &publication.origin;
    let given: SqlParameters<'_> = &[&author, &branch, origin, &id, &thing, &base, &checksum];
    change(transaction, statement, given).await?;
    let row = one(transaction, MOMENT, &[]).await?;
    let shelf = caller.branch_shelf(branch).to_string();
    allow_writes_on(transaction, &shelf).await?;
    let draft = (id, base + 1, prepared);
    insert(transaction, caller, (&shelf, row.get(0)), &[draft]).await?;
    let mut published =
        build_published_report(record_id(thing.unwrap_or(id)), next, publication, false);
    if let Some(vector) = &prepared.vector {
        let own = thing.unwrap_or(id);
        published.overlaps = search::overlaps(shared, transaction, caller, vector, own).await?;
    }
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
