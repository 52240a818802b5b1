//! The database role that serves. The owner of a table can switch its policies off, so another role
//! serves: one without ownership, and above no policy.

use deadpool_postgres::Object;
use tokio_postgres::error::SqlState;

use super::PostgresOptions;
use super::connect::{Failure, quoted};
use super::sql::{one, row};
use reprise_global::{GlobalError, GlobalResult};

const ADD: &str = "SELECT, INSERT";
const ALL: &str = "SELECT, INSERT, UPDATE, DELETE";
/// What they make, each with what the serving role may do there, and whether its rows are for some
/// callers alone. That role empties no table as a whole, which no policy would hold it from, and
/// changes no line of the audit log.
pub(super) const TABLES: [(&str, &str, bool); 20] = [
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
    ("taken_down_vector", ALL, true),
    ("organisation", ALL, true),
    ("usage", ALL, false),
    ("quota", ALL, false),
    ("shelf_size", ALL, false),
    ("token", ALL, false),
    ("setting", ADD, false),
    ("schema_version", "SELECT", false),
];

/// Who asks once the tables are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServingRole {
    /// The role that a connection takes on; none where it serves as who it is.
    pub(super) role: Option<String>,
    /// Whether who connects may look after the tables.
    pub(super) keeps: bool,
}

/// Finds or makes the role that serves. The caller holds the lock of migrations.
pub(super) async fn ensure_serving_role(
    client: &Object,
    options: &PostgresOptions,
) -> GlobalResult<ServingRole> {
    let login: String = one(client, "SELECT current_user::text", &[]).await?.get(0);
    let keeps = is_table_owner(client, &login).await?;
    if !keeps || options.serves_as_owner {
        return Ok(ServingRole { role: None, keeps });
    }
    let role = &options.serving_role;
    let (name, own) = (quoted(role), quoted(&login));
    let refused = |why: String| {
        setup_error(format!(
            "role `{login}` owns the tables, could switch their policies off, and has no other role \
             to serve as ({why}); let an administrator run CREATE ROLE {name} NOLOGIN; GRANT {name} \
             TO {own}"
        ))
    };
    let known = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1";
    let known = row(client, known, &[role]).await?;
    match known.map(|row| row.get::<_, bool>(0)) {
        Some(true) => return Err(refused(format!("{name} bypasses the policies"))),
        Some(false) => {}
        None => create_role(client, &name).await.map_err(refused)?,
    }
    if is_table_owner(client, role).await? {
        return Err(refused(format!("{name} owns them too")));
    }
    ensure_membership(client, &name).await.map_err(refused)?;
    let of_tables = TABLES
        .iter()
        .map(|(table, may, _)| format!("GRANT {may} ON reprise_global.{table} TO {name}"));
    let of_schema = format!("GRANT USAGE ON SCHEMA reprise_global TO {name}");
    let grants: Vec<String> = std::iter::once(of_schema).chain(of_tables).collect();
    client
        .batch_execute(&grants.join("; "))
        .await
        .map_err(rights_error)?;
    let role = Some(role.clone());
    Ok(ServingRole { role, keeps })
}

/// Whether a role owns any of the tables or their schema, or may act as who does.
async fn is_table_owner(client: &Object, role: &str) -> GlobalResult<bool> {
    let owners = "SELECT coalesce(bool_or(pg_has_role($1::name, owner, 'MEMBER')), false) FROM ( \
         SELECT relowner AS owner FROM pg_class \
         WHERE relnamespace = to_regnamespace('reprise_global') \
         UNION SELECT nspowner FROM pg_namespace WHERE nspname = 'reprise_global') AS owners";
    Ok(one(client, owners, &[&role]).await?.get(0))
}

/// Makes the role; the error says why not. Roles are of the whole server: another node may have
/// made it for another database a moment ago.
async fn create_role(client: &Object, name: &str) -> GlobalResult<(), String> {
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
            Err(database_message(&error))
        }
        _ => Ok(()),
    }
}

/// Sees that this connection can take the role on; makes it a member where it may.
async fn ensure_membership(client: &Object, name: &str) -> GlobalResult<(), String> {
    let taken = format!("SET ROLE {name}; RESET ROLE");
    if client.batch_execute(&taken).await.is_ok() {
        return Ok(());
    }
    let grant = format!("GRANT {name} TO CURRENT_USER");
    client
        .batch_execute(&grant)
        .await
        .map_err(|e| database_message(&e))?;
    client
        .batch_execute(&taken)
        .await
        .map_err(|e| database_message(&e))
}

fn database_message(error: &tokio_postgres::Error) -> String {
    let database = error.as_db_error();
    database.map_or_else(|| error.to_string(), |said| said.message().to_owned())
}

pub(super) fn setup_error(message: impl Into<String>) -> GlobalError {
    GlobalError::Storage {
        message: message.into(),
    }
}

/// Without rights the database's own sentence names the table, and we say what to do.
pub(super) fn rights_error(failure: impl Into<Failure>) -> GlobalError {
    let failure = failure.into();
    if let Failure::Database(error) = &failure
        && error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE)
    {
        let said = error.as_db_error().map(|said| said.message().to_owned());
        return setup_error(format!(
            "the role may not make or use the tables in schema `reprise_global` ({}); give it \
             CREATE on the database, or let the role that owns them start the service once",
            said.unwrap_or_default()
        ));
    }
    failure.into()
}
