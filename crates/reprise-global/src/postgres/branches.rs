//! Branches of the catalogue: what an author tries out stands on a shelf that only his own
//! transactions can name.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, connection, literal};
use super::node::{
    Given, Node, Shared, change, changing, delete, one, reading, record_id, remove, row, rows,
    uuid, version, write_on,
};
use super::publish::{Prepared, insert, publish_in, said};
use super::read::published_in;
use super::search;
use crate::caller::Caller;
use crate::rules::{Drafted, Drafting, Standing, decide_branch, decide_draft, decide_merge, told};
use crate::store::{Branch, Merged, Published, branch_has_changed, name_is_taken, no_branch};

/// What stands on a branch: each draft's id, with that of the thing which it is to replace.
pub(super) type Drafts = HashMap<Uuid, Option<RecordId>>;

/// The moment of this statement.
const MOMENT: &str = "SELECT clock_timestamp()";

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
    let rows = rows(transaction, statement, &[&author, &name]).await?;
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
    remove(transaction, &shelf, &[id]).await?;
    let draft = "draft WHERE author = $1 AND branch = $2 AND id = $3";
    let author = caller.user.as_str();
    delete(transaction, draft, &[&author, &branch, &id]).await?;
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
    for row in rows(transaction, statement, &[&author, &thing]).await? {
        forget(transaction, caller, row.get(0), row.get(1)).await?;
    }
    Ok(())
}

/// Holds a branch until the end of the transaction; when it was opened.
async fn held(
    transaction: &Transaction<'_>,
    caller: &Caller,
    name: &str,
) -> Result<DateTime<Utc>, Failure> {
    let author = caller.user.as_str();
    let statement = "SELECT at FROM reprise_global.branch \
         WHERE author = $1 AND name = $2 FOR UPDATE";
    let row = row(transaction, statement, &[&author, &name]).await?;
    Ok(row.ok_or_else(|| no_branch(name))?.get(0))
}

