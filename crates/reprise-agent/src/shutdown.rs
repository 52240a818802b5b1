//! The end, in an order that loses nothing.
//!
//! Lives here: the order. Refuse new requests and let those under way finish; then the relays,
//! which still need vectors and a writer; then the pool; then the agents, whose writers end with a
//! final sync and a checkpoint; the supervisor last.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{ActorCell, ActorRef, call_t};

use crate::service::Shared;
use crate::supervisor::{Children, MemorySupervisorMsg};

/// How long the supervisor may take to name its children.
const CHILDREN_MS: u64 = 5_000;

/// One step of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownStep {
    /// New requests are refused, those under way have ended.
    Requests,
    /// No more events come in; what was read is written.
    Relays,
    /// The embedder threads have ended.
    Pool,
    /// Every file is checkpointed and closed.
    Agents,
    /// Nothing runs any more.
    Supervisor,
}

/// The steps in the order in which they ended, and whether each ended in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownReport {
    /// In order.
    pub steps: Vec<(ShutdownStep, bool)>,
}

impl ShutdownReport {
    /// Whether every step ended in time.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.steps.iter().all(|(_, in_time)| *in_time)
    }
}

pub(crate) async fn run(shared: &Shared) -> ShutdownReport {
    let patience = shared.config.limits.shutdown_step;
    let mut steps = Vec::new();
    let mut note = |step, in_time| {
        tracing::info!(?step, in_time, "shutdown");
        steps.push((step, in_time));
    };
    shared.closing.store(true, Ordering::Release);
    note(ShutdownStep::Requests, requests_end(shared, patience).await);
    let supervisor = shared.directory.supervisor();
    let Children { relays, .. } = children(shared).await;
    let relays = relays.iter().map(ActorRef::get_cell).collect();
    note(ShutdownStep::Relays, drain(relays, patience).await);
    note(ShutdownStep::Pool, shared.pool.drain(patience).await);
    // Asked again: a relay may have woken a sleeping memory.
    let Children { agents, .. } = children(shared).await;
    let agents = agents.iter().map(ActorRef::get_cell).collect();
    note(ShutdownStep::Agents, drain(agents, patience).await);
    let supervisor = supervisor
        .iter()
        .map(|supervisor| supervisor.get_cell())
        .collect();
    note(ShutdownStep::Supervisor, drain(supervisor, patience).await);
    ShutdownReport { steps }
}

/// Holding every permit, nobody else holds one.
async fn requests_end(shared: &Shared, patience: Duration) -> bool {
    let recalls = u32::try_from(shared.config.limits.recalls_max).unwrap_or(u32::MAX);
    let bytes = u32::try_from(shared.config.limits.write_bytes_max).unwrap_or(u32::MAX);
    let all = async {
        let recalls = Arc::clone(&shared.recalls)
            .acquire_many_owned(recalls)
            .await;
        let bytes = Arc::clone(&shared.write_bytes)
            .acquire_many_owned(bytes)
            .await;
        // Kept: what asks again after the end finds no place either.
        for permit in [recalls, bytes].into_iter().flatten() {
            permit.forget();
        }
    };
    tokio::time::timeout(patience, all).await.is_ok()
}

pub(crate) async fn children(shared: &Shared) -> Children {
    let Some(supervisor) = shared.directory.supervisor() else {
        return Children::default();
    };
    let asked = call_t!(
        supervisor,
        |reply| MemorySupervisorMsg::GetChildren { reply },
        CHILDREN_MS
    );
    asked.unwrap_or_default()
}

/// Lets every actor finish its queue; whether all ended in time.
async fn drain(actors: Vec<ActorCell>, patience: Duration) -> bool {
    let mut draining = tokio::task::JoinSet::new();
    for actor in actors {
        draining.spawn(async move {
            // An actor that has ended already has nothing to drain.
            match actor.drain_and_wait(Some(patience)).await {
                Ok(()) | Err(ractor::RactorErr::Messaging(_)) => true,
                Err(_) => false,
            }
        });
    }
    draining.join_all().await.into_iter().all(|ended| ended)
}
