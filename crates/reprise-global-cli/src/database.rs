//! Opens the database of the service of published knowledge.

use reprise::plugin::DIMENSIONS;
use reprise_postgres::{PostgresOptions, PostgresStore};

use crate::args::WhichStore;
use crate::prelude::*;

/// The database that is meant, its tables at this version.
pub(crate) async fn open_database(
    context: &Context,
    which: &WhichStore,
    url: &str,
) -> anyhow::Result<PostgresStore> {
    Ok(PostgresStore::open(database_options(context, which, url)).await?)
}

/// Returns the options with which the database is opened.
pub(crate) fn database_options(
    context: &Context,
    which: &WhichStore,
    url: &str,
) -> PostgresOptions {
    let space = (!context.no_model).then(|| global::PUBLISHED.space());
    let vectors = global::vectors(context);
    let mut options = PostgresOptions::new(url, DIMENSIONS, space, vectors, Arc::new(SystemClock));
    options.authority.clone_from(&which.database_authority);
    options.serves_as_owner = which.database_as_owner;
    options.connections = usize::from(which.connections.get());
    options
}
