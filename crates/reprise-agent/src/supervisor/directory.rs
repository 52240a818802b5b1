//! The directory of running memories, which the supervisor keeps and every request looks into.
//!
//! It also has the gates, each of which admits one writer at a time to a user's file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use ractor::{ActorId, ActorRef, MessagingErr, RpcReplyPort, call_t};
use reprise_engine::Engine;
use reprise_types::{MemoryError, UserId, lock};
use tokio::sync::oneshot;

use super::MemorySupervisorMsg;
use crate::handle::MemoryHandle;
use crate::job::{ReplyPort, WriterJob};
use crate::protocol::MemoryAgentMsg;
use crate::writer::FileGate;

/// Time limit for a reply of the supervisor, which never waits for a file.
pub(crate) const ANSWER_MS: u64 = 5_000;

/// First and longest wait for the successor of a memory that has just ended.
const RETRY_WAIT_FIRST: Duration = Duration::from_millis(1);
const RETRY_WAIT_LONGEST: Duration = Duration::from_millis(64);

/// Time limit for closing a file.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a released file is lent: so long does a new writer wait for another program.
const LENT_TIME: Duration = Duration::from_secs(10);

/// Sends a message to the agent of a memory, or returns it if the agent has ended.
async fn send_message(
    memory: &MemoryHandle,
    message: MemoryAgentMsg,
) -> Result<(), MemoryAgentMsg> {
    let sent = match memory.actor() {
        Some(actor) => actor.send_message(message),
        None => Err(MessagingErr::SendErr(message)),
    };
    // No other error can occur, because all messages are of one type and local.
    match sent {
        Err(MessagingErr::SendErr(undone)) => Err(undone),
        _ => Ok(()),
    }
}

#[derive(Debug, Default)]
pub(crate) struct AgentDirectory {
    supervisor: Mutex<Option<ActorRef<MemorySupervisorMsg>>>,
    agents: Mutex<BTreeMap<UserId, MemoryHandle>>,
    gates: Mutex<BTreeMap<UserId, Arc<FileGate>>>,
}

