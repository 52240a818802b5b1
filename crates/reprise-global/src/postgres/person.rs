//! Everything of one person: told, and deleted with the proof that nothing is left.

use deadpool_postgres::Transaction;
use uuid::Uuid;

use super::connect::{Failure, connection};
use super::node::{
    CHANGE_TIME, Given, Node, Shared, change, changing, count, delete, one, reading_within,
    record_id, remove, rows, version, write_on,
};
use super::read::{AUDITED, audited, published_in};
use super::sweep::PERSON;
use super::takedown::taken_down;
use super::voices::contributor;
use crate::caller::Caller;
use crate::takedown::{Erased, PERSON_VERSIONS_MAX, PersonLine, nobody, too_much_to_tell};

pub(super) async fn person(node: &Node, caller: &Caller) -> Result<Vec<PersonLine>, Failure> {
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    let taken = taken_down(node, caller).await?;
    let mut client = connection(&node.pool).await?;
    let transaction = reading_within(CHANGE_TIME, &mut client, caller, "").await?;
    let statement = format!(
        "SELECT id, version, shelf, since, publication FROM reprise_global.thing \
         WHERE author = $1 ORDER BY since, id LIMIT {}",
        PERSON_VERSIONS_MAX + 1
    );
    let things = rows(&transaction, &statement, &[&name]).await?;
    if things.len() > PERSON_VERSIONS_MAX {
        return Err(too_much_to_tell(&caller.user).into());
    }
    let mut lines = Vec::with_capacity(things.len());
    for row in &things {
        let id = record_id(row.get::<_, Uuid>(0));
        lines.push(PersonLine::Thing {
            id,
            version: version(row.get(1)),
            shelf: row.get(2),
            at: row.get(3),
            publication: published_in(id, row.get(4))?,
        });
    }
    let ratings = "SELECT id, rating FROM reprise_global.rating WHERE contributor = $1";
    for row in rows(&transaction, ratings, &[&by]).await? {
        let (id, rating) = (record_id(row.get(0)), row.get(1));
        lines.push(PersonLine::Rated { id, rating });
    }
    let voices = "SELECT id, score, uses FROM reprise_global.voice WHERE contributor = $1";
    for row in rows(&transaction, voices, &[&by]).await? {
        let (id, score) = (record_id(row.get(0)), row.get(1));
        let count = row.get::<_, i32>(2).unsigned_abs();
        lines.push(PersonLine::Reported { id, score, count });
    }
    let retrieved = "SELECT id, uses FROM reprise_global.retrieved WHERE contributor = $1";
    for row in rows(&transaction, retrieved, &[&by]).await? {
        let (id, count) = (record_id(row.get(0)), row.get::<_, i32>(1).unsigned_abs());
        lines.push(PersonLine::Retrieved { id, count });
    }
    lines.extend(taken.into_iter().map(PersonLine::TakenDown));
    let did = format!("SELECT {AUDITED} FROM reprise_global.audit WHERE who = $1 ORDER BY number");
    let did = rows(&transaction, &did, &[&name]).await?;
    lines.extend(did.iter().map(|row| PersonLine::Did(audited(row))));
    Ok(lines)
}

pub(super) async fn erase(shared: &Shared, caller: &Caller) -> Result<Erased, Failure> {
    let node = &shared.node;
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    shared.voices.retrieved.forget_reader(&caller.user);
    let mut client = connection(&node.pool).await?;
    let transaction = changing(&mut client, caller).await?;
    let mut erased = Erased::default();
    let (of_author, of_reader): (Given<'_>, Given<'_>) = (&[&name], &[&by]);
    let shelves = "SELECT DISTINCT shelf FROM reprise_global.thing WHERE author = $1";
    for row in rows(&transaction, shelves, of_author).await? {
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
        let own = format!("{table} WHERE author = $1");
        delete(&transaction, &own, of_author).await?;
    }
    erased.taken_down = delete(&transaction, "taken_down WHERE author = $1", of_author).await?;
    erased.ratings = delete(&transaction, "rating WHERE contributor = $1", of_reader).await?;
    erased.reports = delete(&transaction, "voice WHERE contributor = $1", of_reader).await?;
    erased.retrieved = delete(&transaction, "retrieved WHERE contributor = $1", of_reader).await?;
    let usage = "usage WHERE holder = 'user:' || $1";
    delete(&transaction, usage, of_author).await?;
    let tokens = "token WHERE entry::jsonb -> 'scope' ->> 'user' = $1";
    erased.tokens = delete(&transaction, tokens, of_author).await?;
    let nobody = nobody(&node.salt, &caller.user);
    let statement = "INSERT INTO reprise_global.audit (at, who, what) \
         VALUES (clock_timestamp(), $1, 'erase')";
    change(&transaction, statement, &[&nobody]).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    // The log is no table of the serving role's to change.
    if let Some(keeper) = &node.keeper {
        let keeper = connection(keeper).await?;
        for (table, column) in [("audit", "who"), ("audit", "about"), ("snapshot", "author")] {
            let renamed =
                format!("UPDATE reprise_global.{table} SET {column} = $2 WHERE {column} = $1");
            let renamed = change(&keeper, &renamed, &[&name, &nobody]).await?;
            erased.audit_lines += u64::from(table == "audit") * renamed;
        }
    }
    let transaction = changing(&mut client, caller).await?;
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
    let own = one(transaction, own, &[&name, &shelf]).await?;
    let (ids, bytes): (Vec<Uuid>, i64) = (own.get(0), own.get(1));
    let (versions, _) = remove(transaction, shelf, &ids).await?;
    for table in ["voice", "rating", "retrieved"] {
        delete(transaction, &format!("{table} WHERE id = ANY($1)"), &[&ids]).await?;
    }
    let things = count(ids.len());
    let usage = "UPDATE reprise_global.usage SET things = greatest(things - $2, 0), \
         bytes = greatest(bytes - $3, 0) WHERE holder = $1";
    change(transaction, usage, &[&shelf, &things, &bytes]).await?;
    // Each node forgets what was said of them.
    let gone = "INSERT INTO reprise_global.audit (at, who, what, id) \
         SELECT clock_timestamp(), $1, 'unpublish', x FROM unnest($2::uuid[]) AS x";
    change(transaction, gone, &[&name, &ids]).await?;
    Ok((ids.len() as u64, versions))
}

/// Rows that still name a person, or hold a text of his.
async fn left(transaction: &Transaction<'_>, name: &str, by: Uuid) -> Result<u64, Failure> {
    let (of_author, of_reader): (Given<'_>, Given<'_>) = (&[&name], &[&by]);
    let mut left = 0;
    for (table, column, given) in [
        ("thing", "author", of_author),
        ("authored", "author", of_author),
        ("draft", "author", of_author),
        ("branch", "author", of_author),
        ("taken_down", "author", of_author),
        ("snapshot", "author", of_author),
        ("audit", "who", of_author),
        ("audit", "about", of_author),
        ("voice", "contributor", of_reader),
        ("rating", "contributor", of_reader),
        ("retrieved", "contributor", of_reader),
    ] {
        let statement = format!("SELECT count(*) FROM reprise_global.{table} WHERE {column} = $1");
        let found = one(transaction, &statement, given).await?;
        left += found.get::<_, i64>(0).unsigned_abs();
    }
    Ok(left)
}
