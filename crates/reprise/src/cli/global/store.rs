//! The global store of a command: the service that the configuration names, else the one of its
//! data directory, shared by its users.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use reprise_embed::Variant;
use reprise_engine::Engine;
use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalError, GlobalStore,
    GlobalTier, Hold, TextVectors, TierOptions,
};
use reprise_operations::Sharing;
use reprise_store::RealDisk;
use reprise_types::{Embedder, SystemClock, UserId};

use super::remote::RemoteStore;
use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, model, runtime};
use crate::config::GlobalService;

/// How the users of this process reach published knowledge, and what a recall asks that does not
/// say. A command waits for the store of its own data directory as it does for its memory.
pub(in crate::cli) fn sharing(context: &Context, is_command: bool) -> Sharing {
    let context = context.clone();
    let scope = context.config.scope();
    let own: OnceLock<EmbeddedStore> = OnceLock::new();
    let reach = move |user: &UserId, vectors| -> anyhow::Result<GlobalTier> {
        let caller = context.config.caller(user)?;
        let mut options = TierOptions {
            deadline: context.config.global_deadline(),
            ..TierOptions::default()
        };
        let store: Arc<dyn GlobalStore> = match context.config.global_service(user)? {
            Some(service) => Arc::new(remote(service)),
            None => {
                if is_command {
                    options.deadline = PATIENCE;
                }
                let folder = folder(&context);
                let new = || embedded(&context, folder, Hold::EachWrite, vectors);
                Arc::new(own.get_or_init(new).clone())
            }
        };
        Ok(GlobalTier::new(store, caller, options))
    };
    let reach =
        move |user: &UserId, vectors| reach(user, vectors).map_err(|error| format!("{error:#}"));
    Sharing::new(Arc::new(reach), scope)
}

fn remote(service: GlobalService) -> RemoteStore {
    let token = Arc::new(move |_: &Caller| Some(service.token.clone()));
    RemoteStore::new(&service.url, token, ALONE)
}

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
    let caller = context.config.caller(user)?;
    if let Some(service) = context.config.global_service(user)? {
        return Ok((Arc::new(remote(service)), caller));
    }
    let store = embedded(context, folder(context), Hold::EachWrite, vectors(context));
    Ok((Arc::new(store), caller))
}

/// Where the data directory's own store is, and the tokens of its service.
pub(super) fn folder(context: &Context) -> PathBuf {
    context.places.data.join(FOLDER)
}

/// The store in a folder.
pub(super) fn embedded(
    context: &Context,
    folder: PathBuf,
    hold: Hold,
    vectors: TextVectors,
) -> EmbeddedStore {
    EmbeddedStore::new(EmbeddedOptions {
        folder,
        dimensions: DIMENSIONS,
        space: (!context.no_model).then(|| Variant::Int8.space()),
        open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        vectors,
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
