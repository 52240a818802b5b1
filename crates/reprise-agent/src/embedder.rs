//! The process-wide embedder pool: texts in, unit vectors out, one text a call.
//!
//! Lives here: threads, two bounded queues (queries before documents), the cache of query vectors,
//! and what happens when there is no model, a bad one, or one that panics. Must never live here:
//! which model it is (a function that opens one is given), or a stand-in vector.

mod cache;
mod queue;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_engine::subject;
use reprise_types::{EmbedError, Embedder, EmbeddingSpace};
use tokio::sync::{Semaphore, oneshot, watch};

use cache::QueryCache;
use queue::{Job, Queue};
use worker::Part;

/// Opens one single-threaded embedder; called once per thread, and again after a failure.
pub type OpenEmbedder =
    Arc<dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Send + Sync + 'static>;

/// The bounds of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Threads, each with an embedder of its own. At least 1.
    pub threads: usize,
    /// Most queries waiting; one more is refused.
    pub queries_max: usize,
    /// Most documents waiting; whoever brings one more waits.
    pub documents_max: usize,
    /// Query vectors remembered.
    pub cache_max: usize,
    /// How long to leave it after an embedder could not be opened.
    pub retry: Duration,
    /// Whether the first thread opens its embedder before there is a text.
    pub opens_at_once: bool,
    /// Without a text for so long, the first thread gives its embedder's memory back; the next text
    /// opens it again.
    pub sleep_after: Duration,
    /// The same for the other threads, which open theirs only while many texts wait.
    pub helpers_sleep_after: Duration,
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
            helpers_sleep_after: Duration::from_secs(30),
        }
    }
}

/// A vector with its space.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Its coordinate system.
    pub space: EmbeddingSpace,
    /// Finite, of length 1, as wide as its space says.
    pub vector: Vec<f32>,
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
    Full {
        /// How many.
        waiting: usize,
    },
    /// The pool has ended.
    #[error("the embedder pool has ended; go on with words alone")]
    Closed,
}

/// What the pool did, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PoolStats {
    /// Query vectors made.
    pub queries: u64,
    /// Document vectors made.
    pub documents: u64,
    /// Queries answered from the cache.
    pub cached: u64,
    /// Texts dropped because their asker had left.
    pub cancelled: u64,
    /// Texts that could not be embedded.
    pub failed: u64,
    /// Panics caught.
    pub panics: u64,
    /// Most queries that ever waited at once.
    pub queries_waiting_max: usize,
    /// Most documents that ever waited at once.
    pub documents_waiting_max: usize,
    /// Microseconds within embedders, summed over the threads.
    pub embed_us: u64,
    /// Microseconds that texts waited, summed.
    pub wait_us: u64,
    /// Threads alive.
    pub threads: usize,
    /// Embedders open, each with a model of its own in memory.
    pub embedders_open: usize,
}

/// A vector under way.
#[derive(Debug)]
pub struct Pending(oneshot::Receiver<Result<Embedded, PoolError>>);

impl Pending {
    /// The vector, or why there is none.
    pub async fn vector(self) -> Result<Embedded, PoolError> {
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

struct Shared {
    open: OpenEmbedder,
    options: PoolOptions,
    queue: Queue,
    room: Arc<Semaphore>,
    cache: QueryCache,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbedPool")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl EmbedPool {
    /// Starts the threads. The first opens its embedder at once, the others when many texts wait;
    /// one that cannot be opened is tried again later.
    #[must_use]
    pub fn start(options: PoolOptions, open: OpenEmbedder) -> Self {
        let shared = Arc::new(Shared {
            queue: Queue::new(),
            room: Arc::new(Semaphore::new(options.documents_max)),
            cache: QueryCache::new(options.cache_max),
            open,
            options,
        });
        let (alive, ended) = watch::channel(0);
        // Without a first thread a few texts would wait for ever.
        let mut part = Part::First;
        for number in 0..shared.options.threads.max(1) {
            if worker::spawn(number, part, Arc::clone(&shared), alive.clone()) {
                part = Part::Helper;
            }
        }
        Self(Arc::new(Owner { shared, ended }))
    }

    /// The vector of a question, which is that of its [`subject`]. Answered before any waiting
    /// document; dropped unembedded when the future is.
    pub async fn query(&self, question: &str) -> Result<Arc<Embedded>, PoolError> {
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

    /// Hands in a text to be kept; waits while too many are waiting.
    pub async fn document(&self, text: &str) -> Pending {
        let (reply, answer) = oneshot::channel();
        let shared = &self.0.shared;
        if let Ok(room) = Arc::clone(&shared.room).acquire_owned().await {
            let since = Instant::now();
            let job = Job {
                text: text.to_owned(),
                since,
                reply,
                room: Some(room),
            };
            // A closed pool drops the job, and the asker reads `Closed`.
            let _closed = shared.queue.push_document(job).is_err();
        }
        Pending(answer)
    }

    /// What the pool did so far.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            threads: *self.0.ended.borrow(),
            ..self.0.shared.queue.stats()
        }
    }

    /// Takes nothing new, finishes what is waiting, ends the threads. `false` where they did not
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
