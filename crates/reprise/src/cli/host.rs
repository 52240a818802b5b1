//! A whole host for one command: event log, bus, relay, supervisors, and memory under them. The
//! program knows the example host in this file alone: `reprise ingest --events` and `reprise serve
//! --events` read an exported log through it, and the demo has it work.

use reprise_agent::{EmbedderOpener, EventMapper, RelayProgress, SourceBinding};
use reprise_sandbox::{
    AppConfig, AppState, EndpointConfig, MemoryBridge, ModelEndpoint, ModelGateway, Repertoire,
    RepertoirePlanner, ReplayCounts, WorkersConfig, follow_jsonl, replay_jsonl,
};
pub(super) use reprise_sandbox::{RunReport, RunStatus};
use reprise_types::MemoryProvider;

use super::model::EmbedderSource;
use super::output::Out;
use super::progress::IN_PROCESS;
use crate::cli::prelude::*;
use crate::config::ModelTable;
use crate::env;

/// Name of the one event stream: a log belongs to one user, whatever its events say.
const STREAM: &str = "host";

pub struct Host {
    app: AppState,
    bridge: MemoryBridge,
    user: UserId,
    /// The port that the host itself uses.
    pub(super) memory: Arc<dyn MemoryProvider>,
}

reprise_types::show_fields!(Host { user });

/// Returns how the service opens embedders; without a model each attempt fails with that reason.
pub(super) fn open_embedder(factory: Option<EmbedderSource>) -> EmbedderOpener {
    Arc::new(move || match &factory {
        Some(factory) => factory.open(),
        None => Err(EmbedError::Unavailable {
            message: "the model was not loaded".to_owned(),
        }),
    })
}

fn source_binding(user: &UserId) -> SourceBinding {
    SourceBinding {
        stream: STREAM.to_owned(),
        user: user.clone(),
    }
}

impl Host {
    /// Starts the host and waits until its memory is open.
    pub async fn start(
        context: &Context,
        user: &UserId,
        events: PathBuf,
        factory: Option<EmbedderSource>,
    ) -> anyhow::Result<Self> {
        Self::start_with(context, user, events, factory, None, Arc::new(SystemClock)).await
    }

    /// Starts the host with workers, who work in the folder `workspace` of its data directory, and
    /// with another clock.
    pub(super) async fn start_with_workers(
        context: &Context,
        user: &UserId,
        events: PathBuf,
        factory: Option<EmbedderSource>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let workers = configure_workers(context, &context.places.data.join("workspace"))?;
        Self::start_with(context, user, events, factory, Some(workers), clock).await
    }

    async fn start_with(
        context: &Context,
        user: &UserId,
        events: PathBuf,
        factory: Option<EmbedderSource>,
        workers: Option<WorkersConfig>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        store::make_folder(&events)?;
        let context = &context.of_user(user);
        let mut config = super::serve::base_memory_config(context, open_embedder(factory));
        config.clock = Arc::clone(&clock);
        // A person watches a host that a command runs: no part is left out for being late.
        config.limits.recall_budget = IN_PROCESS;
        let workers = workers.map(|workers| WorkersConfig {
            memory_budget: IN_PROCESS,
            ..workers
        });
        let before = super::global::wrap_memories(context, &clock);
        let mapper = Arc::new(EventMapper::load_builtin()?);
        let bridge = MemoryBridge::with_memory(config, source_binding(user), mapper, before);
        let app = AppState::start(AppConfig {
            workers,
            clock,
            ..AppConfig::new(events, bridge.clone())
        })
        .await?;
        let memory = app.ensure_memory(user).await?;
        let host = Self {
            app,
            bridge,
            user: user.clone(),
            memory,
        };
        host.service()?.open_memory(user).await?;
        Ok(host)
    }

    /// Feeds a log into the event store and waits until memory has all of it on disk.
    pub async fn replay(&self, file: &Path) -> anyhow::Result<(ReplayCounts, RelayProgress)> {
        let counts = replay_jsonl(file, self.app.event_store()).await?;
        let progress = self
            .bridge
            .catch_up()
            .await
            .context("the memory does not run")??;
        Ok((counts, progress))
    }

    /// Runs an objective through the host's conductor and waits until memory has stored its events.
    pub(super) async fn execute(&self, objective: &str, desk: &str) -> anyhow::Result<RunReport> {
        let report = self.app.execute(&self.user, objective, desk).await?;
        if let Some(caught_up) = self.bridge.catch_up().await {
            caught_up?;
        }
        Ok(report)
    }

    /// Returns the memory service of the host.
    pub fn service(&self) -> anyhow::Result<MemoryService> {
        self.bridge
            .service()
            .context("the memory does not run; see the log for the first cause")
    }

    /// Runs work on the user's engine.
    pub(super) async fn with_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        Ok(self.service()?.with_engine(&self.user, work).await?)
    }

    /// Ends everything in order; what was accepted is on disk afterwards.
    pub async fn shut_down(self) -> anyhow::Result<()> {
        drop(self.memory);
        Ok(self.app.shut_down().await?)
    }
}

/// An exported log that feeds a user's memory as it grows, through event store, bus and relay.
pub(super) struct FollowedLog {
    app: AppState,
    log: PathBuf,
}

reprise_types::show_fields!(FollowedLog { log });

