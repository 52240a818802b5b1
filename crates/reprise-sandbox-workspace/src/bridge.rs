//! The bridge between a session and its governed workspace.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef};
use reprise_sandbox::{EventStoreMsg, GovernedWorkspace, NewEvent, SYSTEM_USER, call_store};
use reprise_types::Clock;
use reprise_workspace::{
    EventSink, GovernorActor, GovernorArguments, OrchestratorActor, OrchestratorArguments,
    Workspace, WorkspaceEvent, WorkspaceHandle,
};
use serde_json::json;
use tokio::sync::watch;

/// Interval at which the Orchestrator polls for events of other processes.
const POLL: Duration = Duration::from_millis(250);
/// Time limit for a reply of the log.
const CALL_MS: u64 = 10_000;
/// Time limit for draining an actor, which may have to finish one transaction and save its state.
const DRAIN: Duration = Duration::from_mins(1);

/// The bridge to the workspace that the host uses. Cheap to clone.
#[derive(Clone)]
pub struct WorkspaceBridge {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    pub(crate) running: watch::Sender<Option<WorkspaceHandle>>,
}

reprise_types::show_fields!(WorkspaceBridge { root });

/// Writes the workspace's events to the host's log; a repeated one is a duplicate there.
struct LogSink {
    store: ActorRef<EventStoreMsg>,
    session_id: String,
}

#[async_trait]
impl EventSink for LogSink {
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
        let appended = call_store(&self.store, append, CALL_MS).await;
        appended.map(drop).map_err(|error| error.to_string())
    }
}

impl WorkspaceBridge {
    /// Creates a bridge to the workspace at `root`, which `reprise workspace init` has created.
    pub fn new(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            root,
            clock,
            running: watch::Sender::new(None),
        }
    }

    /// Returns a handle to its actors; `None` while they do not run.
    pub fn handle(&self) -> Option<WorkspaceHandle> {
        self.running.borrow().clone()
    }
}

#[async_trait]
impl GovernedWorkspace for WorkspaceBridge {
    async fn start(
        &self,
        supervisor: ActorCell,
        store: ActorRef<EventStoreMsg>,
    ) -> Result<Vec<ActorId>, ActorProcessingErr> {
        let (root, clock) = (self.root.clone(), Arc::clone(&self.clock));
        let opened = tokio::task::spawn_blocking(move || Workspace::open(&root, clock));
        let workspace = opened.await??;
        let session_id = format!("workspace:{}", workspace.root().display());
        let arguments = OrchestratorArguments {
            workspace: workspace.clone(),
            sink: Arc::new(LogSink { store, session_id }),
            look: POLL,
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
        let ids = vec![orchestrator.get_id(), governor.get_id()];
        let handle = WorkspaceHandle::new(orchestrator, governor);
        self.running.send_replace(Some(handle));
        Ok(ids)
    }

    /// Shuts down the Governor first, so that the Orchestrator can still forward its events.
    async fn shut_down(&self) {
        let Some(running) = self.running.send_replace(None) else {
            return;
        };
        let governor = running.governor().drain_and_wait(Some(DRAIN)).await;
        let orchestrator = running.orchestrator().drain_and_wait(Some(DRAIN)).await;
        let orchestrator = orchestrator.map_err(|_| ractor::RactorErr::Timeout);
        for error in [governor.err(), orchestrator.err()].into_iter().flatten() {
            tracing::warn!(%error, "an actor of the workspace did not end by itself");
        }
    }
}
