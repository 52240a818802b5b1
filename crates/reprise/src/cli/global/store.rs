//! The global store of a command: the service that the configuration names, else the one of its
//! data directory, shared by its users.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use reprise_embed::Variant;
use reprise_engine::Engine;
use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalError, GlobalStore, Hold,
    TextVectors,
};
use reprise_store::RealDisk;
use reprise_types::{Embedder, SystemClock, UserId};

use super::remote::RemoteStore;
use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, model, runtime};

/// Its folder in the data directory; no user's name begins with a dot.
const FOLDER: &str = ".global";
/// How long a command waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a question may take that nothing else is waiting for.
const ALONE: Duration = Duration::from_secs(5);

/// The store, and who asks it.
pub(super) fn open(
    context: &Context,
    user: &UserId,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    open_within(context, user, Some(ALONE))
}

/// The same, where a question to a service may take so long; `None` for the configured deadline.
pub(super) fn open_within(
    context: &Context,
    user: &UserId,
    question: Option<Duration>,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    let caller = context.config.caller(user)?;
    if let Some(service) = context.config.global_service(user)? {
        let question = question.unwrap_or(service.deadline);
        let token = Arc::new(move |_: &Caller| Some(service.token.clone()));
        let store = RemoteStore::new(&service.url, token, question);
        return Ok((Arc::new(store), caller));
    }
    let store = embedded(context, folder(context), Hold::EachWrite);
    Ok((Arc::new(store), caller))
}

/// Where the data directory's own store is, and the tokens of its service.
pub(super) fn folder(context: &Context) -> PathBuf {
    context.places.data.join(FOLDER)
}

/// The store in a folder.
pub(super) fn embedded(context: &Context, folder: PathBuf, hold: Hold) -> EmbeddedStore {
    EmbeddedStore::new(EmbeddedOptions {
        folder,
        dimensions: DIMENSIONS,
        space: (!context.no_model).then(|| Variant::Int8.space()),
        open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        vectors: vectors(context),
        clock: Arc::new(SystemClock),
        hold,
        patience: PATIENCE,
        coordination: CoordinationSettings::default(),
    })
}

/// The machine's model, opened by the first text.
pub(super) fn vectors(context: &Context) -> TextVectors {
    let context = context.clone();
    let opened: OnceLock<Option<Mutex<Box<dyn Embedder>>>> = OnceLock::new();
    Arc::new(move |text| {
        let open = || {
            let found = model::factory(&context)?.open().ok()?;
            Some(Mutex::new(found))
        };
        let embedder = opened.get_or_init(open).as_ref()?;
        let mut embedder = embedder.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = embedder.embed(text).ok()?;
        Some((embedder.space().clone(), vector))
    })
}

/// Runs one operation to its end.
pub(super) fn wait<T>(
    operation: impl Future<Output = Result<T, GlobalError>>,
) -> anyhow::Result<Result<T, GlobalError>> {
    let runtime = runtime::asking().context("the global store cannot be asked")?;
    Ok(runtime.block_on(operation))
}
