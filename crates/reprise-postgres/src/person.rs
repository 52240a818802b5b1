//! Everything of one person: exported, and deleted with the proof that nothing is left.

use std::collections::BTreeMap;

use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::connect::{Failure, get_connection, literal};
use super::node::{
    CHANGE_TIME, Node, NodeState, allow_writes_on, begin_change, begin_read_within, remove,
};
use super::reputations::contributor;
use super::sql::{
    AUDIT_COLUMNS, SqlParameters, change, count, decode_audit_line, decode_publication, delete,
    one, record_id, rows, version,
};
use super::sweep::PERSON;
use super::takedown::taken_down;
use reprise_global::backend::{
    NamedIn, PERSON_VERSIONS_MAX, erased_name, find_organisation_holder, replace_name,
    too_many_versions_error,
};
use reprise_global::{Caller, Erased, PersonLine};

pub(super) async fn person(node: &Node, caller: &Caller) -> Result<Vec<PersonLine>, Failure> {
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    let taken = taken_down(node, caller).await?;
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, caller, "").await?;
    let statement = format!(
        "SELECT id, version, shelf, since, publication FROM reprise_global.thing \
         WHERE author = $1 ORDER BY since, id LIMIT {}",
        PERSON_VERSIONS_MAX + 1
    );
    let things = rows(&transaction, &statement, &[&name]).await?;
    if things.len() > PERSON_VERSIONS_MAX {
        return Err(too_many_versions_error(&caller.user).into());
    }
    let mut lines = Vec::with_capacity(things.len());
    for row in &things {
        let id = record_id(row.get::<_, Uuid>(0));
        lines.push(PersonLine::Thing {
            id,
            version: version(row.get(1)),
            shelf: row.get(2),
            at: row.get(3),
            publication: decode_publication(id, row.get(4))?,
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
    let did =
        format!("SELECT {AUDIT_COLUMNS} FROM reprise_global.audit WHERE who = $1 ORDER BY number");
    let did = rows(&transaction, &did, &[&name]).await?;
    lines.extend(
        did.iter()
            .map(|row| PersonLine::Did(decode_audit_line(row))),
    );
    Ok(lines)
}

pub(super) async fn erase(shared: &NodeState, caller: &Caller) -> Result<Erased, Failure> {
    let node = &shared.node;
    let (name, by) = (caller.user.as_str(), contributor(node, &caller.user));
    shared.voices.retrieved.forget_reader(&caller.user);
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, caller).await?;
    let mut erased = Erased::default();
    let (of_author, of_reader): (SqlParameters<'_>, SqlParameters<'_>) = (&[&name], &[&by]);
    let shelves = "SELECT DISTINCT shelf FROM reprise_global.thing WHERE author = $1";
    for row in rows(&transaction, shelves, of_author).await? {
        let shelf: String = row.get(0);
        let (things, versions) = delete_author_from_shelf(&transaction, caller, &shelf).await?;
        if shelf.starts_with("branch:") {
            erased.drafts += versions;
        } else {
            erased.things += things;
            erased.versions += versions;
        }
        shared.shelves.note_change(&shelf);
    }
    for table in ["authored", "draft", "branch"] {
        let own = format!("{table} WHERE author = $1");
        delete(&transaction, &own, of_author).await?;
    }
    erased.taken_down = delete(&transaction, "taken_down WHERE author = $1", of_author).await?;
    erased.ratings = delete(&transaction, "rating WHERE contributor = $1", of_reader).await?;
    erased.reports = delete(&transaction, "voice WHERE contributor = $1", of_reader).await?;
    erased.retrieved = delete(&transaction, "retrieved WHERE contributor = $1", of_reader).await?;
    for table in ["usage", "quota"] {
        let own = format!("{table} WHERE holder = 'user:' || $1");
        delete(&transaction, &own, of_author).await?;
    }
    let tokens = "token WHERE entry::jsonb -> 'scope' ->> 'user' = $1";
    erased.tokens = delete(&transaction, tokens, of_author).await?;
    let erased_name = erased_name(&node.salt, &caller.user);
    replace_names_behind_walls(&transaction, name, &erased_name).await?;
    let statement = "INSERT INTO reprise_global.audit (at, who, what) \
         VALUES (clock_timestamp(), $1, 'erase')";
    change(&transaction, statement, &[&erased_name]).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    // The log is no table of the serving role's to change.
    if let Some(keeper) = &node.keeper {
        let keeper = get_connection(keeper).await?;
        erased.audit_lines = replace_names(&keeper, name, &erased_name).await?;
    }
    let transaction = begin_change(&mut client, caller).await?;
    // Shows what this person took down of others, too.
    set_erased_name_setting(&transaction, &erased_name).await?;
    erased.left = count_left(&transaction, [name, &erased_name], by).await?;
    drop(transaction);
    drop(client);
    erased.swept = PERSON.run(node).await;
    Ok(erased)
}

/// Deletes what an author has on one shelf: how many things, in how many versions.
async fn delete_author_from_shelf(
    transaction: &Transaction<'_>,
    caller: &Caller,
    shelf: &str,
) -> Result<(u64, u64), Failure> {
    let name = caller.user.as_str();
    allow_writes_on(transaction, shelf).await?;
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
    let holder = find_organisation_holder(shelf);
    change(transaction, usage, &[&holder, &things, &bytes]).await?;
    // Each node forgets what was said of them.
    let gone = "INSERT INTO reprise_global.audit (at, who, what, id) \
         SELECT clock_timestamp(), $1, 'unpublish', x FROM unnest($2::uuid[]) AS x";
    change(transaction, gone, &[&name, &ids]).await?;
    Ok((ids.len() as u64, versions))
}

/// Columns that name nobody: what others wrote, words of our own, and hashes.
const WITHOUT_NAMES: [(&str, &str); 12] = [
    ("thing", "publication"),
    ("taken_down", "held"),
    ("audit", "what"),
    ("search", "content_type"),
    // `thing` has the shelves of both.
    ("search", "shelf"),
    ("posting", "shelf"),
    ("thing", "checksum"),
    ("authored", "checksum"),
    ("draft", "checksum"),
    ("audit", "checksum"),
    ("taken_down", "checksum"),
    ("taken_down", "content_sha256"),
];

/// A column that may name a person.
struct PersonColumn {
    table: String,
    column: String,
    /// Its rows are for some callers alone.
    is_walled: bool,
    kind: String,
}

/// Columns with the names of tokens and snapshots.
const LABELS: [(&str, &str); 3] = [("snapshot", "name"), ("token", "name"), ("audit", "shelf")];

impl PersonColumn {
    /// Finds the rows that have one of the texts of a parameter; no shelf is a person's name.
    fn has_text_condition(&self, parameter: usize) -> String {
        let Self { table, column, .. } = self;
        let shelves = match column.as_str() {
            "shelf" => format!(" AND {table}.{column} NOT IN ('public', 'paid')"),
            _ => String::new(),
        };
        format!("({table}.{column}::text = ANY(${parameter}::text[]){shelves})")
    }
}

/// Lists the columns of all tables as the database has them, so that a new one is never forgotten.
async fn list_person_columns(client: &impl GenericClient) -> Result<Vec<PersonColumn>, Failure> {
    let statement = "SELECT c.relname::text, a.attname::text, c.relrowsecurity, t.typname::text \
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
         JOIN pg_type t ON t.oid = a.atttypid \
         WHERE c.relnamespace = to_regnamespace('reprise_global') AND c.relkind IN ('r', 'p') \
         AND a.attnum > 0 AND NOT a.attisdropped \
         AND (t.typname IN ('text', 'varchar', '_text', 'json', 'jsonb') \
         OR t.typname = 'uuid' AND a.attname NOT IN ('id', 'replaces', 'near_taken_down')) \
         ORDER BY 1, 2";
    let all = rows(client, statement, &[]).await?;
    let all = all.iter().map(|row| PersonColumn {
        table: row.get(0),
        column: row.get(1),
        is_walled: row.get(2),
        kind: row.get(3),
    });
    let may_name = |one: &PersonColumn| {
        let named = (one.table.as_str(), one.column.as_str());
        !WITHOUT_NAMES.contains(&named)
    };
    Ok(all.filter(may_name).collect())
}

/// Texts that name a person, each with what replaces it, in the same order.
#[derive(Default)]
struct Replacements {
    old: Vec<String>,
    new: Vec<String>,
}

impl Replacements {
    /// Reads the texts of a column that name a person, as [`replace_name`] says.
    async fn read_texts_of(
        client: &impl GenericClient,
        (table, column): (&str, &str),
        [name, erased_name]: [&str; 2],
    ) -> Result<Self, Failure> {
        let statement = format!(
            "SELECT DISTINCT {column}::text FROM reprise_global.{table} \
             WHERE strpos({column}::text, $1) > 0"
        );
        let named_in = if LABELS.contains(&(table, column)) {
            NamedIn::Label
        } else {
            NamedIn::Text
        };
        let mut texts = Self::default();
        for row in rows(client, &statement, &[&name]).await? {
            let old: String = row.get(0);
            if let Some(new) = replace_name(&old, name, erased_name, named_in) {
                texts.old.push(old);
                texts.new.push(new);
            }
        }
        Ok(texts)
    }
}

/// The text that replaces one of a column: the parameter has the old texts, the next one the new.
fn replaced_text(column: &str, parameter: usize) -> String {
    let next = parameter + 1;
    format!(
        "(SELECT x.new FROM unnest(${parameter}::text[], ${next}::text[]) AS x(old, new) \
         WHERE x.old = {column} LIMIT 1)"
    )
}

/// Replaces a person's name in all tables whose rows are for everybody; returns how many lines of
/// the audit log had it.
async fn replace_names(
    keeper: &impl GenericClient,
    name: &str,
    erased_name: &str,
) -> Result<u64, Failure> {
    let mut tables: BTreeMap<String, Vec<PersonColumn>> = BTreeMap::new();
    for column in list_person_columns(keeper).await? {
        if !column.is_walled && matches!(column.kind.as_str(), "text" | "varchar") {
            tables.entry(column.table.clone()).or_default().push(column);
        }
    }
    let mut lines = 0;
    for (table, columns) in tables {
        let mut texts = Vec::with_capacity(columns.len());
        let (mut replaced, mut named) = (Vec::new(), Vec::new());
        for (place, one) in columns.iter().enumerate() {
            let (column, parameter) = (one.column.as_str(), 2 * place + 1);
            let read = Replacements::read_texts_of(keeper, (&table, column), [name, erased_name]);
            texts.push(read.await?);
            let has_text = one.has_text_condition(parameter);
            let new = replaced_text(&format!("{table}.{column}"), parameter);
            replaced.push(format!(
                "{column} = CASE WHEN {has_text} THEN {new} ELSE {column} END"
            ));
            named.push(has_text);
        }
        let statement = format!(
            "UPDATE reprise_global.{table} SET {} WHERE {}",
            replaced.join(", "),
            named.join(" OR ")
        );
        let given = texts.iter().flat_map(|texts| [&texts.old, &texts.new]);
        let given: Vec<&(dyn ToSql + Sync)> = given.map(|texts| texts as _).collect();
        let changed = change(keeper, &statement, &given).await?;
        lines += u64::from(table == "audit") * changed;
    }
    // What is kept of a token has its name, too.
    let names = "UPDATE reprise_global.token \
         SET entry = jsonb_set(entry::jsonb, '{name}', to_jsonb(name))::text \
         WHERE entry::jsonb ->> 'name' <> name";
    change(keeper, names, &[]).await?;
    Ok(lines)
}

/// Tells the policies which name replaces that of a person who is erased.
async fn set_erased_name_setting(
    transaction: &Transaction<'_>,
    erased_name: &str,
) -> Result<(), Failure> {
    let setting = format!("SET LOCAL reprise.erased = {}", literal(erased_name));
    Ok(transaction.batch_execute(&setting).await?)
}

/// Replaces a person's name where it is an operator's or in a reason, in rows that are their
/// authors' alone.
async fn replace_names_behind_walls(
    transaction: &Transaction<'_>,
    name: &str,
    erased_name: &str,
) -> Result<(), Failure> {
    set_erased_name_setting(transaction, erased_name).await?;
    let statement = "UPDATE reprise_global.taken_down SET operator = $2 WHERE operator = $1";
    change(transaction, statement, &[&name, &erased_name]).await?;
    for (table, column) in [("taken_down", "reason"), ("draft", "refused")] {
        let names = [name, erased_name];
        let reasons = Replacements::read_texts_of(transaction, (table, column), names).await?;
        let statement = format!(
            "UPDATE reprise_global.{table} SET {column} = {} WHERE {column} = ANY($1)",
            replaced_text(column, 1)
        );
        change(transaction, &statement, &[&reasons.old, &reasons.new]).await?;
    }
    Ok(())
}

/// Counts the rows that still name a person, column by column.
async fn count_left(
    transaction: &Transaction<'_>,
    [name, erased_name]: [&str; 2],
    by: Uuid,
) -> Result<u64, Failure> {
    let mut left = 0;
    for column in list_person_columns(transaction).await? {
        let table = &column.table;
        let all = format!("SELECT count(*) FROM reprise_global.{table} WHERE");
        let found = if column.kind == "uuid" {
            let statement = format!("{all} {} = $1", column.column);
            one(transaction, &statement, &[&by]).await?
        } else {
            let (place, names) = (
                (table.as_str(), column.column.as_str()),
                [name, erased_name],
            );
            let texts = Replacements::read_texts_of(transaction, place, names).await?;
            let statement = format!("{all} {}", column.has_text_condition(1));
            one(transaction, &statement, &[&texts.old]).await?
        };
        left += found.get::<_, i64>(0).unsigned_abs();
    }
    Ok(left)
}
