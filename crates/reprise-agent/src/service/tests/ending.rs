//! The order in which a service ends.

use reprise_engine::EngineOptions;
use reprise_types::ErrorKind;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_comes_in_order_and_what_was_accepted_is_on_disk() {
    let bench = TestService::new();
    let service = bench.start().await;
    bench.controls.block();
    let writing = tokio::spawn({
        let service = service.clone();
        async move {
            service
                .observe(&ada(), vec![new_user_episode("accepted before the end")])
                .await
        }
    });
    wait_until(async || bench.controls.blocked.load(Ordering::SeqCst) == 1).await;
    let ending = tokio::spawn({
        let service = service.clone();
        async move { service.shut_down().await }
    });
    wait_until(async || {
        recall(&service, "x").await == Err(MemoryError::Unavailable { user: "ada".into() })
    })
    .await;
    bench.controls.unblock();
    writing.await.unwrap().unwrap();
    let report = ending.await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    let steps: Vec<ShutdownStep> = report.steps.iter().map(|(step, _)| *step).collect();
    assert_eq!(
        steps,
        [
            ShutdownStep::Requests,
            ShutdownStep::Relays,
            ShutdownStep::Pool,
            ShutdownStep::Agents,
            ShutdownStep::Supervisor
        ]
    );
    let refused = service
        .observe(&ada(), vec![new_user_episode("too late")])
        .await;
    assert_eq!(
        refused,
        Err(MemoryError::Unavailable { user: "ada".into() })
    );
    let service = bench.start().await;
    let found = recall(&service, "accepted").await.unwrap();
    assert_eq!(result_texts(&found), ["accepted before the end"]);
    assert!(found.degraded.is_empty(), "{:?}", found.degraded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_holds_can_be_asked_again_later() {
    let bench = TestService::new();
    let path = bench.config.file_path(&ada());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let options = EngineOptions::new(bench.config.dimensions, 7, bench.config.clock.now());
    let held = (bench.config.open_engine)(&path, &options).unwrap();
    let service = bench.start().await;
    let refused = recall(&service, "x").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Retry, "{refused}");
    drop(held);
    let kept = service.observe(&ada(), vec![new_user_episode("x")]).await;
    assert!(kept.is_ok(), "{kept:?}");
}
