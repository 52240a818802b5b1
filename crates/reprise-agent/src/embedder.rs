//! The process-wide embedder pool: texts in, unit vectors out, one text a call.
//!
//! Threads, two bounded queues (queries before documents), a cache of query vectors, and the
//! handling of a model that is missing, returns garbage or panics.

mod cache;
mod queue;
mod shared;
mod types;
mod worker;

use reprise_types::Embedding;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reprise_engine::subject;

use tokio::sync::{Semaphore, oneshot, watch};

use cache::QueryCache;
use queue::{Job, Queue};
use shared::Shared;
use worker::Part;

pub use types::{OpenEmbedder, PoolError, PoolOptions, PoolStats};

#[derive(Debug)]
pub struct Pending(oneshot::Receiver<Result<Embedding, PoolError>>);

impl Pending {
    /// The vector, or why there is none.
    pub async fn vector(self) -> Result<Embedding, PoolError> {
        self.0.await.unwrap_or(Err(PoolError::Closed))
    }
}

/// A handle to the pool; the threads end when the last one is dropped.
#[derive(Debug, Clone)]
pub struct EmbedPool(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    ended: watch::Receiver<usize>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl EmbedPool {
    /// Starts the threads. The first opens its embedder at once, the others when many texts wait; a
    /// failed opening is retried later.
    pub fn start(options: PoolOptions, open: OpenEmbedder) -> Self {
        let shared = Arc::new(Shared {
            queue: Queue::new(),
            room: Arc::new(Semaphore::new(options.documents_max)),
            cache: QueryCache::new(options.cache_max),
            tells_questions: AtomicBool::new(false),
            open,
            options,
        });
        let (alive, ended) = watch::channel(0);
        // Only the first thread takes single texts; without it they would wait for ever.
        let mut part = Part::First;
        for number in 0..shared.options.threads.max(1) {
            if worker::spawn(number, part, Arc::clone(&shared), alive.clone()) {
                part = Part::Helper;
            }
        }
        Self(Arc::new(Owner { shared, ended }))
    }

    /// The vector of a query, which is that of its [`subject`]. Queries go before waiting
    /// documents; dropping the future cancels the job.
    pub async fn query(&self, question: &str) -> Result<Arc<Embedding>, PoolError> {
        let shared = &self.0.shared;
        let text = subject(question);
        if let Some(known) = shared.cache.get(&text) {
            shared.queue.count(|stats| stats.cached += 1);
            return Ok(known);
        }
        let (reply, answer) = oneshot::channel();
        let job = Job {
            text: text.clone().into_owned(),
            since: Instant::now(),
            reply,
            room: None,
        };
        shared.queue.push_query(job, shared.options.queries_max)?;
        let embedded = Arc::new(Pending(answer).vector().await?);
        shared.cache.put(&text, &embedded);
        Ok(embedded)
    }

    /// Queues a document; waits while the queue is full. What was just asked, as a prompt that is
    /// kept was, has its vector.
    pub async fn document(&self, text: &str) -> Pending {
        let (reply, answer) = oneshot::channel();
        let shared = &self.0.shared;
        if !shared.tells_questions.load(Ordering::Relaxed)
            && let Some(known) = shared.cache.get(text)
        {
            shared.queue.count(|stats| stats.cached += 1);
            // The receiver is below.
            let _sent = reply.send(Ok(known.as_ref().clone()));
            return Pending(answer);
        }
        if let Ok(room) = Arc::clone(&shared.room).acquire_owned().await {
            let since = Instant::now();
            let job = Job {
                text: text.to_owned(),
                since,
                reply,
                room: Some(room),
            };
            // A closed pool drops the job, and the caller gets `Closed`.
            let _closed = shared.queue.push_document(job).is_err();
        }
        Pending(answer)
    }

    /// Counters of the pool.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            threads: *self.0.ended.borrow(),
            ..self.0.shared.queue.stats()
        }
    }

    /// Refuses new texts, finishes the queued ones and ends the threads. `false` where they did not
    /// end in time.
    pub async fn drain(&self, patience: Duration) -> bool {
        self.0.shared.queue.close();
        self.0.shared.room.close();
        let mut ended = self.0.ended.clone();
        tokio::time::timeout(patience, ended.wait_for(|alive| *alive == 0))
            .await
            .is_ok()
    }
}

#[cfg(test)]
mod tests;
