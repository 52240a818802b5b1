//! A whole host for one command: event log, bus, relay, supervisors, and memory under them; and
//! `reprise events`.

use reprise_agent::{Mapper, OpenEmbedder, RelayProgress, SourceBinding};
use reprise_sandbox::{
    AppConfig, AppState, MemoryBridge, ReplayCounts, RunReport, WorkersConfig, replay_jsonl,
};
use reprise_types::MemoryProvider;

use super::model::Maker;
use super::output::Out;
use crate::args::EventsCommand;
use crate::cli::prelude::*;

/// Name of the one event stream: a log is one user's, whatever its events say (C32).
const STREAM: &str = "host";

pub(super) struct Host {
    app: AppState,
    bridge: MemoryBridge,
    user: UserId,
    /// The port that the host itself uses.
    pub(super) memory: Arc<dyn MemoryProvider>,
}

/// How the service opens embedders; without a model each attempt says so.
pub(super) fn open_embedder(factory: Option<Maker>) -> OpenEmbedder {
    Arc::new(move || match &factory {
        Some(factory) => factory.open(),
        None => Err(EmbedError::Unavailable {
            message: "the model was not loaded".to_owned(),
        }),
    })
}

fn binding(user: &UserId) -> SourceBinding {
    SourceBinding {
        stream: STREAM.to_owned(),
        user: user.clone(),
    }
}

impl Host {
    /// Starts the tree and waits until memory stands.
    pub(super) async fn start(
        context: &Context,
        user: &UserId,
        events: PathBuf,
        factory: Option<Maker>,
    ) -> anyhow::Result<Self> {
        Self::start_with(context, user, events, factory, None, Arc::new(SystemClock)).await
    }

    /// The same, with workers, and with another clock.
    pub(super) async fn start_with(
        context: &Context,
        user: &UserId,
        events: PathBuf,
        factory: Option<Maker>,
        workers: Option<WorkersConfig>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        store::make_folder(&events)?;
        let context = &context.of_user(user);
        let mut config = super::serve::opening(context, open_embedder(factory));
        config.clock = Arc::clone(&clock);
        let before = super::global::before(context, &clock);
        let mapper = Arc::new(Mapper::builtin()?);
        let bridge = MemoryBridge::with_memory(config, binding(user), mapper, before);
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
        host.service()?.open(user).await?;
        Ok(host)
    }

    /// A store, a bus and a relay beside a service that runs already.
    pub(super) async fn beside(
        service: &MemoryService,
        user: &UserId,
        events: PathBuf,
    ) -> anyhow::Result<AppState> {
        store::make_folder(&events)?;
        let mapper = Arc::new(Mapper::builtin()?);
        let bridge = MemoryBridge::beside(service.clone(), binding(user), mapper);
        let app = AppState::start(AppConfig::new(events, bridge)).await?;
        app.ensure_supervisor().await?;
        Ok(app)
    }

    /// Feeds a log into the event store and waits until memory has all of it on disk.
    pub(super) async fn replay(
        &self,
        file: &Path,
    ) -> anyhow::Result<(ReplayCounts, RelayProgress)> {
        let counts = replay_jsonl(file, self.app.event_store()).await?;
        let progress = self
            .bridge
            .catch_up()
            .await
            .context("the memory does not run")??;
        Ok((counts, progress))
    }

    /// Has the host's conductor do what is wanted; memory has all of it afterwards.
    pub(super) async fn execute(&self, objective: &str, desk: &str) -> anyhow::Result<RunReport> {
        let report = self.app.execute(&self.user, objective, desk).await?;
        if let Some(caught_up) = self.bridge.catch_up().await {
            caught_up?;
        }
        Ok(report)
    }

    /// The service behind the host's memory.
    pub(super) fn service(&self) -> anyhow::Result<MemoryService> {
        self.bridge
            .service()
            .context("the memory does not run; see the log for the first cause")
    }

    /// Runs work on the user's engine.
    pub(super) async fn engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        Ok(self.service()?.with_engine(&self.user, work).await?)
    }

    /// Ends everything in order; what was accepted is on disk afterwards.
    pub(super) async fn shut_down(self) -> anyhow::Result<()> {
        drop(self.memory);
        Ok(self.app.shut_down().await?)
    }
}

/// `reprise events replay`: a host's exported log, through store, bus and relay into memory.
pub(super) fn run(context: &Context, command: &EventsCommand) -> anyhow::Result<Exit> {
    let EventsCommand::Replay { file, user } = command;
    let factory = model::factory(&context.of_user(user));
    let events = context.places.home_of(user).join("events.db");
    let (counts, progress) = runtime::threaded()?.block_on(async {
        let host = Host::start(context, user, events, factory).await?;
        let done = host.replay(file).await;
        host.shut_down().await?;
        done
    })?;
    for bad in &counts.bad_lines {
        tell!("line {} was passed over: {}", bad.number, bad.why);
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
    output::print(context, &report, |out| table(out, &counts, &progress))?;
    Ok(output::exit(counts.bad == 0))
}

fn table(out: &mut Out, counts: &ReplayCounts, progress: &RelayProgress) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {}, {} of them known already, {} unreadable",
        counted(counts.lines, "line"),
        counted(counts.inserted + counts.duplicates, "event"),
        counts.duplicates,
        counts.bad
    )?;
    writeln!(
        out,
        "memory: {} kept, {}, {} refused, {} cut to 64 KiB",
        counted(progress.inserted, "record"),
        counted(progress.duplicates, "duplicate"),
        progress.rejected,
        progress.truncated
    )?;
    for (topic, count) in progress.topics.topics() {
        let fate = match (count.records, count.ignored, count.unknown, count.malformed) {
            (0, _, 1.., _) => "unknown topic, not kept".to_owned(),
            (0, _, _, 1..) => "could not be read".to_owned(),
            (0, ..) => "left out by the table".to_owned(),
            (records, ..) => counted(records, "record"),
        };
        let seen = count.mapped + count.ignored + count.unknown + count.malformed;
        let redacted = match count.redacted {
            0 => String::new(),
            secrets => format!(", {} redacted", counted(secrets, "secret")),
        };
        writeln!(
            out,
            "  {seen:>5} x {topic:<34} {fate}{}",
            terminal::faint(redacted)
        )?;
    }
    Ok(())
}
