//! Everything of one person: told, and deleted with the proof that nothing is left.

use deadpool_postgres::Transaction;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Failure, connection};
use super::node::{
    Node, Shared, changing, count, reading_within, record_id, remove, version, write_on,
};
use super::read::{AUDITED, audited};
use super::sweep::PERSON;
use super::takedown::taken_down;
use super::voices::contributor;
use crate::caller::Caller;
use crate::error::GlobalError;
use crate::record::Publication;
use crate::takedown::{Erased, PERSON_VERSIONS_MAX, PersonLine, nobody, too_much_to_tell};

pub(super) async fn person(node: &Node, caller: &Caller) -> Result<Vec<PersonLine>, Failure> {
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    let taken = taken_down(node, caller).await?;
    let mut client = connection(&node.pool).await?;
    let time = node.options.change_time;
    let transaction = reading_within(time, &mut client, caller, "").await?;
    let statement = format!(
        "SELECT id, version, shelf, since, publication FROM reprise_global.thing \
         WHERE author = $1 ORDER BY since, id LIMIT {}",
        PERSON_VERSIONS_MAX + 1
    );
    let rows = transaction.query(&statement, &[&name]).await?;
    if rows.len() > PERSON_VERSIONS_MAX {
        return Err(too_much_to_tell(&caller.user).into());
    }
    let mut lines = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = record_id(row.get::<_, Uuid>(0));
        let publication: Publication = serde_json::from_str(row.get(4)).map_err(|_| {
            GlobalError::storage(&format!(
                "the row of {id} in the database is damaged; restore it"
            ))
        })?;
        lines.push(PersonLine::Thing {
            id,
            version: version(row.get(1)),
            shelf: row.get(2),
            at: row.get(3),
            publication,
        });
    }
    let ratings = "SELECT id, rating FROM reprise_global.rating WHERE contributor = $1";
    for row in transaction.query(ratings, &[&by]).await? {
        let (id, rating) = (record_id(row.get(0)), row.get(1));
        lines.push(PersonLine::Rated { id, rating });
    }
    let voices = "SELECT id, score, uses FROM reprise_global.voice WHERE contributor = $1";
    for row in transaction.query(voices, &[&by]).await? {
        let (id, score) = (record_id(row.get(0)), row.get(1));
        let count = row.get::<_, i32>(2).unsigned_abs();
        lines.push(PersonLine::Reported { id, score, count });
    }
    let retrieved = "SELECT id, uses FROM reprise_global.retrieved WHERE contributor = $1";
    for row in transaction.query(retrieved, &[&by]).await? {
        let (id, count) = (record_id(row.get(0)), row.get::<_, i32>(1).unsigned_abs());
        lines.push(PersonLine::Retrieved { id, count });
    }
    lines.extend(taken.into_iter().map(PersonLine::TakenDown));
    let did = format!("SELECT {AUDITED} FROM reprise_global.audit WHERE who = $1 ORDER BY number");
    let did = transaction.query(&did, &[&name]).await?;
    lines.extend(did.iter().map(|row| PersonLine::Did(audited(row))));
    Ok(lines)
}

