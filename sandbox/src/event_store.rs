//! The actor that owns the host's event log.

mod log;

use std::sync::Mutex;

use reprise_types::lock;

use crate::event::StoredEvent;
use crate::prelude::*;

use log::EventLog;
pub use log::{AppendOutcome, EventQuery, EventStoreError};

#[derive(Debug)]
pub struct EventStoreActor;

#[derive(Debug)]
pub enum EventStoreMsg {
    /// Stores events in one transaction; an event whose id is stored already is a duplicate.
    Append {
        events: Vec<NewEvent>,
        /// Receives one outcome per event, in order.
        reply: RpcReplyPort<Result<Vec<AppendOutcome>, EventStoreError>>,
    },
    /// Reads a page of events, in ascending order.
    Query {
        query: EventQuery,
        reply: RpcReplyPort<Result<Vec<StoredEvent>, EventStoreError>>,
    },
    /// Returns the position of the newest event; 0 for an empty log.
    GetLatestSeq {
        reply: RpcReplyPort<Result<u64, EventStoreError>>,
    },
}

/// The open log, which one blocking task uses at a time.
#[derive(Debug)]
pub struct EventStoreState {
    log: Arc<Mutex<EventLog>>,
}

impl EventStoreState {
    /// Runs blocking work off the runtime's threads, in the order of the mailbox.
    async fn run_on_log<T: Send + 'static>(
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
                send_reply(
                    reply,
                    state.run_on_log(move |log| log.append(&events)).await,
                );
            }
            EventStoreMsg::Query { query, reply } => {
                send_reply(reply, state.run_on_log(move |log| log.query(&query)).await);
            }
            EventStoreMsg::GetLatestSeq { reply } => {
                send_reply(reply, state.run_on_log(|log| log.latest_seq()).await);
            }
        }
        Ok(())
    }
}

/// Sends a request to the log, and waits for the reply for at most `limit_ms` milliseconds.
pub async fn call_store<T: Send + 'static>(
    store: &ActorRef<EventStoreMsg>,
    message: impl FnOnce(RpcReplyPort<Result<T, EventStoreError>>) -> EventStoreMsg,
    limit_ms: u64,
) -> Result<T, EventStoreError> {
    let answer = call_t!(store, message, limit_ms);
    answer.map_err(|error| EventStoreError::Worker {
        message: error.to_string(),
    })?
}

/// Sends a reply, unless the caller is gone.
fn send_reply<T: Send + 'static>(reply: RpcReplyPort<T>, value: T) {
    if !reply.is_closed() && reply.send(value).is_err() {
        tracing::debug!("the caller was gone before the reply");
    }
}

#[cfg(test)]
mod tests;
