//! The handle of one user's running memory, which its agent and its writer thread share.
//!
//! It has the bounded channel to the writer thread, the latest snapshot, which readers get without
//! waiting, and the state of the opening.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ractor::ActorRef;
use reprise_engine::{Engine, RECEIPTS_MAX, Snapshot};
use reprise_types::{MemoryError, RecallReceipt, UserId, lock};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use crate::job::WriterJob;
use crate::protocol::MemoryAgentMsg;

/// The address of one user's memory. Cheap to clone; closed for good once its agent has ended.
#[derive(Debug, Clone)]
pub struct MemoryHandle(Arc<Inner>);

struct Inner {
    user: UserId,
    actor: OnceLock<ActorRef<MemoryAgentMsg>>,
    jobs: Mutex<Option<mpsc::Sender<WriterJob>>>,
    /// Locked only while the pointer is copied or replaced.
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    /// Result of opening the file; `None` while it is still opening.
    opened: watch::Sender<Option<Result<(), MemoryError>>>,
    /// A moment before the file is first accessed.
    created_at: Instant,
    last_used: Mutex<Instant>,
    /// Receipts of recalls that the writer has not recorded yet.
    receipts: Mutex<VecDeque<RecallReceipt>>,
    /// Locked while the file is compacted or checkpointed.
    compaction_lock: tokio::sync::Mutex<()>,
    /// Locked while a batch of waiting texts is embedded. The value is the log position up to which
    /// every text was tried, once in the life of an agent; a text before it that still has no
    /// vector is one that the model cannot embed.
    embedding_position: tokio::sync::Mutex<u32>,
}

reprise_types::show_fields!(Inner { user });

impl MemoryHandle {
    /// Creates a handle, and the receiving end of its jobs for the writer thread.
    pub(crate) fn new(user: UserId, queue_max: usize) -> (Self, mpsc::Receiver<WriterJob>) {
        let (sender, receiver) = mpsc::channel(queue_max.max(1));
        let inner = Inner {
            user,
            actor: OnceLock::new(),
            jobs: Mutex::new(Some(sender)),
            snapshot: Mutex::default(),
            opened: watch::Sender::new(None),
            created_at: Instant::now(),
            last_used: Mutex::new(Instant::now()),
            receipts: Mutex::default(),
            compaction_lock: tokio::sync::Mutex::default(),
            embedding_position: tokio::sync::Mutex::default(),
        };
        (Self(Arc::new(inner)), receiver)
    }

    pub fn user(&self) -> &UserId {
        &self.0.user
    }

    pub(crate) fn actor(&self) -> Option<&ActorRef<MemoryAgentMsg>> {
        self.0.actor.get()
    }

    /// Stores the address of the agent, which calls this when it starts.
    pub(crate) fn set_actor(&self, actor: ActorRef<MemoryAgentMsg>) {
        let _already_set = self.0.actor.set(actor).is_err();
    }

    /// Returns whether its file is open and accepts work.
    pub(crate) fn is_serving(&self) -> bool {
        *self.0.opened.borrow() == Some(Ok(())) && !self.is_closed()
    }

    /// Returns whether its agent has ended; then the supervisor can start a new one.
    pub fn is_closed(&self) -> bool {
        lock(&self.0.jobs).is_none()
    }

    /// Returns the latest snapshot; an error if the file was never open.
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, MemoryError> {
        self.newest_snapshot()
            .ok_or_else(|| self.unavailable_error())
    }

    /// Returns the latest snapshot, if there is one.
    pub(crate) fn newest_snapshot(&self) -> Option<Arc<Snapshot>> {
        lock(&self.0.snapshot).clone()
    }

    /// Returns the lock that lets one compaction or checkpoint of the file run at a time.
    pub(crate) fn compaction_lock(&self) -> &tokio::sync::Mutex<()> {
        &self.0.compaction_lock
    }

