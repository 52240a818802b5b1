//! The whole host with a real memory: from a recorded log to a recall, through every actor.

mod otherwise;
mod records;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use ractor::call_t;
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::{
    EmbedError, Embedder, EmbeddingSpace, RecallRequest, UserId, normalize, parse_timestamp,
};
use serde_json::json;
use tempfile::TempDir;

use super::{EventMapper, MemoryBridge, MemoryConfig, SourceBinding};
use crate::app_config::AppConfig;
use crate::app_state::AppState;
use crate::event::NewEvent;
use crate::event_store::EventStoreMsg;
use crate::replay::replay_jsonl;
use crate::supervisor::ApplicationSupervisorMsg;

const EXPORT: &str = include_str!("../../../tests/fixtures/choiros_events.jsonl");
const DIMENSIONS: u16 = 8;

/// A sum of one random direction per word.
struct WordSumEmbedder(EmbeddingSpace);

impl Embedder for WordSumEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.01; usize::from(DIMENSIONS)];
        for word in text.split_whitespace() {
            vector[word.bytes().map(usize::from).sum::<usize>() % usize::from(DIMENSIONS)] += 1.0;
        }
        normalize(&mut vector);
        Ok(vector)
    }
}

pub(crate) fn ada() -> UserId {
    "ada".parse().unwrap()
}

pub(crate) fn new_bridge(folder: &TempDir) -> MemoryBridge {
    new_wrapped_bridge(folder, None)
}

fn new_config(folder: &TempDir) -> MemoryConfig {
    MemoryConfig::new(
        folder.path().join("data"),
        DIMENSIONS,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(|| {
            let (model, version) = ("words".to_owned(), "1".to_owned());
            Ok(Box::new(WordSumEmbedder(EmbeddingSpace {
                model,
                version,
                dimensions: DIMENSIONS,
            })))
        }),
    )
}

fn new_wrapped_bridge(
    folder: &TempDir,
    before: Option<Arc<super::ProviderWrapper>>,
) -> MemoryBridge {
    let binding = SourceBinding {
        stream: "events".into(),
        user: ada(),
    };
    let mapper = Arc::new(EventMapper::load_builtin().unwrap());
    MemoryBridge::with_memory(new_config(folder), binding, mapper, before)
}

async fn start_host(folder: &TempDir, memory: &MemoryBridge) -> AppState {
    let config = AppConfig::new(folder.path().join("events.db"), memory.clone());
    AppState::start(AppConfig {
        poll: Duration::from_millis(1),
        ..config
    })
    .await
    .unwrap()
}

async fn start_host_with_memory() -> (TempDir, MemoryBridge, AppState) {
    let folder = tempfile::tempdir().unwrap();
    let memory = new_bridge(&folder);
    let app = start_host(&folder, &memory).await;
    (folder, memory, app)
}

async fn append_chat(app: &AppState, from: u32, to: u32) {
    for start in (from..to).step_by(500) {
        let events = (start..to.min(start + 500)).map(|n| new_event(n, "chat.user_msg"));
        log_events(app, events.collect()).await;
    }
}

fn new_event(number: u32, topic: &str) -> NewEvent {
    NewEvent {
        event_id: format!("e-{number}"),
        timestamp: parse_timestamp("2026-02-16T09:46:08Z").unwrap(),
        event_type: topic.to_owned(),
        payload: json!(format!("the message of number {number} is here")),
        actor_id: "chat-1".to_owned(),
        user_id: "system".to_owned(),
    }
}

async fn log_events(app: &AppState, events: Vec<NewEvent>) {
    let append = |reply| EventStoreMsg::Append { events, reply };
    let appended = call_t!(app.event_store(), append, 60_000);
    appended.unwrap().unwrap();
}

