//! Where the running memories are, for everyone who asks often.
//!
//! A cache of addresses in front of the supervisor's mailbox, and the gate that lets one writer at
//! a time into a user's file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use ractor::{ActorRef, MessagingErr, call_t};
use reprise_engine::Engine;
use reprise_types::{MemoryError, UserId};

use super::protocol::MemorySupervisorMsg;
use crate::handle::AgentHandle;
use crate::job::Job;
use crate::protocol::{EngineWork, MemoryAgentMsg};
use crate::writer::Gate;

/// How long the supervisor may take to answer; it never waits for a file.
const ANSWER_MS: u64 = 5_000;

/// First and last wait for the successor of a memory that has just ended.
const DELIVER_FIRST: Duration = Duration::from_millis(1);
const DELIVER_LAST: Duration = Duration::from_millis(64);

/// How long a memory may take to close its file.
const RELEASE: Duration = Duration::from_secs(10);

/// How long the other program, for which a memory was ended, is waited for.
const LENT: Duration = Duration::from_secs(10);

/// The addresses of one service.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    supervisor: ArcSwapOption<ActorRef<MemorySupervisorMsg>>,
    agents: Mutex<BTreeMap<UserId, AgentHandle>>,
    gates: Mutex<BTreeMap<UserId, Arc<Gate>>>,
}

impl Directory {
    /// A running memory of this user with its file open; started where there is none. Whoever asks
    /// is told of no opening that began earlier: the lock that it met may be free by now. One that
    /// was ended to let go of the file is begun anew.
    pub(crate) async fn agent(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let (asked, mut wait) = (Instant::now(), DELIVER_FIRST);
        loop {
            let handle = match self.known(user).filter(|handle| !handle.is_closed()) {
                Some(handle) => handle,
                None => self.ask(user).await?,
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
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(user).cloned()
    }

    /// Runs work on a user's engine, between commits, on the writer's thread.
    pub(crate) async fn with_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (job, answer) = Job::run(work);
        self.work(user, job).await;
        answer.await.unwrap_or_else(|_| Err(unavailable(user)))
    }

    /// Hands work to the user's agent.
    pub(crate) async fn work(&self, user: &UserId, job: Job) {
        self.deliver(user, MemoryAgentMsg::Work(EngineWork(job)))
            .await;
    }

    /// Hands a message to the user's agent, or tells its asker why there is none. An agent that
    /// falls asleep or is being replaced at this moment gives it back, and its successor gets it.
    /// What was taken is never repeated: nobody knows how far it came.
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
            // Sent, or never to be: no message of ours is of another type or goes over a wire.
            let Err(MessagingErr::SendErr(undone)) = sent else {
                return;
            };
            if wait > DELIVER_LAST {
                return undone.refuse(unavailable(user));
            }
            message = undone;
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    async fn ask(&self, user: &UserId) -> Result<AgentHandle, MemoryError> {
        let away = || unavailable(user);
        let supervisor = self.supervisor.load_full().ok_or_else(away)?;
        let user = user.clone();
        let asked = call_t!(
            supervisor,
            |reply| MemorySupervisorMsg::GetOrCreate { user, reply },
            ANSWER_MS
        );
        asked.unwrap_or_else(|_| Err(away()))
    }

    pub(crate) fn supervisor(&self) -> Option<Arc<ActorRef<MemorySupervisorMsg>>> {
        self.supervisor.load_full()
    }

    pub(crate) fn set_supervisor(&self, supervisor: ActorRef<MemorySupervisorMsg>) {
        self.supervisor.store(Some(Arc::new(supervisor)));
    }

    pub(crate) fn set_agent(&self, handle: &AgentHandle) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.retain(|_, held| !held.is_closed());
        agents.insert(handle.user().clone(), handle.clone());
    }

    /// Whether a user's memory runs.
    pub(crate) fn is_open(&self, user: &UserId) -> bool {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(user).is_some_and(|held| !held.is_closed())
    }

    /// Lets go of the memories that have ended.
    pub(crate) fn drop_closed(&self) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.retain(|_, held| !held.is_closed());
    }

    /// Ends a user's memory and waits until its file is closed. Whoever asks meanwhile starts
    /// another one, which waits at the gate and is ended too; whoever asks afterwards waits for as
    /// long as the file is in use elsewhere, though not for ever.
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
                return Err(unavailable(user));
            }
            tokio::time::sleep(DELIVER_FIRST).await;
        }
    }

    #[cfg(test)]
    pub(crate) fn open(&self) -> usize {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.values().filter(|held| !held.is_closed()).count()
    }

    /// The gate of a user's file. One that no writer holds is forgotten, unless the file is lent:
    /// whoever was served once costs nothing for ever.
    pub(crate) fn gate(&self, user: &UserId) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
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

fn unavailable(user: &UserId) -> MemoryError {
    let user = user.to_string();
    MemoryError::Unavailable { user }
}

#[cfg(test)]
mod tests;
