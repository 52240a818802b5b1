//! Where the running memories are, for everyone who asks often.
//!
//! Lives here: a cache of addresses in front of the supervisor's mailbox, and the gate that lets
//! one writer at a time into a user's file. Must never live here: starting anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use ractor::{ActorRef, call_t};
use reprise_types::{MemoryError, UserId};

use super::MemorySupervisorMsg;
use crate::handle::AgentHandle;

/// How long the supervisor may take to answer; it never waits for a file.
const ANSWER_MS: u64 = 5_000;

/// The addresses of one service.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    supervisor: ArcSwapOption<ActorRef<MemorySupervisorMsg>>,
    agents: Mutex<BTreeMap<UserId, AgentHandle>>,
    gates: Mutex<BTreeMap<UserId, Arc<Mutex<()>>>>,
}

impl Directory {
    /// A running memory of this user with its file open; started where there is none.
    pub(crate) async fn agent(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let known = self
            .agents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(user)
            .cloned();
        let handle = match known.filter(|handle| !handle.is_closed()) {
            Some(handle) => handle,
            None => self.ask(user).await?,
        };
        handle.ready().await?;
        Ok(handle)
    }

    async fn ask(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let unavailable = || MemoryError::Unavailable {
            user: user.to_string(),
        };
        let supervisor = self.supervisor.load_full().ok_or_else(unavailable)?;
        let user = user.clone();
        call_t!(
            supervisor,
            |reply| MemorySupervisorMsg::GetOrCreate { user, reply },
            ANSWER_MS
        )
        .unwrap_or_else(|_| Err(unavailable()))
    }

    pub(crate) fn supervisor(&self) -> Option<Arc<ActorRef<MemorySupervisorMsg>>> {
        self.supervisor.load_full()
    }

    pub(super) fn set_supervisor(&self, supervisor: ActorRef<MemorySupervisorMsg>) {
        self.supervisor.store(Some(Arc::new(supervisor)));
    }

    pub(super) fn set_agent(&self, handle: &AgentHandle) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.retain(|_, held| !held.is_closed());
        agents.insert(handle.user().clone(), handle.clone());
    }

    pub(super) fn gate(&self, user: &UserId) -> Arc<Mutex<()>> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(user.clone()).or_default())
    }
}
