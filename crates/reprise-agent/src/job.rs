//! Jobs for a memory's writer thread, and their answers.

use std::fmt;

use ractor::RpcReplyPort;
use reprise_engine::{Engine, EngineError, WriteBatch, Written};
use reprise_types::{MemoryError, NewRecord};
use tokio::sync::oneshot;

/// Where the answer to a request goes.
pub type Reply<T> = RpcReplyPort<Result<T, MemoryError>>;

pub(crate) type Coming<T> = oneshot::Receiver<Result<T, MemoryError>>;

/// A job for a writer thread.
pub(crate) enum Job {
    /// A batch, which may share its commit with those around it.
    Write(Write),
    /// Anything else that needs the engine.
    Run(Box<Work>),
}

/// Work on the engine, or on the error that there is none. What it returns answers the request, and
/// is called once readers see the change.
pub(crate) type Work = dyn FnOnce(Result<&mut Engine, MemoryError>) -> Answer + Send;

pub(crate) type Answer = Box<dyn FnOnce() + Send>;

pub(crate) struct Write {
    pub(crate) batch: WriteBatch,
    /// Approximate size of the stored records.
    pub(crate) bytes: usize,
    pub(crate) reply: oneshot::Sender<Result<Written, MemoryError>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(write) => write!(f, "Write({} records)", write.batch.records.len()),
            Self::Run(_) => f.write_str("Run"),
        }
    }
}

impl Job {
    /// A batch, and what comes of it.
    pub(crate) fn write(batch: WriteBatch) -> (Self, Coming<Written>) {
        let (reply, written) = oneshot::channel();
        let bytes = batch.records.iter().map(NewRecord::encoded_bytes).sum();
        let write = Write {
            batch,
            bytes,
            reply,
        };
        (Self::Write(write), written)
    }

    /// Work on the engine whose result goes to `reply`; `held` is dropped afterwards.
    pub(crate) fn answering<T: Send + 'static>(
        held: impl Send + 'static,
        reply: Reply<T>,
        work: impl FnOnce(&mut Engine) -> Result<T, MemoryError> + Send + 'static,
    ) -> Self {
        let run = move |engine: Result<&mut Engine, MemoryError>| -> Answer {
            let done = engine.and_then(work);
            Box::new(move || {
                // The caller may have gone; the work is done all the same.
                let _left = reply.send(done).is_err();
                drop(held);
            })
        };
        Self::Run(Box::new(run))
    }

    /// The same for callers within this crate.
    pub(crate) fn run<T: Send + 'static>(
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> (Self, Coming<T>) {
        let (reply, answer) = oneshot::channel();
        let work = move |engine: &mut Engine| Ok(work(engine));
        (Self::answering((), reply.into(), work), answer)
    }

    pub(crate) fn refuse(self, error: MemoryError) {
        match self {
            Self::Write(write) => {
                let _left = write.reply.send(Err(error)).is_err();
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
