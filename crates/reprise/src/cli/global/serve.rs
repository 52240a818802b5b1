//! `reprise global serve`: published knowledge for other machines, in the foreground.

use std::sync::Arc;
use std::time::Duration;

use reprise_global::{
    Caller, EmbeddedStore, GlobalError, GlobalQuery, GlobalStore, Hold, PostgresOptions,
    PostgresStore,
};
use reprise_server::{GlobalService, GlobalServiceOptions, TokenFile};
use reprise_types::SystemClock;

use super::{store, token};
use crate::args::{GlobalServeArguments, WhichStore};
use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, runtime};
use crate::exit::Exit;

/// Between two looks at whether the database is there.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two looks at whether the database's index is to be built.
const MAINTAIN: Duration = Duration::from_mins(10);

pub(super) fn run(context: &Context, arguments: &GlobalServeArguments) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(async {
        let store: Arc<dyn GlobalStore> = if let Some(url) = &arguments.which.database_url {
            let store = once_there(context, &arguments.which, url).await?;
            tokio::spawn(maintained(store.clone()));
            Arc::new(store)
        } else {
            if let Err(none) = is_there(&arguments.which) {
                crate::cli::note(&format!("{none}; the first publication makes it"));
            }
            Arc::new(in_folder(context, &arguments.which))
        };
        tokio::spawn(asked_once(Arc::clone(&store)));
        let tokens = Arc::new(TokenFile::new(token::file(context)?));
        if tokens.list()?.is_empty() {
            crate::cli::note(
                "there is no token, so nobody can ask; `reprise global token add` makes one",
            );
        }
        let service = GlobalService::start(GlobalServiceOptions {
            store,
            tokens,
            http: arguments.http,
            requests_per_second: Some(arguments.requests_per_second),
            requests_max: usize::from(arguments.requests_max.get()),
        })
        .await?;
        let address = service.address()?;
        crate::cli::note(&format!("http://{address} takes requests with a token"));
        service.run().await?;
        crate::cli::note("ended: everything accepted is kept");
        anyhow::Ok(Exit::Success)
    })
}

/// Opens the model, the store and its connections: a first question from outside would wait for
/// them longer than recalls do.
async fn asked_once(store: Arc<dyn GlobalStore>) {
    let Ok(nobody) = "nobody".parse() else { return };
    let query = GlobalQuery::new("is everything ready?", 1);
    if let Err(error) = store.query(&Caller::new(nobody), &query).await {
        tracing::debug!(%error, "the store could not be asked at the start");
    }
}

/// Whether something stands where the embedded store is named to be; the error is a sentence.
pub(super) fn is_there(which: &WhichStore) -> anyhow::Result<()> {
    match &which.store {
        Some(folder) if !EmbeddedStore::is_in(folder) => {
            anyhow::bail!("there is no store at `{}` yet", folder.display())
        }
        _ => Ok(()),
    }
}

/// The embedded store that is meant.
pub(super) fn in_folder(context: &Context, which: &WhichStore) -> EmbeddedStore {
    let folder = which.store.clone();
    let folder = folder.unwrap_or_else(|| store::folder(context));
    store::embedded(context, folder, Hold::UntilIdle, store::vectors(context))
}

/// The same, waited for where it is not there yet: a machine starts its services in any order.
async fn once_there(
    context: &Context,
    which: &WhichStore,
    url: &str,
) -> anyhow::Result<PostgresStore> {
    let mut has_told = false;
    loop {
        let opened = database(context, which, url).await;
        let Err(error) = &opened else {
            return opened;
        };
        let absent = error.downcast_ref::<GlobalError>();
        if !absent.is_some_and(|error| matches!(error, GlobalError::Unavailable { .. })) {
            return opened;
        }
        if !has_told {
            crate::cli::note(&format!("waiting for the database: {error}"));
            has_told = true;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The database that is meant, its tables at this version.
pub(super) async fn database(
    context: &Context,
    which: &WhichStore,
    url: &str,
) -> anyhow::Result<PostgresStore> {
    let space = (!context.no_model).then(|| store::PUBLISHED.space());
    let vectors = store::vectors(context);
    let mut options = PostgresOptions::new(url, DIMENSIONS, space, vectors, Arc::new(SystemClock));
    options.authority.clone_from(&which.database_authority);
    options.serves_as_owner = which.database_as_owner;
    options.connections = usize::from(which.connections.get());
    Ok(PostgresStore::open(options).await?)
}

async fn maintained(store: PostgresStore) {
    loop {
        match store.maintain().await {
            Ok(true) => tracing::info!("built the index of vectors"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the database was not looked after"),
        }
        tokio::time::sleep(MAINTAIN).await;
    }
}
