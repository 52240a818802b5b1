//! The process-wide embedder pool: texts in, unit vectors out, one text a call.
//!
//! Threads, two bounded queues (queries before documents), a cache of query vectors, and the
//! handling of a model that is missing, returns garbage or panics.

mod queue;
mod worker;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;
use reprise_engine::subject;
use reprise_types::{EmbedError, Embedder, Embedding, EmbeddingSpace, lock};
use tokio::sync::{Semaphore, oneshot, watch};

use queue::{Job, Queue};
use worker::Part;

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

/// Opens one single-threaded embedder; called once per thread, and again after a failure.
pub type OpenEmbedder =
    Arc<dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Send + Sync + 'static>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Threads, each with an embedder of its own. At least 1.
    pub threads: usize,
    /// Most queries waiting; one more is refused.
    pub queries_max: usize,
    /// Most documents waiting; a caller with one more waits.
    pub documents_max: usize,
    /// Vectors of queries that are kept. At least 1.
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
    /// No model on this machine yet: try again later.
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
    /// Texts dropped because their caller had gone.
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

struct Shared {
    open: OpenEmbedder,
    options: PoolOptions,
    queue: Queue,
    room: Arc<Semaphore>,
    cache: QueryCache,
    /// Whether the model reads questions otherwise: what was asked has no vector to be kept by.
    tells_questions: AtomicBool,
}

reprise_types::show_fields!(Shared { options });

/// Least recently used is evicted first.
#[derive(Debug)]
struct QueryCache(Mutex<LruCache<String, Arc<Embedding>>>);

impl QueryCache {
    fn new(most: usize) -> Self {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::new(most)))
    }

    fn get(&self, text: &str) -> Option<Arc<Embedding>> {
        lock(&self.0).get(text).cloned()
    }

    fn put(&self, text: &str, embedding: &Arc<Embedding>) {
        self.keep_only(&embedding.space);
        lock(&self.0).put(text.to_owned(), Arc::clone(embedding));
    }

    /// Clears the cache where it is of another space: another model was opened, and vectors of two
    /// spaces are never compared.
    fn keep_only(&self, space: &EmbeddingSpace) {
        let mut held = lock(&self.0);
        let first = held.iter().next();
        if first.is_some_and(|(_, one)| one.space != *space) {
            held.clear();
        }
    }
}

#[cfg(test)]
mod tests;
