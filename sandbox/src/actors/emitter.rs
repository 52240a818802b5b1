//! Emits events from actors into the host's log.

use std::sync::Mutex;

use reprise_types::lock;

use crate::event::{EventIds, SYSTEM_USER};
use crate::prelude::*;

/// Time limit for a reply of the log.
const APPEND_MS: u64 = 10_000;

/// An event that has no id, time and user yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventDraft {
    pub(crate) event_type: &'static str,
    pub(crate) actor_id: String,
    /// Whether it is emitted for the user and not for the system; workers do so, the conductor does
    /// not.
    pub(crate) is_by_user: bool,
    pub(crate) payload: Value,
}

/// Writes the events of one user's actors. Cheap to clone.
#[derive(Clone)]
pub struct EventEmitter {
    store: ActorRef<EventStoreMsg>,
    clock: Arc<dyn Clock>,
    user: UserId,
    ids: Arc<Mutex<EventIds>>,
}

reprise_types::show_fields!(EventEmitter { user });

impl EventEmitter {
    /// Creates an emitter for the actors of `user`.
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

    /// Returns a new ULID.
    pub(crate) fn new_id(&self) -> String {
        let mut ids = lock(&self.ids);
        ids.next_id(self.clock.now())
    }

    /// Returns the current time in the format of payloads.
    pub(crate) fn format_now(&self) -> String {
        self.clock.now().to_rfc3339()
    }

    /// Appends events, in order. The log is the source of truth, so a run stops if its events
    /// cannot be logged.
    pub(crate) async fn emit(&self, drafts: Vec<EventDraft>) -> Result<(), EventStoreError> {
        let event = |draft: EventDraft| NewEvent {
            event_id: self.new_id(),
            timestamp: self.clock.now(),
            event_type: draft.event_type.to_owned(),
            payload: draft.payload,
            actor_id: draft.actor_id,
            user_id: if draft.is_by_user {
                self.user.to_string()
            } else {
                SYSTEM_USER.to_owned()
            },
        };
        let events = drafts.into_iter().map(event).collect();
        let append = |reply| EventStoreMsg::Append { events, reply };
        call_store(&self.store, append, APPEND_MS).await.map(drop)
    }
}