pub(super) async fn branch(node: &Node, caller: &Caller, name: &str) -> Result<Branch, Failure> {
    let mut client = connection(&node.pool).await?;
    let transaction = changing(&mut client, caller).await?;
    let author = caller.user.as_str();
    let counted = "SELECT count(*) FROM reprise_global.branch WHERE author = $1";
    let open: i64 = one(&transaction, counted, &[&author]).await?.get(0);
    let open = usize::try_from(open).unwrap_or(usize::MAX);
    let statement = "INSERT INTO reprise_global.branch (author, name, at) \
         VALUES ($1, $2, clock_timestamp()) ON CONFLICT (author, name) DO NOTHING RETURNING at";
    let row = row(&transaction, statement, &[&author, &name]).await?;
    decide_branch(name, row.is_none(), open)?;
    let Some(row) = row else {
        return Err(name_is_taken("branch", name).into());
    };
    said(&transaction, caller, "branch", None, None, Some(name)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(Branch {
        name: name.to_owned(),
        at: row.get(0),
        things: 0,
    })
}

pub(super) async fn branches(node: &Node, caller: &Caller) -> Result<Vec<Branch>, Failure> {
    let mut client = connection(&node.pool).await?;
    let transaction = reading(node, &mut client, caller, "").await?;
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

/// What stands on a branch of one origin, and what is published of it.
async fn before(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
    origin: &str,
) -> Result<(Option<Drafted>, Option<Standing>), Failure> {
    let author = caller.user.as_str();
    let draft = "SELECT id, checksum, base FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2 AND origin = $3";
    let draft = row(transaction, draft, &[&author, &branch, &origin]).await?;
    let published = "SELECT id, shelf, version, checksum FROM reprise_global.authored \
         WHERE author = $1 AND origin = $2";
    let published = row(transaction, published, &[&author, &origin]).await?;
    let drafted = draft.map(|row| Drafted {
        id: record_id(row.get(0)),
        checksum: row.get(1),
        base: version(row.get(2)).0,
    });
    let standing = published.map(|row| Standing {
        id: record_id(row.get(0)),
        shelf: row.get(1),
        version: version(row.get(2)).0,
        checksum: row.get(3),
    });
    Ok((drafted, standing))
}

/// `prepared` is on the shelf where it is to stand after the merge.
pub(super) async fn draft(
    shared: &Shared,
    caller: &Caller,
    branch: &str,
    prepared: &Prepared,
) -> Result<Published, Failure> {
    let publication = &prepared.publication;
    let checksum = publication.checksum();
    let mut client = connection(&shared.node.pool).await?;
    let transaction = changing(&mut client, caller).await?;
    held(&transaction, caller, branch).await?;
    let (before, standing) = before(&transaction, caller, branch, &publication.origin).await?;
    let stands = drafts(&transaction, caller, branch).await?.len();
    let given = (&prepared.shelf, checksum.as_str());
    let decided = decide_draft(branch, standing.as_ref(), before.as_ref(), stands, given)?;
    let next = match decided {
        Drafting::Withdrawn(id, version) => {
            if let Some(before) = &before {
                forget(&transaction, caller, branch, uuid(before.id)).await?;
            }
            transaction.commit().await.map_err(Failure::Commit)?;
            return Ok(told(id, version, publication, true));
        }
        Drafting::Standing(id, version) => return Ok(told(id, version, publication, true)),
        Drafting::Put(_, version) => version,
    };
    if let Some(before) = &before {
        forget(&transaction, caller, branch, uuid(before.id)).await?;
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
    let given: Given<'_> = &[&author, &branch, origin, &id, &thing, &base, &checksum];
    change(&transaction, statement, given).await?;
    let row = one(&transaction, MOMENT, &[]).await?;
    let shelf = caller.branch(branch).to_string();
    write_on(&transaction, &shelf).await?;
    let draft = (id, base + 1, prepared);
    insert(&transaction, caller, (&shelf, row.get(0)), &[draft]).await?;
    let mut published = told(record_id(thing.unwrap_or(id)), next, publication, false);
    if let Some(vector) = &prepared.vector {
        let own = thing.unwrap_or(id);
        published.overlaps = search::overlaps(shared, &transaction, caller, vector, own).await?;
    }
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(published)
}

/// A thing of a branch, with its vector.
struct Ready {
    id: Uuid,
    base: i32,
    checksum: String,
    prepared: Prepared,
}

/// What stands on a branch, in the order in which it came, ready to be published.
async fn ready(node: &Node, caller: &Caller, branch: &str) -> Result<Vec<Ready>, Failure> {
    let rows = {
        let mut client = connection(&node.pool).await?;
        let opened = opening(caller, branch);
        let transaction = reading(node, &mut client, caller, &opened).await?;
        drafts(&transaction, caller, branch).await?;
        let statement = "SELECT d.id, d.base, d.checksum, t.publication \
             FROM reprise_global.draft d JOIN reprise_global.thing t \
             ON t.shelf = $3 AND t.id = d.id AND t.version = d.base + 1 \
             WHERE d.author = $1 AND d.branch = $2 ORDER BY t.since, d.id";
        let (author, shelf) = (caller.user.as_str(), caller.branch(branch).to_string());
        rows(&transaction, statement, &[&author, &branch, &shelf]).await?
    };
    let mut ready = Vec::with_capacity(rows.len());
    for row in rows {
        let id: Uuid = row.get(0);
        let publication = published_in(record_id(id), row.get(3))?;
        ready.push(Ready {
            id,
            base: row.get(1),
            checksum: row.get(2),
            prepared: Prepared::of(node, caller, publication).await?,
        });
    }
    Ok(ready)
}

/// Publishes what is ready, where nothing else stands on the branch by now.
pub(super) async fn merge(
    shared: &Shared,
    caller: &Caller,
    branch: &str,
) -> Result<Vec<Merged>, Failure> {
    let ready = ready(&shared.node, caller, branch).await?;
    let mut client = connection(&shared.node.pool).await?;
    let transaction = changing(&mut client, caller).await?;
    held(&transaction, caller, branch).await?;
    let standing = "SELECT id, checksum FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2";
    let author = caller.user.as_str();
    let standing = rows(&transaction, standing, &[&author, &branch]).await?;
    let standing = standing.iter().map(|row| (row.get(0), row.get(1)));
    let standing: HashMap<Uuid, String> = standing.collect();
    let is_same = |one: &Ready| standing.get(&one.id) == Some(&one.checksum);
    if standing.len() != ready.len() || !ready.iter().all(is_same) {
        return Err(branch_has_changed().into());
    }
    // One moment for all: a snapshot has the whole of a merge or nothing of it.
    let at = Some(one(&transaction, MOMENT, &[]).await?.get(0));
    let mut merged = Vec::with_capacity(ready.len());
    for one in &ready {
        let drafted = Drafted {
            id: record_id(one.id),
            checksum: one.checksum.clone(),
            base: version(one.base).0,
        };
        let shelf = &one.prepared.shelf;
        let decide =
            |standing: Option<&Standing>, _: &str| decide_merge(branch, standing, &drafted, shelf);
        let published = publish_in(shared, &transaction, caller, &one.prepared, at, decide).await?;
        merged.push(Merged {
            published,
            checksum: one.checksum.clone(),
        });
    }
    close(&transaction, caller, branch).await?;
    said(&transaction, caller, "merge", None, None, Some(branch)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    for one in &ready {
        shared.shelves.changed(&one.prepared.shelf.to_string());
    }
    Ok(merged)
}

/// Deletes a branch with all that stands on it.
async fn close(
    transaction: &Transaction<'_>,
    caller: &Caller,
    branch: &str,
) -> Result<(), Failure> {
    let (author, shelf) = (caller.user.as_str(), caller.branch(branch).to_string());
    write_on(transaction, &shelf).await?;
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
    let mut client = connection(&node.pool).await?;
    let transaction = changing(&mut client, caller).await?;
    let at = held(&transaction, caller, branch).await?;
    let things = drafts(&transaction, caller, branch).await?.len();
    close(&transaction, caller, branch).await?;
    said(&transaction, caller, "drop", None, None, Some(branch)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(Branch {
        name: branch.to_owned(),
        at,
        things,
    })
}
