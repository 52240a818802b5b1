//! The tables: made and brought forward at the start, and refused where they are not ours to use.
//!
//! Migrations go forward only, each in a transaction with its number, one node at a time.

use deadpool_postgres::Object;
use reprise_types::EmbeddingSpace;
use tokio_postgres::error::SqlState;

use super::PostgresOptions;
use super::connect::Failure;
use super::node::{one, rows};
use super::role::{Serving, cannot, rights, serving};
use crate::error::{GlobalError, Result};

/// In their order: the first makes version 1.
const MIGRATIONS: [&str; 6] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
];

const ADD: &str = "SELECT, INSERT";
const ALL: &str = "SELECT, INSERT, UPDATE, DELETE";
/// What they make, each with what the serving role may do there, and whether its rows are for some
/// callers alone. That role empties no table as a whole, which no policy would hold it from, and
/// changes no line of the audit log.
pub(super) const TABLES: [(&str, &str, bool); 16] = [
    ("thing", ALL, true),
    ("search", ALL, true),
    ("posting", ALL, true),
    ("authored", ALL, true),
    ("voice", ALL, false),
    ("rating", ALL, false),
    ("snapshot", ADD, false),
    ("audit", ADD, false),
    ("branch", ALL, true),
    ("draft", ALL, true),
    ("retrieved", ALL, false),
    ("taken_down", ALL, true),
    ("usage", ALL, false),
    ("token", ALL, false),
    ("setting", ADD, false),
    ("schema_version", "SELECT", false),
];
/// The oldest server that its makers still mend.
const SERVER_MIN: i32 = 140_000;
/// The oldest pgvector without a known fault in its index (0.8.2 to 0.8.4 mended three).
const VECTOR_MIN: [u32; 3] = [0, 8, 4];
/// Held by the node that migrates: "reprise", as a number.
const LOCK: i64 = 0x0072_6570_7269_7365;

/// Brings the database to this version of the tables; answers the salt of its contributors, and as
/// whom it is to be asked.
pub(super) async fn prepare(
    client: &mut Object,
    options: &PostgresOptions,
) -> Result<(String, Serving)> {
    server(client).await?;
    role(client).await?;
    one(client, "SELECT pg_advisory_lock($1)", &[&LOCK]).await?;
    let done = match migrate(client, options.dimensions).await {
        Ok(()) => serving(client, options).await,
        Err(error) => Err(error),
    };
    let unlocked = one(client, "SELECT pg_advisory_unlock($1)", &[&LOCK]).await;
    let serving = done?;
    unlocked?;
    keeps_space(client, options.space.as_ref()).await?;
    let salt = "SELECT value FROM reprise_global.setting WHERE name = 'salt'";
    let salt = one(client, salt, &[]).await.map_err(rights)?;
    Ok((salt.get(0), serving))
}

async fn server(client: &Object) -> Result<()> {
    let statement = "SELECT current_setting('server_version_num')::int, \
         current_setting('server_version'), \
         (SELECT extversion FROM pg_extension WHERE extname = 'vector'), current_database()";
    let row = one(client, statement, &[]).await?;
    let (number, name): (i32, String) = (row.get(0), row.get(1));
    let database: String = row.get(3);
    too_old(number, &name)?;
    let Some(vector) = row.get::<_, Option<String>>(2) else {
        return Err(no_vector(&database));
    };
    vector_too_old(&vector)
}

/// What the administrator of a database is to do.
pub(super) fn no_vector(database: &str) -> GlobalError {
    cannot(format!(
        "database `{database}` has no pgvector; let its administrator run CREATE EXTENSION vector \
         there"
    ))
}

fn too_old(number: i32, name: &str) -> Result<()> {
    if number >= SERVER_MIN {
        return Ok(());
    }
    Err(cannot(format!(
        "the server is PostgreSQL {name}, and 14 is the oldest that is supported; upgrade it"
    )))
}

