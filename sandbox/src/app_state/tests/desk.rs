//! The desk of a host without memory: it heals, it is bounded, and a host without one says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::*;
use crate::actors::{
    Assignment, DeskConfig, GatewayError, ModelGateway, Routing, RoutingRequest, RunError,
    RunStatus, Task,
};

/// Panics on the first request, waits for a permit on every other.
struct Moody {
    requests: AtomicUsize,
    permits: Arc<Semaphore>,
}

#[async_trait]
impl ModelGateway for Moody {
    async fn conduct(&self, _request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
        let before = self.requests.fetch_add(1, Ordering::SeqCst);
        assert!(before > 0, "the first request is too much");
        self.permits.acquire().await.unwrap().forget();
        Ok(Routing {
            plan: "look".to_owned(),
            reason: "told to".to_owned(),
            assignments: vec![Assignment {
                objective: "look".to_owned(),
                task: Task::Search {
                    words: vec!["anything".to_owned()],
                },
            }],
            used: Vec::new(),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_desk_that_fails_is_replaced_and_one_request_too_many_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let permits = Arc::new(Semaphore::new(0));
    let gateway = Moody {
        requests: AtomicUsize::new(0),
        permits: Arc::clone(&permits),
    };
    let desk = DeskConfig::new(folder.path().join("work"), Arc::new(gateway));
    let app = AppState::start(AppConfig {
        desk: Some(desk),
        ..config(&folder)
    });
    let app = Arc::new(app.await.unwrap());
    let user: UserId = "ada".parse().unwrap();
    let first = app.execute(&user, "look", "d").await;
    assert!(matches!(first, Err(RunError::Gone { .. })), "{first:?}");
    let mut runs = Vec::new();
    for _ in 0..super::super::RUNS_MAX {
        let (app, user) = (Arc::clone(&app), user.clone());
        runs.push(tokio::spawn(async move {
            app.execute(&user, "look", "d").await
        }));
    }
    while app.runs.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let refused = app.execute(&user, "look", "d").await;
    assert!(
        matches!(refused, Err(RunError::Overloaded { .. })),
        "{refused:?}"
    );
    permits.add_permits(super::super::RUNS_MAX);
    for run in runs {
        assert_eq!(run.await.unwrap().unwrap().status, RunStatus::Completed);
    }
    Arc::into_inner(app).unwrap().shut_down().await.unwrap();
}

#[tokio::test]
async fn a_host_without_workers_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let app = AppState::start(config(&folder)).await.unwrap();
    let user: UserId = "ada".parse().unwrap();
    let refused = app.execute(&user, "look", "d").await;
    assert!(matches!(refused, Err(RunError::NoDesk)), "{refused:?}");
    app.shut_down().await.unwrap();
}
