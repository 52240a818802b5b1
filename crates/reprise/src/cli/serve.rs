//! `reprise serve`: the daemon of a data directory, in the foreground, with its OAuth settings; and
//! `reprise mcp`: an MCP server on stdin and stdout.

mod settings;

use std::sync::Weak;

use reprise_agent::{EmbedderOpener, MemoryConfig, OtherModels};
use reprise_engine::EngineOptions;
use reprise_operations::{
    ConfiguredProjection, Memories, MemorySettings, PauseStore, Repositories, Sharing,
};
use reprise_redact::is_plain_http_to_other_machine;
use reprise_server::{
    Daemon, DaemonExit, DaemonOptions, Issuer, IssuerSettings, McpServer, OauthOptions,
    ProgramCommand,
};
use reprise_types::Reranker;

use super::global::sharing;
use super::hook::ToolHooks;
use super::host::FollowedLog;
use super::model::EmbedderSource;
use super::project::COMMITS_MAX;
use super::{connect, daemon, workspace};
use crate::args::{ConnectScope, McpArguments, ServeArguments, assemble_catalogue};
use crate::cli::prelude::*;
use crate::config::{OauthTable, last_good, save_setting};
use crate::{env, outbound};

pub(super) fn run(context: &Context, arguments: &ServeArguments) -> anyhow::Result<Exit> {
    restart_with_allocator_settings();
    let file = &context.config.serve;
    if last_good::is_copy(&context.places) {
        tell!(
            "the configuration has an error, which `reprise doctor` tells; its last good form is in \
             use"
        );
    }
    let idle_exit = arguments.idle_exit.or(file.idle_exit_seconds);
    let projections = context.config.all_projections();
    copies::record_projections(context, &projections);
    let governed = workspace::governed_workspaces(context);
    let options = DaemonOptions {
        place: context.places.daemon_place(),
        http: arguments.http.or(file.http),
        idle_exit: idle_exit.map(Duration::from_secs),
        has_model: !context.no_model,
        replace: arguments.replace,
        patience: context.patience,
        requests_per_second: arguments.requests_per_second.or(file.requests_per_second),
        oauth: file.oauth.as_ref().map(to_oauth_options).transpose()?,
        tags: context.config.tag_rules(),
        sharing: sharing(context, false),
        projections,
        prompt_tokens_per_day: context.config.memory.prompt_tokens_per_day,
        catalogue: assemble_catalogue(&governed),
        user: context.config.user.clone(),
        settings: settings::list_settings(context, arguments),
        agent_programs: connect::list_agent_programs,
        save_setting,
        program_command: ProgramCommand {
            program: std::env::current_exe()?,
            arguments: daemon::global_options(context),
        },
    };
    let ended = runtime::build_threaded()?.block_on(async {
        let memory = config(context)?;
        if let Some(reranker) = memory.reranker.clone() {
            // It is opened now, because the time of the first question would not suffice.
            let open = async move { reranker.score_relevance("", &[String::new()]).await };
            drop(tokio::spawn(open));
        }
        let daemon = Daemon::start(memory, options).await?;
        drop(tokio::spawn(async move { governed.run_upkeep().await }));
        let data = context.places.data.display();
        tell!("serving {data}");
        if let Some(address) = daemon.http_address() {
            tell!("http://{address} accepts HTTP requests with a token");
        }
        let Some(log) = &arguments.events else {
            return anyhow::Ok(daemon.run().await?);
        };
        let user = arguments
            .events_user
            .as_ref()
            .or(context.config.user.as_ref());
        let user = user.context("--events needs --events-user USER, or a `user` configured")?;
        let events = context.places.home_of(user).join("events.db");
        let service = daemon.memories().service();
        let followed = FollowedLog::start(service, user, events, log.clone()).await?;
        tell!("following {} for {user}", log.display());
        let ended = tokio::select! {
            ended = daemon.run() => ended,
            gone = followed.follow() => return Err(gone),
        };
        followed.shut_down().await?;
        anyhow::Ok(ended?)
    })?;
    let (says, exit) = describe_end(ended);
    note(says);
    Ok(exit)
}

/// Says why the daemon ended, and with which exit code.
fn describe_end(ended: DaemonExit) -> (&'static str, Exit) {
    match ended {
        DaemonExit::Signal | DaemonExit::Requested => {
            ("stopped: everything is on disk", Exit::Success)
        }
        DaemonExit::Idle => (
            "stopped after a time without requests; the next request starts it again",
            Exit::Success,
        ),
        DaemonExit::Obsolete => (
            "stopped: its data directory was removed, or its program replaced; the next request \
             starts it again",
            Exit::Success,
        ),
        DaemonExit::Failed => (
            "stopped: the memory service failed, see its log; the next request starts it again",
            Exit::Failed,
        ),
    }
}

