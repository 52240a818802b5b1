//! The process-wide embedder pool, which turns texts into unit vectors, one text per call.
//!
//! It has threads, two bounded queues (queries before documents) and a cache of query vectors, and
//! it handles a model that is missing, returns garbage or panics.

mod queue;
mod worker;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;
use reprise_engine::question_subject;
use reprise_types::{EmbedError, Embedder, Embedding, EmbeddingSpace, lock};
use tokio::sync::{Semaphore, oneshot, watch};

use queue::{EmbedJob, EmbedQueue};
use worker::EmbedThreadRole;

#[derive(Debug)]
pub struct PendingVector(oneshot::Receiver<Result<Embedding, PoolError>>);

impl PendingVector {
    /// Waits for the vector, or for the reason why there is none.
    pub async fn wait(self) -> Result<Embedding, PoolError> {
        self.0.await.unwrap_or(Err(PoolError::Closed))
    }
}

/// Handle to the pool; the threads end when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct EmbedPool(Arc<PoolGuard>);

#[derive(Debug)]
struct PoolGuard {
    shared: Arc<PoolInner>,
    alive: watch::Receiver<usize>,
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl EmbedPool {
    /// Starts the threads. The first opens its embedder at once, the others do so when many texts
    /// wait; a failed opening is retried later.
    pub fn start(options: PoolOptions, open: EmbedderOpener) -> Self {
        let shared = Arc::new(PoolInner {
            queue: EmbedQueue::new(),
            document_slots: Arc::new(Semaphore::new(options.documents_max)),
            cache: QueryCache::new(options.cache_max),
            has_query_prompt: AtomicBool::new(false),
            open,
            options,
        });
        let (alive_sender, alive) = watch::channel(0);
        // Only the first thread takes single texts; without it they would wait forever.
        let mut role = EmbedThreadRole::First;
        for number in 0..shared.options.threads.max(1) {
            if worker::spawn_thread(number, role, Arc::clone(&shared), alive_sender.clone()) {
                role = EmbedThreadRole::Helper;
            }
        }
        Self(Arc::new(PoolGuard { shared, alive }))
    }

    /// Returns the vector of a query's [`question_subject`]. Queries go before waiting documents;
    /// dropping the future cancels the job.
    pub async fn embed_query(&self, question: &str) -> Result<Arc<Embedding>, PoolError> {
        let shared = &self.0.shared;
        let text = question_subject(question);
        if let Some(cached) = shared.cache.get(&text) {
            shared.queue.update_stats(|stats| stats.cached += 1);
            return Ok(cached);
        }
        let (reply, answer) = oneshot::channel();
        let job = EmbedJob {
            text: text.clone().into_owned(),
            queued_at: Instant::now(),
            reply,
            slot: None,
        };
        shared.queue.push_query(job, shared.options.queries_max)?;
        let embedded = Arc::new(PendingVector(answer).wait().await?);
        shared.cache.insert(&text, &embedded);
        Ok(embedded)
    }

    /// Queues a document; waits while the queue is full. A text that was just recalled with, such
    /// as a prompt that is then stored, gets its vector from the cache.
    pub async fn queue_document(&self, text: &str) -> PendingVector {
        let (reply, answer) = oneshot::channel();
        let shared = &self.0.shared;
        if !shared.has_query_prompt.load(Ordering::Relaxed)
            && let Some(cached) = shared.cache.get(text)
        {
            shared.queue.update_stats(|stats| stats.cached += 1);
            // This cannot fail, because the receiver is in the returned value.
            let _sent = reply.send(Ok(cached.as_ref().clone()));
            return PendingVector(answer);
        }
        if let Ok(slot) = Arc::clone(&shared.document_slots).acquire_owned().await {
            let queued_at = Instant::now();
            let job = EmbedJob {
                text: text.to_owned(),
                queued_at,
                reply,
                slot: Some(slot),
            };
            // A closed pool drops the job, so that the caller gets `Closed`.
            let _closed = shared.queue.push_document(job).is_err();
        }
        PendingVector(answer)
    }

    pub fn stats(&self) -> PoolStats {
        PoolStats {
            threads: *self.0.alive.borrow(),
            ..self.0.shared.queue.stats()
        }
    }

    /// Refuses new texts, finishes the queued ones and ends the threads; returns whether they ended
    /// in time.
    pub async fn drain(&self, patience: Duration) -> bool {
        self.0.shared.queue.close();
        self.0.shared.document_slots.close();
        let mut alive = self.0.alive.clone();
        tokio::time::timeout(patience, alive.wait_for(|alive| *alive == 0))
            .await
            .is_ok()
    }
}

/// Opens one single-threaded embedder; called once per thread, and again after a failure.
pub type EmbedderOpener =
    Arc<dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Send + Sync + 'static>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Number of threads, at least 1; each has an embedder of its own.
    pub threads: usize,
    /// Most queries waiting; one more is refused.
    pub queries_max: usize,
    /// Most documents waiting; a caller with one more waits.
    pub documents_max: usize,
    /// Most query vectors in the cache, at least 1.
    pub cache_max: usize,
    /// Pause after a failed opening of an embedder.
    pub retry: Duration,
    /// Whether the first thread opens its embedder before the first text.
    pub opens_at_once: bool,
    /// Idle time after which the first thread closes its embedder; the next text opens it again.
    pub sleep_after: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            queries_max: 64,
            documents_max: 256,
            cache_max: 512,
            retry: Duration::from_secs(2),
            opens_at_once: true,
            sleep_after: Duration::from_mins(10),
        }
    }
}

