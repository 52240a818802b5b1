//! The actor that owns the host's event log.

mod log;

use std::sync::Mutex;

use reprise_types::lock;

use crate::event::StoredEvent;
use crate::prelude::*;

use log::EventLog;
pub use log::{Appended, EventQuery, EventStoreError};

#[derive(Debug)]
pub struct EventStoreActor;

#[derive(Debug)]
pub enum EventStoreMsg {
    /// Stores events in one transaction; those whose id is known are duplicates.
    Append {
        events: Vec<NewEvent>,
        /// One answer per event, in order.
        reply: RpcReplyPort<Result<Vec<Appended>, EventStoreError>>,
    },
    /// Reads a page, in ascending order.
    Query {
        query: EventQuery,
        reply: RpcReplyPort<Result<Vec<StoredEvent>, EventStoreError>>,
    },
    /// The position of the newest event; 0 for an empty log.
    GetLatestSeq {
        reply: RpcReplyPort<Result<u64, EventStoreError>>,
    },
}

/// The open log, used by one blocking task at a time.
#[derive(Debug)]
pub struct EventStoreState {
    log: Arc<Mutex<EventLog>>,
}

impl EventStoreState {
    /// Runs blocking work off the runtime's threads, in the order of the mailbox.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut EventLog) -> Result<T, EventStoreError> + Send + 'static,
    ) -> Result<T, EventStoreError> {
        let log = Arc::clone(&self.log);
        tokio::task::spawn_blocking(move || work(&mut lock(&log)))
            .await
            .map_err(|error| EventStoreError::Worker {
                message: error.to_string(),
            })?
    }
}

#[async_trait::async_trait]
impl Actor for EventStoreActor {
    type Msg = EventStoreMsg;
    type State = EventStoreState;
    /// The SQLite file, created if missing.
    type Arguments = PathBuf;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        path: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let log = tokio::task::spawn_blocking(move || EventLog::open(&path)).await??;
        Ok(EventStoreState {
            log: Arc::new(Mutex::new(log)),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            EventStoreMsg::Append { events, reply } => {
                answer(reply, state.run(move |log| log.append(&events)).await);
            }
            EventStoreMsg::Query { query, reply } => {
                answer(reply, state.run(move |log| log.query(&query)).await);
            }
            EventStoreMsg::GetLatestSeq { reply } => {
                answer(reply, state.run(|log| log.latest_seq()).await);
            }
        }
        Ok(())
    }
}

/// Asks the log, and waits no longer than so many milliseconds.
pub(crate) async fn ask<T: Send + 'static>(
    store: &ActorRef<EventStoreMsg>,
    message: impl FnOnce(RpcReplyPort<Result<T, EventStoreError>>) -> EventStoreMsg,
    limit_ms: u64,
) -> Result<T, EventStoreError> {
    let asked = call_t!(store, message, limit_ms);
    asked.map_err(|error| EventStoreError::Worker {
        message: error.to_string(),
    })?
}

/// Answers, unless the caller has gone.
fn answer<T: Send + 'static>(reply: RpcReplyPort<T>, value: T) {
    if !reply.is_closed() && reply.send(value).is_err() {
        tracing::debug!("the caller left before its answer");
    }
}

#[cfg(test)]
mod tests;
