//! The host without memory: the tree starts once, recovers from failures, and shuts down in order.

mod workers;

use std::time::Duration;

use ractor::{ActorStatus, call_t};
use reprise_types::{RecallRequest, UserId};

use super::{AppError, AppState};
use crate::app_config::AppConfig;
use crate::memory_bridge::MemoryBridge;
use crate::supervisor::ApplicationSupervisorMsg;

fn new_config(folder: &tempfile::TempDir) -> AppConfig {
    AppConfig {
        poll: Duration::from_millis(1),
        ..AppConfig::new(
            folder.path().join("events.db"),
            MemoryBridge::without_memory(),
        )
    }
}

#[tokio::test]
async fn a_host_without_memory_works_and_remembers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let app = AppState::start(new_config(&folder)).await.unwrap();
    let user: UserId = "ada".parse().unwrap();
    let memory = app.ensure_memory(&user).await.unwrap();
    let recall = memory
        .execute_recall(RecallRequest::new("anything"))
        .await
        .unwrap();
    assert!(recall.results.is_empty() && recall.degraded.is_empty());
    app.shut_down().await.unwrap();
}

#[tokio::test]
async fn the_tree_is_started_once() {
    let folder = tempfile::tempdir().unwrap();
    let app = AppState::start(new_config(&folder)).await.unwrap();
    let (one, two) = tokio::join!(app.ensure_supervisor(), app.ensure_supervisor());
    assert_eq!(one.unwrap().get_id(), two.unwrap().get_id());
    app.shut_down().await.unwrap();
}

#[tokio::test]
async fn a_bus_that_dies_is_replaced_and_the_tree_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let app = AppState::start(new_config(&folder)).await.unwrap();
    let root = app.ensure_supervisor().await.unwrap();
    let bus = || async {
        call_t!(
            root,
            |reply| ApplicationSupervisorMsg::GetBus { reply },
            5_000
        )
        .unwrap()
    };
    let first = bus().await;
    first.drain_and_wait(None).await.unwrap();
    let mut second = bus().await;
    while second.get_id() == first.get_id() {
        tokio::task::yield_now().await;
        second = bus().await;
    }
    assert_eq!(second.get_status(), ActorStatus::Running);
    assert_eq!(root.get_status(), ActorStatus::Running);
    app.shut_down().await.unwrap();
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_is_an_error_and_no_loop() {
    let folder = tempfile::tempdir().unwrap();
    let config = AppConfig::new(
        folder.path().join("no/such/folder/events.db"),
        MemoryBridge::default(),
    );
    let error = AppState::start(config).await.unwrap_err();
    assert!(matches!(error, AppError::EventStore { .. }));
    assert!(error.to_string().contains("events.db"), "{error}");
}
