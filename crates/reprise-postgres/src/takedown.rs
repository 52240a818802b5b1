//! What operators list, take down and put back. A thing is changed as its author, so that the
//! policies hold an operator to that one thing; whether it is his to take down his shelves say.

use chrono::{DateTime, Utc};
use reprise_global::backend::{PublishedState, author_as_caller, decide_publish};
use reprise_global::{
    Caller, DecisionReport, GlobalError, ListPage, Listed, Publication, TakeDown, TakeDownDone,
    TakenDown,
};
use reprise_types::RecordId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::{Failure, get_connection};
use super::node::{
    CHANGE_TIME, Node, NodeState, begin_change, begin_read_within, open_shelf_names,
};
use super::sql::{
    SqlParameters, append_audit_line, change, damaged_row_error, decode_publication,
    decode_record_row, limit_and_offset, record_id, row, rows, uuid, version,
};
use super::sweep::LEAKED;
use super::things::{COMPARING, Prepared, PublishAs, is_gone, publish_in, withdraw};

pub(super) async fn catalogue(
    shared: &NodeState,
    caller: &Caller,
    page: ListPage,
) -> Result<Vec<Listed>, Failure> {
    let standings = shared.voices.compute_reputations(&shared.node).await?;
    let mut client = get_connection(&shared.node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, caller, "").await?;
    let statement = shared.node.sql(
        "SELECT t.shelf, t.id, t.version, t.author, t.publication, t.checksum, t.since \
         FROM reprise_global.thing t WHERE /*open*/(t.shelf = ANY($1)) AND t.until IS NULL \
         AND t.shelf NOT LIKE 'branch:%' ORDER BY t.since DESC, t.id LIMIT $2 OFFSET $3",
    );
    let shelves = open_shelf_names(caller);
    let [limit, offset] = limit_and_offset(page);
    // Not kept prepared: how it is best read depends on the shelves and the page.
    let rows = transaction
        .query(&statement, &[&shelves, &limit, &offset])
        .await?;
    let mut listed = Vec::with_capacity(rows.len());
    for row in &rows {
        // An author sees his own also where its shelf is closed to him: not as an operator.
        if shelves.iter().any(|shelf| *shelf == row.get::<_, &str>(0)) {
            listed.push(Listed::from(decode_record_row(row, &standings)?));
        }
    }
    Ok(listed)
}

/// The author and the shelf of a thing that an operator may take down.
async fn find_author_and_shelf(
    node: &Node,
    operator: &Caller,
    id: RecordId,
) -> Result<(Caller, String), Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, operator, "").await?;
    let statement = node.sql(
        "SELECT t.shelf, t.author FROM reprise_global.thing t \
         WHERE /*open*/(t.shelf = ANY($1)) AND t.id = $2 LIMIT 1",
    );
    let (shelves, none) = (open_shelf_names(operator), || GlobalError::NotFound { id });
    let row = row(&transaction, &statement, &[&shelves, &uuid(id)]).await?;
    let row = row.ok_or_else(none)?;
    let (shelf, author): (String, String) = (row.get(0), row.get(1));
    if !shelves.contains(&shelf) {
        return Err(none().into());
    }
    let author = author.parse().map_err(|_| none())?;
    Ok((author_as_caller(author, &shelf), shelf))
}

pub(super) async fn take_down(
    shared: &NodeState,
    operator: &Caller,
    id: RecordId,
    order: &TakeDown,
) -> Result<TakeDownDone, Failure> {
    let (node, key) = (&shared.node, uuid(id));
    let (author, shelf) = find_author_and_shelf(node, operator, id).await?;
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, &author).await?;
    let statement = "SELECT a.origin, a.checksum, t.publication, clock_timestamp(), \
         (SELECT s.embedding::real[] FROM reprise_global.search s \
         WHERE s.shelf = a.shelf AND s.id = a.id AND s.version = a.version) \
         FROM reprise_global.authored a JOIN reprise_global.thing t \
         ON t.shelf = a.shelf AND t.id = a.id AND t.version = a.version \
         WHERE a.author = $1 AND a.id = $2 FOR UPDATE OF a";
    let name = author.user.as_str();
    let row = row(&transaction, statement, &[&name, &key]).await?;
    let row = row.ok_or(GlobalError::NotFound { id })?;
    let (origin, checksum): (String, String) = (row.get(0), row.get(1));
    let content_sha256 = decode_publication(id, row.get(2))?.content_sha256();
    let held: Option<String> = (!order.leaked).then(|| row.get(2));
    let at: DateTime<Utc> = row.get(3);
    let vector: Option<Vec<f32>> = row.get(4);
    let (gone, tokens) = withdraw(shared, &transaction, &author, &shelf, key).await?;
    let versions = i32::try_from(gone).unwrap_or(i32::MAX);
    let taken = TakenDown {
        id,
        author: author.user.clone(),
        origin,
        shelf: shelf.clone(),
        versions: version(versions).0,
        checksum,
        reason: order.reason.clone(),
        operator: operator.user.clone(),
        at,
        is_held: held.is_some(),
        content_sha256,
    };
    let statement = "INSERT INTO reprise_global.taken_down \
         (id, author, origin, shelf, versions, checksum, reason, operator, at, held, \
         content_sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let who = operator.user.as_str();
    let (origin, checksum, reason) = (&taken.origin, &taken.checksum, &taken.reason);
    let content = &taken.content_sha256;
    let given: SqlParameters<'_> = &[
        &key, &name, origin, &shelf, &versions, checksum, reason, &who, &at, &held, content,
    ];
    change(&transaction, statement, given).await?;
    // Nothing is kept of what leaked, not even by what it would be known.
    if let Some(vector) = vector.filter(|_| taken.is_held) {
        transaction.batch_execute(COMPARING).await?;
        let statement = "INSERT INTO reprise_global.taken_down_vector (id, embedding) \
             VALUES ($1, $2::real[]::halfvec)";
        change(&transaction, statement, &[&key, &vector]).await?;
    }
    let line = taken.to_audit_line(at, &operator.user, "take_down");
    append_audit_line(&transaction, &line).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&shelf);
    let verified = is_gone(&mut client, &author, &shelf, (key, &tokens)).await?;
    drop(client);
    Ok(TakeDownDone {
        swept: order.leaked && LEAKED.run(node).await,
        taken,
        verified,
    })
}

