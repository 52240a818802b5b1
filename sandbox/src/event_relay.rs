//! The event relay: an actor that publishes stored events on the bus.
//!
//! It polls by position and publishes at least once. As in choiros, it starts at 0 by default, so
//! that the whole log replays on every start, and subscribers must tolerate that.

use crate::event::EventIds;
use crate::event_store::EventQuery;
use crate::prelude::*;

const PAGE: u32 = 500;
/// Time limit for a reply of the store or the bus, after which the page is retried.
const CALL_MS: u64 = 10_000;
/// Shortest interval between polls.
const POLL_MIN: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct EventRelayActor;

#[derive(Clone)]
pub struct EventRelayArguments {
    pub store: ActorRef<EventStoreMsg>,
    pub bus: ActorRef<EventBusMsg>,
    /// Only events after this position; 0 for all.
    pub since_seq: u64,
    /// Poll interval when the log has nothing new.
    pub poll: Duration,
    pub clock: Arc<dyn Clock>,
}

reprise_types::show_fields!(EventRelayArguments { since_seq, poll });

#[derive(Debug)]
pub enum EventRelayMsg {
    /// Polls for new events; sent by the relay to itself.
    Poll,
}

#[derive(Debug)]
pub struct EventRelayState {
    arguments: EventRelayArguments,
    ids: EventIds,
}

impl EventRelayState {
    /// Publishes one page; returns whether there may be more.
    async fn relay_page(&mut self) -> Result<bool, String> {
        let query = EventQuery {
            since_seq: self.arguments.since_seq,
            limit: PAGE,
            ..EventQuery::default()
        };
        let query = |reply| EventStoreMsg::Query { query, reply };
        let page = call_store(&self.arguments.store, query, CALL_MS).await;
        let page = page.map_err(|error| error.to_string())?;
        let Some(last) = page.last().map(|event| event.seq) else {
            return Ok(false);
        };
        let full = page.len() == PAGE as usize;
        let now = self.arguments.clock.now();
        let events = page
            .iter()
            .map(|event| Arc::new(event.to_bus_event(self.ids.next_id(now), now)))
            .collect();
        call_t!(
            self.arguments.bus,
            |reply| EventBusMsg::Publish { events, reply },
            CALL_MS
        )
        .map_err(|error| error.to_string())?;
        // The position advances only after the bus has replied, so that a page may be published
        // twice but is never skipped.
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
            ids: EventIds::default(),
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
                    // This fails only if the actor is draining, so the relay ends anyway.
                    let _ended = myself.cast(EventRelayMsg::Poll).is_err();
                } else {
                    // If the actor ends meanwhile, the timer's message is dropped.
                    let _timer = myself.send_after(state.arguments.poll, || EventRelayMsg::Poll);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
