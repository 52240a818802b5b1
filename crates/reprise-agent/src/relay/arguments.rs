//! The arguments of a relay, shared by all its stages.

use std::fmt;
use std::sync::Arc;

use reprise_engine::{Engine, WriteBatch, Written};
use reprise_types::{Clock, MemoryError};
use tokio::sync::oneshot;

use super::feed::{FeedSource, SourceBinding};
use super::handle::RelayHandle;
use super::map::Mapper;
use crate::protocol::MemoryAgentMsg;
use crate::supervisor::Directory;

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

impl fmt::Debug for MemoryEventRelayArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEventRelayArguments")
            .field("binding", &self.binding)
            .finish_non_exhaustive()
    }
}

impl MemoryEventRelayArguments {
    /// Forwards a batch to the agent, which embeds and writes it.
    pub(super) async fn write(&self, batch: WriteBatch) -> Result<Written, MemoryError> {
        let (reply, written) = oneshot::channel();
        let message = MemoryAgentMsg::Write {
            batch,
            permit: None,
            reply: reply.into(),
        };
        let user = &self.binding.user;
        self.directory.deliver(user, message).await;
        // No answer: the agent ended with the message in its mailbox.
        written.await.unwrap_or_else(|_| {
            Err(MemoryError::Unavailable {
                user: user.to_string(),
            })
        })
    }

    /// Runs work on the engine of the user's memory.
    pub(super) async fn with_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.directory.with_engine(&self.binding.user, work).await
    }
}
