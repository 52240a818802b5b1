//! Work for a memory's writer thread, and how its asker hears of it.

use std::fmt;

use ractor::RpcReplyPort;
use reprise_engine::{Engine, EngineError};
use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use tokio::sync::oneshot;

/// Where the answer to a request goes.
pub type Reply<T> = RpcReplyPort<Result<T, MemoryError>>;

/// What a writer thread is asked to do.
pub(crate) enum Job {
    Observe(Observe),
    /// Anything else that needs the engine.
    Run(Work),
}

/// Work on the engine, or on the news that there is none; what it gives back answers the asker, and
/// is called once readers see what was done.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut Engine, MemoryError>) -> Answer + Send>;
type Answer = Box<dyn FnOnce() + Send>;
/// Work on the engine on the way to something else.
pub(crate) type Before = Box<dyn FnOnce(&mut Engine) + Send>;

/// Records to keep, with the place in a stream that they bring the store to.
pub(crate) struct Observe {
    pub(crate) records: Vec<NewRecord>,
    /// About how much they take in the file.
    pub(crate) bytes: usize,
    pub(crate) cursor: Option<(String, u64)>,
    /// Done on the same visit, before they are kept.
    pub(crate) before: Option<Before>,
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
            reply,
        }
    }
}

impl Job {
    /// Work on the engine whose result goes to `reply`; `held` is dropped when it has.
    pub(crate) fn answering<T: Send + 'static>(
        held: impl Send + 'static,
        reply: Reply<T>,
        work: impl FnOnce(&mut Engine) -> Result<T, MemoryError> + Send + 'static,
    ) -> Self {
        Self::Run(Box::new(move |engine| {
            let done = engine.and_then(work);
            Box::new(move || {
                // An asker that left has no use for the answer; the work is done all the same.
                let _left = reply.send(done).is_err();
                drop(held);
            })
        }))
    }

    /// The same for an asker of this crate.
    pub(crate) fn run<T: Send + 'static>(
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, MemoryError>>) {
        let (reply, answer) = oneshot::channel();
        (
            Self::answering((), reply.into(), move |engine| Ok(work(engine))),
            answer,
        )
    }

    /// Tells the asker why it is not done.
    pub(crate) fn refuse(self, error: MemoryError) {
        match self {
            Self::Observe(observe) => {
                let _left = observe.reply.send(Err(error)).is_err();
            }
            Self::Run(work) => work(Err(error))(),
        }
    }
}

/// The engine's sentence as an error of the port.
pub(crate) fn storage(error: &EngineError) -> MemoryError {
    MemoryError::Storage {
        message: error.to_string(),
    }
}

/// What the engine makes of something said of a run: a refusal is the asker's to hear.
pub(crate) fn of_a_run(error: EngineError) -> MemoryError {
    match error {
        EngineError::Learn(refused) => MemoryError::Invalid {
            message: refused.to_string(),
        },
        error => storage(&error),
    }
}