const TAKEN_DOWN_COLUMNS: &str = "id, author, origin, shelf, versions, checksum, reason, operator, at, \
     held IS NOT NULL, content_sha256";

fn decode_taken_down(row: &Row) -> Result<TakenDown, Failure> {
    let id = record_id(row.get::<_, Uuid>(0));
    let user = |at: usize| {
        let name: &str = row.get(at);
        name.parse().map_err(|_| damaged_row_error(id, "a name"))
    };
    Ok(TakenDown {
        id,
        author: user(1)?,
        origin: row.get(2),
        shelf: row.get(3),
        versions: version(row.get(4)).0,
        checksum: row.get(5),
        reason: row.get(6),
        operator: user(7)?,
        at: row.get(8),
        is_held: row.get(9),
        content_sha256: row.get(10),
    })
}

pub(super) async fn taken_down(node: &Node, caller: &Caller) -> Result<Vec<TakenDown>, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, caller, "").await?;
    let statement = format!(
        "SELECT {TAKEN_DOWN_COLUMNS} FROM reprise_global.taken_down WHERE author = $1 \
         ORDER BY at DESC, id LIMIT 1000"
    );
    let author = caller.user.as_str();
    let rows = rows(&transaction, &statement, &[&author]).await?;
    rows.iter().map(decode_taken_down).collect()
}

pub(super) async fn put_back(
    shared: &NodeState,
    operator: &Caller,
    id: RecordId,
) -> Result<DecisionReport, Failure> {
    let (node, key) = (&shared.node, uuid(id));
    let none = || GlobalError::NotFound { id };
    // The audit log says whose it was: the row is its author's alone.
    let (author, shelf) = {
        let client = get_connection(&node.pool).await?;
        let statement = "SELECT about, shelf FROM reprise_global.audit \
             WHERE id = $1 AND what = 'take_down' ORDER BY number DESC LIMIT 1";
        let row = row(&client, statement, &[&key]).await?.ok_or_else(none)?;
        let (author, shelf): (Option<String>, Option<String>) = (row.get(0), row.get(1));
        let shelf = shelf.filter(|shelf| open_shelf_names(operator).contains(shelf));
        let author = author.and_then(|author| author.parse().ok());
        let (author, shelf) = author.zip(shelf).ok_or_else(none)?;
        (author_as_caller(author, &shelf), shelf)
    };
    let name = author.user.as_str();
    let held: Option<String> = {
        let mut client = get_connection(&node.pool).await?;
        let transaction = begin_read_within(CHANGE_TIME, &mut client, &author, "").await?;
        let statement = "SELECT held FROM reprise_global.taken_down WHERE author = $1 AND id = $2";
        let row = row(&transaction, statement, &[&name, &key]).await?;
        row.ok_or_else(none)?.get(0)
    };
    let prepared = match held {
        Some(held) => {
            let publication: Publication = serde_json::from_str(&held)
                .map_err(|_| GlobalError::storage(&"what was held of it is damaged"))?;
            Some(Prepared::new(node, &author, publication).await?)
        }
        None => None,
    };
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, &author).await?;
    let statement = format!(
        "DELETE FROM reprise_global.taken_down WHERE author = $1 AND id = $2 RETURNING {TAKEN_DOWN_COLUMNS}"
    );
    let row = row(&transaction, &statement, &[&name, &key]).await?;
    let was = decode_taken_down(&row.ok_or_else(none)?)?;
    let line = was.to_audit_line(was.at, &operator.user, "put_back");
    append_audit_line(&transaction, &line).await?;
    let mut published = None;
    if let Some(prepared) = &prepared {
        let decide = |standing: Option<&PublishedState>, checksum: &str| {
            decide_publish(standing, &prepared.shelf, checksum)
        };
        let now = PublishAs::default();
        published = Some(publish_in(shared, &transaction, &author, prepared, now, decide).await?);
    }
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&shelf);
    Ok(DecisionReport {
        id,
        author: author.user,
        published,
    })
}
