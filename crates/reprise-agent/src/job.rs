//! Jobs for a memory's writer thread, and their replies.

use std::fmt;

use ractor::RpcReplyPort;
use reprise_engine::{Engine, EngineError, WriteBatch, WriteBatchReport};
use reprise_types::{ErrorKind, MemoryError, NewRecord};
use tokio::sync::oneshot;

/// Port to which the reply to a request is sent.
pub type ReplyPort<T> = RpcReplyPort<Result<T, MemoryError>>;

pub(crate) type PendingReply<T> = oneshot::Receiver<Result<T, MemoryError>>;

/// A job for a writer thread.
pub(crate) enum WriterJob {
    /// A batch, which may share its commit with neighbouring batches.
    Write(WriteJob),
    /// Anything else that needs the engine.
    Run(Box<EngineCall>),
}

/// Work on the engine, or on the error that there is none. It returns the function that sends the
/// reply, which is called once readers see the change.
pub(crate) type EngineCall = dyn FnOnce(Result<&mut Engine, MemoryError>) -> DeliverReply + Send;

pub(crate) type DeliverReply = Box<dyn FnOnce() + Send>;

pub(crate) struct WriteJob {
    pub(crate) batch: WriteBatch,
    /// Approximate size of the stored records.
    pub(crate) bytes: usize,
    pub(crate) reply: oneshot::Sender<Result<WriteBatchReport, MemoryError>>,
}

impl fmt::Debug for WriterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(write) => write!(f, "Write({} records)", write.batch.records.len()),
            Self::Run(_) => f.write_str("Run"),
        }
    }
}

impl WriterJob {
    /// Creates the job that writes a batch, and the receiver of its result.
    pub(crate) fn from_batch(batch: WriteBatch) -> (Self, PendingReply<WriteBatchReport>) {
        let (reply, written) = oneshot::channel();
        let bytes = batch.records.iter().map(NewRecord::encoded_size).sum();
        let write = WriteJob {
            batch,
            bytes,
            reply,
        };
        (Self::Write(write), written)
    }

    /// Creates a job from work on the engine whose result goes to `reply`; `guard` is dropped
    /// afterwards.
    pub(crate) fn from_work_with_reply<T: Send + 'static>(
        guard: impl Send + 'static,
        reply: ReplyPort<T>,
        work: impl FnOnce(&mut Engine) -> Result<T, MemoryError> + Send + 'static,
    ) -> Self {
        let run = move |engine: Result<&mut Engine, MemoryError>| -> DeliverReply {
            let result = engine.and_then(work);
            Box::new(move || {
                // The caller may be gone; the work is done nevertheless.
                let _caller_gone = reply.send(result).is_err();
                drop(guard);
            })
        };
        Self::Run(Box::new(run))
    }

    /// Creates a job from work on the engine, and the receiver of its result.
    pub(crate) fn from_work<T: Send + 'static>(
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> (Self, PendingReply<T>) {
        let (reply, answer) = oneshot::channel();
        let work = move |engine: &mut Engine| Ok(work(engine));
        (Self::from_work_with_reply((), reply.into(), work), answer)
    }

    pub(crate) fn refuse(self, error: MemoryError) {
        match self {
            Self::Write(write) => {
                let _caller_gone = write.reply.send(Err(error)).is_err();
            }
            Self::Run(work) => work(Err(error))(),
        }
    }
}

/// Converts an engine's error to the error of the memory port.
pub(crate) fn to_storage_error(error: &EngineError) -> MemoryError {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Retry => MemoryError::StorageBusy { message },
        _ => MemoryError::Storage { message },
    }
}
