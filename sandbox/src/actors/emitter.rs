//! Emits events from actors into the host's log.

use std::sync::Mutex;

use reprise_types::lock;

use crate::event::{EventIds, SYSTEM_USER};
use crate::prelude::*;

/// Time limit of the log.
const APPEND_MS: u64 = 10_000;

/// An event before it has id, time and user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventDraft {
    pub(crate) event_type: &'static str,
    pub(crate) actor_id: String,
    /// Emitted for the user rather than the system, as workers do and the conductor does not.
    pub(crate) by_user: bool,
    pub(crate) payload: Value,
}

/// Writes the events of one user's actors. Cheap to clone.
#[derive(Clone)]
pub struct Emitter {
    store: ActorRef<EventStoreMsg>,
    clock: Arc<dyn Clock>,
    user: UserId,
    ids: Arc<Mutex<EventIds>>,
}

reprise_types::show_fields!(Emitter { user });

impl Emitter {
    /// An emitter for `user`'s actors, into this log, with this clock.
    pub fn new(store: ActorRef<EventStoreMsg>, clock: Arc<dyn Clock>, user: UserId) -> Self {
        Self {
            store,
            clock,
            user,
            ids: Arc::default(),
        }
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// A new ULID.
    pub(crate) fn id(&self) -> String {
        let mut ids = lock(&self.ids);
        ids.next(self.clock.now())
    }

    /// The current time as written in payloads.
    pub(crate) fn now(&self) -> String {
        self.clock.now().to_rfc3339()
    }

    /// Appends events, in order. The log is the source of truth: a run stops where its events
    /// cannot be logged.
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
        let append = |reply| EventStoreMsg::Append { events, reply };
        ask(&self.store, append, APPEND_MS).await.map(drop)
    }
}
