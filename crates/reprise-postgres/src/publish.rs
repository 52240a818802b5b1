//! What changes the published things: each a transaction, whole or not at all.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use deadpool_postgres::Transaction;
use reprise_global::backend::{
    ImportPlan, PublishedState, ReviewCause, decide_publish, name_taken_error, plan_import,
};
use reprise_global::{
    Caller, GlobalError, GlobalResult, Publication, Published, Unpublished, check_publication,
};
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, get_connection};
use super::node::{Node, NodeState, allow_writes_on, begin_change, open_shelf_names};
use super::quotas::add_usage;
use super::reviews::{self, PublishedBy};
use super::search;
use super::sql::{SqlParameters, change, count, row, rows, uuid, version};
use super::things::{
    Prepared, PublishAs, append_audit_entry, find_near_taken_down, insert, is_gone, publish_in,
    set_contents_setting, withdraw,
};

/// Things of one transaction of an import.
const IMPORT_BATCH: usize = 1_000;

pub(super) async fn publish(
    shared: &NodeState,
    caller: &Caller,
    prepared: &Prepared,
    by: PublishedBy,
) -> GlobalResult<Published, Failure> {
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    if let Some(cause) = reviews::find_review_cause(&transaction, prepared, by).await? {
        let submitted = reviews::submit(shared, &transaction, caller, prepared, cause).await?;
        transaction.commit().await.map_err(Failure::Commit)?;
        return Ok(submitted);
    }
    let mut published = {
        let decide = |standing: Option<&PublishedState>, checksum: &str| {
            decide_publish(standing, &prepared.shelf, checksum)
        };
        let now = PublishAs::default();
        publish_in(shared, &transaction, caller, prepared, now, decide).await?
    };
    if published.unchanged {
        return Ok(published);
    }
    if let Some(vector) = &prepared.vector {
        let own = uuid(published.id);
        published.overlaps = search::overlaps(shared, &transaction, caller, vector, own).await?;
    }
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&prepared.shelf.to_string());
    Ok(published)
}

/// Lists the checksum of each of these origins that the caller has published, before anything is
/// embedded.
async fn list_checksums(
    shared: &NodeState,
    caller: &Caller,
    publications: &[Publication],
) -> GlobalResult<BTreeMap<String, String>, Failure> {
    let origins: Vec<&str> = publications.iter().map(|one| one.origin.as_str()).collect();
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let statement = "SELECT origin, checksum FROM reprise_global.authored \
         WHERE author = $1 AND origin = ANY($2)";
    let author = caller.user.as_str();
    let own = rows(&transaction, statement, &[&author, &origins]).await?;
    Ok(own.iter().map(|row| (row.get(0), row.get(1))).collect())
}

pub(super) async fn import(
    shared: &NodeState,
    caller: &Caller,
    publications: Vec<Publication>,
) -> GlobalResult<CatalogueImportReport> {
    for publication in &publications {
        check_publication(publication)?;
    }
    let own = list_checksums(shared, caller, &publications).await?;
    let ImportPlan { new, changed } = plan_import(publications, &own);
    let mut report = CatalogueImportReport::default();
    for publication in changed {
        let prepared = Prepared::new(&shared.node, caller, publication).await?;
        report.count(publish(shared, caller, &prepared, PublishedBy::Import).await)?;
    }
    let mut rest = new.into_iter().peekable();
    while rest.peek().is_some() {
        let mut batch: Vec<Prepared> = Vec::with_capacity(IMPORT_BATCH);
        while let Some(publication) = rest.next_if(|next| {
            let first = batch.first().map(|first| &first.publication);
            let is_for_same_readers = first.is_none_or(|first| {
                first.access_policy == next.access_policy && first.project == next.project
            });
            batch.len() < IMPORT_BATCH && is_for_same_readers
        }) {
            batch.push(Prepared::new(&shared.node, caller, publication).await?);
        }
        import_batch(shared, caller, &batch, &mut report).await?;
    }
    Ok(report)
}

/// What became of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CatalogueImportReport {
    /// New things, and new versions of known ones.
    pub published: usize,
    /// What says nearly the same as what was taken down, and waits for a review.
    pub submitted: usize,
}

impl CatalogueImportReport {
    /// Counts one that was published by itself; what an operator took down is passed over.
    fn count(&mut self, done: GlobalResult<Published, Failure>) -> GlobalResult<(), Failure> {
        match done {
            Ok(done) if done.unchanged => {}
            Ok(done) if done.awaits_review => self.submitted += 1,
            Ok(_) => self.published += 1,
            Err(Failure::Said(GlobalError::TakenDown { .. })) => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }
}

/// Lets wait, as a part of a transaction, what of a batch says nearly the same as what was taken
/// down; returns the rest.
async fn submit_near_taken_down<'b>(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    batch: &'b [Prepared],
    report: &mut CatalogueImportReport,
) -> GlobalResult<Vec<&'b Prepared>, Failure> {
    let vectors: Vec<Option<&[f32]>> = batch.iter().map(|one| one.vector.as_deref()).collect();
    let near = find_near_taken_down(transaction, &vectors).await?;
    let mut rest = Vec::with_capacity(batch.len());
    for (one, near) in batch.iter().zip(near) {
        let Some(id) = near else {
            rest.push(one);
            continue;
        };
        let cause = ReviewCause::NearTakenDown(id);
        report.count(reviews::submit(shared, transaction, caller, one, cause).await)?;
    }
    Ok(rest)
}

