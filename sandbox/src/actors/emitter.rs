//! The way of an event from an actor into the host's log.
//!
//! Ids, times, the call.

use std::sync::{Arc, Mutex, PoisonError};

use ractor::{ActorRef, call_t};
use reprise_types::{Clock, UserId};
use serde_json::Value;

use crate::event::{NewEvent, SYSTEM_USER};
use crate::event_store::{EventStoreError, EventStoreMsg};
use crate::ids::EventIds;

/// How long the log may take.
const APPEND_MS: u64 = 10_000;

/// Something that an actor has to say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventDraft {
    pub(crate) event_type: &'static str,
    pub(crate) actor_id: String,
    /// Of the user rather than of the system: workers say so, the conductor does not.
    pub(crate) by_user: bool,
    pub(crate) payload: Value,
}

/// Writes events of one user's actors. Cheap to clone.
#[derive(Clone)]
pub struct Emitter {
    store: ActorRef<EventStoreMsg>,
    clock: Arc<dyn Clock>,
    user: UserId,
    ids: Arc<Mutex<EventIds>>,
}

impl std::fmt::Debug for Emitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Emitter {
    /// Events of `user`'s actors, into this log, by this clock.
    #[must_use]
    pub fn new(store: ActorRef<EventStoreMsg>, clock: Arc<dyn Clock>, user: UserId) -> Self {
        Self {
            store,
            clock,
            user,
            ids: Arc::default(),
        }
    }

    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// A fresh ULID of now.
    pub(crate) fn id(&self) -> String {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.next(self.clock.now())
    }

    /// Now, as payloads write it.
    pub(crate) fn now(&self) -> String {
        self.clock.now().to_rfc3339()
    }

    /// Stores what happened, in order. The log is the host's truth: a run whose events cannot be
    /// logged does not go on.
    pub(crate) async fn emit(&self, happened: Vec<EventDraft>) -> Result<(), EventStoreError> {
        let event = |said: EventDraft| NewEvent {
            event_id: self.id(),
            timestamp: self.clock.now(),
            event_type: said.event_type.to_owned(),
            payload: said.payload,
            actor_id: said.actor_id,
            user_id: if said.by_user {
                self.user.to_string()
            } else {
                SYSTEM_USER.to_owned()
            },
        };
        let events = happened.into_iter().map(event).collect();
        let asked = call_t!(
            self.store,
            |reply| EventStoreMsg::Append { events, reply },
            APPEND_MS
        );
        asked
            .map_err(|error| EventStoreError::Worker {
                message: error.to_string(),
            })?
            .map(drop)
    }
}
