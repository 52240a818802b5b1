//! What most files of the host use: one list instead of one in each.

pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::{Duration, Instant};

pub(crate) use async_trait::async_trait;
pub(crate) use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call_t};
pub(crate) use reprise_types::{Clock, MemoryError, MemoryProvider, RecordId, UserId};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::sync::watch;

pub(crate) use crate::actors::{
    FailureKind, MemoryAnswer, RunError, Task, TurnContext, WorkerDirectory, WorkerStatus,
};
pub(crate) use crate::event::NewEvent;
pub(crate) use crate::event_bus::EventBusMsg;
pub(crate) use crate::event_store::{EventStoreError, EventStoreMsg, call_store};
