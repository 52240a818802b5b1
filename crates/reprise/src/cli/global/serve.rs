//! `reprise global serve`: published knowledge for other machines, in the foreground.

use std::sync::Arc;
use std::time::Duration;

use reprise_embed::Variant;
use reprise_global::{GlobalStore, Hold, PostgresOptions, PostgresStore};
use reprise_server::{GlobalService, GlobalServiceOptions, TokenFile};
use reprise_types::SystemClock;

use super::{store, token};
use crate::args::GlobalServeArguments;
use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, runtime};
use crate::exit::Exit;

/// Between two looks at whether the database's index is to be built.
const MAINTAIN: Duration = Duration::from_mins(10);

pub(super) fn run(context: &Context, arguments: &GlobalServeArguments) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(async {
        let store: Arc<dyn GlobalStore> = if let Some(url) = &arguments.database_url {
            Arc::new(database(context, arguments, url).await?)
        } else {
            let folder = arguments.store.clone();
            let folder = folder.unwrap_or_else(|| store::folder(context));
            Arc::new(store::embedded(
                context,
                folder,
                Hold::Always,
                store::vectors(context),
            ))
        };
        let service = GlobalService::start(GlobalServiceOptions {
            store,
            tokens: Arc::new(TokenFile::new(token::file(context)?)),
            http: arguments.http,
            requests_per_second: Some(arguments.requests_per_second),
            requests_max: usize::from(arguments.requests_max),
        })
        .await?;
        let address = service.address()?;
        crate::cli::note(&format!("http://{address} takes requests with a token"));
        service.run().await?;
        crate::cli::note("ended: everything accepted is kept");
        anyhow::Ok(Exit::Success)
    })
}

async fn database(
    context: &Context,
    arguments: &GlobalServeArguments,
    url: &str,
) -> anyhow::Result<PostgresStore> {
    let space = (!context.no_model).then(|| Variant::Int8.space());
    let vectors = store::vectors(context);
    let mut options = PostgresOptions::new(url, DIMENSIONS, space, vectors, Arc::new(SystemClock));
    options.authority.clone_from(&arguments.database_authority);
    options.connections = usize::from(arguments.connections.max(1));
    let store = PostgresStore::open(options).await?;
    let maintained = store.clone();
    tokio::spawn(async move {
        loop {
            match maintained.maintain().await {
                Ok(true) => tracing::info!("built the index of vectors"),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the database was not looked after"),
            }
            tokio::time::sleep(MAINTAIN).await;
        }
    });
    Ok(store)
}
