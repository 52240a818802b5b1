//! What changes the published things: each a transaction, whole or not at all.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use deadpool_postgres::{Object, Transaction};
use reprise_engine::{TextTerms, extract_terms};
use reprise_global::backend::{
    ImportPlan, PublishedState, Publishing, ReviewCause, build_published_report, decide_publish,
    name_taken_error, plan_import, publication_shelf,
};
use reprise_global::{
    Caller, GlobalError, GlobalResult, Publication, Published, Shelf, Unpublished,
    check_publication,
};
use reprise_types::RecordId;
use uuid::Uuid;

use super::branches::delete_replacing_drafts;
use super::connect::{Failure, get_connection, literal};
use super::node::{Node, NodeState, allow_writes_on, begin_change, open_shelf_names, remove};
use super::quotas::add_usage;
use super::reviews;
use super::search;
use super::sql::{SqlParameters, change, count, delete, one, record_id, row, rows, uuid, version};
use super::takedown::find_near_taken_down;

/// Things of one transaction of an import.
const IMPORT_BATCH: usize = 1_000;

/// A publication with what does not depend on the database.
pub(super) struct Prepared {
    pub(super) shelf: Shelf,
    pub(super) publication: Publication,
    pub(super) vector: Option<Vec<f32>>,
    terms: TextTerms,
}

impl Prepared {
    pub(super) async fn new(
        node: &Node,
        caller: &Caller,
        publication: Publication,
    ) -> GlobalResult<Self> {
        let shelf = publication_shelf(caller, &publication)?;
        let text = publication.search_text();
        Ok(Self {
            shelf,
            terms: extract_terms(&text),
            vector: node.vector(text).await?,
            publication,
        })
    }
}

/// Who publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishedBy {
    Author,
    /// An operator, whom no organisation asks for a review.
    Import,
}

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

/// Under which id something new is published, and as of when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PublishAs {
    /// A fresh one if it is `None`.
    pub(super) id: Option<Uuid>,
    /// The moment in which its row is free if it is `None`.
    pub(super) at: Option<DateTime<Utc>>,
}

/// Publishes as a part of a transaction what the rulebook decides, without a search for overlaps.
pub(super) async fn publish_in(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    prepared: &Prepared,
    publish_as: PublishAs,
    decide: impl FnOnce(Option<&PublishedState>, &str) -> GlobalResult<Publishing>,
) -> GlobalResult<Published, Failure> {
    let publication = &prepared.publication;
    let (shelf, checksum) = (prepared.shelf.to_string(), publication.checksum());
    allow_writes_on(transaction, &shelf).await?;
    // The row is held until the end: two who publish the same follow each other.
    let statement = "INSERT INTO reprise_global.authored \
         (author, origin, id, shelf, version, checksum) VALUES ($1, $2, $3, $4, 0, '') \
         ON CONFLICT (author, origin) DO UPDATE SET origin = excluded.origin \
         RETURNING id, shelf, version, checksum, clock_timestamp()";
    let (author, origin) = (caller.user.as_str(), &publication.origin);
    let fresh = publish_as.id;
    let fresh = fresh.unwrap_or_else(|| uuid(shared.node.fresh_id()));
    let row = one(transaction, statement, &[&author, origin, &fresh, &shelf]).await?;
    refuse_taken_down(transaction, author, publication).await?;
    let (id, was): (Uuid, String) = (row.get(0), row.get(1));
    let (standing, known): (i32, String) = (row.get(2), row.get(3));
    let at = publish_as.at.unwrap_or_else(|| row.get(4));
    // A row that this transaction has just made is not published yet.
    let there = (standing > 0).then(|| PublishedState {
        id: record_id(id),
        version: version(standing).0,
        checksum: known,
        shelf: was,
    });
    let next = match decide(there.as_ref(), &checksum)? {
        Publishing::Unchanged(id, version) => {
            return Ok(build_published_report(id, version, publication, true));
        }
        Publishing::Next(_, version) => version,
    };
    let published = build_published_report(record_id(id), next, publication, false);
    let next = standing + 1;
    let statement = "UPDATE reprise_global.authored SET version = $3, checksum = $4 \
         WHERE author = $1 AND origin = $2";
    change(transaction, statement, &[&author, origin, &next, &checksum]).await?;
    if standing > 0 {
        for table in ["thing", "search"] {
            let statement = format!(
                "UPDATE reprise_global.{table} SET until = $4 \
                 WHERE shelf = $1 AND id = $2 AND version = $3"
            );
            change(transaction, &statement, &[&shelf, &id, &standing, &at]).await?;
        }
    }
    let thing = (id, next, prepared);
    insert(transaction, caller, (&shelf, at), &[thing]).await?;
    let (new, bytes) = (i64::from(standing == 0), count(published.bytes));
    add_usage(shared, transaction, caller, &shelf, (new, bytes)).await?;
    append_audit_entry(
        transaction,
        caller,
        "publish",
        Some(id),
        Some(next),
        Some(&shelf),
    )
    .await?;
    Ok(published)
}

