//! As whom the database is asked. Whoever owns a table can switch its policies off, so what serves
//! is another role: without ownership, and above no policy.

use deadpool_postgres::Object;
use tokio_postgres::error::SqlState;

use super::PostgresOptions;
use super::connect::{Failure, quoted};
use super::node::{one, row};
use super::schema::TABLES;
use crate::error::{GlobalError, Result};

/// Who asks once the tables stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Serving {
    /// The role that a connection takes on; none where it serves as who it is.
    pub(super) role: Option<String>,
    /// Whether who connects may look after the tables.
    pub(super) keeps: bool,
}

/// Finds or makes the role that serves. Under the lock of whoever migrates.
pub(super) async fn serving(client: &Object, options: &PostgresOptions) -> Result<Serving> {
    let login: String = one(client, "SELECT current_user::text", &[]).await?.get(0);
    let keeps = owns(client, &login).await?;
    if !keeps || options.serves_as_owner {
        return Ok(Serving { role: None, keeps });
    }
    let role = &options.serving_role;
    let (name, own) = (quoted(role), quoted(&login));
    let refused = |why: String| {
        cannot(format!(
            "role `{login}` owns the tables, could switch their policies off, and has no other role \
             to serve as ({why}); let an administrator run CREATE ROLE {name} NOLOGIN; GRANT {name} \
             TO {own}"
        ))
    };
    let known = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1";
    let known = row(client, known, &[role]).await?;
    match known.map(|row| row.get::<_, bool>(0)) {
        Some(true) => return Err(refused(format!("{name} stands above the policies"))),
        Some(false) => {}
        None => make(client, &name).await.map_err(refused)?,
    }
    if owns(client, role).await? {
        return Err(refused(format!("{name} owns them too")));
    }
    take_on(client, &name).await.map_err(refused)?;
    let of_tables = TABLES
        .iter()
        .map(|(table, may, _)| format!("GRANT {may} ON reprise_global.{table} TO {name}"));
    let of_schema = format!("GRANT USAGE ON SCHEMA reprise_global TO {name}");
    let grants: Vec<String> = std::iter::once(of_schema).chain(of_tables).collect();
    client
        .batch_execute(&grants.join("; "))
        .await
        .map_err(rights)?;
    let role = Some(role.clone());
    Ok(Serving { role, keeps })
}

/// Whether a role owns any of the tables or their schema, or may act as who does.
async fn owns(client: &Object, role: &str) -> Result<bool> {
    let owners = "SELECT coalesce(bool_or(pg_has_role($1::name, owner, 'MEMBER')), false) FROM ( \
         SELECT relowner AS owner FROM pg_class \
         WHERE relnamespace = to_regnamespace('reprise_global') \
         UNION SELECT nspowner FROM pg_namespace WHERE nspname = 'reprise_global') AS owners";
    Ok(one(client, owners, &[&role]).await?.get(0))
}

/// Makes the role; the error says why not. Roles are of the whole server: another node may have
/// made it for another database a moment ago.
async fn make(client: &Object, name: &str) -> Result<(), String> {
    let made = client
        .batch_execute(&format!("CREATE ROLE {name} NOLOGIN"))
        .await;
    match made {
        Err(error)
            if ![
                Some(&SqlState::DUPLICATE_OBJECT),
                Some(&SqlState::UNIQUE_VIOLATION),
            ]
            .contains(&error.code()) =>
        {
            Err(said(&error))
        }
        _ => Ok(()),
    }
}

/// Sees that this connection can take the role on; makes it a member where it may.
async fn take_on(client: &Object, name: &str) -> Result<(), String> {
    let taken = format!("SET ROLE {name}; RESET ROLE");
    if client.batch_execute(&taken).await.is_ok() {
        return Ok(());
    }
    let grant = format!("GRANT {name} TO CURRENT_USER");
    client.batch_execute(&grant).await.map_err(|e| said(&e))?;
    client.batch_execute(&taken).await.map_err(|e| said(&e))
}

fn said(error: &tokio_postgres::Error) -> String {
    let database = error.as_db_error();
    database.map_or_else(|| error.to_string(), |said| said.message().to_owned())
}

pub(super) fn cannot(message: impl Into<String>) -> GlobalError {
    GlobalError::Storage {
        message: message.into(),
    }
}

/// Without rights the database's own sentence names the table, and we say what to do.
pub(super) fn rights(failure: impl Into<Failure>) -> GlobalError {
    let failure = failure.into();
    if let Failure::Database(error) = &failure
        && error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE)
    {
        let said = error.as_db_error().map(|said| said.message().to_owned());
        return cannot(format!(
            "the role may not make or use the tables in schema `reprise_global` ({}); give it \
             CREATE on the database, or let the role that owns them start the service once",
            said.unwrap_or_default()
        ));
    }
    failure.into()
}
