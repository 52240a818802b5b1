//! `reprise global serve`: published knowledge for other machines, in the foreground.

use reprise_files::OpenMode;
use reprise_global::{
    AwaitedHandle, Caller, EmbeddedStore, GlobalError, GlobalQuery, GlobalResult, GlobalStore,
    Hold, Quota, Quotas, SharedTokens,
};
use reprise_postgres::{PostgresOptions, PostgresStore};
use reprise_server::{
    AccessLog, GlobalService, GlobalServiceOptions, People, ServiceTokens, TokenFile,
};

use crate::args::{GlobalServeArguments, QuotaArguments, WhichStore};
use crate::database::database_options;
use crate::prelude::*;
use crate::token;

/// Requests that one processor serves at once.
const REQUESTS_PER_PROCESSOR: usize = 4;
/// Requests that a service on few processors serves at once.
const REQUESTS_MIN: usize = 8;
/// Between two looks at whether the database is there.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two looks at whether the database's index is to be built.
const MAINTAIN: Duration = Duration::from_mins(10);

pub(crate) fn run(context: &Context, arguments: &GlobalServeArguments) -> anyhow::Result<Exit> {
    runtime::build_threaded()?.block_on(async {
        let store: AwaitedHandle<dyn GlobalStore> = AwaitedHandle::default();
        let (mut database, mut awaited) = (None, None);
        if let Some(url) = &arguments.which.database_url {
            let mut options = database_options(context, &arguments.which, url);
            options.quotas = quotas(&arguments.quotas);
            let pending = AwaitedDatabase {
                options,
                store: store.clone(),
                tokens: AwaitedHandle::default(),
            };
            database = Some(pending.tokens.clone());
            match pending.open().await {
                Err(error @ GlobalError::Unavailable { .. }) => {
                    note(&format!("waiting for the database: {error}"));
                    awaited = Some(pending);
                }
                opened => opened?,
            }
        } else {
            if let Err(none) = ensure_store_exists(&arguments.which) {
                note(&format!("{none}; the first publication makes it"));
            }
            let embedded = Arc::new(open_embedded(context, &arguments.which));
            tokio::spawn(warm_up(embedded.clone()));
            store.set(embedded);
        }
        let file = Arc::new(TokenFile::new(token::ensure_token_file_folder(context)?));
        let tokens = ServiceTokens::new(file, database);
        if awaited.is_none() && tokens.list().await?.is_empty() {
            note("there is no token, so nobody can ask; `reprise global token add` makes one");
        }
        let service = GlobalService::start(GlobalServiceOptions {
            store,
            tokens,
            http: arguments.http,
            requests_per_second: Some(arguments.requests_per_second),
            user_requests_a_minute: arguments.quotas.user_requests_a_minute,
            org_requests_a_minute: arguments.quotas.org_requests_a_minute,
            people: build_people(context),
            access_log: arguments.access_log.clone().map(access_log).transpose()?,
            requests_max: arguments
                .requests_max
                .map_or_else(requests_max, |max| max.get().into()),
        })
        .await?;
        let address = service.address()?;
        note(&format!(
            "http://{address} accepts HTTP requests with a token"
        ));
        tokio::select! {
            ended = service.run() => ended?,
            refused = wait_for_database(awaited) => return Err(refused),
        }
        note("stopped; all accepted data is saved");
        anyhow::Ok(Exit::Success)
    })
}

/// Returns how many requests the processors serve at once: more would only wait for each other.
fn requests_max() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors * REQUESTS_PER_PROCESSOR).max(REQUESTS_MIN)
}

/// Opens the model, the store and its connections: a first question from outside would wait for
/// them longer than recalls do.
async fn warm_up(store: Arc<dyn GlobalStore>) {
    let Ok(nobody) = "nobody".parse() else { return };
    let query = GlobalQuery::new("is everything ready?", 1);
    if let Err(error) = store.query(&Caller::new(nobody), &query).await {
        tracing::debug!(%error, "the store could not be asked at the start");
    }
}

/// Checks that there is a store in the folder that is named; the error is a sentence.
pub(crate) fn ensure_store_exists(which: &WhichStore) -> anyhow::Result<()> {
    match &which.store {
        Some(folder) if !EmbeddedStore::is_present_in(folder) => {
            anyhow::bail!("there is no store at `{}` yet", folder.display())
        }
        _ => Ok(()),
    }
}

/// Opens the embedded store that the arguments name.
pub(crate) fn open_embedded(context: &Context, which: &WhichStore) -> EmbeddedStore {
    let folder = which.store.clone();
    let folder = folder.unwrap_or_else(|| global::folder(context));
    let vectors = global::vectors(context);
    global::embedded(context, folder, Hold::UntilIdle, vectors)
}

/// The people of the configured issuer, whose keys are fetched when the first of them comes.
fn build_people(context: &Context) -> Option<People> {
    let settings = context.issuer_of_people()?;
    let documents = global::document_fetcher();
    Some(People::new(settings, documents, Arc::new(SystemClock)))
}

fn quotas(arguments: &QuotaArguments) -> Quotas {
    let quota = |things, bytes| Quota { things, bytes };
    Quotas {
        user: quota(arguments.user_things, arguments.user_bytes),
        org: quota(arguments.org_things, arguments.org_bytes),
    }
}

/// Appends lines to a file, which is opened for each, so that it can be rotated by renaming it. `-`
/// is stdout.
fn access_log(file: PathBuf) -> anyhow::Result<AccessLog> {
    let append = move |line: &str| -> anyhow::Result<()> {
        if file.as_os_str() == "-" {
            return Ok(reprise::plugin::stdout().write_all(line.as_bytes())?);
        }
        let mut opened = reprise_files::open_path(&file, OpenMode::Append)?;
        Ok(opened.write_all(line.as_bytes())?)
    };
    append("").context("the access log cannot be written; correct --access-log")?;
    Ok(Arc::new(move |line| {
        if let Err(error) = append(&format!("{line}\n")) {
            tracing::error!(%error, "a line of the access log is lost");
        }
    }))
}

/// A database that the service may start before: a machine starts its services in any order.
struct AwaitedDatabase {
    options: PostgresOptions,
    store: AwaitedHandle<dyn GlobalStore>,
    tokens: AwaitedHandle<dyn SharedTokens>,
}

impl AwaitedDatabase {
    /// Opens the database if it is there, and looks after it.
    async fn open(&self) -> GlobalResult<()> {
        let opened = PostgresStore::open(self.options.clone()).await?;
        tokio::spawn(maintain_forever(opened.clone()));
        tokio::spawn(warm_up(Arc::new(opened.clone())));
        self.tokens.set(Arc::new(opened.clone()));
        self.store.set(Arc::new(opened));
        Ok(())
    }
}

/// Waits for a database that is not there yet. Ends only with an error that waiting does not mend.
async fn wait_for_database(awaited: Option<AwaitedDatabase>) -> anyhow::Error {
    if let Some(database) = awaited {
        loop {
            tokio::time::sleep(AGAIN).await;
            match database.open().await {
                Ok(()) => break note("connected to the database"),
                Err(GlobalError::Unavailable { .. }) => {}
                Err(error) => return error.into(),
            }
        }
    }
    std::future::pending().await
}

async fn maintain_forever(store: PostgresStore) {
    loop {
        match store.maintain().await {
            Ok(true) => tracing::info!("built the index of vectors"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the database was not looked after"),
        }
        tokio::time::sleep(MAINTAIN).await;
    }
}
