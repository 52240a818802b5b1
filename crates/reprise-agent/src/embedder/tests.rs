//! Order, bounds, and misbehaving models.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reprise_types::EmbedError;

use super::{EmbedPool, PoolError, PoolOptions};
use crate::testing::{EmbedderControls, wait_until};

const PATIENCE: Duration = Duration::from_secs(20);

fn start_pool(
    controls: &Arc<EmbedderControls>,
    change: impl FnOnce(&mut PoolOptions),
) -> EmbedPool {
    let mut options = PoolOptions {
        threads: 1,
        retry: Duration::ZERO,
        ..PoolOptions::default()
    };
    change(&mut options);
    EmbedPool::start(options, controls.opener())
}

#[tokio::test]
async fn the_same_question_is_embedded_once() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |options| options.cache_max = 2);
    let first = pool.embed_query("auth race").await.unwrap();
    assert_eq!(pool.embed_query("auth race").await.unwrap(), first);
    pool.embed_query("two").await.unwrap();
    pool.embed_query("auth race").await.unwrap();
    pool.embed_query("three").await.unwrap();
    pool.embed_query("auth race").await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.queries, stats.cached), (3, 3));
    pool.embed_query("two").await.unwrap();
    assert_eq!(pool.stats().queries, 4, "the least recently used one went");
}

#[tokio::test]
async fn a_prompt_that_was_asked_and_is_kept_is_embedded_once() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    let query_vector = pool.embed_query("auth race").await.unwrap();
    let document_vector = pool.queue_document("auth race").await.wait().await.unwrap();
    assert_eq!(document_vector, *query_vector);
    assert_eq!(controls.order.lock().unwrap().join(", "), "auth race");
}

#[tokio::test]
async fn a_question_is_embedded_as_what_it_is_about() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    let framed = "Can you remind me what we discussed about the city search cache?";
    pool.embed_query(framed).await.unwrap();
    let about = reprise_engine::question_subject(framed).into_owned();
    assert_ne!(about, framed);
    assert_eq!(controls.order.lock().unwrap().join(", "), about);
    pool.embed_query(&about).await.unwrap();
    assert_eq!(pool.stats().cached, 1, "it is the same question");
}

#[tokio::test]
async fn a_pool_that_closes_over_a_few_texts_ends_when_they_are_done() {
    for waiting in 1..=5 {
        let controls = Arc::new(EmbedderControls::default());
        let pool = start_pool(&controls, |options| options.threads = 4);
        controls.block();
        let mut texts = vec![pool.queue_document("under way").await];
        wait_until(async || controls.blocked.load(Ordering::SeqCst) == 1).await;
        for text in 0..waiting {
            texts.push(pool.queue_document(&text.to_string()).await);
        }
        let mut closing = Box::pin(pool.drain(PATIENCE));
        tokio::select! {
            biased;
            ended = &mut closing => panic!("it ended ({ended}) before its texts"),
            () = std::future::ready(()) => {}
        }
        controls.unblock();
        for text in texts {
            text.wait().await.unwrap();
        }
        assert!(closing.await, "{waiting} texts waited");
    }
}

#[tokio::test]
async fn questions_go_before_documents_and_the_longest_waiting_first() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    controls.block();
    let first = pool.queue_document("first").await;
    wait_until(async || controls.blocked.load(Ordering::SeqCst) == 1).await;
    let one = pool.queue_document("one").await;
    let two = pool.queue_document("two").await;
    let asking = tokio::spawn({
        let pool = pool.clone();
        async move { pool.embed_query("question").await }
    });
    wait_until(async || pool.stats().queries_waiting_max == 1).await;
    controls.unblock();
    for pending in [first, one, two] {
        pending.wait().await.unwrap();
    }
    asking.await.unwrap().unwrap();
    assert_eq!(
        *controls.order.lock().unwrap(),
        ["first", "question", "one", "two"]
    );
}

#[tokio::test]
async fn a_document_waits_for_a_few_questions_and_not_for_all() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    controls.block();
    let first = pool.queue_document("first").await;
    wait_until(async || controls.blocked.load(Ordering::SeqCst) == 1).await;
    let second = pool.queue_document("second").await;
    let mut asking = Vec::new();
    for number in 0..10 {
        let (asks, text) = (pool.clone(), format!("question {number}"));
        asking.push(tokio::spawn(async move { asks.embed_query(&text).await }));
        wait_until(async || pool.stats().queries_waiting_max == number + 1).await;
    }
    controls.unblock();
    first.wait().await.unwrap();
    second.wait().await.unwrap();
    for asked in asking {
        asked.await.unwrap().unwrap();
    }
    let order = controls.order.lock().unwrap();
    let place = order.iter().position(|text| text == "second").unwrap();
    assert_eq!(place, 5, "{order:?}");
}

#[tokio::test]
async fn both_queues_are_bounded_and_cancelled_work_is_dropped() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |options| {
        (options.queries_max, options.documents_max) = (1, 2);
    });
    controls.block();
    let under_way = pool.queue_document("under way").await;
    wait_until(async || controls.blocked.load(Ordering::SeqCst) == 1).await;
    let dropped = pool.queue_document("dropped").await;
    let kept = pool.queue_document("kept").await;
    let third = tokio::spawn({
        let pool = pool.clone();
        async move { pool.queue_document("third").await.wait().await }
    });
    let asking = tokio::spawn({
        let pool = pool.clone();
        async move { pool.embed_query("question").await }
    });
    wait_until(async || pool.stats().queries_waiting_max == 1).await;
    assert_eq!(
        pool.embed_query("one more").await,
        Err(PoolError::Full { waiting: 1 })
    );
    drop(dropped);
    controls.unblock();
    under_way.wait().await.unwrap();
    kept.wait().await.unwrap();
    third.await.unwrap().unwrap();
    asking.await.unwrap().unwrap();
    let stats = pool.stats();
    assert!(stats.documents_waiting_max <= 2, "{stats:?}");
    assert_eq!((stats.cancelled, stats.documents, stats.queries), (1, 3, 1));
}