/// Refuses what was taken down: this origin of its author, and the same content of anybody.
pub(super) async fn refuse_taken_down(
    transaction: &Transaction<'_>,
    author: &str,
    publication: &Publication,
) -> GlobalResult<(), Failure> {
    let content = publication.content_sha256();
    set_contents_setting(transaction, &content).await?;
    let statement = "SELECT id, CASE WHEN author = $1 AND origin = $2 THEN reason \
         ELSE 'the same content' END FROM reprise_global.taken_down \
         WHERE author = $1 AND origin = $2 OR content_sha256 = $3 \
         ORDER BY author = $1 AND origin = $2 DESC LIMIT 1";
    let origin = &publication.origin;
    let bar = row(transaction, statement, &[&author, origin, &content]).await?;
    bar.map_or(Ok(()), |bar| {
        let (id, reason) = (record_id(bar.get(0)), bar.get(1));
        Err(GlobalError::TakenDown { id, reason }.into())
    })
}

/// Shows this transaction what was taken down with one of these contents, which commas separate.
async fn set_contents_setting(
    transaction: &Transaction<'_>,
    contents: &str,
) -> GlobalResult<(), Failure> {
    let statement = format!("SET LOCAL reprise.content = {}", literal(contents));
    Ok(transaction.batch_execute(&statement).await?)
}

/// New versions of one shelf, which alone are found from now on.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    caller: &Caller,
    (shelf, at): (&str, DateTime<Utc>),
    things: &[(Uuid, i32, &Prepared)],
) -> GlobalResult<(), Failure> {
    let author = caller.user.as_str();
    let each = |part: fn(&Prepared) -> String| -> Vec<String> {
        things.iter().map(|(_, _, thing)| part(thing)).collect()
    };
    let ids: Vec<Uuid> = things.iter().map(|(id, _, _)| *id).collect();
    let versions: Vec<i32> = things.iter().map(|(_, version, _)| *version).collect();
    let bodies =
        each(|thing| String::from_utf8_lossy(&thing.publication.to_json_bytes()).into_owned());
    let checksums = each(|thing| thing.publication.checksum());
    let tokens = each(|thing| {
        let numbers = thing.terms.terms.iter().map(|term| term.hash.to_string());
        format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
    });
    let statement = "INSERT INTO reprise_global.thing \
         (shelf, id, version, author, publication, checksum, since, tokens) \
         SELECT $1, x.id, x.version, $2, x.publication, x.checksum, $3, x.tokens::bigint[] \
         FROM unnest($4::uuid[], $5::int4[], $6::text[], $7::text[], $8::text[]) \
         AS x(id, version, publication, checksum, tokens)";
    let given: SqlParameters<'_> = &[
        &shelf, &author, &at, &ids, &versions, &bodies, &checksums, &tokens,
    ];
    change(transaction, statement, given).await?;
    let types = each(|thing| thing.publication.content_type.name().to_owned());
    let heads: Vec<i16> = things
        .iter()
        .map(|(_, _, thing)| count_head_terms(thing))
        .collect();
    let terms = things.iter().map(|(_, _, thing)| thing.terms.total_terms);
    let terms: Vec<i32> = terms
        .map(|all| i32::try_from(all).unwrap_or(i32::MAX))
        .collect();
    let vectors = things.iter().map(|(_, _, thing)| thing.vector.as_deref());
    let vectors: Vec<Option<String>> = vectors.map(|one| one.map(format_vector)).collect();
    let statement = "INSERT INTO reprise_global.search \
         (shelf, id, version, content_type, since, head, terms, embedding) \
         SELECT $1, x.id, x.version, x.content_type, $2, x.head, x.terms, x.embedding::halfvec \
         FROM unnest($3::uuid[], $4::int4[], $5::text[], $6::int2[], $7::int4[], $8::text[]) \
         AS x(id, version, content_type, head, terms, embedding)";
    let given: SqlParameters<'_> = &[
        &shelf, &at, &ids, &versions, &types, &heads, &terms, &vectors,
    ];
    change(transaction, statement, given).await?;
    insert_postings(transaction, shelf, things).await
}

