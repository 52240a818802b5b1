//! The shutdown of a service, in an order that loses nothing.
//!
//! New requests are refused and those in flight finish; then the relays stop, which still need
//! vectors and a writer; then the pool; then the agents, whose writers end with a sync and a
//! checkpoint; the supervisor last.

use std::time::Duration;

use ractor::ActorCell;

use crate::admission::Admission;
use crate::embedder::EmbedPool;
use crate::other_models::OtherModels;
use crate::supervisor::{ANSWER_MS, AgentDirectory, Children, MemorySupervisorMsg};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownStep {
    /// New requests are refused, and those in flight have ended.
    Requests,
    /// The relays have stopped; what they read is written.
    Relays,
    /// The embedder threads have ended.
    Pool,
    /// Every file is checkpointed and closed.
    Agents,
    /// The supervisor has ended.
    Supervisor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownReport {
    /// The steps in order; the flags tell whether each ended in time.
    pub steps: Vec<(ShutdownStep, bool)>,
}

impl ShutdownReport {
    /// Returns whether every step ended in time.
    pub fn is_clean(&self) -> bool {
        self.steps.iter().all(|(_, in_time)| *in_time)
    }
}

/// Shuts a service down; each step may take as long as `patience`.
pub(crate) async fn shut_down(
    admission: &Admission,
    directory: &AgentDirectory,
    (pool, others): (&EmbedPool, Option<&OtherModels>),
    patience: Duration,
) -> ShutdownReport {
    let mut steps = Vec::new();
    let mut record_step = |step, in_time| {
        tracing::info!(?step, in_time, "shutdown");
        steps.push((step, in_time));
    };
    let ended = admission.close(patience).await;
    record_step(ShutdownStep::Requests, ended);
    let supervisor = directory.supervisor();
    let Children { relays, .. } = list_children(directory).await;
    record_step(ShutdownStep::Relays, drain_actors(relays, patience).await);
    let mut ended = pool.drain(patience).await;
    if let Some(others) = others {
        ended &= others.drain(patience).await;
    }
    record_step(ShutdownStep::Pool, ended);
    // The children are listed again, because a relay may have opened another memory.
    let Children { agents, .. } = list_children(directory).await;
    record_step(ShutdownStep::Agents, drain_actors(agents, patience).await);
    let supervisor = supervisor.iter().map(ractor::ActorRef::get_cell).collect();
    record_step(
        ShutdownStep::Supervisor,
        drain_actors(supervisor, patience).await,
    );
    ShutdownReport { steps }
}

pub(crate) async fn list_children(directory: &AgentDirectory) -> Children {
    let get = |reply| MemorySupervisorMsg::GetChildren { reply };
    directory
        .call_supervisor(get, ANSWER_MS)
        .await
        .unwrap_or_default()
}

/// Drains all actors at once; returns whether all ended in time.
async fn drain_actors(actors: Vec<ActorCell>, patience: Duration) -> bool {
    let mut draining = tokio::task::JoinSet::new();
    for actor in actors {
        draining.spawn(async move {
            // An actor that has already ended has nothing to drain.
            match actor.drain_and_wait(Some(patience)).await {
                Ok(()) | Err(ractor::RactorErr::Messaging(_)) => true,
                Err(_) => false,
            }
        });
    }
    draining.join_all().await.into_iter().all(|ended| ended)
}
