//! The actor of a relay: it supervises the pipeline's task.

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reprise_engine::{Engine, WriteBatch, Written};
use reprise_types::{Clock, MemoryError};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::feed::{FeedSource, SourceBinding};
use super::handle::RelayHandle;
use super::map::Mapper;
use super::pipeline::Pipeline;
use crate::job::Job;
use crate::protocol::MemoryAgentMsg;
use crate::supervisor::Directory;

/// Most requests queued for a relay.
const REQUESTS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct MemoryEventRelay;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RelayMsg {
    /// The pipeline has ended; `Some` with its error.
    NoteEnd(Option<String>),
}

#[derive(Debug)]
pub(crate) struct MemoryEventRelayState {
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
    handle: RelayHandle,
}

impl Drop for MemoryEventRelayState {
    /// The task ends with the actor, however that ends.
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.handle.connect(None);
    }
}

#[async_trait::async_trait]
impl Actor for MemoryEventRelay {
    type Msg = RelayMsg;
    type State = MemoryEventRelayState;
    type Arguments = MemoryEventRelayArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let handle = arguments.handle.clone();
        let (sender, requests) = mpsc::channel(REQUESTS_MAX);
        let (stop, stopped) = watch::channel(false);
        handle.connect(Some(sender));
        let task = tokio::spawn(async move {
            let pipeline = tokio::spawn(Pipeline::new(arguments, stopped).run(requests));
            let failure = pipeline.await.err().map(|error| error.to_string());
            // Fails only where the actor has ended, which then ended the task.
            let _gone = myself.cast(RelayMsg::NoteEnd(failure)).is_err();
        });
        Ok(MemoryEventRelayState {
            stop,
            task: Some(task),
            handle,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        _state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RelayMsg::NoteEnd(Some(failure)) => Err(failure.into()),
            RelayMsg::NoteEnd(None) => {
                let _already = myself.drain().is_err();
                Ok(())
            }
        }
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.stop.send_replace(true);
        if let Some(task) = state.task.take() {
            // The task catches the pipeline's panics itself.
            let _panicked = task.await.is_err();
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct MemoryEventRelayArguments {
    pub(crate) binding: SourceBinding,
    pub(crate) mapper: Arc<Mapper>,
    pub(crate) feed: FeedSource,
    pub(crate) batch: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) handle: RelayHandle,
}

reprise_types::show_fields!(MemoryEventRelayArguments { binding });

impl MemoryEventRelayArguments {
    /// Forwards a batch to the agent, which embeds and writes it.
    pub(super) async fn write(&self, batch: WriteBatch) -> Result<Written, MemoryError> {
        let write = |reply| MemoryAgentMsg::Write {
            batch,
            permit: None,
            reply,
        };
        self.directory.ask(&self.binding.user, write).await
    }

    /// Runs work on the engine of the user's memory.
    pub(super) async fn with_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (job, answer) = Job::run(work);
        let user = &self.binding.user;
        self.directory.work(user, job).await;
        answer
            .await
            .unwrap_or_else(|_| Err(MemoryError::unavailable(user)))
    }
}
