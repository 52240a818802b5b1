//! One user's running memory, as everyone but its own actor sees it.
//!
//! Lives here: the way to the writer thread (a bounded channel) and the latest snapshot, which
//! readers take without waiting for anybody. Must never live here: the engine itself.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use reprise_engine::{Engine, EngineError, Snapshot};
use reprise_types::{MemoryError, NewRecord, Receipt, UserId, WriteOutcome};
use tokio::sync::{mpsc, oneshot, watch};

/// What a writer thread is asked to do.
pub(crate) enum Job {
    /// Keep records.
    Observe(Observe),
    /// Anything else that needs the engine.
    Run(Work),
}

/// Work on the engine, or on the news that there is none; what it answers with is said once readers
/// see what it did.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Engine, MemoryError>) -> Said + Send>;
type Said = Box<dyn FnOnce() + Send>;

impl Job {
    /// Work on the engine, and where its result arrives.
    pub(crate) fn run<T: Send + 'static>(
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, MemoryError>>) {
        let (reply, answer) = oneshot::channel();
        let work = move |engine: Result<&mut Engine, MemoryError>| -> Said {
            let done = engine.map(work);
            // An asker that left has no use for the answer; the work is done all the same.
            Box::new(move || drop(reply.send(done)))
        };
        (Self::Run(Box::new(work)), answer)
    }
}

/// Records to keep, with the place in a stream that they bring the store to.
#[derive(Debug)]
pub(crate) struct Observe {
    pub(crate) records: Vec<NewRecord>,
    /// About how much they take in the file.
    pub(crate) bytes: usize,
    pub(crate) cursor: Option<(String, u64)>,
    pub(crate) reply: oneshot::Sender<Result<Vec<WriteOutcome>, MemoryError>>,
}

/// How far the opening of the file has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Readiness {
    Opening,
    Open,
    Failed(MemoryError),
}

/// The address of one user's memory. Cheap to clone; closed for good once its agent has ended.
#[derive(Clone)]
pub struct AgentHandle(Arc<Inner>);

struct Inner {
    user: UserId,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    snapshot: ArcSwapOption<Snapshot>,
    ready: watch::Sender<Readiness>,
    /// Before the first look at the file.
    born: Instant,
    used: Mutex<Instant>,
    /// Held while the file is rewritten.
    compactions: Arc<tokio::sync::Mutex<()>>,
}

impl fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHandle")
            .field("user", &self.0.user)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl AgentHandle {
    /// A handle and the receiving end for the writer thread.
    pub(crate) fn new(user: UserId, queue_max: usize) -> (Self, mpsc::Receiver<Job>) {
        let (sender, receiver) = mpsc::channel(queue_max.max(1));
        let inner = Inner {
            user,
            jobs: Mutex::new(Some(sender)),
            snapshot: ArcSwapOption::empty(),
            ready: watch::Sender::new(Readiness::Opening),
            born: Instant::now(),
            used: Mutex::new(Instant::now()),
            compactions: Arc::default(),
        };
        (Self(Arc::new(inner)), receiver)
    }

    /// Whose memory it is.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.0.user
    }

    /// Whether its agent has ended; ask the supervisor for a new one.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// The present state for readers.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, MemoryError> {
        self.touch();
        self.0
            .snapshot
            .load_full()
            .ok_or_else(|| self.unavailable())
    }

    /// The same for the agent's own chores: it does not count as use.
    pub(crate) fn newest(&self) -> Option<Arc<Snapshot>> {
        self.0.snapshot.load_full()
    }

    /// Whose turn it is to rewrite the file.
    pub(crate) fn compactions(&self) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.0.compactions)
    }

    /// Waits until the file is open.
    pub(crate) async fn ready(&self) -> Result<(), MemoryError> {
        let mut ready = self.0.ready.subscribe();
        let settled = ready.wait_for(|state| *state != Readiness::Opening).await;
        match settled.map(|state| state.clone()) {
            Ok(Readiness::Open) => Ok(()),
            Ok(Readiness::Failed(error)) => Err(error),
            Ok(Readiness::Opening) | Err(_) => Err(self.unavailable()),
        }
    }

    /// Whether its file was first looked at before `then`, if not later.
    pub(crate) fn is_older_than(&self, then: Instant) -> bool {
        self.0.born < then
    }

    pub(crate) fn set_open(&self) {
        self.0.ready.send_replace(Readiness::Open);
    }

    /// The file could not be opened. Closed first: whoever hears why, and asks again, must not be
    /// given this one again.
    pub(crate) fn fail(&self, error: MemoryError) {
        self.take_no_more();
        self.0.ready.send_replace(Readiness::Failed(error));
    }

    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        let held = self.0.snapshot.load_full();
        // Storing looks at every thread that ever read one, of which there is one a user: a chore
        // that has changed nothing is not worth that.
        if !held.is_some_and(|held| Arc::ptr_eq(&held, &snapshot)) {
            self.0.snapshot.store(Some(snapshot));
        }
    }

    /// Takes nothing new; the writer finishes what is queued and ends.
    pub(crate) fn close(&self) {
        self.take_no_more();
        self.0.ready.send_if_modified(|state| {
            let waiting = *state == Readiness::Opening;
            if waiting {
                *state = Readiness::Failed(self.unavailable());
            }
            waiting
        });
    }

    fn take_no_more(&self) {
        let mut jobs = self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.take();
    }

    /// How long nobody has asked for anything.
    pub(crate) fn idle(&self) -> Duration {
        self.0
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }

    pub(crate) fn unavailable(&self) -> MemoryError {
        MemoryError::Unavailable {
            user: self.0.user.to_string(),
        }
    }

    /// Runs work on the engine without counting as use: for the agent's own chores.
    pub(crate) async fn housekeeping<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (job, answer) = Job::run(work);
        self.hand_over(job).await.map_err(|_| self.unavailable())?;
        answer.await.map_err(|_| self.unavailable())?
    }

    /// Hands a job to the writer; waits while its queue is full. Gives the job back, undone, where
    /// the writer takes nothing any more.
    pub(crate) async fn send(&self, job: Job) -> Result<(), Job> {
        self.touch();
        self.hand_over(job).await
    }

    async fn hand_over(&self, job: Job) -> Result<(), Job> {
        let jobs = self
            .0
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match jobs {
            Some(jobs) => jobs.send(job).await.map_err(|refused| refused.0),
            None => Err(job),
        }
    }

    fn touch(&self) {
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl AgentHandle {
    /// Hands a recall's receipt to the writer without waiting. Where its queue is full the receipt
    /// is lost, and an outcome that names the recall will be refused: a recall never waits for
    /// that.
    pub(crate) fn remember(&self, receipt: Receipt) {
        let (job, _nobody) = Job::run(move |engine| engine.remember_recall(receipt));
        let jobs = self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            tracing::debug!(user = %self.0.user, %error, "a receipt was lost");
        }
    }
}

/// The engine's sentence as an error of the port.
pub(crate) fn storage(error: &EngineError) -> MemoryError {
    MemoryError::Storage {
        message: error.to_string(),
    }
}
