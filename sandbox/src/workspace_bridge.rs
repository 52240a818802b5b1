//! The governed workspace under the session: its two actors, and its events in the host's log, from
//! which the relay publishes them and memory stores them.

use ractor::{ActorCell, ActorId};
use reprise_workspace::{
    EventSink, GovernorActor, GovernorArguments, Job, OrchestratorActor, OrchestratorArguments,
    OrchestratorMsg, Workspace, WorkspaceEvent, WorkspaceHandle,
};

use crate::event::SYSTEM_USER;
use crate::prelude::*;

/// Interval at which the Orchestrator checks for events of other processes.
const LOOK: Duration = Duration::from_millis(250);
/// Time limit of the log.
const CALL_MS: u64 = 10_000;
/// Time limit for draining an actor: one transaction, and saving its state.
const DRAIN: Duration = Duration::from_mins(1);

/// The workspace to use. Clones are cheap and share it.
#[derive(Clone)]
pub struct WorkspaceBridge {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    running: watch::Sender<Option<WorkspaceHandle>>,
}

reprise_types::show_fields!(WorkspaceBridge { root });

/// The two running actors.
#[derive(Debug)]
pub(crate) struct RunningWorkspace {
    orchestrator: ActorRef<OrchestratorMsg>,
    governor: ActorRef<Job>,
    running: watch::Sender<Option<WorkspaceHandle>>,
}

/// Writes the workspace's events to the host's log; a repeated one is a duplicate there.
struct Log {
    store: ActorRef<EventStoreMsg>,
    session_id: String,
}

#[async_trait::async_trait]
impl EventSink for Log {
    async fn take(&self, events: Vec<WorkspaceEvent>) -> Result<(), String> {
        let session_id = &self.session_id;
        let events = events.into_iter().map(|event| {
            let text = event.sentence();
            NewEvent {
                event_type: format!("workspace.{}", event.topic),
                payload: json!({
                    "text": text, "topic": event.topic, "paths": event.paths,
                    "branch": event.branch, "commit": event.commit,
                    "downstream": event.downstream, "session_id": session_id,
                }),
                event_id: event.event_id,
                timestamp: event.ts,
                actor_id: event.actor,
                user_id: SYSTEM_USER.to_owned(),
            }
        });
        let events = events.collect();
        let append = |reply| EventStoreMsg::Append { events, reply };
        let appended = ask(&self.store, append, CALL_MS).await;
        appended.map(drop).map_err(|error| error.to_string())
    }
}

impl WorkspaceBridge {
    /// A host with the workspace at `root`, created with `reprise workspace init`.
    pub fn new(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            root,
            clock,
            running: watch::Sender::new(None),
        }
    }

    /// A handle to its actors; `None` while they do not run.
    pub fn handle(&self) -> Option<WorkspaceHandle> {
        self.running.borrow().clone()
    }

    pub(crate) async fn start(
        &self,
        supervisor: ActorCell,
        store: ActorRef<EventStoreMsg>,
    ) -> Result<RunningWorkspace, ActorProcessingErr> {
        let (root, clock) = (self.root.clone(), Arc::clone(&self.clock));
        let opened = tokio::task::spawn_blocking(move || Workspace::open(&root, clock));
        let workspace = opened.await??;
        let session_id = format!("workspace:{}", workspace.root().display());
        let arguments = OrchestratorArguments {
            workspace: workspace.clone(),
            sink: Arc::new(Log { store, session_id }),
            look: LOOK,
        };
        let linked = supervisor.clone();
        let (orchestrator, _) =
            OrchestratorActor::spawn_linked(None, OrchestratorActor, arguments, linked).await?;
        let arguments = GovernorArguments {
            workspace,
            orchestrator: orchestrator.clone(),
        };
        let (governor, _) =
            GovernorActor::spawn_linked(None, GovernorActor, arguments, supervisor).await?;
        let handle = WorkspaceHandle::new(orchestrator.clone(), governor.clone());
        self.running.send_replace(Some(handle));
        Ok(RunningWorkspace {
            orchestrator,
            governor,
            running: self.running.clone(),
        })
    }
}

impl RunningWorkspace {
    pub(crate) fn is(&self, who: ActorId) -> bool {
        self.orchestrator.get_id() == who || self.governor.get_id() == who
    }

    /// The Governor first, so that the Orchestrator can still forward its events.
    pub(crate) async fn shut_down(self) {
        self.running.send_replace(None);
        let governor = self.governor.drain_and_wait(Some(DRAIN)).await;
        let orchestrator = self.orchestrator.drain_and_wait(Some(DRAIN)).await;
        let orchestrator = orchestrator.map_err(|_| ractor::RactorErr::Timeout);
        for error in [governor.err(), orchestrator.err()].into_iter().flatten() {
            tracing::warn!(%error, "an actor of the workspace did not end by itself");
        }
    }
}

#[cfg(test)]
mod tests;