#[tokio::test]
async fn a_panicking_or_lying_model_costs_one_text() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    let panicked = pool.queue_document("PANIC").await.wait().await;
    assert!(
        matches!(&panicked, Err(PoolError::Failed(EmbedError::Engine { message })) if message.contains("told to panic")),
        "{panicked:?}"
    );
    let lied = pool.queue_document("NAN").await.wait().await;
    assert!(
        matches!(lied, Err(PoolError::Failed(EmbedError::BadOutput { .. }))),
        "{lied:?}"
    );
    pool.queue_document("fine").await.wait().await.unwrap();
    let stats = pool.stats();
    assert_eq!(
        (stats.panics, stats.failed, stats.documents, stats.threads),
        (1, 2, 1, 1)
    );
}

#[tokio::test]
async fn a_model_that_appears_is_noticed_without_a_restart() {
    let controls = Arc::new(EmbedderControls::default());
    controls.missing.store(true, Ordering::SeqCst);
    let pool = start_pool(&controls, |_| {});
    let none = pool.embed_query("question").await;
    assert!(
        matches!(
            none,
            Err(PoolError::Unavailable(EmbedError::Unavailable { .. }))
        ),
        "{none:?}"
    );
    controls.missing.store(false, Ordering::SeqCst);
    pool.embed_query("question").await.unwrap();
}

#[tokio::test]
async fn a_missing_model_is_not_looked_for_at_every_text() {
    let controls = Arc::new(EmbedderControls::default());
    controls.missing.store(true, Ordering::SeqCst);
    let pool = start_pool(&controls, |options| options.retry = Duration::from_hours(1));
    assert!(pool.embed_query("question").await.is_err());
    controls.missing.store(false, Ordering::SeqCst);
    assert!(matches!(
        pool.embed_query("question").await,
        Err(PoolError::Unavailable(_))
    ));
}

#[tokio::test]
async fn draining_finishes_what_waits_and_refuses_what_comes() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |_| {});
    controls.block();
    let first = pool.queue_document("first").await;
    let second = pool.queue_document("second").await;
    let draining = tokio::spawn({
        let pool = pool.clone();
        async move { pool.drain(PATIENCE).await }
    });
    tokio::task::yield_now().await;
    controls.unblock();
    assert!(draining.await.unwrap());
    first.wait().await.unwrap();
    second.wait().await.unwrap();
    assert_eq!(pool.embed_query("question").await, Err(PoolError::Closed));
    assert_eq!(
        pool.queue_document("late").await.wait().await,
        Err(PoolError::Closed)
    );
    assert_eq!(pool.stats().threads, 0);
}

#[tokio::test]
async fn the_threads_end_with_the_last_handle() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |options| options.threads = 3);
    let mut ended = pool.0.alive.clone();
    assert_eq!(pool.stats().threads, 3);
    drop(pool);
    ended.wait_for(|alive| *alive == 0).await.unwrap();
}

#[tokio::test]
async fn one_thread_does_a_few_texts_and_a_backlog_wakes_the_others() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |options| options.threads = 2);
    for text in ["one", "two", "three"] {
        pool.embed_query(text).await.unwrap();
    }
    assert_eq!(pool.stats().embedders_open, 1);
    controls.block();
    let mut waiting = Vec::new();
    for number in 0..8 {
        waiting.push(pool.queue_document(&number.to_string()).await);
    }
    wait_until(async || controls.blocked.load(Ordering::SeqCst) == 2).await;
    controls.unblock();
    for pending in waiting {
        pending.wait().await.unwrap();
    }
    assert_eq!(pool.stats().embedders_open, 2);
}

#[tokio::test]
async fn an_idle_pool_gives_its_models_back_and_the_next_text_brings_one() {
    let controls = Arc::new(EmbedderControls::default());
    let pool = start_pool(&controls, |options| {
        options.sleep_after = Duration::from_millis(5);
    });
    pool.embed_query("one").await.unwrap();
    wait_until(async || pool.stats().embedders_open == 0).await;
    pool.embed_query("two").await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.queries, stats.threads), (2, 1));
    // The cached vectors are of the same space, so they stay.
    pool.embed_query("one").await.unwrap();
    assert_eq!(pool.stats().cached, 1);
}

#[test]
fn a_text_is_read_past_a_long_address() {
    let address = ["https://example.org/", &"a/".repeat(200)].concat();
    let text = format!("{address}\nthe heating was repaired {address}");
    let (beginning, end) = (&address[..64], "the heating was repaired");
    let read = super::worker::cut_blobs(&text);
    assert_eq!(read, format!("{beginning}\n{end} {beginning}"));
    for whole in [end, "\u{751f}\u{4ea7}".repeat(200).as_str(), ""] {
        assert_eq!(super::worker::cut_blobs(whole), whole);
    }
}
