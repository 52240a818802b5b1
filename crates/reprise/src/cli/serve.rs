//! `reprise serve`: the daemon of a data directory, in the foreground.

mod oauth;
mod settings;

use std::os::unix::process::CommandExt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use anyhow::Context as _;
use reprise_agent::{MemoryConfig, OpenEmbedder, OtherModels};
use reprise_engine::Engine;
use reprise_operations::Catalogue;
use reprise_sandbox::follow_jsonl;
use reprise_server::{Daemon, DaemonOptions, Ended};
use reprise_store::RealDisk;
use reprise_types::{EmbedError, Embedder, EmbeddingSpace, Reranker, lock};

use super::host::Host;
use super::model::Maker;
use super::{Context, copies, model, runtime};
use crate::args::ServeArguments;
use crate::exit::Exit;

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
        oauth: file.oauth.as_ref().map(oauth::options).transpose()?,
        tags: context.config.tag_rules(),
        workspaces: context.config.workspaces.clone(),
        sharing: super::global::sharing(context, false),
        projections,
        catalogue: Catalogue::default(),
        user: context.config.user.clone(),
        settings: settings::all(context, arguments),
    };
    let ended = runtime::threaded()?.block_on(async {
        let daemon = Daemon::start(config(context)?, options).await?;
        let data = context.places.data.display();
        super::note(&format!("serving {data}"));
        if let Some(address) = daemon.http_address() {
            super::note(&format!("http://{address} takes requests with a token"));
        }
        let Some(log) = &arguments.events else {
            return anyhow::Ok(daemon.run().await?);
        };
        let user = arguments
            .events_user
            .as_ref()
            .or(context.config.user.as_ref());
        let user = user.context("--events needs --events-user USER, or a `user` configured")?;
        let events = context.places.data.join(user.as_str()).join("events.db");
        let host = Host::beside(daemon.memories().service(), user, events).await?;
        super::note(&format!("following {} for {user}", log.display()));
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
    super::note(says);
    Ok(exit)
}

/// How the service opens files and models.
pub(super) fn config(context: &Context) -> anyhow::Result<MemoryConfig> {
    let mut config = MemoryConfig::new(
        context.places.data.clone(),
        context.dimensions(),
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        open_embedder(context),
    );
    config.space = context.space();
    config.others = others(context);
    let for_user = context.clone();
    config.space_of = Some(Arc::new(move |user| {
        let own = for_user.config.has_own_model(user);
        let context = own.then(|| for_user.of_user(user))?;
        // Where it is not here, no other model takes over: words answer, and what it made before.
        Some(context.space().unwrap_or_else(|| EmbeddingSpace {
            model: context.config.model_name().to_owned(),
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

/// Begins again, as the same process with the same arguments, where the allocator has not been told
/// yet: it listens at the start of a process only.
fn tell_allocator() {
    let [(first, _), ..] = ALLOCATOR;
    if crate::env::is_set(first) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut again = std::process::Command::new(program);
    // It returns only where that failed; then the daemon needs some memory more.
    let failed = again
        .args(std::env::args_os().skip(1))
        .envs(ALLOCATOR)
        .exec();
    tracing::debug!(%failed, "the allocator is as it is");
}
