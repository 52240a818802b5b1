//! The actor of a relay, which supervises the pipeline's task.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::handle::RelayHandle;
use super::pipeline::{MemoryEventRelayArguments, Pipeline};

/// Most requests queued for a relay.
const REQUESTS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct MemoryEventRelay;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RelayMsg {
    /// Notes that the pipeline has ended; `Some` if it failed, with its error.
    NoteEnd(Option<String>),
}

#[derive(Debug)]
pub(crate) struct MemoryEventRelayState {
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
    handle: RelayHandle,
}

impl Drop for MemoryEventRelayState {
    /// Stops the task when the actor ends, even if it was killed.
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.handle.set_request_sender(None);
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
        handle.set_request_sender(Some(sender));
        let task = tokio::spawn(async move {
            let pipeline =
                tokio::spawn(Pipeline::new(arguments, stopped).run_until_stopped(requests));
            let failure = pipeline.await.err().map(|error| error.to_string());
            // This fails only if the actor has ended, which also ended the task.
            let _receiver_gone = myself.cast(RelayMsg::NoteEnd(failure)).is_err();
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
                let _already_ended = myself.drain().is_err();
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