impl FollowedLog {
    /// Begins to feed a service that already runs; the events are kept in the store `events`.
    pub(super) async fn start(
        service: &MemoryService,
        user: &UserId,
        events: PathBuf,
        log: PathBuf,
    ) -> anyhow::Result<Self> {
        store::make_folder(&events)?;
        let mapper = Arc::new(EventMapper::load_builtin()?);
        let bridge = MemoryBridge::with_daemon(service.clone(), source_binding(user), mapper);
        let app = AppState::start(AppConfig::new(events, bridge)).await?;
        app.ensure_supervisor().await?;
        Ok(Self { app, log })
    }

    /// Reads what comes, until the event store is gone; returns why it is.
    pub(super) async fn follow(&self) -> anyhow::Error {
        follow_jsonl(&self.log, self.app.event_store()).await.into()
    }

    pub(super) async fn shut_down(self) -> anyhow::Result<()> {
        Ok(self.app.shut_down().await?)
    }
}

/// Returns the endpoint of a model; `None` if the configuration names no URL for it.
pub(super) fn find_endpoint(table: &ModelTable) -> Option<EndpointConfig> {
    let url = table.url.clone()?;
    Some(EndpointConfig {
        allow_plain_http: table.allow_plain_http,
        ..EndpointConfig::new(url, table.name.clone(), table.key.clone())
    })
}

/// Returns the endpoints of the models that `[eval.answer]` and `[eval.judge]` name.
pub fn find_evaluation_models(context: &Context) -> [Option<EndpointConfig>; 2] {
    let models = &context.config.eval;
    [&models.answer, &models.judge].map(find_endpoint)
}

/// Returns workers under the configured model, or under the built-in planner.
fn configure_workers(context: &Context, workspace: &Path) -> anyhow::Result<WorkersConfig> {
    let gateway: Arc<dyn ModelGateway> = match find_endpoint(&context.config.planner) {
        Some(endpoint) => Arc::new(ModelEndpoint::new(endpoint)),
        None => Arc::new(RepertoirePlanner::new(Repertoire::load_builtin()?)),
    };
    let mut workers = WorkersConfig::new(workspace.to_owned(), gateway);
    workers.commands.environment = env::command_environment();
    Ok(workers)
}

/// Has a host without memory do the requests, and returns how each went.
pub(super) async fn execute_without_memory(
    context: &Context,
    user: &UserId,
    requests: impl Iterator<Item = &str>,
) -> anyhow::Result<Vec<RunReport>> {
    let folder = tempfile::tempdir()?;
    let events = folder.path().join("events.db");
    let mut config = AppConfig::new(events, MemoryBridge::without_memory());
    config.workers = Some(configure_workers(
        context,
        &folder.path().join("workspace"),
    )?);
    let app = AppState::start(config).await?;
    let mut reports = Vec::new();
    for request in requests {
        reports.push(app.execute(user, request, "without").await?);
    }
    app.shut_down().await?;
    Ok(reports)
}

/// `reprise ingest --events`: brings a host's exported log into memory, through store, bus and
/// relay.
pub(super) fn replay(context: &Context, user: &UserId, file: &Path) -> anyhow::Result<Exit> {
    let factory = model::factory(&context.of_user(user));
    let events = context.places.home_of(user).join("events.db");
    let (counts, progress) = runtime::build_threaded()?.block_on(async {
        let host = Host::start(context, user, events, factory).await?;
        let done = host.replay(file).await;
        host.shut_down().await?;
        done
    })?;
    for bad in &counts.bad_lines {
        tell!("skipped line {}: {}", bad.number, bad.why);
    }
    let report = json!({
        "lines": counts.lines,
        "events": counts.inserted,
        "repeated_events": counts.duplicates,
        "bad_lines": counts.bad,
        "records_inserted": progress.inserted,
        "records_duplicate": progress.duplicates,
        "records_rejected": progress.rejected,
        "records_truncated": progress.truncated,
        "unembedded": progress.unembedded,
        "topics": progress.topics,
    });
    output::print(context, &report, |out| {
        print_replay_counts(out, &counts, &progress)
    })?;
    Ok(output::exit(counts.bad == 0))
}

fn print_replay_counts(
    out: &mut Out,
    counts: &ReplayCounts,
    progress: &RelayProgress,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {}, {} already known, {} unreadable",
        format_count(counts.lines, "line"),
        format_count(counts.inserted + counts.duplicates, "event"),
        counts.duplicates,
        counts.bad
    )?;
    writeln!(
        out,
        "memory: {} kept, {}, {} refused, {} cut to 64 KiB",
        format_count(progress.inserted, "memory"),
        format_count(progress.duplicates, "duplicate"),
        progress.rejected,
        progress.truncated
    )?;
    for (topic, count) in progress.topics.topics() {
        let fate = match (count.records, count.ignored, count.unknown, count.malformed) {
            (0, _, 1.., _) => "unknown topic, not kept".to_owned(),
            (0, _, _, 1..) => "could not be read".to_owned(),
            (0, ..) => "left out by the table".to_owned(),
            (records, ..) => format_count(records, "memory"),
        };
        let seen = count.mapped + count.ignored + count.unknown + count.malformed;
        let redacted = match count.redacted {
            0 => String::new(),
            secrets => format!(", {} redacted", format_count(secrets, "secret")),
        };
        writeln!(
            out,
            "  {seen:>5} x {topic:<34} {fate}{}",
            terminal::faint(redacted)
        )?;
    }
    Ok(())
}