async fn import_batch(
    shared: &NodeState,
    caller: &Caller,
    batch: &[Prepared],
    report: &mut CatalogueImportReport,
) -> GlobalResult<(), Failure> {
    let Some(first) = batch.first() else {
        return Ok(());
    };
    let (shelf, author) = (first.shelf.to_string(), caller.user.as_str());
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let batch = submit_near_taken_down(shared, &transaction, caller, batch, report).await?;
    allow_writes_on(&transaction, &shelf).await?;
    let origins: Vec<&str> = batch
        .iter()
        .map(|one| one.publication.origin.as_str())
        .collect();
    let ids: Vec<Uuid> = batch.iter().map(|_| uuid(shared.node.fresh_id())).collect();
    let checksums: Vec<String> = batch.iter().map(|one| one.publication.checksum()).collect();
    let statement = "INSERT INTO reprise_global.authored \
         (author, origin, id, shelf, version, checksum) \
         SELECT $1, x.origin, x.id, $2, 1, x.checksum \
         FROM unnest($3::text[], $4::uuid[], $5::text[], $6::text[]) \
         AS x(origin, id, checksum, content) \
         WHERE x.origin NOT IN (SELECT origin FROM reprise_global.taken_down WHERE author = $1) \
         AND x.content NOT IN (SELECT content_sha256 FROM reprise_global.taken_down) \
         ON CONFLICT (author, origin) DO NOTHING RETURNING id, clock_timestamp()";
    let contents = batch.iter().map(|one| one.publication.content_sha256());
    let contents: Vec<String> = contents.collect();
    set_contents_setting(&transaction, &contents.join(",")).await?;
    let given: SqlParameters<'_> = &[&author, &shelf, &origins, &ids, &checksums, &contents];
    let rows = rows(&transaction, statement, given).await?;
    let Some(at) = rows.first().map(|row| row.get::<_, DateTime<Utc>>(1)) else {
        return transaction.commit().await.map_err(Failure::Commit);
    };
    let new: std::collections::HashSet<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let things: Vec<(Uuid, i32, &Prepared)> = ids
        .iter()
        .zip(&batch)
        .filter(|(id, _)| new.contains(*id))
        .map(|(id, one)| (*id, 1, *one))
        .collect();
    insert(&transaction, caller, (&shelf, at), &things).await?;
    let bytes = things
        .iter()
        .map(|(_, _, one)| one.publication.to_json_bytes().len());
    let bytes = count(bytes.sum::<usize>());
    let more = (count(things.len()), bytes);
    add_usage(shared, &transaction, caller, &shelf, more).await?;
    let statement = "INSERT INTO reprise_global.audit (at, who, what, id, version, shelf) \
         SELECT clock_timestamp(), $1, 'publish', x, 1, $2 FROM unnest($3::uuid[]) AS x";
    let new: Vec<Uuid> = things.iter().map(|(id, _, _)| *id).collect();
    change(&transaction, statement, &[&author, &shelf, &new]).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&shelf);
    report.published += things.len();
    Ok(())
}

/// `asked_before` says that an earlier try may have done it, and its answer was lost.
pub(super) async fn unpublish(
    shared: &NodeState,
    caller: &Caller,
    id: RecordId,
    asked_before: bool,
) -> GlobalResult<Unpublished, Failure> {
    let (key, author) = (uuid(id), caller.user.as_str());
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let statement = "SELECT shelf FROM reprise_global.authored \
         WHERE author = $1 AND id = $2 FOR UPDATE";
    let Some(found) = row(&transaction, statement, &[&author, &key]).await? else {
        if asked_before {
            let statement = "SELECT version FROM reprise_global.audit \
                 WHERE id = $1 AND who = $2 AND what = 'unpublish'";
            if let Some(done) = row(&transaction, statement, &[&key, &author]).await? {
                let versions: i32 = done.get(0);
                return Ok(Unpublished {
                    id,
                    versions: version(versions).0,
                    verified: true,
                });
            }
        }
        let statement = shared.node.sql(
            "SELECT 1 FROM reprise_global.thing \
             WHERE /*open*/(shelf = ANY($1)) AND id = $2 LIMIT 1",
        );
        let shelves = open_shelf_names(caller);
        let seen = row(&transaction, &statement, &[&shelves, &key]).await?;
        let what = "unpublish".into();
        drop(transaction);
        if let Some(done) = reviews::withdraw_submission(&mut client, caller, id).await? {
            return Ok(done);
        }
        return Err(match seen {
            Some(_) => GlobalError::NotAuthor { id, what }.into(),
            None => GlobalError::NotFound { id }.into(),
        });
    };
    let shelf: String = found.get(0);
    let (gone, tokens) = withdraw(shared, &transaction, caller, &shelf, key).await?;
    let versions = i32::try_from(gone).unwrap_or(i32::MAX);
    append_audit_entry(
        &transaction,
        caller,
        "unpublish",
        Some(key),
        Some(versions),
        Some(&shelf),
    )
    .await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&shelf);
    let verified = is_gone(&mut client, caller, &shelf, (key, &tokens)).await?;
    Ok(Unpublished {
        id,
        versions: version(versions).0,
        verified,
    })
}

pub(super) async fn snapshot(
    node: &Node,
    caller: &Caller,
    name: &str,
) -> GlobalResult<DateTime<Utc>, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let author = caller.user.as_str();
    let statement = "INSERT INTO reprise_global.snapshot (name, at, author) \
         VALUES ($1, clock_timestamp(), $2) ON CONFLICT (name) DO NOTHING RETURNING at";
    let row = row(&transaction, statement, &[&name, &author]).await?;
    let row = row.ok_or_else(|| name_taken_error("snapshot", name))?;
    append_audit_entry(&transaction, caller, "snapshot", None, None, Some(name)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(row.get(0))
}
