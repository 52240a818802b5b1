//! The global store of a command: the one of its data directory, shared by its users.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use reprise_embed::Variant;
use reprise_engine::Engine;
use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalError, Hold, TextVectors,
};
use reprise_store::RealDisk;
use reprise_types::{Embedder, SystemClock, UserId};

use crate::cli::store::DIMENSIONS;
use crate::cli::{Context, host, model};

/// Its folder in the data directory; no user's name begins with a dot.
const FOLDER: &str = ".global";
/// How long a command waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store, and who asks it.
pub(super) fn open(context: &Context, user: &UserId) -> anyhow::Result<(EmbeddedStore, Caller)> {
    let folder = context.places.data.join(FOLDER);
    let store = embedded(context, folder, Hold::EachWrite);
    Ok((store, context.config.caller(user)?))
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
fn vectors(context: &Context) -> TextVectors {
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
    let runtime = host::asking_runtime().context("the global store cannot be asked")?;
    Ok(runtime.block_on(operation))
}
