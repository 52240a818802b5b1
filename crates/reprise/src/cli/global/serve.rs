//! `reprise global serve`: published knowledge for other machines, in the foreground.

use reprise_files::Access;
use reprise_global::{
    Caller, EmbeddedStore, GlobalError, GlobalQuery, GlobalStore, Hold, PostgresOptions,
    PostgresStore, Quota, Quotas,
};
use reprise_server::{
    AccessLog, GlobalService, GlobalServiceOptions, People, ServiceTokens, TokenFile,
};

use super::{store, token};
use crate::args::{GlobalServeArguments, QuotaArguments, WhichStore};
use crate::cli::prelude::*;
use crate::outbound;

/// Between two looks at whether the database is there.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two looks at whether the database's index is to be built.
const MAINTAIN: Duration = Duration::from_mins(10);

pub(super) fn run(context: &Context, arguments: &GlobalServeArguments) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(async {
        let quotas = quotas(&arguments.quotas);
        let mut database = None;
        let store: Arc<dyn GlobalStore> = if let Some(url) = &arguments.which.database_url {
            let mut options = database_options(context, &arguments.which, url);
            options.quotas = quotas;
            let store = once_there(options).await?;
            tokio::spawn(maintained(store.clone()));
            database = Some(store.clone());
            Arc::new(store)
        } else {
            if let Err(none) = is_there(&arguments.which) {
                tell!("{none}; the first publication makes it");
            }
            Arc::new(in_folder(context, &arguments.which, quotas))
        };
        tokio::spawn(asked_once(Arc::clone(&store)));
        let file = Arc::new(TokenFile::new(token::file(context)?));
        let tokens = ServiceTokens::new(file, database);
        if tokens.list().await?.is_empty() {
            note("there is no token, so nobody can ask; `reprise global token add` makes one");
        }
        let service = GlobalService::start(GlobalServiceOptions {
            store,
            tokens,
            http: arguments.http,
            requests_per_second: Some(arguments.requests_per_second),
            user_requests_a_minute: arguments.quotas.user_requests_a_minute,
            org_requests_a_minute: arguments.quotas.org_requests_a_minute,
            people: people(context),
            access_log: arguments.access_log.clone().map(access_log).transpose()?,
            requests_max: usize::from(arguments.requests_max.get()),
        })
        .await?;
        let address = service.address()?;
        tell!("http://{address} takes requests with a token");
        service.run().await?;
        note("ended: everything accepted is kept");
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
pub(super) fn in_folder(context: &Context, which: &WhichStore, quotas: Quotas) -> EmbeddedStore {
    let folder = which.store.clone();
    let folder = folder.unwrap_or_else(|| store::folder(context));
    let vectors = store::vectors(context);
    store::embedded(context, folder, (Hold::UntilIdle, quotas), vectors)
}

/// The people of the configured issuer, whose keys are fetched when the first of them comes.
fn people(context: &Context) -> Option<People> {
    let settings = context.config.global.oidc.clone()?;
    let documents = outbound::documents();
    Some(People::new(settings, documents, Arc::new(SystemClock)))
}

fn quotas(arguments: &QuotaArguments) -> Quotas {
    let quota = |things, bytes| Quota { things, bytes };
    Quotas {
        user: quota(arguments.user_things, arguments.user_bytes),
        org: quota(arguments.org_things, arguments.org_bytes),
    }
}

/// Appends lines to a file, which is opened for each: whoever rotates it renames it. `-` is stdout.
fn access_log(file: PathBuf) -> anyhow::Result<AccessLog> {
    let append = move |line: &str| -> anyhow::Result<()> {
        if file.as_os_str() == "-" {
            return Ok(crate::printer::stdout().write_all(line.as_bytes())?);
        }
        let mut opened = reprise_files::open_path(&file, Access::Append)?;
        Ok(opened.write_all(line.as_bytes())?)
    };
    append("").context("the access log cannot be written; correct --access-log")?;
    Ok(Arc::new(move |line| {
        if let Err(error) = append(&format!("{line}\n")) {
            tracing::error!(%error, "a line of the access log is lost");
        }
    }))
}

/// The database that is meant, waited for where it is not there yet: a machine starts its services
/// in any order.
async fn once_there(options: PostgresOptions) -> anyhow::Result<PostgresStore> {
    let mut has_told = false;
    loop {
        let opened = PostgresStore::open(options.clone()).await;
        let opened = opened.map_err(anyhow::Error::from);
        let Err(error) = &opened else {
            return opened;
        };
        let absent = error.downcast_ref::<GlobalError>();
        if !absent.is_some_and(|error| matches!(error, GlobalError::Unavailable { .. })) {
            return opened;
        }
        if !has_told {
            tell!("waiting for the database: {error}");
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
    Ok(PostgresStore::open(database_options(context, which, url)).await?)
}

/// The way to it.
pub(super) fn database_options(
    context: &Context,
    which: &WhichStore,
    url: &str,
) -> PostgresOptions {
    let space = (!context.no_model).then(|| store::PUBLISHED.space());
    let vectors = store::vectors(context);
    let mut options = PostgresOptions::new(url, DIMENSIONS, space, vectors, Arc::new(SystemClock));
    options.authority.clone_from(&which.database_authority);
    options.serves_as_owner = which.database_as_owner;
    options.connections = usize::from(which.connections.get());
    options
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
