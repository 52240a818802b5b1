//! Handles of the running memories.
//!
//! A cache in front of the supervisor's mailbox, and the gate that admits one writer at a time to a
//! user's file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use ractor::{ActorRef, MessagingErr, RpcReplyPort, call_t};
use reprise_types::{MemoryError, UserId, lock};
use tokio::sync::oneshot;

use super::MemorySupervisorMsg;
use crate::handle::AgentHandle;
use crate::job::{Job, Reply};
use crate::protocol::{EngineWork, MemoryAgentMsg};
use crate::writer::Gate;

/// Time limit for the supervisor, which never waits for a file.
pub(crate) const ANSWER_MS: u64 = 5_000;

/// First and longest wait for the successor of a memory that has just ended.
const DELIVER_FIRST: Duration = Duration::from_millis(1);
const DELIVER_LAST: Duration = Duration::from_millis(64);

/// Time limit for closing a file.
const RELEASE: Duration = Duration::from_secs(10);

/// How long to wait for another program that uses a released file.
const LENT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct Directory {
    supervisor: ArcSwapOption<ActorRef<MemorySupervisorMsg>>,
    agents: Mutex<BTreeMap<UserId, AgentHandle>>,
    gates: Mutex<BTreeMap<UserId, Arc<Gate>>>,
}

impl Directory {
    /// The running memory of this user with its file open; started where there is none. A failure
    /// of an opening that began before this call is retried, as the lock may be free by now. A
    /// memory that was released is started again.
    pub(crate) async fn agent(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let (asked, mut wait) = (Instant::now(), DELIVER_FIRST);
        loop {
            let handle = match self.known(user).filter(|handle| !handle.is_closed()) {
                Some(handle) => handle,
                None => self.start(user).await?,
            };
            match handle.ready().await {
                Ok(()) => return Ok(handle),
                Err(MemoryError::Unavailable { .. }) if wait <= DELIVER_LAST => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(_) if handle.is_older_than(asked) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn known(&self, user: &UserId) -> Option<AgentHandle> {
        let agents = lock(&self.agents);
        agents.get(user).cloned()
    }

    /// Sends a message to the user's agent and waits for its answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        user: &UserId,
        message: impl FnOnce(Reply<T>) -> MemoryAgentMsg,
    ) -> Result<T, MemoryError> {
        let (reply, answer) = oneshot::channel();
        self.deliver(user, message(reply.into())).await;
        // No answer: the agent ended with the message in its mailbox.
        answer
            .await
            .unwrap_or_else(|_| Err(MemoryError::unavailable(user)))
    }

    /// Sends work to the user's agent.
    pub(crate) async fn work(&self, user: &UserId, job: Job) {
        self.deliver(user, MemoryAgentMsg::Work(EngineWork(job)))
            .await;
    }

    /// Sends a message to the user's agent, or answers it with an error. Where the agent is just
    /// being passivated or replaced, the message goes to its successor. An accepted message is
    /// never repeated, as it may have had effects.
    pub(crate) async fn deliver(&self, user: &UserId, mut message: MemoryAgentMsg) {
        let mut wait = DELIVER_FIRST;
        loop {
            let agent = match self.agent(user).await {
                Ok(agent) => agent,
                Err(error) => return message.refuse(error),
            };
            let sent = match agent.actor() {
                Some(actor) => actor.send_message(message),
                None => Err(MessagingErr::SendErr(message)),
            };
            // Any other error cannot occur: all messages are of one type and local.
            let Err(MessagingErr::SendErr(undone)) = sent else {
                return;
            };
            if wait > DELIVER_LAST {
                return undone.refuse(MemoryError::unavailable(user));
            }
            message = undone;
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    /// Has the supervisor start the user's agent.
    async fn start(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let away = MemoryError::unavailable(user);
        let user = user.clone();
        let get = |reply| MemorySupervisorMsg::GetOrCreate { user, reply };
        self.call(get, ANSWER_MS).await.unwrap_or(Err(away))
    }

    /// Asks the supervisor; `None` where there is none, or where it does not answer in time.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<T>) -> MemorySupervisorMsg + Send,
        wait_ms: u64,
    ) -> Option<T> {
        let supervisor = self.supervisor.load_full()?;
        call_t!(supervisor, message, wait_ms).ok()
    }

    pub(crate) fn supervisor(&self) -> Option<Arc<ActorRef<MemorySupervisorMsg>>> {
        self.supervisor.load_full()
    }

    pub(crate) fn set_supervisor(&self, supervisor: ActorRef<MemorySupervisorMsg>) {
        self.supervisor.store(Some(Arc::new(supervisor)));
    }

    pub(crate) fn set_agent(&self, handle: &AgentHandle) {
        let mut agents = lock(&self.agents);
        agents.retain(|_, held| !held.is_closed());
        agents.insert(handle.user().clone(), handle.clone());
    }

    pub(crate) fn is_open(&self, user: &UserId) -> bool {
        let agents = lock(&self.agents);
        agents.get(user).is_some_and(|held| !held.is_closed())
    }

    /// Drops the handles of memories that have ended.
    pub(crate) fn drop_closed(&self) {
        let mut agents = lock(&self.agents);
        agents.retain(|_, held| !held.is_closed());
    }

    /// Stops a user's memory and waits until its file is closed. A request meanwhile starts another
    /// agent, which waits at the gate and is stopped too; a later request waits while the file is
    /// in use elsewhere, up to a limit.
    pub(crate) async fn release(&self, user: &UserId) -> Result<(), MemoryError> {
        let (gate, since) = (self.gate(user), Instant::now());
        loop {
            if let Some(running) = self.known(user) {
                running.close();
            }
            if lend(&gate) {
                return Ok(());
            }
            if since.elapsed() > RELEASE {
                return Err(MemoryError::unavailable(user));
            }
            tokio::time::sleep(DELIVER_FIRST).await;
        }
    }

    #[cfg(test)]
    pub(crate) fn open(&self) -> usize {
        let agents = lock(&self.agents);
        agents.values().filter(|held| !held.is_closed()).count()
    }

    /// The gate of a user's file. Unused gates are dropped, unless the file is lent, so that past
    /// users cost no memory.
    pub(crate) fn gate(&self, user: &UserId) -> Arc<Gate> {
        let mut gates = lock(&self.gates);
        let now = Instant::now();
        let is_lent = |gate: &Gate| {
            let until = gate.try_lock().ok().and_then(|until| *until);
            until.is_some_and(|until| now < until)
        };
        gates.retain(|_, gate| Arc::strong_count(gate) > 1 || is_lent(gate));
        Arc::clone(gates.entry(user.clone()).or_default())
    }
}

/// Lends a file whose writer has closed it; `false` where it has not.
fn lend(gate: &Gate) -> bool {
    let mut free = match gate.try_lock() {
        Ok(free) => free,
        Err(TryLockError::Poisoned(free)) => free.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    *free = Some(Instant::now() + LENT);
    true
}

#[cfg(test)]
mod tests;
