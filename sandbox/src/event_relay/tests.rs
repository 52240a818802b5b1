//! Publication at least once, with positions, from the beginning on every start.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorRef, call_t};
use reprise_tests::assert_fields;
use reprise_types::{SystemClock, parse_timestamp};
use serde_json::{Value, json};

use super::{EventRelayActor, EventRelayArguments};
use crate::actors::testing::spawn_event_store;
use crate::event::NewEvent;
use crate::event_bus::{EventBusActor, EventBusMsg, Subscription};
use crate::event_store::EventStoreMsg;

struct RelayHost {
    _folder: tempfile::TempDir,
    store: ActorRef<EventStoreMsg>,
    bus: ActorRef<EventBusMsg>,
}

impl RelayHost {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = spawn_event_store(&folder).await;
        let (bus, _) = EventBusActor::spawn(None, EventBusActor, ()).await.unwrap();
        Self {
            _folder: folder,
            store,
            bus,
        }
    }

    async fn append(&self, from: u32, to: u32, payload: Value) {
        let events = (from..to)
            .map(|n| NewEvent {
                event_id: format!("e-{n}"),
                timestamp: parse_timestamp("2026-02-16T09:46:08Z").unwrap(),
                event_type: "a.b".to_owned(),
                payload: payload.clone(),
                actor_id: "actor-1".to_owned(),
                user_id: "system".to_owned(),
            })
            .collect();
        call_t!(
            self.store,
            |reply| EventStoreMsg::Append { events, reply },
            5_000
        )
        .unwrap()
        .unwrap();
    }

    async fn subscribe(&self) -> Subscription {
        let patterns = vec!["a.*".to_owned()];
        call_t!(
            self.bus,
            |reply| EventBusMsg::Subscribe {
                patterns,
                capacity: 5_000,
                reply
            },
            5_000
        )
        .unwrap()
    }

    async fn start_relay(&self, since_seq: u64) -> ActorRef<super::EventRelayMsg> {
        let arguments = EventRelayArguments {
            store: self.store.clone(),
            bus: self.bus.clone(),
            since_seq,
            poll: Duration::from_millis(1),
            clock: Arc::new(SystemClock),
        };
        EventRelayActor::spawn(None, EventRelayActor, arguments)
            .await
            .unwrap()
            .0
    }
}

async fn receive_seqs(subscription: &mut Subscription, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        let event = subscription.next_event().await.unwrap();
        seqs.push(event.payload["committed_event"]["seq"].as_u64().unwrap());
    }
    seqs
}

#[tokio::test]
async fn every_event_is_published_in_order_before_and_after_the_start_and_across_pages() {
    let host = RelayHost::start().await;
    let mut subscription = host.subscribe().await;
    host.append(0, 1_200, json!({"n": 1})).await;
    host.start_relay(0).await;
    assert_eq!(
        receive_seqs(&mut subscription, 1_200).await,
        (1..=1_200).collect::<Vec<u64>>()
    );
    host.append(1_200, 1_203, json!({"n": 1})).await;
    assert_eq!(
        receive_seqs(&mut subscription, 3).await,
        [1_201, 1_202, 1_203]
    );
}

#[tokio::test]
async fn the_log_replays_on_every_start_unless_told_a_cursor() {
    let host = RelayHost::start().await;
    host.append(0, 3, json!({})).await;
    let mut subscription = host.subscribe().await;
    let first = host.start_relay(0).await;
    assert_eq!(receive_seqs(&mut subscription, 3).await, [1, 2, 3]);
    first.drain_and_wait(None).await.unwrap();
    let second = host.start_relay(0).await;
    assert_eq!(receive_seqs(&mut subscription, 3).await, [1, 2, 3]);
    second.drain_and_wait(None).await.unwrap();
    host.start_relay(2).await;
    assert_eq!(receive_seqs(&mut subscription, 1).await, [3]);
}

#[tokio::test]
async fn published_events_are_enriched_as_choiros_does() {
    let host = RelayHost::start().await;
    let mut subscription = host.subscribe().await;
    host.append(0, 1, json!("bare text")).await;
    host.start_relay(0).await;
    let event = subscription.next_event().await.unwrap();
    let event = serde_json::to_value(&*event).unwrap();
    assert_eq!(event["event_type"], json!({"custom": "a.b"}));
    assert_fields!(event, "topic": "a.b", "source": "actor-1");
    assert_eq!(event["correlation_id"], Value::Null);
    assert_eq!(event["id"].as_str().unwrap().len(), 26);
    assert_eq!(
        event["payload"],
        json!({"value": "bare text", "committed_event": {"seq": 1, "event_id": "e-0", "event_type": "a.b",
               "timestamp": "2026-02-16T09:46:08+00:00", "actor_id": "actor-1", "user_id": "system"}})
    );
}