/// Why there is no vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// There is no model on this machine yet; a later text may succeed.
    #[error(transparent)]
    Unavailable(EmbedError),
    /// This text could not be embedded; another may.
    #[error(transparent)]
    Failed(EmbedError),
    /// Too many queries are waiting.
    #[error("{waiting} queries are waiting for the embedder; go on with words alone")]
    Full { waiting: usize },
    #[error("the embedder pool has ended; go on with words alone")]
    Closed,
}

/// Counters of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PoolStats {
    pub queries: u64,
    pub documents: u64,
    pub cached: u64,
    /// Texts that were dropped because their caller was gone.
    pub cancelled: u64,
    /// Texts that could not be embedded.
    pub failed: u64,
    /// Panics caught.
    pub panics: u64,
    /// Most queries that ever waited at once.
    pub queries_waiting_max: usize,
    /// Most documents that ever waited at once.
    pub documents_waiting_max: usize,
    /// Microseconds spent in embedders, summed over the threads.
    pub embed_us: u64,
    /// Microseconds that texts spent in the queues, summed.
    pub wait_us: u64,
    /// Threads alive.
    pub threads: usize,
    /// Embedders open, each with a model of its own in memory.
    pub embedders_open: usize,
}

struct PoolInner {
    open: EmbedderOpener,
    options: PoolOptions,
    queue: EmbedQueue,
    document_slots: Arc<Semaphore>,
    cache: QueryCache,
    /// Whether the model embeds queries differently from documents, so that a cached query vector
    /// is no document's vector.
    has_query_prompt: AtomicBool,
}

reprise_types::show_fields!(PoolInner { options });

/// Cache of query vectors; the least recently used one is evicted first.
#[derive(Debug)]
struct QueryCache(Mutex<LruCache<String, Arc<Embedding>>>);

impl QueryCache {
    fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::new(capacity)))
    }

    fn get(&self, text: &str) -> Option<Arc<Embedding>> {
        lock(&self.0).get(text).cloned()
    }

    fn insert(&self, text: &str, embedding: &Arc<Embedding>) {
        self.clear_other_spaces(&embedding.space);
        lock(&self.0).put(text.to_owned(), Arc::clone(embedding));
    }

    /// Clears the cache if its vectors are of another space, because another model was opened;
    /// vectors of two spaces are never compared.
    fn clear_other_spaces(&self, space: &EmbeddingSpace) {
        let mut cache = lock(&self.0);
        let first = cache.iter().next();
        if first.is_some_and(|(_, one)| one.space != *space) {
            cache.clear();
        }
    }
}

#[cfg(test)]
mod tests;
