//! The tables: made and brought forward at the start, and refused where they are not ours to use.
//!
//! Migrations go forward only, each in a transaction with its number, one node at a time.

use deadpool_postgres::Object;
use reprise_global::{GlobalError, GlobalResult};
use reprise_types::EmbeddingSpace;
use tokio_postgres::error::SqlState;

use super::PostgresOptions;
use super::connect::Failure;
use super::role::{ServingRole, TABLES, ensure_serving_role, rights_error, setup_error};
use super::sql::{one, rows};

/// In their order: the first makes version 1.
const MIGRATIONS: [&str; 12] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
    include_str!("migrations/0012.sql"),
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
) -> GlobalResult<(String, ServingRole)> {
    check_server(client).await?;
    check_role(client).await?;
    one(client, "SELECT pg_advisory_lock($1)", &[&LOCK]).await?;
    let done = match migrate(client, options.dimensions).await {
        Ok(()) => ensure_serving_role(client, options).await,
        Err(error) => Err(error),
    };
    let unlocked = one(client, "SELECT pg_advisory_unlock($1)", &[&LOCK]).await;
    let serving = done?;
    unlocked?;
    check_space(client, options.space.as_ref()).await?;
    let salt = "SELECT value FROM reprise_global.setting WHERE name = 'salt'";
    let salt = one(client, salt, &[]).await.map_err(rights_error)?;
    Ok((salt.get(0), serving))
}

async fn check_server(client: &Object) -> GlobalResult<()> {
    let statement = "SELECT current_setting('server_version_num')::int, \
         current_setting('server_version'), \
         (SELECT extversion FROM pg_extension WHERE extname = 'vector'), current_database()";
    let row = one(client, statement, &[]).await?;
    let (number, name): (i32, String) = (row.get(0), row.get(1));
    let database: String = row.get(3);
    check_server_version(number, &name)?;
    let Some(vector) = row.get::<_, Option<String>>(2) else {
        return Err(no_vector_error(&database));
    };
    check_vector_version(&vector)
}

/// What the administrator of a database is to do.
pub(super) fn no_vector_error(database: &str) -> GlobalError {
    setup_error(format!(
        "database `{database}` has no pgvector; let its administrator run CREATE EXTENSION vector \
         there"
    ))
}

fn check_server_version(number: i32, name: &str) -> GlobalResult<()> {
    if number >= SERVER_MIN {
        return Ok(());
    }
    Err(setup_error(format!(
        "the server is PostgreSQL {name}, and 14 is the oldest that is supported; upgrade it"
    )))
}

fn check_vector_version(version: &str) -> GlobalResult<()> {
    let mut parts = version.split(['.', '-']).map(str::parse::<u32>);
    let found = [(); 3].map(|()| parts.next().and_then(Result::ok).unwrap_or(0));
    let plain = version.split('.').all(|part| part.parse::<u32>().is_ok());
    if found >= VECTOR_MIN && plain {
        return Ok(());
    }
    Err(setup_error(format!(
        "pgvector is {version:.20}, and 0.8.4 is the oldest whose index is sound; install a newer \
         one and run ALTER EXTENSION vector UPDATE"
    )))
}