/// Waits until the memory holds `wanted` live records.
async fn wait_for_records(memory: &MemoryBridge, wanted: u32) {
    wait_for_async("the records of the memory", async || {
        let service = memory.service().ok_or(None)?;
        let live = service
            .with_engine(&ada(), |engine| engine.stats().live)
            .await;
        seen_if(live == Ok(wanted), Some(live))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_log_comes_back_as_memory_and_a_second_day_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export.jsonl");
    std::fs::write(&export, EXPORT).unwrap();
    let file = folder.path().join("data/ada/memory.rvf");
    let mut bytes = Vec::new();
    for day in 0..2 {
        let memory = new_bridge(&folder);
        let app = start_host(&folder, &memory).await;
        replay_jsonl(&export, app.event_store()).await.unwrap();
        let port = app.ensure_memory(&ada()).await.unwrap();
        let progress = memory.catch_up().await.unwrap().unwrap();
        assert_eq!(progress.durable_seq, 31);
        let request = RecallRequest::new("who writes the token without a lock");
        let found = port.execute_recall(request).await.unwrap();
        assert_eq!(
            found.results[0].record.text,
            "session_manager.rs writes the token without a lock"
        );
        assert!(found.degraded.is_empty(), "{:?}", found.degraded);
        app.shut_down().await.unwrap();
        assert!(memory.service().is_none());
        let now = std::fs::read(&file).unwrap();
        if day == 0 {
            assert_eq!((progress.inserted, progress.events), (29, 31));
            bytes = now;
        } else {
            assert_eq!(progress.inserted, 0);
            assert_eq!(now, bytes, "the second day changed the file");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_happen_reach_memory_by_themselves() {
    let (_folder, memory, app) = start_host_with_memory().await;
    app.ensure_memory(&ada()).await.unwrap();
    append_chat(&app, 0, 3).await;
    wait_for_records(&memory, 3).await;
    append_chat(&app, 3, 4).await;
    wait_for_records(&memory, 4).await;
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_topic_is_heard_so_that_what_is_left_out_is_counted() {
    let (_folder, memory, app) = start_host_with_memory().await;
    app.ensure_memory(&ada()).await.unwrap();
    for round in 0..4 {
        // A subscription to the documented topics would miss the first, and find a gap before the
        // second.
        let (unknown, known) = (2 * round, 2 * round + 1);
        log_events(&app, vec![new_event(unknown, "brand.new.topic")]).await;
        log_events(&app, vec![new_event(known, "chat.user_msg")]).await;
        wait_for_records(&memory, round + 1).await;
    }
    let progress = memory.find_service_with_relay().unwrap().relay.progress();
    let unknown = progress
        .topics
        .topics()
        .find(|(topic, _)| *topic == "brand.new.topic");
    assert_eq!(unknown.map(|(_, count)| count.unknown), Some(4));
    assert_eq!(progress.gaps, 0, "all of it was heard");
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_bus_is_listened_to_like_the_old_one() {
    let (_folder, memory, app) = start_host_with_memory().await;
    let root = app.ensure_supervisor().await.unwrap();
    append_chat(&app, 0, 2).await;
    wait_for_records(&memory, 2).await;
    let bus = call_t!(
        root,
        |reply| ApplicationSupervisorMsg::GetBus { reply },
        5_000
    )
    .unwrap();
    bus.drain_and_wait(None).await.unwrap();
    append_chat(&app, 2, 4).await;
    wait_for_records(&memory, 4).await;
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_dies_is_replaced_and_goes_on_where_it_was() {
    let (_folder, memory, app) = start_host_with_memory().await;
    app.ensure_memory(&ada()).await.unwrap();
    append_chat(&app, 0, 2).await;
    wait_for_records(&memory, 2).await;
    let first = memory.service().unwrap();
    assert!(first.shut_down().await.is_clean());
    append_chat(&app, 2, 4).await;
    while memory
        .service()
        .is_none_or(|now| now.supervisor_id() == first.supervisor_id())
    {
        tokio::task::yield_now().await;
    }
    wait_for_records(&memory, 4).await;
    let port = app.ensure_memory(&ada()).await.unwrap();
    let found = port
        .execute_recall(RecallRequest::new("number 3"))
        .await
        .unwrap();
    assert_eq!(
        found.results[0].record.text,
        "the message of number 3 is here"
    );
    app.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_ten_thousand_events_arrives_whole() {
    let (_folder, memory, app) = start_host_with_memory().await;
    app.ensure_supervisor().await.unwrap();
    append_chat(&app, 0, 10_000).await;
    wait_for_records(&memory, 10_000).await;
    let progress = memory.catch_up().await.unwrap().unwrap();
    assert_eq!((progress.inserted, progress.duplicates), (10_000, 0));
    let pool = memory.service().unwrap().stats().pool;
    assert!(pool.documents_waiting_max <= 256, "{pool:?}");
    app.shut_down().await.unwrap();
}
