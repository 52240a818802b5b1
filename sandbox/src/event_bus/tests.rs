//! Patterns, bounds, and that a bus is its own.

use std::sync::Arc;

use ractor::{Actor, ActorRef, call_t};
use reprise_types::{Clock, SystemClock};
use serde_json::json;

use super::{EventBusActor, EventBusMsg, PublishReport, Subscription, matches_pattern};
use crate::event::{BusEvent, EventType};

fn new_event(topic: &str) -> Arc<BusEvent> {
    Arc::new(BusEvent {
        id: topic.to_owned(),
        event_type: EventType::Custom(topic.to_owned()),
        topic: topic.to_owned(),
        payload: json!({}),
        timestamp: SystemClock.now(),
        source: String::new(),
        correlation_id: None,
    })
}

async fn start_bus() -> ActorRef<EventBusMsg> {
    EventBusActor::spawn(None, EventBusActor, ())
        .await
        .unwrap()
        .0
}

async fn subscribe(
    bus: &ActorRef<EventBusMsg>,
    patterns: &[&str],
    capacity: usize,
) -> Subscription {
    let patterns = patterns.iter().map(ToString::to_string).collect();
    call_t!(
        bus,
        |reply| EventBusMsg::Subscribe {
            patterns,
            capacity,
            reply
        },
        5_000
    )
    .unwrap()
}

async fn publish_topics(bus: &ActorRef<EventBusMsg>, topics: &[&str]) -> PublishReport {
    let events = topics.iter().map(|topic| new_event(topic)).collect();
    call_t!(bus, |reply| EventBusMsg::Publish { events, reply }, 5_000).unwrap()
}

async fn stop_bus(bus: ActorRef<EventBusMsg>) {
    bus.drain_and_wait(None).await.unwrap();
}

async fn receive_topics(mut subscription: Subscription) -> Vec<String> {
    let mut topics = Vec::new();
    while let Some(event) = subscription.next_event().await {
        topics.push(event.topic.clone());
    }
    topics
}

#[test]
fn a_pattern_is_a_topic_or_everything_below_a_dot_or_everything() {
    for (pattern, topic, wanted) in [
        ("a.b.c", "a.b.c", true),
        ("a.b", "a.b.c", false),
        ("a.*", "a.b.c", true),
        ("a.b.*", "a.b.c", true),
        ("a.*", "ab.c", false),
        ("a.*", "a", false),
        ("a.*", "a.", false),
        ("a*", "a.b", false),
        ("*", "a.b.c", true),
        ("*", "", true),
    ] {
        assert_eq!(matches_pattern(pattern, topic), wanted, "{pattern} {topic}");
    }
}

#[tokio::test]
async fn each_subscriber_gets_what_it_asked_for_once_and_in_order() {
    let bus = start_bus().await;
    let all = subscribe(&bus, &["*"], 10).await;
    let some = subscribe(&bus, &["a.*", "a.b.*", "a.b.c", "x"], 10).await;
    let none = subscribe(&bus, &["nothing"], 10).await;
    let published = publish_topics(&bus, &["a.b.c", "b", "x", "a.b.c"]).await;
    assert_eq!(
        published,
        PublishReport {
            delivered: 7,
            missed: 0
        }
    );
    stop_bus(bus).await;
    assert_eq!(receive_topics(all).await, ["a.b.c", "b", "x", "a.b.c"]);
    assert_eq!(receive_topics(some).await, ["a.b.c", "x", "a.b.c"]);
    assert!(receive_topics(none).await.is_empty());
}

#[tokio::test]
async fn two_buses_in_one_process_never_cross_deliver() {
    let (one, two) = (start_bus().await, start_bus().await);
    let of_one = subscribe(&one, &["*"], 10).await;
    let of_two = subscribe(&two, &["*"], 10).await;
    publish_topics(&one, &["only.one"]).await;
    publish_topics(&two, &["only.two"]).await;
    stop_bus(one).await;
    stop_bus(two).await;
    assert_eq!(receive_topics(of_one).await, ["only.one"]);
    assert_eq!(receive_topics(of_two).await, ["only.two"]);
}

#[tokio::test]
async fn a_slow_subscriber_is_bounded_told_and_no_burden_to_others() {
    let bus = start_bus().await;
    let slow = subscribe(&bus, &["*"], 2).await;
    let quick = subscribe(&bus, &["*"], 100).await;
    let dropped = subscribe(&bus, &["*"], 100).await;
    drop(dropped);
    let published = publish_topics(&bus, &["a", "b", "c", "d"]).await;
    assert_eq!(
        published,
        PublishReport {
            delivered: 6,
            missed: 2
        }
    );
    assert_eq!((slow.missed_count(), quick.missed_count()), (2, 0));
    stop_bus(bus).await;
    assert_eq!(receive_topics(slow).await, ["a", "b"]);
    assert_eq!(receive_topics(quick).await.len(), 4);
}