/// Serves MCP through the daemon, which is started on demand; with `--no-daemon` it opens the
/// memories itself.
pub(super) fn run_mcp(context: &Context, arguments: &McpArguments) -> anyhow::Result<Exit> {
    let user = arguments.whose.user.clone();
    let profile = arguments.profile;
    let project = match arguments.scope {
        ConnectScope::User => None,
        ConnectScope::Project => Some(find_current_project(context)?),
    };
    let folders = Arc::new(project::McpFolders(context.clone()));
    let catalogue = assemble_catalogue(&workspace::governed_workspaces(context));
    let runtime = if context.no_daemon {
        runtime::build_threaded()?
    } else {
        runtime::build_single_threaded()?
    };
    runtime.block_on(async {
        if !context.no_daemon {
            let client = Arc::new(daemon::starting_client(context)?);
            let hooks = Arc::new(ToolHooks::new(context, &arguments.whose, client.clone()));
            let server = McpServer::proxy(client, catalogue, user, profile);
            let server = server.with_hooks(hooks).with_folders(folders);
            return Ok(server.with_project(project).serve_stdio().await?);
        }
        let service = MemoryService::start(config(context)?, None).await?;
        let (projections, sharing) = (context.config.projections(&user), sharing(context, false));
        let memories = memories(context, service, projections, sharing);
        let kept = memories.clone();
        let keeping = tokio::spawn(async move { kept.run_background_tasks().await });
        let server = McpServer::in_process(memories.clone(), catalogue, Some(user), profile);
        let server = server.with_folders(folders).with_project(project);
        let served = server.serve_stdio().await;
        keeping.abort();
        memories.update_all_projections().await;
        memories.shut_down().await;
        anyhow::Ok(served?)
    })?;
    Ok(Exit::Success)
}

/// Returns the project of the current folder, in which the program started us.
fn find_current_project(context: &Context) -> anyhow::Result<String> {
    let folder = std::env::current_dir()?;
    let found = project::find_project(context, &folder, COMMITS_MAX).with_context(|| {
        let folder = folder.display();
        format!("`{folder}` belongs to no git repository; start in one, or use `--scope user`")
    })?;
    Ok(found?.name().to_owned())
}

/// Returns the memory configuration without the settings of the file; `open` opens embedders.
pub(super) fn base_memory_config(context: &Context, open: EmbedderOpener) -> MemoryConfig {
    let chosen = context.config.memory.vectors;
    let cosines = model::share_cosines(context);
    let mut config = MemoryConfig::new(
        context.places.data.clone(),
        context.dimensions(),
        Arc::new(move |path, options: &EngineOptions| {
            let mut options = options.clone();
            options.ports.cosines = Some(Arc::clone(&cosines));
            store::open_engine(chosen, path, &options)
        }),
        open,
    );
    config.space = context.space();
    config.others = find_other_models(context);
    config
}

/// Returns the memories of a process that opens them itself, with the configured settings.
pub(super) fn memories(
    context: &Context,
    service: MemoryService,
    projections: Vec<ConfiguredProjection>,
    sharing: Sharing,
) -> Memories {
    copies::record_projections(context, &projections);
    Memories::new(service, Arc::new(SystemClock)).with_settings(MemorySettings {
        tags: context.config.tag_rules(),
        sharing,
        repositories: Repositories::in_data_dir(&context.places.data),
        projections,
        pauses: PauseStore::in_data_dir(&context.places.data),
        prompt_tokens_per_day: context.config.memory.prompt_tokens_per_day,
    })
}

/// Returns the memory configuration of a daemon, or of a command without one.
pub fn config(context: &Context) -> anyhow::Result<MemoryConfig> {
    let mut config = base_memory_config(context, embedder_opener(context));
    let for_user = context.clone();
    config.space_of = Some(Arc::new(move |user| {
        let own = for_user.config.has_own_model(user);
        let context = own.then(|| for_user.of_user(user))?;
        // If the model is missing, no other one replaces it: recalls use words and stored vectors.
        Some(context.space().unwrap_or_else(|| EmbeddingSpace {
            model: context.config.memory.model.name().to_owned(),
            version: "missing".to_owned(),
            dimensions: context.dimensions(),
        }))
    }));
    config.maintenance = Some(reprise_operations::maintenance_factory());
    config.reranker = model::judge(context).map(|judge| Arc::new(judge) as Arc<dyn Reranker>);
    if reprise_embed::is_int8_slow() {
        config.limits.rerank_wait *= 2;
        config.limits.rerank_prompt_wait *= 2;
    }
    context.config.apply(&mut config)?;
    Ok(config)
}