fn vector_too_old(version: &str) -> Result<()> {
    let mut parts = version.split(['.', '-']).map(str::parse::<u32>);
    let found = [(); 3].map(|()| parts.next().and_then(Result::ok).unwrap_or(0));
    let plain = version.split('.').all(|part| part.parse::<u32>().is_ok());
    if found >= VECTOR_MIN && plain {
        return Ok(());
    }
    Err(cannot(format!(
        "pgvector is {version:.20}, and 0.8.4 is the oldest whose index is sound; install a newer \
         one and run ALTER EXTENSION vector UPDATE"
    )))
}

/// A role that stands above row-level security would make one wall of two.
async fn role(client: &Object) -> Result<()> {
    let statement = "SELECT current_user::text, rolsuper OR rolbypassrls FROM pg_roles \
         WHERE rolname = current_user";
    let row = one(client, statement, &[]).await?;
    if row.get::<_, bool>(1) {
        let name: String = row.get(0);
        return Err(cannot(format!(
            "role `{name}` stands above row-level security; connect with one that has neither \
             SUPERUSER nor BYPASSRLS"
        )));
    }
    Ok(())
}

/// A step from one version of the tables to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    pub number: i32,
    /// All of it is one transaction.
    pub statements: String,
}

/// What is to be made of tables that are ours to use.
pub(super) async fn pending(client: &Object, dimensions: u16) -> Result<Vec<Migration>> {
    server(client).await?;
    role(client).await?;
    steps(client, dimensions).await
}

async fn steps(client: &Object, dimensions: u16) -> Result<Vec<Migration>> {
    let standing = version(client).await?;
    if standing > MIGRATIONS.len() {
        return Err(cannot(format!(
            "the tables are of version {standing}, written by a newer Reprise, and this one knows \
             {}; upgrade this node",
            MIGRATIONS.len()
        )));
    }
    let all = (1_i32..).zip(MIGRATIONS).skip(standing);
    let step = |(number, text): (i32, &str)| Migration {
        number,
        statements: text.replace("{dimensions}", &dimensions.to_string()),
    };
    Ok(all.map(step).collect())
}

async fn migrate(client: &mut Object, dimensions: u16) -> Result<()> {
    for Migration { number, statements } in steps(client, dimensions).await? {
        let transaction = client.transaction().await.map_err(Failure::from)?;
        let statements = format!(
            "CREATE SCHEMA IF NOT EXISTS reprise_global; \
             CREATE TABLE IF NOT EXISTS reprise_global.schema_version \
                 (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()); \
             {statements} \
             INSERT INTO reprise_global.schema_version (version) VALUES ({number});"
        );
        let made = transaction.batch_execute(&statements).await;
        made.map_err(|error| match (error.code(), error.as_db_error()) {
            (Some(&SqlState::DUPLICATE_TABLE | &SqlState::DUPLICATE_OBJECT), Some(said)) => {
                cannot(format!(
                    "schema `reprise_global` is half migrated, or holds what is not Reprise's \
                     (migration {number}: {}); rename that, or restore the tables from a backup",
                    said.message()
                ))
            }
            _ => rights(error),
        })?;
        transaction.commit().await.map_err(Failure::Commit)?;
        tracing::info!(number, "brought the tables forward");
    }
    let missing = "SELECT name FROM unnest($1::text[]) AS name \
         WHERE to_regclass('reprise_global.' || name) IS NULL";
    let all = TABLES.map(|(table, ..)| table);
    let missing = rows(client, missing, &[&all.as_slice()]).await;
    if let Some(row) = missing.map_err(rights)?.first() {
        let table: String = row.get(0);
        return Err(half(&format!("table `{table}` is missing")));
    }
    walled(client).await
}