/// Refuses a role that bypasses row-level security: one wall of two would be left.
async fn check_role(client: &Object) -> GlobalResult<()> {
    let statement = "SELECT current_user::text, rolsuper OR rolbypassrls FROM pg_roles \
         WHERE rolname = current_user";
    let row = one(client, statement, &[]).await?;
    if row.get::<_, bool>(1) {
        let name: String = row.get(0);
        return Err(setup_error(format!(
            "role `{name}` bypasses row-level security; connect with one that has neither \
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
pub(super) async fn list_pending(client: &Object, dimensions: u16) -> GlobalResult<Vec<Migration>> {
    check_server(client).await?;
    check_role(client).await?;
    list_steps(client, dimensions).await
}

async fn list_steps(client: &Object, dimensions: u16) -> GlobalResult<Vec<Migration>> {
    let standing = read_version(client).await?;
    if standing > MIGRATIONS.len() {
        return Err(setup_error(format!(
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

async fn migrate(client: &mut Object, dimensions: u16) -> GlobalResult<()> {
    for Migration { number, statements } in list_steps(client, dimensions).await? {
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
                setup_error(format!(
                    "schema `reprise_global` is half migrated, or holds tables of another program \
                     (migration {number}: {}); rename that, or restore the tables from a backup",
                    said.message()
                ))
            }
            _ => rights_error(error),
        })?;
        transaction.commit().await.map_err(Failure::Commit)?;
        tracing::info!(number, "brought the tables forward");
    }
    let missing = "SELECT name FROM unnest($1::text[]) AS name \
         WHERE to_regclass('reprise_global.' || name) IS NULL";
    let all = TABLES.map(|(table, ..)| table);
    let missing = rows(client, missing, &[&all.as_slice()]).await;
    if let Some(row) = missing.map_err(rights_error)?.first() {
        let table: String = row.get(0);
        return Err(half_migrated_error(&format!("table `{table}` is missing")));
    }
    check_policies(client).await
}

/// The policies hold, also against the role that owns the tables.
async fn check_policies(client: &Object) -> GlobalResult<()> {
    let open = "SELECT relname::text FROM pg_class \
         WHERE relnamespace = to_regnamespace('reprise_global') AND relname = ANY($1::text[]) \
         AND NOT (relrowsecurity AND relforcerowsecurity)";
    let walled = TABLES.into_iter().filter(|(.., is_walled)| *is_walled);
    let walled: Vec<&str> = walled.map(|(table, ..)| table).collect();
    let open = rows(client, open, &[&walled]).await.map_err(rights_error)?;
    let Some(row) = open.first() else {
        return Ok(());
    };
    let table: String = row.get(0);
    Err(setup_error(format!(
        "table `{table}` is open to every statement; run ALTER TABLE reprise_global.{table} ENABLE \
         ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    )))
}

fn half_migrated_error(what: &str) -> GlobalError {
    setup_error(format!(
        "the tables in schema `reprise_global` are half migrated ({what}); restore them from a \
         backup, or drop the schema and publish anew"
    ))
}

/// Which migration was the last; 0 where there is no schema.
async fn read_version(client: &Object) -> GlobalResult<usize> {
    let statement = "SELECT to_regnamespace('reprise_global') IS NOT NULL, \
         to_regclass('reprise_global.schema_version') IS NOT NULL";
    let row = one(client, statement, &[]).await.map_err(rights_error)?;
    match (row.get(0), row.get(1)) {
        (false, _) => Ok(0),
        (true, false) => {
            // An administrator may have made the schema for this role, and nothing in it.
            let made = "SELECT count(*) FROM pg_class \
                 WHERE relnamespace = to_regnamespace('reprise_global')";
            let made = one(client, made, &[]).await.map_err(rights_error)?;
            match made.get::<_, i64>(0) {
                0 => Ok(0),
                _ => Err(half_migrated_error(
                    "there are tables and no version of them",
                )),
            }
        }
        (true, true) => {
            let statement = "SELECT coalesce(max(version), 0), count(*)::int \
                 FROM reprise_global.schema_version";
            let row = one(client, statement, &[]).await.map_err(rights_error)?;
            let (newest, count): (i32, i32) = (row.get(0), row.get(1));
            let standing = usize::try_from(newest).unwrap_or_default();
            if newest != count && standing <= MIGRATIONS.len() {
                return Err(half_migrated_error(&format!(
                    "version {newest} after {count} migrations"
                )));
            }
            Ok(standing)
        }
    }
}

/// Refuses another model than the one of the stored vectors, which cannot be compared with its own.
async fn check_space(client: &Object, space: Option<&EmbeddingSpace>) -> GlobalResult<()> {
    let Some(space) = space else { return Ok(()) };
    let name = format!("{} {} {}", space.model, space.version, space.dimensions);
    let statement = "WITH made AS (INSERT INTO reprise_global.setting VALUES ('space', $1) \
         ON CONFLICT (name) DO NOTHING RETURNING value) \
         SELECT value FROM made UNION ALL \
         SELECT value FROM reprise_global.setting WHERE name = 'space' LIMIT 1";
    let kept = one(client, statement, &[&name])
        .await
        .map_err(rights_error)?;
    let kept: String = kept.get(0);
    if kept == name {
        return Ok(());
    }
    Err(setup_error(format!(
        "the database holds vectors of `{kept}` and this node makes those of `{name}`; give every \
         node the same model"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_and_extensions_are_refused_with_what_to_do() {
        assert!(check_server_version(180_004, "18.4").is_ok());
        let refused = check_server_version(130_012, "13.12")
            .unwrap_err()
            .to_string();
        assert!(refused.contains("13.12") && refused.contains("upgrade"));
        for good in ["0.8.4", "0.8.5", "0.9.0", "1.0.0", "0.10.0"] {
            assert!(check_vector_version(good).is_ok(), "{good}");
        }
        for bad in ["0.8.3", "0.7.4", "0.8", "0.8.5-yb-1.0", "", "new"] {
            let refused = check_vector_version(bad).unwrap_err().to_string();
            assert!(refused.contains("ALTER EXTENSION"), "{refused}");
        }
    }
}
