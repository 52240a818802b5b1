//! Drafts: what waits on a shelf that only its author's own transactions can name, on a branch of
//! the author or on one of reviews.

use std::collections::{BTreeSet, HashMap};

use deadpool_postgres::Transaction;
use reprise_global::backend::{DraftState, PublishedState, no_branch_error};
use reprise_global::{Caller, Shelf};
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, literal};
use super::node::{allow_writes_on, remove};
use super::sql::{delete, record_id, row, rows, version};

/// The drafts of a branch: the id of each, with that of the thing which it is to replace.
pub(super) type Drafts = HashMap<Uuid, Option<RecordId>>;

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

/// Begins the name of every branch of reviews; no name of a branch has its dot.
pub(super) const REVIEW_PREFIX: &str = ".review/";

/// Returns the name of the branches on which publications for a shelf wait.
pub(super) fn review_branch(shelf: &Shelf) -> String {
    format!("{REVIEW_PREFIX}{shelf}")
}

/// Returns the names of the branches on which publications for the caller's shelves wait.
pub(super) fn list_review_branches(caller: &Caller) -> Vec<String> {
    caller.open_shelves().iter().map(review_branch).collect()
}

/// Returns the shelf for which publications on a branch of reviews wait.
pub(super) fn reviewed_shelf(branch: &str) -> &str {
    branch.strip_prefix(REVIEW_PREFIX).unwrap_or(branch)
}

/// Lists what of the caller's waits for a review, for a question, and the shelves that it is on.
pub(super) async fn list_waiting(
    transaction: &Transaction<'_>,
    caller: &Caller,
) -> Result<(Drafts, BTreeSet<String>), Failure> {
    let statement = "SELECT id, replaces, branch FROM reprise_global.draft \
         WHERE author = $1 AND branch = ANY($2) AND refused IS NULL";
    let (author, branches) = (caller.user.as_str(), list_review_branches(caller));
    let waiting = rows(transaction, statement, &[&author, &branches]).await?;
    let (mut drafts, mut shelves) = (Drafts::new(), BTreeSet::new());
    for row in waiting {
        let replaces: Option<Uuid> = row.get(1);
        drafts.insert(row.get(0), replaces.map(record_id));
        shelves.insert(caller.branch_shelf(row.get(2)).to_string());
    }
    Ok((drafts, shelves))
}

/// Returns the shelves of the caller's own submissions, which an id may be on.
pub(super) fn list_own_review_shelves(caller: &Caller) -> Vec<String> {
    let branches = list_review_branches(caller).into_iter();
    branches
        .map(|branch| caller.branch_shelf(&branch).to_string())
        .collect()
}
