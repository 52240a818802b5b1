//! The global store of a command: the service that the configuration names, else the one of its
//! data directory, shared by its users.

use std::sync::OnceLock;

use reprise_global::{
    Caller, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalError, GlobalStore,
    GlobalTier, Hold, TextVectors, TwoTierMemory,
};
use reprise_operations::{Sharing, TierOpener};
use reprise_types::{MemoryProvider, RecallScope};

use super::remote::RemoteStore;
use crate::cli::prelude::*;
use crate::config::GlobalServiceConfig;
use crate::outbound;

/// How the users of this process reach published knowledge, and what a recall asks that does not
/// say. Where it lasts longer than a command it connects to the service now.
pub(in crate::cli) fn sharing(context: &Context, is_command: bool) -> Sharing {
    let (config, agent) = (&context.config, outbound::new_agent());
    if let Some(url) = config.global_url_to_connect().filter(|_| !is_command) {
        RemoteStore::from_agent(agent.clone(), url, Arc::new(|_| Ok(None)), ALONE)
            .warm_up_connection();
    }
    let reach = tier_opener(context, is_command, agent);
    Sharing::new(reach, config.global.scope).with_hook_deadline(config.hook_deadline())
}

/// Wraps a user's memory, so that its recalls ask for published knowledge too.
pub(in crate::cli) type MemoryWrapper =
    dyn Fn(&UserId, Arc<dyn MemoryProvider>) -> Arc<dyn MemoryProvider> + Send + Sync;

/// Returns what wraps the memories of a host, so that its recalls ask for published knowledge too.
pub(in crate::cli) fn wrap_memories(
    context: &Context,
    clock: &Arc<dyn Clock>,
) -> Option<Arc<MemoryWrapper>> {
    let scope = context.config.global.scope;
    if scope == RecallScope::Local {
        return None;
    }
    let reach = tier_opener(context, false, outbound::new_agent());
    let vectors = vectors(context);
    let tiers: Mutex<HashMap<UserId, GlobalTier>> = Mutex::default();
    let clock = Arc::clone(clock);
    Some(Arc::new(move |user, own| {
        let mut tiers = lock(&tiers);
        let known = tiers.get(user).cloned();
        match known.map_or_else(|| reach(user, Arc::clone(&vectors)), Ok) {
            Ok(tier) => {
                tiers.insert(user.clone(), tier.clone());
                Arc::new(TwoTierMemory::new(own, tier, Arc::clone(&clock)).with_scope(scope))
            }
            Err(error) => {
                tracing::warn!(error, "published knowledge is not asked");
                own
            }
        }
    }))
}

/// The way of a user to the service or to the data directory's own store. A command waits for its
/// own store as it does for its memory. All use the connections of `new_agent`.
fn tier_opener(context: &Context, is_command: bool, agent: ureq::Agent) -> Arc<TierOpener> {
    let context = context.clone();
    let opened: OnceLock<EmbeddedStore> = OnceLock::new();
    let reach = move |user: &UserId, vectors| -> anyhow::Result<GlobalTier> {
        let caller = context.config.caller(user)?;
        let mut options = context.config.tier_options()?;
        let service = context.config.global_service(user);
        let Some(service) = service else {
            if is_command {
                options.deadline = PATIENCE;
            }
            let own = opened
                .get_or_init(|| open_own_store(&context, vectors))
                .clone();
            let tier = GlobalTier::new(Arc::new(own), caller, options);
            let is_empty = !EmbeddedStore::is_present_in(&folder(&context));
            return Ok(tier.with_note(is_empty.then(|| NO_SERVICE.to_owned())));
        };
        if is_command {
            // A command has no connection yet: it waits for the one that it begins.
            options.deadline = options.deadline.max(CONNECTED_WITHIN);
        }
        let store = Arc::new(build_remote_store(service, agent.clone()));
        Ok(GlobalTier::new(store, caller, options))
    };
    Arc::new(move |user, vectors| reach(user, vectors).map_err(|error| format!("{error:#}")))
}

/// Builds the client of a service without a token, to measure one that does not answer.
pub fn build_remote_store_at(url: &str) -> impl GlobalStore + use<> {
    RemoteStore::new(url, Arc::new(|_| Ok(None)), ALONE)
}

/// The address of the service that a user asks, and how long the fastest of three answers took; the
/// first makes the connection.
pub(in crate::cli) fn measure_round_trip(
    context: &Context,
    user: &UserId,
) -> Option<(String, anyhow::Result<Duration>)> {
    let service = context.config.global_service(user)?;
    let url = service.url.clone();
    let store = build_remote_store(service, outbound::new_agent());
    let once = || -> anyhow::Result<Duration> {
        let began = Instant::now();
        wait(store.check_ready())??;
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

fn build_remote_store(service: GlobalServiceConfig, agent: ureq::Agent) -> RemoteStore {
    let token = Arc::new(move |_: &Caller| service.token.clone().map(Some));
    RemoteStore::from_agent(agent, &service.url, token, ALONE)
}

/// Its folder in the data directory; no user's name begins with a dot.
const FOLDER: &str = ".global";
/// How long a command waits for a service to which it has no connection yet.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// What a recall says of published knowledge on a machine that has none.
const NO_SERVICE: &str = "nothing is published on this machine and no server is configured, so only \
    your own memories were searched; `reprise share join LINK` accepts an invitation to a server";
/// How long a command waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a question may take that nothing else is waiting for.
const ALONE: Duration = Duration::from_secs(10);

/// The model of published knowledge, whichever one a memory's owner has chosen: publishers and
/// readers of one store share a space.
pub const PUBLISHED: Variant = Variant::Int8;

/// Opens the user's store; returns it with the identity of the caller.
pub fn open(context: &Context, user: &UserId) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    let caller = context.config.caller(user)?;
    if let Some(service) = context.config.global_service(user) {
        return Ok((
            Arc::new(build_remote_store(service, outbound::new_agent())),
            caller,
        ));
    }
    Ok((Arc::new(open_own_store(context, vectors(context))), caller))
}

/// The data directory's own store, as commands have it.
fn open_own_store(context: &Context, vectors: TextVectors) -> EmbeddedStore {
    embedded(context, folder(context), Hold::EachWrite, vectors)
}

/// Where the data directory's own store is, and the tokens of its service.
pub fn folder(context: &Context) -> PathBuf {
    context.places.data.join(FOLDER)
}

/// The store in a folder.
pub fn embedded(
    context: &Context,
    folder: PathBuf,
    hold: Hold,
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
        coordination: CoordinationSettings::default(),
    })
}

/// The machine's model, opened by the first text.
pub fn vectors(context: &Context) -> TextVectors {
    let context = context.clone();
    let opened: OnceLock<Option<Mutex<Box<dyn Embedder>>>> = OnceLock::new();
    Arc::new(move |text| {
        let _work = runtime::ModelWork::begin();
        let open = || {
            let found = model::pull_variant(&context, PUBLISHED)?
                .open_embedder()
                .ok()?;
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
    let runtime = runtime::build_single_threaded().context("the global store cannot be asked")?;
    Ok(runtime.block_on(operation))
}
