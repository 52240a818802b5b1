//! The event bus: an actor that delivers events to the subscribers of their topic.
//!
//! Each bus has its own table of subscribers, so that two buses in one process never cross-deliver.
//! The bus may lose events: a subscriber whose queue is full misses events, can see how many, and
//! catches up from the log.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::event::BusEvent;
use crate::prelude::*;

#[derive(Debug)]
pub struct EventBusActor;

#[derive(Debug)]
pub enum EventBusMsg {
    /// Delivers the events to every subscriber with a matching pattern.
    Publish {
        events: Vec<Arc<BusEvent>>,
        /// Receives the report once every subscriber has received or missed the events.
        reply: RpcReplyPort<PublishReport>,
    },
    /// Adds a subscriber; it is removed when its subscription is dropped.
    Subscribe {
        /// Patterns such as `a.b.c`, `a.b.*`, `a.*` or `*`. A subscriber gets an event once, even
        /// if several patterns match it.
        patterns: Vec<String>,
        /// Capacity of its queue, in events.
        capacity: usize,
        reply: RpcReplyPort<Subscription>,
    },
}

/// The report of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishReport {
    /// Deliveries, counted per subscriber.
    pub delivered: u64,
    /// Events dropped for a full queue, counted per subscriber.
    pub missed: u64,
}

/// The receiving end of a subscription.
#[derive(Debug)]
pub struct Subscription {
    events: mpsc::Receiver<Arc<BusEvent>>,
    missed: Arc<AtomicU64>,
}

impl Subscription {
    /// Waits for the next event; `None` once the bus has ended.
    pub async fn next_event(&mut self) -> Option<Arc<BusEvent>> {
        self.events.recv().await
    }

    /// Waits for at least one event, and returns all that wait, up to `limit`; empty once the bus
    /// has ended.
    pub async fn next_batch(&mut self, limit: usize) -> Vec<Arc<BusEvent>> {
        let mut events = Vec::new();
        self.events.recv_many(&mut events, limit.max(1)).await;
        events
    }

    /// Returns the number of events that were dropped so far because the queue was full; it never
    /// decreases.
    pub fn missed_count(&self) -> u64 {
        self.missed.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Subscriber {
    patterns: Vec<String>,
    events: mpsc::Sender<Arc<BusEvent>>,
    missed: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
pub struct EventBusState {
    subscribers: Vec<Subscriber>,
}

impl EventBusState {
    fn publish(&mut self, events: &[Arc<BusEvent>]) -> PublishReport {
        let mut published = PublishReport::default();
        self.subscribers.retain(|subscriber| {
            events.iter().all(|event| {
                if !subscriber
                    .patterns
                    .iter()
                    .any(|p| matches_pattern(p, &event.topic))
                {
                    return true;
                }
                match subscriber.events.try_send(Arc::clone(event)) {
                    Ok(()) => published.delivered += 1,
                    Err(TrySendError::Full(_)) => {
                        subscriber.missed.fetch_add(1, Ordering::AcqRel);
                        published.missed += 1;
                    }
                    Err(TrySendError::Closed(_)) => return false,
                }
                true
            })
        });
        published
    }
}

fn matches_pattern(pattern: &str, topic: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(prefix) if prefix.ends_with('.') => {
            topic.len() > prefix.len() && topic.starts_with(prefix)
        }
        _ => pattern == topic,
    }
}

#[async_trait::async_trait]
impl Actor for EventBusActor {
    type Msg = EventBusMsg;
    type State = EventBusState;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        _arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(EventBusState::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            EventBusMsg::Publish { events, reply } => {
                let published = state.publish(&events);
                if reply.send(published).is_err() {
                    tracing::debug!("a publisher was gone before the reply");
                }
            }
            EventBusMsg::Subscribe {
                patterns,
                capacity,
                reply,
            } => {
                let (sender, receiver) = mpsc::channel(capacity.max(1));
                let missed = Arc::new(AtomicU64::new(0));
                let subscription = Subscription {
                    events: receiver,
                    missed: Arc::clone(&missed),
                };
                if reply.send(subscription).is_ok() {
                    state.subscribers.push(Subscriber {
                        patterns,
                        events: sender,
                        missed,
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
