//! The two queues in front of the embedder threads.
//!
//! Order, bounds, the end, and the counts.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reprise_types::{EmbedError, Embedding};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::types::{PoolError, PoolStats};

/// One text on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) text: String,
    pub(super) since: Instant,
    pub(super) reply: oneshot::Sender<Result<Embedding, PoolError>>,
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
    /// Queries taken since the last document while documents waited.
    in_a_row: usize,
}

/// After so many queries a document that waits has its turn: whoever keeps something waits for it
/// as well.
const QUERIES_IN_A_ROW: usize = 4;

/// Texts waiting from which another thread opens an embedder of its own: fewer are done sooner by
/// those that are open than a model is loaded.
const BACKLOG: usize = 4;

/// A thread as the queue sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taker {
    /// Takes whatever comes; else it is woken by a backlog only, to open its embedder.
    pub(super) is_keen: bool,
    /// Has an embedder that it would give back after so long without a text.
    pub(super) sleep_after: Option<Duration>,
}

/// What a thread is to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Embed this text; whether it is a query.
    Embed(Job, bool),
    /// Texts pile up: open an embedder and help.
    Help,
    /// Nothing has come for long: give the embedder's memory back.
    Sleep,
    /// The pool is closed and nothing waits.
    End,
}

impl Inner {
    /// The first text that somebody still waits for, and whether it is a query.
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
        self.wake.notify_all();
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
        self.wake.notify_all();
        Ok(())
    }

    /// What a thread is to do next, queries first; waits for it.
    pub(super) fn next(&self, taker: Taker) -> Next {
        let since = Instant::now();
        let mut inner = self.lock();
        loop {
            let waiting = inner.queries.len() + inner.documents.len();
            if !taker.is_keen && waiting >= BACKLOG {
                return Next::Help;
            }
            // What is left of a closed pool is the keen ones' to finish: nobody would wake a thread
            // that waited here for them to be done.
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
