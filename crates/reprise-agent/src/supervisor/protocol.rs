//! What the supervisor of memories can be asked.

use std::sync::Arc;

use ractor::{ActorCell, RpcReplyPort};
use reprise_types::{MemoryError, UserId};

use crate::handle::AgentHandle;
use crate::relay::{FeedSource, Mapper, RelayHandle, SourceBinding};

pub enum MemorySupervisorMsg {
    /// The memory of a user, started where it does not run.
    GetOrCreate {
        user: UserId,
        /// Its address; the file may still be opening.
        reply: RpcReplyPort<Result<AgentHandle, MemoryError>>,
    },
    /// Binds a source of events to a user.
    StartRelay {
        binding: SourceBinding,
        /// What the events mean.
        mapper: Arc<Mapper>,
        /// Where they come from; asked again after a restart.
        feed: FeedSource,
        reply: RpcReplyPort<Result<RelayHandle, MemoryError>>,
    },
    Ping {
        /// Answered at once.
        reply: RpcReplyPort<()>,
    },
    /// Every running child, for an orderly end.
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