pub(super) async fn erase(shared: &Shared, caller: &Caller) -> Result<Erased, Failure> {
    let node = &shared.node;
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    shared.voices.forget_reader(by);
    let mut client = connection(&node.pool).await?;
    let transaction = changing(node, &mut client, caller).await?;
    let mut erased = Erased::default();
    let of_author: [&(dyn ToSql + Sync); 1] = [&name];
    let shelves = "SELECT DISTINCT shelf FROM reprise_global.thing WHERE author = $1";
    let shelves = transaction.query(shelves, &of_author).await?;
    for row in shelves {
        let shelf: String = row.get(0);
        let (things, versions) = take_off(&transaction, caller, &shelf).await?;
        if shelf.starts_with("branch:") {
            erased.drafts += versions;
        } else {
            erased.things += things;
            erased.versions += versions;
        }
        shared.shelves.changed(&shelf);
    }
    for table in ["authored", "draft", "branch"] {
        let statement = format!("DELETE FROM reprise_global.{table} WHERE author = $1");
        transaction.execute(&statement, &of_author).await?;
    }
    let statement = "DELETE FROM reprise_global.taken_down WHERE author = $1";
    erased.taken_down = transaction.execute(statement, &of_author).await?;
    let statement = "DELETE FROM reprise_global.rating WHERE contributor = $1";
    erased.ratings = transaction.execute(statement, &[&by]).await?;
    let statement = "DELETE FROM reprise_global.voice WHERE contributor = $1";
    erased.reports = transaction.execute(statement, &[&by]).await?;
    let statement = "DELETE FROM reprise_global.retrieved WHERE contributor = $1";
    erased.retrieved = transaction.execute(statement, &[&by]).await?;
    let statement = "DELETE FROM reprise_global.usage WHERE holder = 'user:' || $1";
    transaction.execute(statement, &of_author).await?;
    let statement =
        "DELETE FROM reprise_global.token WHERE entry::jsonb -> 'scope' ->> 'user' = $1";
    erased.tokens = transaction.execute(statement, &of_author).await?;
    let nobody = nobody(&node.salt, &caller.user);
    let statement = "INSERT INTO reprise_global.audit (at, who, what) \
         VALUES (clock_timestamp(), $1, 'erase')";
    transaction.execute(statement, &[&nobody]).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    // The log is no table of the serving role's to change.
    if let Some(keeper) = &node.keeper {
        let keeper = connection(keeper).await?;
        for (column, statement) in [
            (
                "who",
                "UPDATE reprise_global.audit SET who = $2 WHERE who = $1",
            ),
            (
                "about",
                "UPDATE reprise_global.audit SET about = $2 WHERE about = $1",
            ),
            (
                "author",
                "UPDATE reprise_global.snapshot SET author = $2 WHERE author = $1",
            ),
        ] {
            let changed = keeper.execute(statement, &[&name, &nobody]).await?;
            erased.audit_lines += u64::from(column != "author") * changed;
        }
    }
    let transaction = changing(node, &mut client, caller).await?;
    erased.left = left(&transaction, name, by).await?;
    drop(transaction);
    drop(client);
    erased.swept = PERSON.run(node).await;
    Ok(erased)
}

/// Deletes what an author has on one shelf: how many things, in how many versions.
async fn take_off(
    transaction: &Transaction<'_>,
    caller: &Caller,
    shelf: &str,
) -> Result<(u64, u64), Failure> {
    let name = caller.user.as_str();
    write_on(transaction, shelf).await?;
    let own = "SELECT coalesce(array_agg(DISTINCT id), '{}'), \
         coalesce(sum(octet_length(publication)), 0)::int8 \
         FROM reprise_global.thing WHERE author = $1 AND shelf = $2";
    let own = transaction.query_one(own, &[&name, &shelf]).await?;
    let (ids, bytes): (Vec<Uuid>, i64) = (own.get(0), own.get(1));
    let (versions, _) = remove(transaction, shelf, &ids).await?;
    for table in ["voice", "rating", "retrieved"] {
        let statement = format!("DELETE FROM reprise_global.{table} WHERE id = ANY($1)");
        transaction.execute(&statement, &[&ids]).await?;
    }
    let things = count(ids.len());
    let usage = "UPDATE reprise_global.usage SET things = greatest(things - $2, 0), \
         bytes = greatest(bytes - $3, 0) WHERE holder = $1";
    transaction
        .execute(usage, &[&shelf, &things, &bytes])
        .await?;
    // Each node forgets what was said of them.
    let gone = "INSERT INTO reprise_global.audit (at, who, what, id) \
         SELECT clock_timestamp(), $1, 'unpublish', x FROM unnest($2::uuid[]) AS x";
    transaction.execute(gone, &[&name, &ids]).await?;
    Ok((ids.len() as u64, versions))
}

/// Rows that still name a person, or hold a text of his.
async fn left(transaction: &Transaction<'_>, name: &str, by: Uuid) -> Result<u64, Failure> {
    let mut left = 0;
    for (table, column) in [
        ("thing", "author"),
        ("authored", "author"),
        ("draft", "author"),
        ("branch", "author"),
        ("taken_down", "author"),
        ("snapshot", "author"),
        ("audit", "who"),
        ("audit", "about"),
    ] {
        let statement = format!("SELECT count(*) FROM reprise_global.{table} WHERE {column} = $1");
        let row = transaction.query_one(&statement, &[&name]).await?;
        left += row.get::<_, i64>(0).unsigned_abs();
    }
    for table in ["voice", "rating", "retrieved"] {
        let statement =
            format!("SELECT count(*) FROM reprise_global.{table} WHERE contributor = $1");
        let row = transaction.query_one(&statement, &[&by]).await?;
        left += row.get::<_, i64>(0).unsigned_abs();
    }
    Ok(left)
}
