//! The workers of a host without memory: restarts, bounded requests, and the error of a host
//! without workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::*;
use crate::actors::{
    Assignment, GatewayError, ModelGateway, RoutingPlan, RoutingRequest, RunError, RunStatus, Task,
};
use crate::supervisor::WorkersConfig;

/// A gateway that panics on the first request once it may, and waits for a permit on every other.
struct PanickingGateway {
    requests: AtomicUsize,
    may_panic: Arc<Semaphore>,
    permits: Arc<Semaphore>,
}

#[async_trait]
impl ModelGateway for PanickingGateway {
    async fn make_plan(&self, _request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        if self.requests.fetch_add(1, Ordering::SeqCst) == 0 {
            self.may_panic.acquire().await.unwrap().forget();
            panic!("the first request is too much");
        }
        self.permits.acquire().await.unwrap().forget();
        Ok(RoutingPlan {
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

async fn start_with_panicking_gateway(
    folder: &tempfile::TempDir,
    may_panic: Arc<Semaphore>,
    permits: Arc<Semaphore>,
) -> Arc<AppState> {
    let requests = AtomicUsize::new(0);
    let gateway = PanickingGateway {
        requests,
        may_panic,
        permits,
    };
    let workers = WorkersConfig::new(folder.path().join("work"), Arc::new(gateway));
    let app = AppState::start(AppConfig {
        workers: Some(workers),
        ..new_config(folder)
    });
    Arc::new(app.await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_behind_a_request_that_ends_its_conductor_is_done_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let [may_panic, permits] = [0, 8].map(|free| Arc::new(Semaphore::new(free)));
    let app = start_with_panicking_gateway(&folder, Arc::clone(&may_panic), permits).await;
    let user: UserId = "ada".parse().unwrap();
    let ask = || {
        let (app, user) = (Arc::clone(&app), user.clone());
        tokio::spawn(async move { app.execute(&user, "look", "d").await })
    };
    let first = ask();
    let waiting = [ask(), ask(), ask()];
    while app.runs.available_permits() > super::super::RUNS_MAX - 4 {
        tokio::task::yield_now().await;
    }
    may_panic.add_permits(1);
    let mut ends = vec![first.await.unwrap()];
    for run in waiting {
        ends.push(run.await.unwrap());
    }
    // Either request may come first; only that one is lost.
    let lost = ends.iter().filter(|end| end.is_err()).count();
    assert_eq!(lost, 1, "{ends:?}");
    Arc::into_inner(app).unwrap().shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conductor_that_fails_is_replaced_and_one_request_too_many_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let permits = Arc::new(Semaphore::new(0));
    let app =
        start_with_panicking_gateway(&folder, Arc::new(Semaphore::new(1)), Arc::clone(&permits))
            .await;
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
    let app = AppState::start(new_config(&folder)).await.unwrap();
    let user: UserId = "ada".parse().unwrap();
    let refused = app.execute(&user, "look", "d").await;
    assert!(matches!(refused, Err(RunError::NoWorkers)), "{refused:?}");
    app.shut_down().await.unwrap();
}
