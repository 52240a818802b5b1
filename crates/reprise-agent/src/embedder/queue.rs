//! The two queues in front of the embedder threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reprise_types::{EmbedError, Embedding, lock};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{PoolError, PoolStats};

/// A text that waits for its vector.
#[derive(Debug)]
pub(super) struct EmbedJob {
    pub(super) text: String,
    pub(super) queued_at: Instant,
    pub(super) reply: oneshot::Sender<Result<Embedding, PoolError>>,
    /// A document's slot in the queue, released when a thread takes it.
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(super) struct EmbedQueue {
    inner: Mutex<Inner>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    queries: VecDeque<EmbedJob>,
    documents: VecDeque<EmbedJob>,
    closed: bool,
    alive: usize,
    stats: PoolStats,
    open_failure: Option<(Instant, EmbedError)>,
    /// Consecutive queries taken while documents waited.
    consecutive_queries: usize,
}

/// Most consecutive queries before a waiting document is embedded, so that writes are not starved.
const CONSECUTIVE_QUERIES_MAX: usize = 4;

/// Queue length from which another thread opens an embedder; fewer texts are finished before a
/// model is loaded.
const BACKLOG: usize = 4;

/// State of an embedder thread that asks for work.
#[derive(Debug, Clone, Copy)]
pub(super) struct EmbedThreadState {
    /// Whether it takes any text; otherwise only a backlog wakes it, to open its embedder.
    pub(super) takes_texts: bool,
    /// Idle time after which it closes its embedder, if it has one.
    pub(super) sleep_after: Option<Duration>,
}

/// The next action of an embedder thread.
#[derive(Debug)]
pub(super) enum EmbedThreadAction {
    /// Embed this text; the flag tells whether it is a query.
    Embed(EmbedJob, bool),
    /// Open an embedder and help with the backlog.
    Help,
    /// Close the embedder to free its memory, after a long idle time.
    Sleep,
    /// End the thread: the pool is closed and no text waits.
    End,
}

impl Inner {
    /// Removes the first text whose caller still waits; returns it, and whether it is a query.
    fn pop_next(&mut self) -> Option<(EmbedJob, bool)> {
        loop {
            let is_document_due =
                self.consecutive_queries >= CONSECUTIVE_QUERIES_MAX && !self.documents.is_empty();
            let query = if is_document_due {
                None
            } else {
                self.queries.pop_front()
            };
            let (mut job, is_query) = match query {
                Some(job) => (job, true),
                None => (self.documents.pop_front()?, false),
            };
            if job.reply.is_closed() {
                self.stats.cancelled += 1;
                continue;
            }
            self.consecutive_queries = if is_query && !self.documents.is_empty() {
                self.consecutive_queries + 1
            } else {
                0
            };
            job.slot = None;
            self.stats.wait_us += job.queued_at.elapsed().as_micros() as u64;
            return Some((job, is_query));
        }
    }
}

impl EmbedQueue {
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner::default()),
            wake: Condvar::new(),
        }
    }

    /// Locks the queues. No foreign code runs under the lock, so the value is consistent even if
    /// the lock is poisoned.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Locks the queues; an error if they are closed or no thread is left.
    fn lock_open(&self) -> Result<MutexGuard<'_, Inner>, PoolError> {
        let inner = self.lock();
        if inner.closed || inner.alive == 0 {
            return Err(PoolError::Closed);
        }
        Ok(inner)
    }

    pub(super) fn push_query(&self, job: EmbedJob, limit: usize) -> Result<(), PoolError> {
        let mut inner = self.lock_open()?;
        // If the queue is full, queries whose caller is gone are dropped.
        if inner.queries.len() >= limit {
            let before = inner.queries.len();
            inner.queries.retain(|job| !job.reply.is_closed());
            let dropped = (before - inner.queries.len()) as u64;
            inner.stats.cancelled += dropped;
        }
        let waiting = inner.queries.len();
        if waiting >= limit {
            return Err(PoolError::Full { waiting });
        }
        inner.queries.push_back(job);
        inner.stats.queries_waiting_max = inner.stats.queries_waiting_max.max(waiting + 1);
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    pub(super) fn push_document(&self, job: EmbedJob) -> Result<(), PoolError> {
        let mut inner = self.lock_open()?;
        inner.documents.push_back(job);
        let waiting = inner.documents.len();
        inner.stats.documents_waiting_max = inner.stats.documents_waiting_max.max(waiting);
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    /// Waits for the next action of a thread; queries go first.
    pub(super) fn wait_for_action(&self, thread: EmbedThreadState) -> EmbedThreadAction {
        let began = Instant::now();
        let mut inner = self.lock();
        loop {
            let waiting = inner.queries.len() + inner.documents.len();
            if !thread.takes_texts && waiting >= BACKLOG {
                return EmbedThreadAction::Help;
            }
            // Threads that take texts finish the queue of a closed pool; the others end now,
            // because nothing would wake them later.
            if inner.closed && (waiting == 0 || !thread.takes_texts) {
                return EmbedThreadAction::End;
            }
            if thread.takes_texts
                && let Some((job, is_query)) = inner.pop_next()
            {
                return EmbedThreadAction::Embed(job, is_query);
            }
            inner = match thread.sleep_after {
                None => self
                    .wake
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    let remaining = patience.saturating_sub(began.elapsed());
                    if remaining.is_zero() {
                        return EmbedThreadAction::Sleep;
                    }
                    let woken = self.wake.wait_timeout(inner, remaining);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Removes and returns up to `limit` waiting documents, unless a query waits.
    pub(super) fn pop_documents(&self, limit: usize) -> Vec<EmbedJob> {
        let mut inner = self.lock();
        let mut jobs = Vec::new();
        while jobs.len() < limit
            && inner.queries.is_empty()
            && let Some((job, _)) = inner.pop_next()
        {
            jobs.push(job);
        }
        jobs
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// Counts a thread that starts.
    pub(super) fn register_thread(&self) {
        self.lock().alive += 1;
    }

    /// Counts a thread that ends; the last one drops the queued texts, so that their callers get an
    /// error.
    pub(super) fn unregister_thread(&self) {
        let mut inner = self.lock();
        inner.alive -= 1;
        if inner.alive == 0 {
            inner.queries.clear();
            inner.documents.clear();
        }
    }

    pub(super) fn update_stats(&self, change: impl FnOnce(&mut PoolStats)) {
        change(&mut self.lock().stats);
    }

    pub(super) fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    /// Returns the error of the last failed opening, as long as it is too early to retry.
    pub(super) fn find_open_failure(&self, now: Instant) -> Option<EmbedError> {
        let inner = self.lock();
        let (until, error) = inner.open_failure.as_ref()?;
        (now < *until).then(|| error.clone())
    }

    pub(super) fn set_open_failure(&self, failure: Option<(Instant, EmbedError)>) {
        self.lock().open_failure = failure;
    }
}