impl AgentDirectory {
    /// Returns the running memory of this user, with its file open; starts it if needed. A failure
    /// of an opening that began before this call is retried, because the file may be free by now. A
    /// memory that was released is started again.
    pub(crate) async fn open_agent(&self, user: &UserId) -> Result<MemoryHandle, MemoryError> {
        let (requested_at, mut wait) = (Instant::now(), RETRY_WAIT_FIRST);
        loop {
            let handle = match self.find_agent(user).filter(|handle| !handle.is_closed()) {
                Some(handle) => handle,
                None => self.start_agent(user).await?,
            };
            match handle.wait_until_open().await {
                Ok(()) => return Ok(handle),
                Err(MemoryError::Unavailable { .. }) if wait <= RETRY_WAIT_LONGEST => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(_) if handle.is_older_than(requested_at) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the memory of a user that was started last; it may have ended.
    pub(crate) fn find_agent(&self, user: &UserId) -> Option<MemoryHandle> {
        lock(&self.agents).get(user).cloned()
    }

    /// Returns every memory whose agent has not ended.
    pub(crate) fn list_agents(&self) -> Vec<MemoryHandle> {
        lock(&self.agents).values().cloned().collect()
    }

    /// Sends a message to the user's agent and waits for its answer.
    pub(crate) async fn send_request<T: Send + 'static>(
        &self,
        user: &UserId,
        message: impl FnOnce(ReplyPort<T>) -> MemoryAgentMsg,
    ) -> Result<T, MemoryError> {
        let (reply, answer) = oneshot::channel();
        let message = message(reply.into());
        if let Err((message, error)) = self.deliver(user, message, send_message).await {
            message.refuse(error);
        }
        // Without a reply, the agent ended with the message in its mailbox.
        answer
            .await
            .unwrap_or_else(|_| Err(MemoryError::unavailable(user)))
    }

    /// Queues a job for the writer of the user's memory, or replies to it with an error.
    pub(crate) async fn deliver_job(&self, user: &UserId, job: WriterJob) {
        let send = async |memory: &MemoryHandle, job| {
            memory.touch();
            memory.send_job(job).await
        };
        if let Err((job, error)) = self.deliver(user, job, send).await {
            job.refuse(error);
        }
    }

    /// Runs work on the engine of the user's memory, on its writer's thread; `guard` is dropped
    /// once it has run.
    pub(crate) async fn run_on_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        guard: impl Send + 'static,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (reply, answer) = oneshot::channel();
        let work = |engine: &mut Engine| Ok(work(engine));
        let job = WriterJob::from_work_with_reply(guard, reply.into(), work);
        self.deliver_job(user, job).await;
        // Without a reply, the writer ended with the job.
        answer
            .await
            .unwrap_or_else(|_| Err(MemoryError::unavailable(user)))
    }

    /// Sends a message to the user's agent, or replies to it with an error.
    pub(crate) async fn deliver_message(&self, user: &UserId, message: MemoryAgentMsg) {
        if let Err((message, error)) = self.deliver(user, message, send_message).await {
            message.refuse(error);
        }
    }

    /// Sends an item to the user's memory; if that is just being passivated or replaced, to its
    /// successor. Returns an item that was not accepted, with the error. An accepted item is never
    /// repeated, because it may have had effects.
    async fn deliver<T>(
        &self,
        user: &UserId,
        mut item: T,
        send: impl AsyncFn(&MemoryHandle, T) -> Result<(), T>,
    ) -> Result<(), (T, MemoryError)> {
        let mut wait = RETRY_WAIT_FIRST;
        loop {
            let memory = match self.open_agent(user).await {
                Ok(memory) => memory,
                Err(error) => return Err((item, error)),
            };
            let Err(undone) = send(&memory, item).await else {
                return Ok(());
            };
            if wait > RETRY_WAIT_LONGEST {
                return Err((undone, MemoryError::unavailable(user)));
            }
            item = undone;
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    /// Has the supervisor start the user's agent.
    async fn start_agent(&self, user: &UserId) -> Result<MemoryHandle, MemoryError> {
        let away = MemoryError::unavailable(user);
        let user = user.clone();
        let get = |reply| MemorySupervisorMsg::GetOrCreate { user, reply };
        self.call_supervisor(get, ANSWER_MS)
            .await
            .unwrap_or(Err(away))
    }

    /// Sends a request to the supervisor; `None` if there is no supervisor or it does not reply in
    /// time.
    pub(crate) async fn call_supervisor<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<T>) -> MemorySupervisorMsg + Send,
        wait_ms: u64,
    ) -> Option<T> {
        let supervisor = self.supervisor()?;
        call_t!(supervisor, message, wait_ms).ok()
    }

    pub(crate) fn supervisor(&self) -> Option<ActorRef<MemorySupervisorMsg>> {
        lock(&self.supervisor).clone()
    }

    /// Sets the supervisor, which did not start the memories that have ended.
    pub(crate) fn set_supervisor(&self, supervisor: ActorRef<MemorySupervisorMsg>) {
        *lock(&self.supervisor) = Some(supervisor);
        lock(&self.agents).retain(|_, held| !held.is_closed());
    }

    pub(crate) fn set_agent(&self, handle: &MemoryHandle) {
        lock(&self.agents).insert(handle.user().clone(), handle.clone());
    }

    /// Removes the memory of an agent that has ended, unless it has a successor. It is freed with
    /// its last handle.
    pub(crate) fn remove_agent(&self, ended: ActorId) -> Option<MemoryHandle> {
        let mut agents = lock(&self.agents);
        let is_its = |held: &MemoryHandle| held.actor().is_some_and(|own| own.get_id() == ended);
        let user = agents.values().find(|held| is_its(held))?.user().clone();
        agents.remove(&user)
    }

    pub(crate) fn is_open(&self, user: &UserId) -> bool {
        let agents = lock(&self.agents);
        agents.get(user).is_some_and(|held| !held.is_closed())
    }

    /// Stops a user's memory and waits until its file is closed. A request meanwhile starts another
    /// agent, which waits at the gate and is stopped too; a later request waits, up to a limit,
    /// while another program uses the file.
    pub(crate) async fn release_file(&self, user: &UserId) -> Result<(), MemoryError> {
        let (gate, since) = (self.gate(user), Instant::now());
        loop {
            if let Some(running) = self.find_agent(user) {
                running.close();
            }
            if lend_file(&gate) {
                return Ok(());
            }
            if since.elapsed() > RELEASE_TIMEOUT {
                return Err(MemoryError::unavailable(user));
            }
            tokio::time::sleep(RETRY_WAIT_FIRST).await;
        }
    }

    #[cfg(test)]
    pub(crate) fn count_open(&self) -> usize {
        let agents = lock(&self.agents);
        agents.values().filter(|held| !held.is_closed()).count()
    }

    /// Returns the gate of a user's file. Unused gates are dropped, unless their file is lent, so
    /// that past users cost no memory.
    pub(crate) fn gate(&self, user: &UserId) -> Arc<FileGate> {
        let mut gates = lock(&self.gates);
        let now = Instant::now();
        let is_lent = |gate: &FileGate| {
            let until = gate.try_lock().ok().and_then(|until| *until);
            until.is_some_and(|until| now < until)
        };
        gates.retain(|_, gate| Arc::strong_count(gate) > 1 || is_lent(gate));
        Arc::clone(gates.entry(user.clone()).or_default())
    }
}

/// Lends a file to other programs if its writer has closed it; returns whether it has.
fn lend_file(gate: &FileGate) -> bool {
    let mut free = match gate.try_lock() {
        Ok(free) => free,
        Err(TryLockError::Poisoned(free)) => free.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    *free = Some(Instant::now() + LENT_TIME);
    true
}

#[cfg(test)]
mod tests;
