//! The tables: made and brought forward at the start, and refused where they are not ours to use.
//!
//! Migrations go forward only, each in a transaction with its number, one node at a time.

use deadpool_postgres::Object;
use reprise_types::EmbeddingSpace;
use tokio_postgres::error::SqlState;

use super::connect::{Failure, literal};
use super::options::PostgresOptions;
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
/// What they make.
const TABLES: [&str; 14] = [
    "thing",
    "search",
    "posting",
    "authored",
    "voice",
    "rating",
    "snapshot",
    "audit",
    "branch",
    "draft",
    "retrieved",
    "taken_down",
    "usage",
    "token",
];
/// Of these, whose rows are for some callers alone.
const WALLED: [&str; 7] = [
    "thing",
    "search",
    "posting",
    "authored",
    "branch",
    "draft",
    "taken_down",
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
    client
        .execute("SELECT pg_advisory_lock($1)", &[&LOCK])
        .await
        .map_err(Failure::from)?;
    let done = match migrate(client, options.dimensions).await {
        Ok(()) => serving(client, options).await,
        Err(error) => Err(error),
    };
    let unlocked = client.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]);
    let unlocked = unlocked.await;
    let serving = done?;
    unlocked.map_err(Failure::from)?;
    keeps_space(client, options.space.as_ref()).await?;
    let row = client
        .query_one(
            "SELECT value FROM reprise_global.setting WHERE name = 'salt'",
            &[],
        )
        .await
        .map_err(rights)?;
    Ok((row.get(0), serving))
}

async fn server(client: &Object) -> Result<()> {
    let row = client
        .query_one(
            "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
         (SELECT extversion FROM pg_extension WHERE extname = 'vector'), current_database()",
            &[],
        )
        .await
        .map_err(Failure::from)?;
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
    let row = client
        .query_one(
            "SELECT current_user::text, rolsuper OR rolbypassrls FROM pg_roles \
         WHERE rolname = current_user",
            &[],
        )
        .await
        .map_err(Failure::from)?;
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
    let missing = client
        .query(
            "SELECT name FROM unnest($1::text[]) AS name \
             WHERE to_regclass('reprise_global.' || name) IS NULL",
            &[&TABLES.as_slice()],
        )
        .await
        .map_err(rights)?;
    if let Some(row) = missing.first() {
        let table: String = row.get(0);
        return Err(half(&format!("table `{table}` is missing")));
    }
    walled(client).await
}

/// The policies hold, also against the role that owns the tables.
async fn walled(client: &Object) -> Result<()> {
    let open = client
        .query(
            "SELECT relname::text FROM pg_class \
             WHERE relnamespace = to_regnamespace('reprise_global') AND relname = ANY($1::text[]) \
             AND NOT (relrowsecurity AND relforcerowsecurity)",
            &[&WALLED.as_slice()],
        )
        .await
        .map_err(rights)?;
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
    let row = client
        .query_one(
            "SELECT to_regnamespace('reprise_global') IS NOT NULL, \
         to_regclass('reprise_global.schema_version') IS NOT NULL",
            &[],
        )
        .await
        .map_err(rights)?;
    match (row.get(0), row.get(1)) {
        (false, _) => Ok(0),
        (true, false) => {
            // An administrator may have made the schema for this role, and nothing in it.
            let made = client.query_one(
                "SELECT count(*) FROM pg_class WHERE relnamespace = \
                 to_regnamespace('reprise_global')",
                &[],
            );
            match made.await.map_err(rights)?.get::<_, i64>(0) {
                0 => Ok(0),
                _ => Err(half("there are tables and no version of them")),
            }
        }
        (true, true) => {
            let row = client
        .query_one(
                "SELECT coalesce(max(version), 0), count(*)::int FROM reprise_global.schema_version",
                &[],
            );
            let row = row.await.map_err(rights)?;
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
    let kept: String = client
        .query_one(
            &format!(
                "WITH made AS (INSERT INTO reprise_global.setting VALUES ('space', {}) \
             ON CONFLICT (name) DO NOTHING RETURNING value) \
             SELECT value FROM made UNION ALL \
             SELECT value FROM reprise_global.setting WHERE name = 'space' LIMIT 1",
                literal(&name)
            ),
            &[],
        )
        .await
        .map_err(rights)?
        .get(0);
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
