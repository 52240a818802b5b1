//! The actor that carries stored events onto the bus.
//!
//! Polling by position, at-least-once publication. Like choiros' it starts at 0 on every start
//! unless told otherwise, so the whole log replays, and every subscriber must survive that.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, call_t};
use reprise_types::Clock;

use crate::event_bus::EventBusMsg;
use crate::event_store::{EventQuery, EventStoreMsg};
use crate::ids::EventIds;

const PAGE: u32 = 500;
/// How long the store or the bus may take before the page is tried again.
const CALL_MS: u64 = 10_000;
/// Polls are at least so far apart.
const POLL_MIN: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct EventRelayActor;

/// What the relay starts from.
#[derive(Clone)]
pub struct EventRelayArguments {
    pub store: ActorRef<EventStoreMsg>,
    pub bus: ActorRef<EventBusMsg>,
    /// Only later ones; 0 for all.
    pub since_seq: u64,
    /// How long to wait when the log has nothing new.
    pub poll: Duration,
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for EventRelayArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventRelayArguments")
            .field("since_seq", &self.since_seq)
            .field("poll", &self.poll)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub enum EventRelayMsg {
    /// Looks for new events; the relay sends it to itself.
    Poll,
}

/// How far the relay has come.
#[derive(Debug)]
pub struct EventRelayState {
    arguments: EventRelayArguments,
    ids: EventIds,
}

impl EventRelayState {
    /// Publishes one page; whether there may be more right now.
    async fn relay_page(&mut self) -> Result<bool, String> {
        let query = EventQuery {
            since_seq: self.arguments.since_seq,
            limit: PAGE,
            ..EventQuery::default()
        };
        let page = call_t!(
            self.arguments.store,
            |reply| EventStoreMsg::Query { query, reply },
            CALL_MS
        )
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
        let Some(last) = page.last().map(|event| event.seq) else {
            return Ok(false);
        };
        let full = page.len() == PAGE as usize;
        let now = self.arguments.clock.now();
        let events = page
            .iter()
            .map(|event| Arc::new(event.to_bus(self.ids.next(now), now)))
            .collect();
        call_t!(
            self.arguments.bus,
            |reply| EventBusMsg::Publish { events, reply },
            CALL_MS
        )
        .map_err(|error| error.to_string())?;
        // Moved only after the bus has answered: a page may be published twice, never not at all.
        self.arguments.since_seq = last;
        Ok(full)
    }
}

#[async_trait::async_trait]
impl Actor for EventRelayActor {
    type Msg = EventRelayMsg;
    type State = EventRelayState;
    type Arguments = EventRelayArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        mut arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        arguments.poll = arguments.poll.max(POLL_MIN);
        myself.cast(EventRelayMsg::Poll)?;
        Ok(EventRelayState {
            arguments,
            ids: EventIds::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            EventRelayMsg::Poll => {
                let more = match state.relay_page().await {
                    Ok(more) => more,
                    Err(why) => {
                        tracing::warn!(why, "events could not be relayed; trying again");
                        false
                    }
                };
                if more {
                    // Refused only where the actor is draining, and then the relay is over.
                    let _over = myself.cast(EventRelayMsg::Poll).is_err();
                } else {
                    // The timer's message goes nowhere once the actor has ended.
                    let _timer = myself.send_after(state.arguments.poll, || EventRelayMsg::Poll);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
