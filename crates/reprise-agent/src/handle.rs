//! One user's running memory, shared by its agent and its writer thread.
//!
//! The bounded channel to the writer thread, the latest snapshot, which readers take without
//! waiting, and the state of the opening.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use ractor::ActorRef;
use reprise_engine::{Engine, RECEIPTS_MAX, Snapshot};
use reprise_types::{MemoryError, Receipt, UserId, lock};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use crate::job::Job;
use crate::protocol::MemoryAgentMsg;
use crate::threads::lent;

/// The address of one user's memory. Cheap to clone; closed for good once its agent has ended.
#[derive(Debug, Clone)]
pub struct AgentHandle(Arc<Inner>);

struct Inner {
    user: UserId,
    actor: OnceLock<ActorRef<MemoryAgentMsg>>,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    snapshot: ArcSwapOption<Snapshot>,
    /// What came of the opening of the file.
    opened: watch::Sender<Option<Result<(), MemoryError>>>,
    /// Taken before the file is first accessed.
    born: Instant,
    used: Mutex<Instant>,
    /// Receipts of recalls that the writer has not taken yet.
    receipts: Mutex<VecDeque<Receipt>>,
    /// Held while the file is compacted, or a checkpoint of it made.
    compactions: tokio::sync::Mutex<()>,
    /// Held while a batch of waiting texts is embedded. Every text before this place was tried,
    /// once in the life of an agent: those that still have no vector are such that the model cannot
    /// take.
    embedding: tokio::sync::Mutex<u32>,
}

reprise_types::show_fields!(Inner { user });

impl AgentHandle {
    /// A handle and the receiving end for the writer thread.
    pub(crate) fn new(user: UserId, queue_max: usize) -> (Self, mpsc::Receiver<Job>) {
        let (sender, receiver) = mpsc::channel(queue_max.max(1));
        let inner = Inner {
            user,
            actor: OnceLock::new(),
            jobs: Mutex::new(Some(sender)),
            snapshot: ArcSwapOption::empty(),
            opened: watch::Sender::new(None),
            born: Instant::now(),
            used: Mutex::new(Instant::now()),
            receipts: Mutex::default(),
            compactions: tokio::sync::Mutex::default(),
            embedding: tokio::sync::Mutex::default(),
        };
        (Self(Arc::new(inner)), receiver)
    }

    pub fn user(&self) -> &UserId {
        &self.0.user
    }

    pub(crate) fn actor(&self) -> Option<&ActorRef<MemoryAgentMsg>> {
        self.0.actor.get()
    }

    /// Set by the agent when it starts.
    pub(crate) fn set_actor(&self, actor: ActorRef<MemoryAgentMsg>) {
        let _again = self.0.actor.set(actor).is_err();
    }

    /// Whether its file is open and accepts work.
    pub(crate) fn is_serving(&self) -> bool {
        *self.0.opened.borrow() == Some(Ok(())) && !self.is_closed()
    }

    /// Whether its agent has ended; ask the supervisor for a new one.
    pub fn is_closed(&self) -> bool {
        lock(&self.0.jobs).is_none()
    }

    /// The latest snapshot; an error where the file is not open.
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, MemoryError> {
        self.newest().ok_or_else(|| self.unavailable())
    }

    /// The latest snapshot, if there is one.
    pub(crate) fn newest(&self) -> Option<Arc<Snapshot>> {
        self.0.snapshot.load_full()
    }

    /// Serialises compactions and checkpoints of the file.
    pub(crate) fn compactions(&self) -> &tokio::sync::Mutex<()> {
        &self.0.compactions
    }

    /// Whose turn it is to embed what waits, and from which place on.
    pub(crate) fn embedding(&self) -> &tokio::sync::Mutex<u32> {
        &self.0.embedding
    }

    /// Waits until the file is open.
    pub(crate) async fn ready(&self) -> Result<(), MemoryError> {
        let mut opened = self.0.opened.subscribe();
        let settled = opened.wait_for(Option::is_some).await;
        let settled = settled.ok().and_then(|opened| opened.clone());
        settled.unwrap_or_else(|| Err(self.unavailable()))
    }

    /// Whether its opening began before `then`.
    pub(crate) fn is_older_than(&self, then: Instant) -> bool {
        self.0.born < then
    }

    pub(crate) fn set_open(&self) {
        self.0.opened.send_replace(Some(Ok(())));
    }

    /// Reports that the file could not be opened. The handle is closed first, so that a caller that
    /// sees the error and retries does not get it again.
    pub(crate) fn fail(&self, error: MemoryError) {
        self.take_no_more();
        self.0.opened.send_replace(Some(Err(error)));
    }

    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        let held = self.0.snapshot.load_full();
        // Storing a snapshot visits every thread that ever read one, so an unchanged one is not
        // stored.
        if !held.is_some_and(|held| Arc::ptr_eq(&held, &snapshot)) {
            self.0.snapshot.store(Some(snapshot));
        }
    }

    /// Refuses new work; the writer finishes its queue and ends.
    pub(crate) fn close(&self) {
        self.take_no_more();
        self.0.opened.send_if_modified(|opened| {
            let waiting = opened.is_none();
            if waiting {
                *opened = Some(Err(self.unavailable()));
            }
            waiting
        });
    }

    fn take_no_more(&self) {
        lock(&self.0.jobs).take();
    }

    /// Time since the last request.
    pub(crate) fn idle(&self) -> Duration {
        lock(&self.0.used).elapsed()
    }

    pub(crate) fn unavailable(&self) -> MemoryError {
        MemoryError::unavailable(&self.0.user)
    }

    /// Runs work on the engine; waits while the writer's queue is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (job, answer) = Job::run(work);
        self.send(job).await.map_err(|_| self.unavailable())?;
        answer.await.map_err(|_| self.unavailable())?
    }

    /// Runs work on a thread that tokio lends; where it panics, that is logged as the failure of
    /// `what`.
    pub(crate) async fn lent<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        lent(work).await.map_err(|panicked| {
            tracing::error!(user = %self.user(), error = %panicked, "{what} failed");
            self.unavailable()
        })
    }

    /// Queues a job for the writer, waiting while the queue is full. Returns the job where the
    /// writer has ended.
    pub(crate) async fn send(&self, job: Job) -> Result<(), Job> {
        match self.jobs() {
            Some(jobs) => jobs.send(job).await.map_err(|refused| refused.0),
            None => Err(job),
        }
    }

    /// The same without waiting: also returns the job where the queue is full.
    pub(crate) fn try_send(&self, job: Job) -> Result<(), Job> {
        match self.jobs() {
            Some(jobs) => jobs.try_send(job).map_err(|refused| match refused {
                TrySendError::Full(job) | TrySendError::Closed(job) => job,
            }),
            None => Err(job),
        }
    }

    fn jobs(&self) -> Option<mpsc::Sender<Job>> {
        lock(&self.0.jobs).clone()
    }

    /// Resets the idle time.
    pub(crate) fn touch(&self) {
        *lock(&self.0.used) = Instant::now();
    }
}

impl AgentHandle {
    /// Keeps a recall's receipt for the writer, which takes it before its next job: a recall waits
    /// for nothing, and no receipt is lost to a full queue.
    pub(crate) fn remember(&self, receipt: Receipt) {
        let mut receipts = lock(&self.0.receipts);
        if receipts.len() == RECEIPTS_MAX {
            receipts.pop_front();
        }
        receipts.push_back(receipt);
    }

    /// The receipts since the last call, oldest first.
    pub(crate) fn take_receipts(&self) -> VecDeque<Receipt> {
        std::mem::take(&mut lock(&self.0.receipts))
    }
}
