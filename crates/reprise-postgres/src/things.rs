//! Writes things to the rows of their shelves, and takes them off: as parts of a transaction.

use chrono::{DateTime, Utc};
use deadpool_postgres::{Object, Transaction};
use reprise_engine::{TextTerms, extract_terms};
use reprise_global::backend::{
    DraftState, Drafting, OVERLAP_FROM, PublishedState, Publishing, build_published_report,
    publication_shelf,
};
use reprise_global::{Caller, GlobalError, GlobalResult, Publication, Published, Shelf};
use reprise_types::RecordId;
use uuid::Uuid;

use super::connect::{Failure, literal};
use super::drafts::{delete_draft, delete_replacing_drafts};
use super::node::{Node, NodeState, allow_writes_on, begin_change, remove};
use super::quotas::add_usage;
use super::search;
use super::sql::{SqlParameters, change, count, delete, one, record_id, row, rows, uuid, version};

/// The moment of this statement.
pub(super) const MOMENT: &str = "SELECT clock_timestamp()";

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
pub(super) async fn set_contents_setting(
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

/// Opens the vectors of what was taken down to a transaction.
pub(super) const COMPARING: &str = "SET LOCAL reprise.near = 'on'";

/// Finds for each vector what was taken down and says nearly the same, the nearest.
pub(super) async fn find_near_taken_down(
    transaction: &Transaction<'_>,
    vectors: &[Option<&[f32]>],
) -> Result<Vec<Option<RecordId>>, Failure> {
    transaction.batch_execute(COMPARING).await?;
    let statement = "SELECT (SELECT t.id FROM reprise_global.taken_down_vector t \
         WHERE (t.embedding <=> x.vector) <= $2 ORDER BY t.embedding <=> x.vector LIMIT 1) \
         FROM (SELECT u.place, u.vector::halfvec AS vector \
         FROM unnest($1::text[]) WITH ORDINALITY AS u(vector, place) OFFSET 0) x \
         ORDER BY x.place";
    let given = vectors.iter().map(|vector| vector.map(format_vector));
    let given: Vec<Option<String>> = given.collect();
    let distance = f64::from(1.0 - OVERLAP_FROM);
    let found = rows(transaction, statement, &[&given, &distance]).await?;
    let ids = found.iter().map(|row| row.get::<_, Option<Uuid>>(0));
    Ok(ids.map(|id| id.map(record_id)).collect())
}

/// Rows of a thing that are still there.
const LEFT: &str = "SELECT \
     (SELECT count(*) FROM reprise_global.thing WHERE shelf = $1 AND id = $2) \
     + (SELECT count(*) FROM reprise_global.search WHERE shelf = $1 AND id = $2) \
     + (SELECT count(*) FROM reprise_global.posting \
        WHERE shelf = $1 AND token = ANY($3) AND id = $2)";

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
