//! The messages of the memory supervisor.

use std::sync::Arc;

use ractor::{ActorCell, RpcReplyPort};
use reprise_types::{MemoryError, UserId};

use crate::handle::AgentHandle;
use crate::relay::{FeedSource, Mapper, RelayHandle, SourceBinding};

pub enum MemorySupervisorMsg {
    /// The memory of a user, started where it does not run.
    GetOrCreate {
        user: UserId,
        /// Its handle; the file may still be opening.
        reply: RpcReplyPort<Result<AgentHandle, MemoryError>>,
    },
    /// Starts a relay from a source of events to a user's memory.
    StartRelay {
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        /// Creates the feed; called again after a restart.
        feed: FeedSource,
        reply: RpcReplyPort<Result<RelayHandle, MemoryError>>,
    },
    Ping {
        /// Answers a ping.
        reply: RpcReplyPort<()>,
    },
    /// Every running child, for the shutdown.
    GetChildren { reply: RpcReplyPort<Children> },
}

#[derive(Debug, Default)]
pub struct Children {
    pub(crate) relays: Vec<ActorCell>,
    pub(crate) agents: Vec<ActorCell>,
}

impl std::fmt::Debug for MemorySupervisorMsg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GetOrCreate { user, .. } => write!(f, "GetOrCreate({user})"),
            Self::StartRelay { binding, .. } => write!(f, "StartRelay({binding:?})"),
            Self::Ping { .. } => f.write_str("Ping"),
            Self::GetChildren { .. } => f.write_str("GetChildren"),
        }
    }
}