/// Returns a vector as a statement takes it in a text.
pub(super) fn format_vector(vector: &[f32]) -> String {
    let numbers = vector.iter().map(f32::to_string).collect::<Vec<_>>();
    format!("[{}]", numbers.join(","))
}

/// How many of a thing's terms stand in its head, as a column has it.
fn count_head_terms(thing: &Prepared) -> i16 {
    i16::try_from(thing.terms.head_terms).unwrap_or(i16::MAX)
}

async fn insert_postings(
    transaction: &Transaction<'_>,
    shelf: &str,
    things: &[(Uuid, i32, &Prepared)],
) -> GlobalResult<(), Failure> {
    let mut postings = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (id, version, thing) in things {
        for term in &thing.terms.terms {
            postings.0.push(term.hash);
            postings.1.push(*id);
            postings.2.push(*version);
            postings.3.push(term.count);
            postings.4.push(count_head_terms(thing));
        }
    }
    let (tokens, ids, versions, counts, heads) = postings;
    let statement = "INSERT INTO reprise_global.posting \
         (shelf, token, id, version, count, head) \
         SELECT $1, x.* FROM unnest($2::int8[], $3::uuid[], $4::int4[], $5::real[], $6::int2[]) \
         AS x(token, id, version, count, head)";
    let given: SqlParameters<'_> = &[&shelf, &tokens, &ids, &versions, &counts, &heads];
    change(transaction, statement, given).await?;
    Ok(())
}

/// A line of the audit log.
pub(super) async fn append_audit_entry(
    transaction: &Transaction<'_>,
    caller: &Caller,
    what: &str,
    id: Option<Uuid>,
    version: Option<i32>,
    shelf: Option<&str>,
) -> GlobalResult<(), Failure> {
    let statement = "INSERT INTO reprise_global.audit (at, who, what, id, version, shelf) \
         VALUES (clock_timestamp(), $1, $2, $3, $4, $5)";
    let given: SqlParameters<'_> = &[&caller.user.as_str(), &what, &id, &version, &shelf];
    change(transaction, statement, given).await?;
    Ok(())
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

/// Rows of a thing that are still there.
const LEFT: &str = "SELECT \
     (SELECT count(*) FROM reprise_global.thing WHERE shelf = $1 AND id = $2) \
     + (SELECT count(*) FROM reprise_global.search WHERE shelf = $1 AND id = $2) \
     + (SELECT count(*) FROM reprise_global.posting \
        WHERE shelf = $1 AND token = ANY($3) AND id = $2)";

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

/// Deletes a thing of an author with all that is said of it and is to replace it; how many versions
/// there were, and what they were found by.
pub(super) async fn withdraw(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    author: &Caller,
    shelf: &str,
    id: Uuid,
) -> GlobalResult<(u64, Vec<i64>), Failure> {
    allow_writes_on(transaction, shelf).await?;
    let bytes = "SELECT coalesce(sum(octet_length(publication)), 0)::int8 \
         FROM reprise_global.thing WHERE shelf = $1 AND id = $2";
    let bytes: i64 = one(transaction, bytes, &[&shelf, &id]).await?.get(0);
    let gone = remove(transaction, shelf, &[id]).await?;
    add_usage(shared, transaction, author, shelf, (-1, -bytes)).await?;
    let name = author.user.as_str();
    let authored = "authored WHERE author = $1 AND id = $2";
    delete(transaction, authored, &[&name, &id]).await?;
    for table in ["voice", "rating", "retrieved"] {
        delete(transaction, &format!("{table} WHERE id = $1"), &[&id]).await?;
    }
    delete_replacing_drafts(transaction, author, id).await?;
    Ok(gone)
}

/// Whether no row is left of a thing that was withdrawn.
pub(super) async fn is_gone(
    client: &mut Object,
    author: &Caller,
    shelf: &str,
    (id, tokens): (Uuid, &[i64]),
) -> GlobalResult<bool, Failure> {
    let transaction = begin_change(client, author).await?;
    allow_writes_on(&transaction, shelf).await?;
    let left = one(&transaction, LEFT, &[&shelf, &id, &tokens]).await?;
    Ok(left.get::<_, i64>(0) == 0)
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
