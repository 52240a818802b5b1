//! Jobs for a memory's writer thread, and their answers.

use std::fmt;

use ractor::RpcReplyPort;
use reprise_engine::{Engine, EngineError};
use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use tokio::sync::oneshot;

/// Where the answer to a request goes.
pub type Reply<T> = RpcReplyPort<Result<T, MemoryError>>;

/// A job for a writer thread.
pub(crate) enum Job {
    Observe(Observe),
    /// Anything else that needs the engine.
    Run(Work),
}

/// Work on the engine, or on the error that there is none. The returned closure sends the answer;
/// it is called once readers see the change.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Engine, MemoryError>) -> Answer + Send>;
type Answer = Box<dyn FnOnce() + Send>;
/// Work on the engine in the job of a write.
pub(crate) type Beside = Box<dyn FnOnce(&mut Engine) + Send>;

/// Records to store, with the stream position that they advance the store to.
pub(crate) struct Observe {
    pub(crate) records: Vec<NewRecord>,
    /// Approximate size of the stored records.
    pub(crate) bytes: usize,
    pub(crate) cursor: Option<(String, u64)>,
    /// Runs in the same job, before the records are stored.
    pub(crate) before: Option<Beside>,
    /// Runs in the same job, after the records are stored; not where they could not be.
    pub(crate) after: Option<Beside>,
    pub(crate) reply: Reply<Vec<WriteOutcome>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observe(observe) => write!(f, "Observe({} records)", observe.records.len()),
            Self::Run(_) => f.write_str("Run"),
        }
    }
}

impl Observe {
    pub(crate) fn new(records: Vec<NewRecord>, reply: Reply<Vec<WriteOutcome>>) -> Self {
        Self {
            bytes: records.iter().map(NewRecord::encoded_bytes).sum(),
            records,
            cursor: None,
            before: None,
            after: None,
            reply,
        }
    }
}

impl Job {
    /// Work on the engine whose result goes to `reply`; `held` is dropped afterwards.
    pub(crate) fn answering<T: Send + 'static>(
        held: impl Send + 'static,
        reply: Reply<T>,
        work: impl FnOnce(&mut Engine) -> Result<T, MemoryError> + Send + 'static,
    ) -> Self {
        Self::Run(Box::new(move |engine| {
            let done = engine.and_then(work);
            Box::new(move || {
                // The caller may have gone; the work is done all the same.
                let _left = reply.send(done).is_err();
                drop(held);
            })
        }))
    }

    /// The same for callers within this crate.
    pub(crate) fn run<T: Send + 'static>(
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, MemoryError>>) {
        let (reply, answer) = oneshot::channel();
        (
            Self::answering((), reply.into(), move |engine| Ok(work(engine))),
            answer,
        )
    }

    /// Answers with an error.
    pub(crate) fn refuse(self, error: MemoryError) {
        match self {
            Self::Observe(observe) => {
                let _left = observe.reply.send(Err(error)).is_err();
            }
            Self::Run(work) => work(Err(error))(),
        }
    }
}

/// Converts an engine error to the port's error.
pub(crate) fn storage(error: &EngineError) -> MemoryError {
    MemoryError::Storage {
        message: error.to_string(),
    }
}

/// Converts an error about a run: a refused event is the caller's error.
pub(crate) fn run_error(error: EngineError) -> MemoryError {
    match error {
        EngineError::Learn(refused) => MemoryError::Invalid {
            message: refused.to_string(),
        },
        error => storage(&error),
    }
}
