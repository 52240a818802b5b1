//! The two queues in front of the embedder threads.
//!
//! Lives here: order, bounds, the end, and the counts. Must never live here: a model.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use reprise_types::EmbedError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Embedded, PoolError, PoolStats};

/// One text on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) text: String,
    pub(super) since: Instant,
    pub(super) reply: oneshot::Sender<Result<Embedded, PoolError>>,
    /// A document's place among those waiting, given back when a thread takes it.
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
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner::default()),
            wake: Condvar::new(),
        }
    }

    /// No lock is held while foreign code runs, so a poisoned one still guards a whole value.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push_query(&self, job: Job, most: usize) -> Result<(), PoolError> {
        let mut inner = self.lock();
        if inner.closed || inner.alive == 0 {
            return Err(PoolError::Closed);
        }
        // Those whose asker has left make room for those who wait.
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
        self.wake.notify_one();
        Ok(())
    }

    pub(super) fn push_document(&self, job: Job) -> Result<(), PoolError> {
        let mut inner = self.lock();
        if inner.closed || inner.alive == 0 {
            return Err(PoolError::Closed);
        }
        inner.documents.push_back(job);
        let waiting = inner.documents.len();
        inner.stats.documents_waiting_max = inner.stats.documents_waiting_max.max(waiting);
        drop(inner);
        self.wake.notify_one();
        Ok(())
    }

    /// The next text, queries first, and whether it is a query; waits for one. `None` once the pool
    /// is closed and nothing waits.
    pub(super) fn next(&self) -> Option<(Job, bool)> {
        let mut inner = self.lock();
        loop {
            let job = match inner.queries.pop_front() {
                Some(job) => Some((job, true)),
                None => inner.documents.pop_front().map(|job| (job, false)),
            };
            match job {
                Some((job, _)) if job.reply.is_closed() => inner.stats.cancelled += 1,
                Some((mut job, is_query)) => {
                    job.room = None;
                    inner.stats.wait_us += job.since.elapsed().as_micros() as u64;
                    return Some((job, is_query));
                }
                None if inner.closed => return None,
                None => {
                    let woken = self.wake.wait(inner);
                    inner = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// A thread begins.
    pub(super) fn enter(&self) {
        self.lock().alive += 1;
    }

    /// A thread ends; the last one answers whoever still waits by dropping the texts.
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

    /// Why no embedder could be opened a moment ago, while it is too early to try again.
    pub(super) fn refused(&self, now: Instant) -> Option<EmbedError> {
        let inner = self.lock();
        let (until, error) = inner.refused.as_ref()?;
        (now < *until).then(|| error.clone())
    }

    pub(super) fn set_refused(&self, refused: Option<(Instant, EmbedError)>) {
        self.lock().refused = refused;
    }
}