    /// Returns the lock that lets one late embedding run at a time, with the position from which it
    /// continues.
    pub(crate) fn embedding_position(&self) -> &tokio::sync::Mutex<u32> {
        &self.0.embedding_position
    }

    /// Waits until the file is open.
    pub(crate) async fn wait_until_open(&self) -> Result<(), MemoryError> {
        let mut opened = self.0.opened.subscribe();
        let outcome = opened.wait_for(Option::is_some).await;
        let outcome = outcome.ok().and_then(|opened| opened.clone());
        outcome.unwrap_or_else(|| Err(self.unavailable_error()))
    }

    /// Returns whether its opening began before `then`.
    pub(crate) fn is_older_than(&self, then: Instant) -> bool {
        self.0.created_at < then
    }

    pub(crate) fn mark_open(&self) {
        self.0.opened.send_replace(Some(Ok(())));
    }

    /// Notifies waiting callers that the file could not be opened. The handle is closed first, so
    /// that a caller that sees the error and retries does not get it again.
    pub(crate) fn fail_opening(&self, error: MemoryError) {
        self.stop_accepting();
        self.0.opened.send_replace(Some(Err(error)));
    }

    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        // The one before is freed after the lock: what it held may be large.
        let _before = lock(&self.0.snapshot).replace(snapshot);
    }

    /// Refuses new work; the writer finishes its queue and ends.
    pub(crate) fn close(&self) {
        self.stop_accepting();
        self.0.opened.send_if_modified(|opened| {
            let waiting = opened.is_none();
            if waiting {
                *opened = Some(Err(self.unavailable_error()));
            }
            waiting
        });
    }

    fn stop_accepting(&self) {
        lock(&self.0.jobs).take();
    }

    /// Returns the time since the last request.
    pub(crate) fn idle_time(&self) -> Duration {
        lock(&self.0.last_used).elapsed()
    }

    pub(crate) fn unavailable_error(&self) -> MemoryError {
        MemoryError::unavailable(&self.0.user)
    }

    /// Runs work on the engine, on the writer's thread; waits while the writer's queue is full.
    pub(crate) async fn run_on_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (job, answer) = WriterJob::from_work(work);
        self.send_job(job)
            .await
            .map_err(|_| self.unavailable_error())?;
        answer.await.map_err(|_| self.unavailable_error())?
    }

    /// Queues a job for the writer, waiting while the queue is full. Returns the job as the error
    /// if the writer has ended.
    pub(crate) async fn send_job(&self, job: WriterJob) -> Result<(), WriterJob> {
        match self.job_sender() {
            Some(jobs) => jobs.send(job).await.map_err(|refused| refused.0),
            None => Err(job),
        }
    }

    /// Queues a job for the writer without waiting. Returns the job as the error if the queue is
    /// full or the writer has ended.
    pub(crate) fn try_send_job(&self, job: WriterJob) -> Result<(), WriterJob> {
        match self.job_sender() {
            Some(jobs) => jobs.try_send(job).map_err(|refused| match refused {
                TrySendError::Full(job) | TrySendError::Closed(job) => job,
            }),
            None => Err(job),
        }
    }

    fn job_sender(&self) -> Option<mpsc::Sender<WriterJob>> {
        lock(&self.0.jobs).clone()
    }

    /// Resets the idle time.
    pub(crate) fn touch(&self) {
        *lock(&self.0.last_used) = Instant::now();
    }
}

impl MemoryHandle {
    /// Queues a recall's receipt for the writer, which records it before its next job. Neither does
    /// a recall wait, nor is a receipt lost to a full job queue.
    pub(crate) fn queue_receipt(&self, receipt: RecallReceipt) {
        let mut receipts = lock(&self.0.receipts);
        if receipts.len() == RECEIPTS_MAX {
            receipts.pop_front();
        }
        receipts.push_back(receipt);
    }

    /// Removes and returns the receipts since the last call, oldest first.
    pub(crate) fn take_receipts(&self) -> VecDeque<RecallReceipt> {
        std::mem::take(&mut lock(&self.0.receipts))
    }
}