/// Loads or downloads the model on the embedder's own threads, so that requests are accepted before
/// it is ready.
fn embedder_opener(context: &Context) -> EmbedderOpener {
    let context = context.clone();
    share_embedders(move || model::factory(&context))
}

/// Returns the installed models of other spaces; none is downloaded.
pub(super) fn find_other_models(context: &Context) -> Option<OtherModels> {
    let (context, has_model) = (context.clone(), !context.no_model);
    let find = move |space: &EmbeddingSpace| {
        let (space, context) = (space.clone(), context.clone());
        model::can_embed_for(&context, &space)
            .then(|| share_embedders(move || model::find_for_space(&context, &space)))
    };
    has_model.then(|| OtherModels::new(find))
}

/// Returns an opener whose embedders share one source, which is dropped with the last of them.
fn share_embedders(
    find: impl Fn() -> Option<EmbedderSource> + Send + Sync + 'static,
) -> EmbedderOpener {
    let shared: Mutex<Weak<EmbedderSource>> = Mutex::default();
    Arc::new(move || {
        let mut shared = lock(&shared);
        let found = shared.upgrade();
        let found = found.or_else(|| find().map(Arc::new));
        let factory = found.ok_or_else(|| EmbedError::Unavailable {
            message: "the model could not be loaded".to_owned(),
        })?;
        *shared = Arc::downgrade(&factory);
        let embedder = factory.open()?;
        Ok(Box::new(SharedEmbedder {
            embedder,
            _factory: factory,
        }))
    })
}

/// Embedder that keeps its shared source alive.
struct SharedEmbedder {
    embedder: Box<dyn Embedder>,
    _factory: Arc<EmbedderSource>,
}

impl Embedder for SharedEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.embedder.space()
    }

    fn token_limit(&self) -> usize {
        self.embedder.token_limit()
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embedder.embed(text)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embedder.embed_query(text)
    }

    fn has_query_prompt(&self) -> bool {
        self.embedder.has_query_prompt()
    }

    fn batch_size_max(&self) -> usize {
        self.embedder.batch_size_max()
    }

    fn embed_batch(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embedder.embed_batch(texts)
    }
}

/// Settings with which glibc's allocator returns the memory of the model and of closed memories:
/// few arenas, and separate mappings for large blocks.
const ALLOCATOR: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "2"),
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "262144"),
];

/// Restarts this program with the allocator's settings, which count only at the start of a process.
/// If that fails, the daemon needs a little more memory.
fn restart_with_allocator_settings() {
    let [(first, _), ..] = ALLOCATOR;
    if !env::is_set(first) {
        env::restart_with_environment(ALLOCATOR);
    }
}

fn to_oauth_options(table: &OauthTable) -> anyhow::Result<OauthOptions> {
    let url = table.url.as_deref().map(|url| url.trim_end_matches('/'));
    if let Some(url) = url {
        let authority = url
            .split_once("://")
            .filter(|(scheme, _)| ["http", "https"].contains(scheme));
        let is_bare = authority.is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains('/'));
        ensure!(
            is_bare,
            "`url` of [serve.oauth] is `{url}`; write it as `https://HOST`, without a path"
        );
    }
    let issuer = table.issuer.as_ref().map(|issuer| {
        ensure!(
            issuer.starts_with("https://") || !is_plain_http_to_other_machine(issuer),
            "`issuer` of [serve.oauth] is `{issuer}`; use https, so that nobody in between can \
             issue tokens"
        );
        let mcp = url.map(|url| format!("{url}/mcp"));
        let audience = table.audience.clone().or(mcp);
        let settings = IssuerSettings {
            issuer: issuer.clone(),
            audience: audience.context("[serve.oauth] needs `audience` or `url` with `issuer`")?,
            user_claim: table.user_claim.clone().unwrap_or_else(|| "sub".to_owned()),
            scopes: table.scopes.clone(),
        };
        Ok(Issuer::new(
            settings,
            outbound::document_fetcher(),
            Arc::new(SystemClock),
        ))
    });
    Ok(OauthOptions {
        url: url.map(str::to_owned),
        issuer: issuer.transpose()?,
    })
}
