//! When a memory that is open is closed, and opened again.

use std::time::Duration;

use reprise_types::UserId;

use super::*;

#[tokio::test]
async fn one_user_more_than_may_be_open_puts_the_longest_unused_to_sleep() {
    let mut bench = TestService::new();
    bench.config.limits.open_max = 2;
    bench.config.limits.crowded_out_after = Duration::ZERO;
    let service = bench.start().await;
    let users: Vec<UserId> = (0..6)
        .map(|n| format!("user-{n}").parse().unwrap())
        .collect();
    for round in 0..2 {
        for user in &users {
            let text = format!("round {round} of {user}");
            let outcomes = service
                .observe(user, vec![new_user_episode(&text)])
                .await
                .unwrap();
            assert!(
                matches!(outcomes[0], WriteOutcome::Inserted { .. }),
                "{outcomes:?}"
            );
            wait_until(async || service.0.shared.directory.count_open() <= 3).await;
        }
    }
    for user in &users {
        let stats = service
            .with_engine(user, |engine| engine.stats())
            .await
            .unwrap();
        assert_eq!(stats.live, 2, "{user}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_let_go_of_however_often_it_is_asked_for() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("kept")])
        .await
        .unwrap();
    let asking = tokio::spawn({
        let service = service.clone();
        async move {
            loop {
                // A request is refused while the file is closed, and then retried.
                let _answered = service.open_memory(&ada()).await.is_ok();
                tokio::task::yield_now().await;
            }
        }
    });
    for _ in 0..50 {
        service.release_file(&ada()).await.unwrap();
    }
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    wait_until(async || {
        let user = ada();
        let live = service.with_engine(&user, |engine| engine.stats().live);
        live.await == Ok(1)
    })
    .await;
}
