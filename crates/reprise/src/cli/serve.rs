//! `reprise serve`: the daemon of a data directory, in the foreground, with OAuth as it is
//! configured; and `reprise mcp`: a server of MCP on stdin and stdout.

mod settings;

use std::sync::Weak;

use reprise_agent::{MemoryConfig, OpenEmbedder, OtherModels};
use reprise_operations::Catalogue;
use reprise_redact::is_plain_to_another;
use reprise_sandbox::follow_jsonl;
use reprise_server::{Daemon, DaemonOptions, Ended, Issuer, IssuerSettings, McpFace, OauthOptions};
use reprise_types::Reranker;

use super::global::sharing;
use super::model::Maker;
use super::project::COMMITS_MAX;
use super::{daemon, session};
use crate::args::{ConnectScope, McpArguments, ServeArguments};
use crate::cli::prelude::*;
use crate::config::OauthTable;
use crate::{env, outbound};

pub(super) fn run(context: &Context, arguments: &ServeArguments) -> anyhow::Result<Exit> {
    tell_allocator();
    let file = &context.config.serve;
    let idle_exit = arguments.idle_exit.or(file.idle_exit_seconds);
    let projections = context.config.all_projections();
    copies::note_projections(context, &projections);
    let options = DaemonOptions {
        place: context.places.meeting(),
        http: arguments.http.or(file.http),
        idle_exit: idle_exit.map(Duration::from_secs),
        replace: arguments.replace,
        patience: context.patience,
        requests_per_second: arguments.requests_per_second.or(file.requests_per_second),
        oauth: file.oauth.as_ref().map(oauth).transpose()?,
        tags: context.config.tag_rules(),
        workspaces: context.config.workspaces.clone(),
        sharing: sharing(context, false),
        projections,
        catalogue: Catalogue::default(),
        user: context.config.user.clone(),
        settings: settings::all(context, arguments),
    };
    let ended = runtime::threaded()?.block_on(async {
        let daemon = Daemon::start(config(context)?, options).await?;
        let data = context.places.data.display();
        tell!("serving {data}");
        if let Some(address) = daemon.http_address() {
            tell!("http://{address} takes requests with a token");
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
        let host = Host::beside(daemon.memories().service(), user, events).await?;
        tell!("following {} for {user}", log.display());
        let ended = tokio::select! {
            ended = daemon.run() => ended,
            gone = follow_jsonl(log, host.event_store()) => return Err(gone.into()),
        };
        host.shut_down().await?;
        anyhow::Ok(ended?)
    })?;
    let (says, exit) = match ended {
        Ended::Signal | Ended::Asked => ("ended: everything accepted is on disk", Exit::Success),
        Ended::Idle => (
            "ended: nobody asked for a while; the next request starts another",
            Exit::Success,
        ),
        Ended::Failed => (
            "ended: the memory service failed, its log says why; the next request starts another",
            Exit::Failed,
        ),
    };
    note(says);
    Ok(exit)
}

/// It holds nothing: the daemon, started on demand, has the memories. With `--no-daemon` it holds
/// what a daemon would.
pub(super) fn mcp(context: &Context, arguments: &McpArguments) -> anyhow::Result<Exit> {
    let user = arguments.whose.user.clone();
    let profile = arguments.profile;
    let project = match arguments.scope {
        ConnectScope::User => None,
        ConnectScope::Project => Some(project_here(context)?),
    };
    let runtime = if context.no_daemon {
        runtime::threaded()?
    } else {
        runtime::asking()?
    };
    runtime.block_on(async {
        if !context.no_daemon {
            let client = Arc::new(daemon::client(context)?);
            let face = McpFace::proxy(client, Catalogue::default(), user, profile);
            return Ok(face.in_project(project).serve_stdio().await?);
        }
        let service = MemoryService::start(config(context)?, None).await?;
        let (projections, sharing) = (context.config.projections(&user), sharing(context, false));
        let memories = session::memories(context, service, projections, sharing);
        let kept = memories.clone();
        let keeping = tokio::spawn(async move { kept.keep().await });
        let face = McpFace::here(memories.clone(), Catalogue::default(), Some(user), profile);
        let served = face.in_project(project).serve_stdio().await;
        keeping.abort();
        memories.refresh_projections().await;
        memories.shut_down().await;
        anyhow::Ok(served?)
    })?;
    Ok(Exit::Success)
}

/// The project of the folder in which the program has started us.
fn project_here(context: &Context) -> anyhow::Result<String> {
    let folder = std::env::current_dir()?;
    let found = project::of(context, &folder, COMMITS_MAX).with_context(|| {
        let folder = folder.display();
        format!("`{folder}` belongs to no git repository; start in one, or use `--scope user`")
    })?;
    Ok(found?.name().to_owned())
}

/// How a service opens files, and models by `open`.
pub(super) fn opening(context: &Context, open: OpenEmbedder) -> MemoryConfig {
    let mut config = MemoryConfig::new(
        context.places.data.clone(),
        context.dimensions(),
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        open,
    );
    config.space = context.space();
    config.others = others(context);
    config
}

/// The same of a daemon, or of a command in its place.
pub(super) fn config(context: &Context) -> anyhow::Result<MemoryConfig> {
    let mut config = opening(context, open_embedder(context));
    let for_user = context.clone();
    config.space_of = Some(Arc::new(move |user| {
        let own = for_user.config.has_own_model(user);
        let context = own.then(|| for_user.of_user(user))?;
        // Where it is not here, no other model takes over: words answer, and what it made before.
        Some(context.space().unwrap_or_else(|| EmbeddingSpace {
            model: context.config.memory.model.name().to_owned(),
            version: "missing".to_owned(),
            dimensions: context.dimensions(),
        }))
    }));
    config.tend = Some(reprise_operations::tend());
    config.reranker = model::judge(context).map(|judge| Arc::new(judge) as Arc<dyn Reranker>);
    context.config.apply(&mut config)?;
    Ok(config)
}

/// Finds, and where need be fetches, the model on the embedder's own threads: requests are taken
/// long before it is there.
fn open_embedder(context: &Context) -> OpenEmbedder {
    let context = context.clone();
    lent_by(move || model::factory(&context))
}

/// The models before the one in use, where they are installed: none is fetched.
pub(super) fn others(context: &Context) -> Option<OtherModels> {
    let (context, has_model) = (context.clone(), !context.no_model);
    let find = move |space: &EmbeddingSpace| {
        let (space, context) = (space.clone(), context.clone());
        model::is_known(&context, &space)
            .then(|| lent_by(move || model::of_space(&context, &space)))
    };
    has_model.then(|| OtherModels::new(find))
}

/// Embedders of what `find` finds. What they share goes with the last of them.
fn lent_by(find: impl Fn() -> Option<Maker> + Send + Sync + 'static) -> OpenEmbedder {
    let shared: Mutex<Weak<Maker>> = Mutex::default();
    Arc::new(move || {
        let mut shared = lock(&shared);
        let found = shared.upgrade();
        let found = found.or_else(|| find().map(Arc::new));
        let factory = found.ok_or_else(|| EmbedError::Unavailable {
            message: "the model could not be loaded".to_owned(),
        })?;
        *shared = Arc::downgrade(&factory);
        let embedder = factory.open()?;
        Ok(Box::new(Lent {
            embedder,
            _factory: factory,
        }))
    })
}

/// An embedder that keeps what it shares with others.
struct Lent {
    embedder: Box<dyn Embedder>,
    _factory: Arc<Maker>,
}

impl Embedder for Lent {
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

    fn tells_questions(&self) -> bool {
        self.embedder.tells_questions()
    }

    fn batch_max(&self) -> usize {
        self.embedder.batch_max()
    }

    fn embed_all(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embedder.embed_all(texts)
    }
}

/// How the system's allocator is to give back what the model and a thousand memories needed: few
/// pools of its own, large pieces for themselves.
const ALLOCATOR: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "2"),
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "262144"),
];

/// Begins again where the allocator has not been told yet: it listens at the start of a process
/// only. Where that fails the daemon needs some memory more.
fn tell_allocator() {
    let [(first, _), ..] = ALLOCATOR;
    if !env::is_set(first) {
        env::begin_again(ALLOCATOR);
    }
}

fn oauth(table: &OauthTable) -> anyhow::Result<OauthOptions> {
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
            issuer.starts_with("https://") || !is_plain_to_another(issuer),
            "`issuer` of [serve.oauth] is `{issuer}`; who stands between would make its tokens: use https"
        );
        let mcp = url.map(|url| format!("{url}/mcp"));
        let audience = table.audience.clone().or(mcp);
        let settings = IssuerSettings {
            issuer: issuer.clone(),
            audience: audience.context("[serve.oauth] needs `audience`, or `url`, beside `issuer`")?,
            user_claim: table.user_claim.clone().unwrap_or_else(|| "sub".to_owned()),
            scopes: table.scopes.clone(),
        };
        Ok(Issuer::new(settings, outbound::documents(), Arc::new(SystemClock)))
    });
    Ok(OauthOptions {
        url: url.map(str::to_owned),
        issuer: issuer.transpose()?,
    })
}