/// The policies hold, also against the role that owns the tables.
async fn walled(client: &Object) -> Result<()> {
    let open = "SELECT relname::text FROM pg_class \
         WHERE relnamespace = to_regnamespace('reprise_global') AND relname = ANY($1::text[]) \
         AND NOT (relrowsecurity AND relforcerowsecurity)";
    let walled = TABLES.into_iter().filter(|(.., is_walled)| *is_walled);
    let walled: Vec<&str> = walled.map(|(table, ..)| table).collect();
    let open = rows(client, open, &[&walled]).await.map_err(rights)?;
    let Some(row) = open.first() else {
        return Ok(());
    };
    let table: String = row.get(0);
    Err(cannot(format!(
        "table `{table}` is open to every statement; run ALTER TABLE reprise_global.{table} ENABLE \
         ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    )))
}

fn half(what: &str) -> GlobalError {
    cannot(format!(
        "the tables in schema `reprise_global` are half migrated ({what}); restore them from a \
         backup, or drop the schema and publish anew"
    ))
}

/// Which migration was the last; 0 where there is no schema.
async fn version(client: &Object) -> Result<usize> {
    let statement = "SELECT to_regnamespace('reprise_global') IS NOT NULL, \
         to_regclass('reprise_global.schema_version') IS NOT NULL";
    let row = one(client, statement, &[]).await.map_err(rights)?;
    match (row.get(0), row.get(1)) {
        (false, _) => Ok(0),
        (true, false) => {
            // An administrator may have made the schema for this role, and nothing in it.
            let made = "SELECT count(*) FROM pg_class \
                 WHERE relnamespace = to_regnamespace('reprise_global')";
            let made = one(client, made, &[]).await.map_err(rights)?;
            match made.get::<_, i64>(0) {
                0 => Ok(0),
                _ => Err(half("there are tables and no version of them")),
            }
        }
        (true, true) => {
            let statement = "SELECT coalesce(max(version), 0), count(*)::int \
                 FROM reprise_global.schema_version";
            let row = one(client, statement, &[]).await.map_err(rights)?;
            let (newest, count): (i32, i32) = (row.get(0), row.get(1));
            let standing = usize::try_from(newest).unwrap_or_default();
            if newest != count && standing <= MIGRATIONS.len() {
                return Err(half(&format!("version {newest} after {count} migrations")));
            }
            Ok(standing)
        }
    }
}

/// All nodes make the same vectors: those of another model cannot be compared with what stands.
async fn keeps_space(client: &Object, space: Option<&EmbeddingSpace>) -> Result<()> {
    let Some(space) = space else { return Ok(()) };
    let name = format!("{} {} {}", space.model, space.version, space.dimensions);
    let statement = "WITH made AS (INSERT INTO reprise_global.setting VALUES ('space', $1) \
         ON CONFLICT (name) DO NOTHING RETURNING value) \
         SELECT value FROM made UNION ALL \
         SELECT value FROM reprise_global.setting WHERE name = 'space' LIMIT 1";
    let kept = one(client, statement, &[&name]).await.map_err(rights)?;
    let kept: String = kept.get(0);
    if kept == name {
        return Ok(());
    }
    Err(cannot(format!(
        "the database holds vectors of `{kept}` and this node makes those of `{name}`; give every \
         node the same model"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_and_extensions_are_refused_with_what_to_do() {
        assert!(too_old(180_004, "18.4").is_ok());
        let refused = too_old(130_012, "13.12").unwrap_err().to_string();
        assert!(refused.contains("13.12") && refused.contains("upgrade"));
        for good in ["0.8.4", "0.8.5", "0.9.0", "1.0.0", "0.10.0"] {
            assert!(vector_too_old(good).is_ok(), "{good}");
        }
        for bad in ["0.8.3", "0.7.4", "0.8", "0.8.5-yb-1.0", "", "new"] {
            let refused = vector_too_old(bad).unwrap_err().to_string();
            assert!(refused.contains("ALTER EXTENSION"), "{refused}");
        }
    }
}
