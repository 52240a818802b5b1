//! The global store of a command: the service that the configuration names, else the one of its
//! data directory, shared by its users.

use std::sync::OnceLock;

use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalError, GlobalStore,
    GlobalTier, Hold, Quotas, TextVectors, TwoTierMemory,
};
use reprise_operations::{Reach, Sharing};
use reprise_sandbox::Before;
use reprise_types::RecallScope;

use super::remote::RemoteStore;
use crate::cli::prelude::*;
use crate::config::GlobalService;
use crate::outbound;

/// How the users of this process reach published knowledge, and what a recall asks that does not
/// say. Where it lasts longer than a command it connects to the service now.
pub(in crate::cli) fn sharing(context: &Context, is_command: bool) -> Sharing {
    let (config, agent) = (&context.config, outbound::agent());
    if let Some(url) = config.global_connects().filter(|_| !is_command) {
        RemoteStore::over(agent.clone(), url, Arc::new(|_| Ok(None)), ALONE).connect();
    }
    let reach = reach(context, is_command, agent);
    Sharing::new(reach, config.global.scope).for_hooks(config.hooks_ask())
}

/// What stands before the memories of a host whose recalls ask for published knowledge too.
pub(in crate::cli) fn before(context: &Context, clock: &Arc<dyn Clock>) -> Option<Arc<Before>> {
    let scope = context.config.global.scope;
    if scope == RecallScope::Local {
        return None;
    }
    let reach = reach(context, false, outbound::agent());
    let vectors = vectors(context);
    let tiers: Mutex<HashMap<UserId, GlobalTier>> = Mutex::default();
    let clock = Arc::clone(clock);
    Some(Arc::new(move |user, own| {
        let mut tiers = lock(&tiers);
        let known = tiers.get(user).cloned();
        match known.map_or_else(|| reach(user, Arc::clone(&vectors)), Ok) {
            Ok(tier) => {
                tiers.insert(user.clone(), tier.clone());
                Arc::new(TwoTierMemory::new(own, tier, Arc::clone(&clock)).scoped(scope))
            }
            Err(error) => {
                tracing::warn!(error, "published knowledge is not asked");
                own
            }
        }
    }))
}

/// The way of a user to the service or to the data directory's own store. A command waits for its
/// own store as it does for its memory. All use the connections of `agent`.
fn reach(context: &Context, is_command: bool, agent: ureq::Agent) -> Arc<Reach> {
    let context = context.clone();
    let opened: OnceLock<EmbeddedStore> = OnceLock::new();
    let reach = move |user: &UserId, vectors| -> anyhow::Result<GlobalTier> {
        let caller = context.config.caller(user)?;
        let mut options = context.config.global_tier()?;
        let service = context.config.global_service(user);
        let store: Arc<dyn GlobalStore> = if let Some(service) = service {
            Arc::new(remote(service, agent.clone()))
        } else {
            if is_command {
                options.deadline = PATIENCE;
            }
            Arc::new(opened.get_or_init(|| own(&context, vectors)).clone())
        };
        Ok(GlobalTier::new(store, caller, options))
    };
    Arc::new(move |user, vectors| reach(user, vectors).map_err(|error| format!("{error:#}")))
}

/// A service that knows nobody: for measuring one that does not answer.
pub(in crate::cli) fn remote_at(url: &str) -> impl GlobalStore + use<> {
    RemoteStore::new(url, Arc::new(|_| Ok(None)), ALONE)
}

/// The address of the service that a user asks, and how long the fastest of three answers took; the
/// first makes the connection.
pub(in crate::cli) fn round_trip(
    context: &Context,
    user: &UserId,
) -> Option<(String, anyhow::Result<Duration>)> {
    let service = context.config.global_service(user)?;
    let url = service.url.clone();
    let store = remote(service, outbound::agent());
    let once = || -> anyhow::Result<Duration> {
        let began = Instant::now();
        wait(store.answers())??;
        Ok(began.elapsed())
    };
    let first = once();
    let took = first.map(|first| {
        (0..2)
            .filter_map(|_| once().ok())
            .fold(first, Duration::min)
    });
    Some((url, took))
}

fn remote(service: GlobalService, agent: ureq::Agent) -> RemoteStore {
    let token = Arc::new(move |_: &Caller| service.token.clone().map(Some));
    RemoteStore::over(agent, &service.url, token, ALONE)
}

/// Its folder in the data directory; no user's name begins with a dot.
const FOLDER: &str = ".global";
/// How long a command waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a question may take that nothing else is waiting for.
const ALONE: Duration = Duration::from_secs(5);

/// The model of published knowledge, whichever one a memory's owner has chosen: publishers and
/// readers of one store share a space.
pub(super) const PUBLISHED: Variant = Variant::Int8;

/// The store, and who asks it.
pub(super) fn open(
    context: &Context,
    user: &UserId,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    let caller = context.config.caller(user)?;
    if let Some(service) = context.config.global_service(user) {
        return Ok((Arc::new(remote(service, outbound::agent())), caller));
    }
    Ok((Arc::new(own(context, vectors(context))), caller))
}

/// The data directory's own store, as commands have it.
fn own(context: &Context, vectors: TextVectors) -> EmbeddedStore {
    let held = (Hold::EachWrite, Quotas::default());
    embedded(context, folder(context), held, vectors)
}

/// Where the data directory's own store is, and the tokens of its service.
pub(in crate::cli) fn folder(context: &Context) -> PathBuf {
    context.places.data.join(FOLDER)
}

/// The store in a folder.
pub(in crate::cli) fn embedded(
    context: &Context,
    folder: PathBuf,
    (hold, quotas): (Hold, Quotas),
    vectors: TextVectors,
) -> EmbeddedStore {
    EmbeddedStore::new(EmbeddedOptions {
        folder,
        dimensions: DIMENSIONS,
        space: (!context.no_model).then(|| PUBLISHED.space()),
        open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        vectors,
        clock: Arc::new(SystemClock),
        hold,
        patience: PATIENCE,
        quotas,
        coordination: CoordinationSettings::default(),
    })
}

/// The machine's model, opened by the first text.
pub(super) fn vectors(context: &Context) -> TextVectors {
    let context = context.clone();
    let opened: OnceLock<Option<Mutex<Box<dyn Embedder>>>> = OnceLock::new();
    Arc::new(move |text| {
        let open = || {
            let found = model::factory_of(&context, PUBLISHED)?.open().ok()?;
            Some(Mutex::new(found))
        };
        let embedder = opened.get_or_init(open).as_ref()?;
        let mut embedder = lock(embedder);
        let vector = embedder.embed(text).ok()?;
        Some(Embedding::new(embedder.space().clone(), vector))
    })
}

/// Runs one operation to its end.
pub(super) fn wait<T>(
    operation: impl Future<Output = Result<T, GlobalError>>,
) -> anyhow::Result<Result<T, GlobalError>> {
    let runtime = runtime::asking().context("the global store cannot be asked")?;
    Ok(runtime.block_on(operation))
}
