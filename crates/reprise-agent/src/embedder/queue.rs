//! The two queues in front of the embedder threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reprise_types::{EmbedError, Embedding, lock};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{PoolError, PoolStats};

/// One text to be embedded.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) text: String,
    pub(super) since: Instant,
    pub(super) reply: oneshot::Sender<Result<Embedding, PoolError>>,
    /// A document's slot in the queue, released when a thread takes it.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    queries: VecDeque<Job>,
    documents: VecDeque<Job>,
    closed: bool,
    alive: usize,
    stats: PoolStats,
    refused: Option<(Instant, EmbedError)>,
    /// Consecutive queries taken while documents waited.
    in_a_row: usize,
}

/// After so many consecutive queries a waiting document is taken, so that writes are not starved.
const QUERIES_IN_A_ROW: usize = 4;

/// Queue length from which another thread opens an embedder: fewer texts are done before a model is
/// loaded.
const BACKLOG: usize = 4;

/// State of a thread that asks for work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taker {
    /// Takes any text; otherwise it is woken by a backlog only, to open its embedder.
    pub(super) is_keen: bool,
    /// Idle time after which it closes its embedder, if it has one.
    pub(super) sleep_after: Option<Duration>,
}

/// The next action of a thread.
#[derive(Debug)]
pub(super) enum Next {
    /// Embed this text; `true` for a query.
    Embed(Job, bool),
    /// There is a backlog: open an embedder and help.
    Help,
    /// Idle for long: close the embedder to free its memory.
    Sleep,
    /// The pool is closed and nothing waits.
    End,
}

impl Inner {
    /// The first text whose caller still waits, and whether it is a query.
    fn take(&mut self) -> Option<(Job, bool)> {
        loop {
            let turn = self.in_a_row >= QUERIES_IN_A_ROW && !self.documents.is_empty();
            let query = if turn { None } else { self.queries.pop_front() };
            let (mut job, is_query) = match query {
                Some(job) => (job, true),
                None => (self.documents.pop_front()?, false),
            };
            if job.reply.is_closed() {
                self.stats.cancelled += 1;
                continue;
            }
            self.in_a_row = if is_query && !self.documents.is_empty() {
                self.in_a_row + 1
            } else {
                0
            };
            job.room = None;
            self.stats.wait_us += job.since.elapsed().as_micros() as u64;
            return Some((job, is_query));
        }
    }
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner::default()),
            wake: Condvar::new(),
        }
    }

    /// No foreign code runs under the lock, so the value behind a poisoned one is consistent.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// The queues, as long as they are open.
    fn open(&self) -> Result<MutexGuard<'_, Inner>, PoolError> {
        let inner = self.lock();
        if inner.closed || inner.alive == 0 {
            return Err(PoolError::Closed);
        }
        Ok(inner)
    }

    pub(super) fn push_query(&self, job: Job, most: usize) -> Result<(), PoolError> {
        let mut inner = self.open()?;
        // Drops queries whose caller has gone.
        if inner.queries.len() >= most {
            let before = inner.queries.len();
            inner.queries.retain(|job| !job.reply.is_closed());
            let left = (before - inner.queries.len()) as u64;
            inner.stats.cancelled += left;
        }
        let waiting = inner.queries.len();
        if waiting >= most {
            return Err(PoolError::Full { waiting });
        }
        inner.queries.push_back(job);
        inner.stats.queries_waiting_max = inner.stats.queries_waiting_max.max(waiting + 1);
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    pub(super) fn push_document(&self, job: Job) -> Result<(), PoolError> {
        let mut inner = self.open()?;
        inner.documents.push_back(job);
        let waiting = inner.documents.len();
        inner.stats.documents_waiting_max = inner.stats.documents_waiting_max.max(waiting);
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    /// Waits for the next action of a thread, queries first.
    pub(super) fn next(&self, taker: Taker) -> Next {
        let since = Instant::now();
        let mut inner = self.lock();
        loop {
            let waiting = inner.queries.len() + inner.documents.len();
            if !taker.is_keen && waiting >= BACKLOG {
                return Next::Help;
            }
            // The keen threads finish the queue of a closed pool; others end now, as nothing would
            // wake them later.
            if inner.closed && (waiting == 0 || !taker.is_keen) {
                return Next::End;
            }
            if taker.is_keen
                && let Some((job, is_query)) = inner.take()
            {
                return Next::Embed(job, is_query);
            }
            inner = match taker.sleep_after {
                None => self
                    .wake
                    .wait(inner)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    let left = patience.saturating_sub(since.elapsed());
                    if left.is_zero() {
                        return Next::Sleep;
                    }
                    let woken = self.wake.wait_timeout(inner, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Up to `most` further documents that wait.
    pub(super) fn more_documents(&self, most: usize) -> Vec<Job> {
        let mut inner = self.lock();
        let mut jobs = Vec::new();
        while jobs.len() < most
            && inner.queries.is_empty()
            && let Some((job, _)) = inner.take()
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
    pub(super) fn enter(&self) {
        self.lock().alive += 1;
    }

    /// Counts a thread that ends; the last one drops the queued texts, so that their callers get an
    /// error.
    pub(super) fn leave(&self) {
        let mut inner = self.lock();
        inner.alive -= 1;
        if inner.alive == 0 {
            inner.queries.clear();
            inner.documents.clear();
        }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut PoolStats)) {
        change(&mut self.lock().stats);
    }

    pub(super) fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    /// The error of the last failed opening, while it is too early to retry.
    pub(super) fn refused(&self, now: Instant) -> Option<EmbedError> {
        let inner = self.lock();
        let (until, error) = inner.refused.as_ref()?;
        (now < *until).then(|| error.clone())
    }

    pub(super) fn set_refused(&self, refused: Option<(Instant, EmbedError)>) {
        self.lock().refused = refused;
    }
}
