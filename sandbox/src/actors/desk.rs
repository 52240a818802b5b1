//! A user's conductor with its three workers, as children of the session.
//!
//! Lives here: starting them together. Must never live here: what they do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorId, ActorRef, SpawnErr};
use reprise_types::limits::RECALL_BUDGET_MS;
use reprise_types::{Clock, MemoryProvider, UserId};

use super::conductor::{ConductorActor, ConductorArguments, ConductorMsg, ModelGateway};
use super::emitter::Emitter;
use super::researcher::{ResearcherActor, ResearcherMsg, ResearcherState};
use super::terminal::{CommandLimits, TerminalActor, TerminalMsg, TerminalState};
use super::workspace::Workspace;
use super::writer::{WriterActor, WriterMsg, WriterState};
use crate::event_store::EventStoreMsg;

/// How long a child may take to finish what it does.
const DRAIN: Duration = Duration::from_mins(2);

/// What a desk starts from.
#[derive(Clone)]
pub struct DeskConfig {
    /// The workers' directory, made where missing.
    pub workspace: PathBuf,
    /// Makes the plans.
    pub gateway: Arc<dyn ModelGateway>,
    /// What a command may use.
    pub commands: CommandLimits,
    /// How long memory may take, a call.
    pub memory_budget: Duration,
}

impl DeskConfig {
    /// The defaults, with this directory and this planner.
    #[must_use]
    pub fn new(workspace: PathBuf, gateway: Arc<dyn ModelGateway>) -> Self {
        Self {
            workspace,
            gateway,
            commands: CommandLimits::default(),
            memory_budget: Duration::from_millis(RECALL_BUDGET_MS),
        }
    }
}

impl std::fmt::Debug for DeskConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeskConfig")
            .field("workspace", &self.workspace)
            .field("memory_budget", &self.memory_budget)
            .finish_non_exhaustive()
    }
}

/// The running actors of one user.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) conductor: ActorRef<ConductorMsg>,
    terminal: ActorRef<TerminalMsg>,
    researcher: ActorRef<ResearcherMsg>,
    writer: ActorRef<WriterMsg>,
}

impl Desk {
    pub(crate) async fn start(
        config: &DeskConfig,
        user: &UserId,
        memory_provider: Option<Arc<dyn MemoryProvider>>,
        store: ActorRef<EventStoreMsg>,
        clock: Arc<dyn Clock>,
        supervisor: ActorCell,
    ) -> Result<Self, SpawnErr> {
        let failed = |error: super::WorkspaceError| SpawnErr::StartupFailed(error.into());
        let root = config.workspace.clone();
        let made = tokio::task::spawn_blocking(move || Workspace::new(&root)).await;
        let made = made.map_err(|error| SpawnErr::StartupFailed(error.into()))?;
        let workspace = made.map_err(failed)?;
        let emitter = Emitter::new(store, clock, user.clone());
        let terminal = TerminalState {
            emitter: emitter.clone(),
            workspace: workspace.clone(),
            limits: Arc::new(config.commands.clone()),
        };
        let researcher = ResearcherState {
            emitter: emitter.clone(),
            workspace: workspace.clone(),
        };
        let writer = WriterState {
            emitter: emitter.clone(),
            workspace,
        };
        let cell = || supervisor.clone();
        let (terminal, _) =
            TerminalActor::spawn_linked(None, TerminalActor, terminal, cell()).await?;
        let (researcher, _) =
            ResearcherActor::spawn_linked(None, ResearcherActor, researcher, cell()).await?;
        let (writer, _) = WriterActor::spawn_linked(None, WriterActor, writer, cell()).await?;
        let arguments = ConductorArguments {
            emitter,
            terminal: terminal.clone(),
            researcher: researcher.clone(),
            writer: writer.clone(),
            gateway: Arc::clone(&config.gateway),
            memory_provider,
            memory_budget: config.memory_budget,
        };
        let (conductor, _) =
            ConductorActor::spawn_linked(None, ConductorActor, arguments, cell()).await?;
        Ok(Self {
            conductor,
            terminal,
            researcher,
            writer,
        })
    }

    pub(crate) fn holds(&self, actor: ActorId) -> bool {
        [
            self.conductor.get_id(),
            self.terminal.get_id(),
            self.researcher.get_id(),
            self.writer.get_id(),
        ]
        .contains(&actor)
    }

    /// Ends the conductor, and then the workers that it needs until then.
    pub(crate) async fn shut_down(self) {
        for ended in [
            self.conductor.drain_and_wait(Some(DRAIN)).await.err(),
            self.terminal.drain_and_wait(Some(DRAIN)).await.err(),
            self.researcher.drain_and_wait(Some(DRAIN)).await.err(),
            self.writer.drain_and_wait(Some(DRAIN)).await.err(),
        ]
        .into_iter()
        .flatten()
        {
            tracing::debug!(%ended, "a worker had already ended, or did not end in time");
        }
    }
}
