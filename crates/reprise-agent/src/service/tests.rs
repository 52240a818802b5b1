//! The whole service on a real file: writes, refusals, degradation, restarts, shutdown.

mod asking;
mod closing;
mod ending;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_tests::wait_for_async;
use reprise_types::{
    DegradedPart, ExternalId, MemoryError, MemoryProvider, RecallRequest, RecallResponse, UserId,
    WriteOutcome,
};

use super::MemoryService;
use crate::shutdown::ShutdownStep;
use crate::supervisor::MemorySupervisorMsg;
use crate::testing::{TestService, ada, new_user_episode, wait_until};

async fn recall(service: &MemoryService, query: &str) -> Result<RecallResponse, MemoryError> {
    service
        .provider(&ada())
        .execute_recall(RecallRequest::new(query))
        .await
}

fn result_texts(recall: &RecallResponse) -> Vec<&str> {
    recall
        .results
        .iter()
        .map(|found| found.record.text.as_str())
        .collect()
}

async fn count_unembedded(service: &MemoryService) -> usize {
    service
        .with_engine(&ada(), |engine| engine.unembedded_records(100).len())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_kept_is_found_again_and_once() {
    let bench = TestService::new();
    let service = bench.start().await;
    let mut record = new_user_episode("the auth race was fixed with a mutex");
    record.external_ids = vec![ExternalId::new("event", "e-1")];
    let records = vec![record.clone(), new_user_episode("lunch was late")];
    let outcomes = service.observe(&ada(), records).await.unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, WriteOutcome::Inserted { .. }))
    );
    let again = service.observe(&ada(), vec![record]).await.unwrap();
    assert!(matches!(again[..], [WriteOutcome::Duplicate { .. }]));
    assert_eq!(service.stats().pool.documents, 2, "a copy is not embedded");
    let found = recall(&service, "auth race").await.unwrap();
    assert_eq!(
        result_texts(&found)[0],
        "the auth race was fixed with a mutex"
    );
    assert!(found.degraded.is_empty(), "{:?}", found.degraded);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_gets_its_block_of_memory() {
    let bench = TestService::new();
    let service = bench.start().await;
    let records = vec![new_user_episode("the auth race was fixed with a mutex")];
    service.observe(&ada(), records).await.unwrap();
    let provider = service.provider(&ada());
    let block = provider
        .build_context_block("auth race", 200)
        .await
        .unwrap();
    assert!(block.text.contains("fixed with a mutex"), "{}", block.text);
    assert!(block.tokens <= 200 && block.records.len() == 1);
    let none = provider.build_context_block("auth race", 0).await.unwrap();
    assert_eq!((none.text.as_str(), none.left_out), ("", 1));
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_recall_too_many_is_refused_at_once() {
    let mut bench = TestService::new();
    bench.config.limits.recalls_max = 1;
    bench.config.limits.recall_budget = Duration::from_mins(1);
    let service = bench.start().await;
    service.open_memory(&ada()).await.unwrap();
    bench.controls.block();
    let first = tokio::spawn({
        let service = service.clone();
        async move { recall(&service, "one").await }
    });
    wait_until(async || bench.controls.blocked.load(Ordering::SeqCst) == 1).await;
    let refused = recall(&service, "two").await;
    assert_eq!(refused, Err(MemoryError::Overloaded { in_flight: 1 }));
    bench.controls.unblock();
    first.await.unwrap().unwrap();
    assert_eq!(service.stats().recalls_free, 1);
    recall(&service, "two").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_bytes_than_admitted_are_refused_at_once() {
    let mut bench = TestService::new();
    bench.config.limits.write_bytes_max = 10;
    let service = bench.start().await;
    service.open_memory(&ada()).await.unwrap();
    bench.controls.block();
    let first = tokio::spawn({
        let service = service.clone();
        async move {
            service
                .observe(&ada(), vec![new_user_episode("123456789")])
                .await
        }
    });
    wait_until(async || bench.controls.blocked.load(Ordering::SeqCst) == 1).await;
    let refused = service
        .observe(&ada(), vec![new_user_episode("more")])
        .await;
    // The record's stored form is larger than the limit, so it takes all slots.
    let (bytes, limit) = (10, 10);
    assert_eq!(refused, Err(MemoryError::WritesFull { bytes, limit }));
    bench.controls.unblock();
    first.await.unwrap().unwrap();
    service
        .observe(
            &ada(),
            vec![new_user_episode("larger than all that is admitted")],
        )
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_embedder_is_not_waited_for() {
    let mut bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("the auth race was fixed")])
        .await
        .unwrap();
    service.shut_down().await;
    bench.config.limits.recall_budget = Duration::from_mins(10);
    let service = bench.start().await;
    service.open_memory(&ada()).await.unwrap();
    bench.controls.block();
    // However slow the machine is, there is a budget of which a fifth is enough for the search.
    let mut budget = Duration::from_millis(100);
    let found = wait_for_async("an answer without the embedder", async || {
        budget *= 2;
        let provider = service.provider(&ada()).with_recall_budget(budget);
        provider
            .execute_recall(RecallRequest::new("auth race"))
            .await
    })
    .await;
    assert_eq!(result_texts(&found), ["the auth race was fixed"]);
    assert_eq!(found.degraded, [DegradedPart::EmbedderLate]);
    bench.controls.unblock();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_opens_late_is_not_waited_for() {
    let mut bench = TestService::new();
    bench.config.limits.recall_budget = Duration::from_millis(20);
    let (open, opens) = std::sync::mpsc::channel::<()>();
    let opens = std::sync::Mutex::new(opens);
    bench.config.open_engine = Arc::new(move |path, options| {
        // The test drops the sender; only then the file is opened.
        assert!(opens.lock().unwrap().recv().is_err());
        Engine::open(Arc::new(RealDisk), path, options)
    });
    let service = bench.start().await;
    let late = recall(&service, "x").await;
    assert_eq!(late, Err(MemoryError::TimedOut { budget_ms: 20 }));
    drop(open);
    service.open_memory(&ada()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_words_answer_and_the_vectors_follow_when_it_appears() {
    let bench = TestService::new();
    bench.controls.missing.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    service
        .observe(
            &ada(),
            vec![
                new_user_episode("the auth race was fixed"),
                new_user_episode("PANIC"),
            ],
        )
        .await
        .unwrap();
    assert_eq!(count_unembedded(&service).await, 2);
    let found = recall(&service, "auth race").await.unwrap();
    assert_eq!(result_texts(&found), ["the auth race was fixed"]);
    assert_eq!(found.degraded, [DegradedPart::NoQueryVector]);
    bench.controls.missing.store(false, Ordering::SeqCst);
    // The text that cannot be embedded remains; the other one gets its vector.
    wait_until(async || count_unembedded(&service).await == 1).await;
    let found = recall(&service, "auth race").await.unwrap();
    assert_eq!(found.degraded, [DegradedPart::UnembeddedRecords]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_of_a_large_memory_grows_by_itself() {
    let mut bench = TestService::new();
    bench.config.open_engine = Arc::new(|path, options| {
        let graph_from = 3;
        let options = reprise_engine::EngineOptions {
            graph_from,
            ..options.clone()
        };
        Engine::open(Arc::new(RealDisk), path, &options)
    });
    let service = bench.start().await;
    let notes: Vec<_> = (0..40)
        .map(|n| new_user_episode(&format!("note {n}")))
        .collect();
    service.observe(&ada(), notes).await.unwrap();
    let missing = async || {
        // A step of 0 records only returns how many are missing.
        let missing_count = service
            .with_engine(&ada(), |engine| engine.advance_graph(0))
            .await;
        missing_count.unwrap().unwrap()
    };
    wait_until(async || missing().await == 0).await;
    service
        .observe(&ada(), vec![new_user_episode("one more")])
        .await
        .unwrap();
    wait_until(async || missing().await == 0).await;
    let found = recall(&service, "note 7").await.unwrap();
    assert_eq!(result_texts(&found)[0], "note 7");
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_pool_leaves_words() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("the auth race was fixed")])
        .await
        .unwrap();
    assert!(service.0.shared.pool.drain(Duration::from_secs(20)).await);
    let found = recall(&service, "auth race").await.unwrap();
    assert_eq!(result_texts(&found), ["the auth race was fixed"]);
    assert!(found.degraded.contains(&DegradedPart::NoQueryVector));
    service
        .observe(&ada(), vec![new_user_episode("kept without a vector")])
        .await
        .unwrap();
    assert_eq!(count_unembedded(&service).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_panics_is_started_again_from_disk() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("kept before the panic")])
        .await
        .unwrap();
    for _ in 0..3 {
        let died = service
            .with_engine(&ada(), |_| panic!("told to panic"))
            .await;
        assert_eq!(died, Err(MemoryError::Unavailable { user: "ada".into() }));
        wait_until(async || service.open_memory(&ada()).await.is_ok()).await;
    }
    wait_until(async || {
        service
            .observe(&ada(), vec![new_user_episode("kept after the panic")])
            .await
            .is_ok()
    })
    .await;
    let found = recall(&service, "kept panic").await.unwrap();
    assert_eq!(found.results.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_is_refused_is_one_users_failure_and_passes() {
    let mut bench = TestService::new();
    let refuses = Arc::new(AtomicBool::new(false));
    let system = Arc::clone(&bench.config.spawn_thread);
    bench.config.spawn_thread = Arc::new({
        let refuses = Arc::clone(&refuses);
        move |name, work| {
            if refuses.load(Ordering::SeqCst) && name.ends_with("-bob") {
                return Err(std::io::ErrorKind::WouldBlock.into());
            }
            system(name, work)
        }
    });
    let service = bench.start().await;
    let [bob, cara]: [UserId; 2] = ["bob", "cara"].map(|name| name.parse().unwrap());
    service.open_memory(&bob).await.unwrap();
    refuses.store(true, Ordering::SeqCst);
    // Its writer fails, and its thread cannot be restarted.
    let died = service.with_engine(&bob, |_| panic!("told to panic")).await;
    let unavailable = MemoryError::Unavailable { user: "bob".into() };
    assert_eq!(died, Err(unavailable.clone()));
    wait_until(async || !service.0.shared.directory.is_open(&bob)).await;
    assert_eq!(service.open_memory(&bob).await, Err(unavailable));
    service.open_memory(&cara).await.unwrap();
    service
        .observe(&ada(), vec![new_user_episode("kept")])
        .await
        .unwrap();
    assert!(service.is_ready().await);
    refuses.store(false, Ordering::SeqCst);
    service
        .observe(&bob, vec![new_user_episode("kept")])
        .await
        .unwrap();
    assert!(service.shut_down().await.is_clean());
    assert!(!service.is_ready().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_without_its_supervisor_is_not_ready() {
    let bench = TestService::new();
    let service = bench.start().await;
    assert!(service.is_ready().await);
    let supervisor = service.0.shared.directory.supervisor().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
    supervisor.get_cell().kill();
    service.wait_for_end().await;
    assert!(!service.is_ready().await);
    assert!(service.open_memory(&ada()).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_fails_too_often_rests_and_is_tried_again() {
    let mut bench = TestService::new();
    let (fails, tries) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
    let open = Arc::clone(&bench.config.open_engine);
    bench.config.open_engine = Arc::new({
        let (fails, tries) = (Arc::clone(&fails), Arc::clone(&tries));
        move |path, options| {
            if path.ends_with("ada/memory.rvf") {
                tries.fetch_add(1, Ordering::SeqCst);
                assert!(!fails.load(Ordering::SeqCst), "told to panic");
            }
            open(path, options)
        }
    });
    let service = bench.start().await;
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let unavailable = MemoryError::Unavailable { user: "ada".into() };
        assert_eq!(service.open_memory(&ada()).await, Err(unavailable));
    }
    // It starts five times at once, and then at most once a second, no matter how many requests
    // come.
    let most = 8 + began.elapsed().as_secs();
    let tried = tries.load(Ordering::SeqCst);
    assert!(tried <= most, "{tried} times, {most} at most");
    let other = "eve".parse().unwrap();
    service
        .observe(&other, vec![new_user_episode("another memory goes on")])
        .await
        .unwrap();
    // Once the cause of the failure is gone, the memory opens soon.
    fails.store(false, Ordering::SeqCst);
    wait_until(async || service.open_memory(&ada()).await.is_ok()).await;
    assert!(
        began.elapsed() < Duration::from_secs(50),
        "it waited for the minute to pass"
    );
    service
        .observe(&ada(), vec![new_user_episode("kept")])
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_comes_back_with_everything_acknowledged() {
    let bench = TestService::new();
    let service = bench.start().await;
    for round in 0..3 {
        service
            .observe(&ada(), vec![new_user_episode(&format!("kept {round}"))])
            .await
            .unwrap();
        let agents = crate::shutdown::list_children(&service.0.shared.directory)
            .await
            .agents;
        #[expect(clippy::disallowed_methods, reason = "the test is about being killed")]
        agents[0].kill();
        agents[0].wait(None).await.unwrap();
        // The supervisor restarts it without a request.
        wait_until(async || {
            let now = crate::shutdown::list_children(&service.0.shared.directory)
                .await
                .agents;
            now.first()
                .is_some_and(|agent| agent.get_id() != agents[0].get_id())
        })
        .await;
        wait_until(async || {
            service
                .with_engine(&ada(), |engine| engine.stats().live)
                .await
                == Ok(round + 1)
        })
        .await;
    }
    let found = recall(&service, "kept").await.unwrap();
    assert_eq!(found.results.len(), 3);
}

/// Tests that every request to the supervisor for a user's agent returns the running one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_one_agent_however_many_ask() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("kept")])
        .await
        .unwrap();
    let first = crate::shutdown::list_children(&service.0.shared.directory)
        .await
        .agents;
    let supervisor = service.0.shared.directory.supervisor().unwrap();
    for _ in 0..8 {
        let user = ada();
        let message = |reply| MemorySupervisorMsg::GetOrCreate { user, reply };
        let handle = ractor::call_t!(supervisor, message, 5_000).unwrap();
        assert!(!handle.unwrap().is_closed());
    }
    let now = crate::shutdown::list_children(&service.0.shared.directory)
        .await
        .agents;
    assert_eq!(now[0].get_id(), first[0].get_id());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_memory_sleeps_and_the_next_question_wakes_it() {
    let mut bench = TestService::new();
    bench.config.limits.checkpoint_after = Duration::ZERO;
    bench.config.limits.passivate_after = Duration::from_millis(20);
    let service = bench.start().await;
    service
        .observe(&ada(), vec![new_user_episode("kept before the sleep")])
        .await
        .unwrap();
    wait_until(async || !service.0.shared.directory.is_open(&ada())).await;
    let found = recall(&service, "sleep").await.unwrap();
    assert_eq!(result_texts(&found), ["kept before the sleep"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_opened_says_why_and_harms_nobody_else() {
    let bench = TestService::new();
    let path = bench.config.file_path(&ada());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "this is no memory").unwrap();
    let service = bench.start().await;
    let refused = service.observe(&ada(), vec![new_user_episode("x")]).await;
    let Err(MemoryError::Storage { message }) = refused else {
        panic!("{refused:?}")
    };
    assert!(message.contains("memory.rvf"), "{message}");
    let refused = recall(&service, "x").await;
    assert!(
        matches!(refused, Err(MemoryError::Storage { .. })),
        "{refused:?}"
    );
    let other = "eve".parse().unwrap();
    service
        .observe(&other, vec![new_user_episode("another memory is fine")])
        .await
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    wait_until(async || {
        service
            .observe(&ada(), vec![new_user_episode("healed")])
            .await
            .is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_that_failed_once_is_tried_again() {
    let mut bench = TestService::new();
    let broken = Arc::new(AtomicBool::new(true));
    let breaks = Arc::clone(&broken);
    bench.config.open_engine = Arc::new(move |path, options| {
        let elsewhere = path.join("not/a/folder");
        let path = if breaks.load(Ordering::SeqCst) {
            &elsewhere
        } else {
            path
        };
        Engine::open(Arc::new(RealDisk), path, options)
    });
    let service = bench.start().await;
    assert!(service.open_memory(&ada()).await.is_err());
    broken.store(false, Ordering::SeqCst);
    wait_until(async || service.open_memory(&ada()).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_share_commits_and_each_gets_its_own_answer() {
    let bench = TestService::new();
    let service = bench.start().await;
    service.open_memory(&ada()).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..200 {
        let service = service.clone();
        writers.spawn(async move {
            let mut record = new_user_episode(&format!("note {n}"));
            record.external_ids = vec![ExternalId::new("event", format!("e-{}", n / 2))];
            service
                .observe(&ada(), vec![record])
                .await
                .unwrap()
                .remove(0)
        });
    }
    let outcomes = writers.join_all().await;
    let inserted = outcomes
        .iter()
        .filter(|o| matches!(o, WriteOutcome::Inserted { .. }))
        .count();
    assert_eq!(inserted, 100);
    let stats = service
        .with_engine(&ada(), |engine| engine.stats())
        .await
        .unwrap();
    assert_eq!(stats.live, 100);
    assert!(service.stats().pool.documents_waiting_max <= bench.config.pool.documents_max);
}
