//! Another model takes a memory over while it is in use.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reprise_engine::EngineStats;
use reprise_types::{Degraded, MemoryProvider as _, Recall, RecallRequest};

use crate::testing::{Bench, Controls, ada, note, space_of, until};
use crate::{MemoryService, OtherModels};

/// Notes that share no word: each is found by its own, and by its meaning.
const NOTES: usize = 100;

fn text(number: usize) -> String {
    format!("subject{number} matter{number}")
}

/// A memory that the model before has filled, closed; what is in use from now on is the second
/// model, with the first beside it.
async fn taken_over() -> (Bench, Arc<Controls>) {
    let mut bench = Bench::new();
    let before = Arc::clone(&bench.controls);
    let service = bench.start().await;
    let notes = (0..NOTES).map(|number| note(&text(number)));
    service.observe(&ada(), notes.collect()).await.unwrap();
    assert!(service.shut_down().await.is_clean());
    bench.controls = Arc::default();
    bench.config.open_embedder = bench.controls.opener_of(2);
    bench.config.space = Some(space_of(2));
    let (find, first) = (Arc::clone(&before), space_of(1));
    let others = move |space: &_| (*space == first).then(|| find.opener());
    bench.config.others = Some(OtherModels::new(others));
    // What an agent does by itself is done by hand here.
    bench.config.limits.tick = Duration::from_hours(1);
    (bench, before)
}

async fn stats(service: &MemoryService) -> EngineStats {
    let user = ada();
    let stats = service.with_engine(&user, |engine| engine.stats());
    stats.await.unwrap()
}

async fn ask(service: &MemoryService, number: usize) -> Recall {
    let request = RecallRequest::new(text(number));
    let memory = service.provider(&ada());
    memory.recall_request(request).await.unwrap()
}

/// Where each note has its vector does not matter: it is found, by its meaning too.
async fn assert_found(service: &MemoryService) {
    for number in (0..NOTES).step_by(9) {
        let answer = ask(service, number).await;
        let best = answer.results.first().unwrap();
        assert_eq!(best.record.text, text(number));
        assert_eq!(answer.degraded, []);
        assert!(best.why.raw_distance.unwrap() < 0.02, "{number}: {best:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_models_answer_until_the_new_one_has_made_everything_once() {
    let (bench, _before) = taken_over().await;
    let mut service = bench.start().await;
    for batch in 0..4_u32 {
        assert_found(&service).await;
        let now = stats(&service).await;
        assert_eq!(
            (now.embedded, now.foreign_vectors),
            (32 * batch, 100 - 32 * batch)
        );
        assert_eq!(now.re_embedded_percent(), Some(32 * batch));
        let answer = ask(&service, 1).await;
        let said = format!("re-embedding: {} %", 32 * batch);
        assert!(
            answer.notes.iter().any(|note| note.contains(&said)),
            "{answer:?}"
        );
        assert!(service.embed_waiting(&ada()).await.unwrap());
        // A daemon that ends in the middle goes on where it was.
        assert!(service.shut_down().await.is_clean());
        service = bench.start().await;
    }
    assert_found(&service).await;
    assert!(!service.embed_waiting(&ada()).await.unwrap());
    assert_eq!(stats(&service).await.other_spaces, []);
    let order = bench.controls.order.lock().unwrap().clone();
    let made = |text: &String| order.iter().filter(|one| *one == text).count();
    for number in (0..NOTES).filter(|number| number % 9 != 0 && *number != 1) {
        assert_eq!(made(&text(number)), 1, "{number}");
    }
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_makes_them_anew_by_itself_while_it_is_asked_and_written_to() {
    let (mut bench, _before) = taken_over().await;
    bench.config.limits.tick = Duration::from_millis(5);
    let service = bench.start().await;
    let mut new = 0;
    until(async || {
        assert_found(&service).await;
        let record = note(&format!("new{new} kept{new}"));
        service.observe(&ada(), vec![record]).await.unwrap();
        new += 1;
        stats(&service).await.other_spaces.is_empty()
    })
    .await;
    assert_found(&service).await;
    let now = stats(&service).await;
    assert_eq!(
        (now.unembedded, now.space.as_deref()),
        (0, Some("all-MiniLM-L6-v2/2"))
    );
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_not_there_is_said_and_never_another_ones_vector_taken() {
    // The new one is missing: what the one before made is found, nothing is made.
    let (bench, _before) = taken_over().await;
    bench.controls.missing.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    assert_found(&service).await;
    assert!(!service.embed_waiting(&ada()).await.unwrap());
    service
        .observe(&ada(), vec![note("late comer")])
        .await
        .unwrap();
    let now = stats(&service).await;
    assert_eq!(
        (now.embedded, now.unembedded, now.foreign_vectors),
        (0, 101, 100)
    );
    assert_eq!(
        ask(&service, 3).await.degraded,
        [Degraded::UnembeddedRecords]
    );
    assert!(service.shut_down().await.is_clean());
    // The one before is missing: its vectors are compared with nothing.
    let (bench, before) = taken_over().await;
    before.missing.store(true, Ordering::SeqCst);
    for other in [bench.config.others.clone(), None] {
        let mut config = bench.config.clone();
        config.others = other;
        let service = MemoryService::start(config, None).await.unwrap();
        let answer = ask(&service, 3).await;
        assert_eq!(answer.degraded, [Degraded::UnembeddedRecords]);
        let compared = |found: &reprise_types::RetrievedMemory| found.why.raw_distance.is_some();
        assert!(!answer.results.iter().any(compared), "{answer:?}");
        assert_eq!(answer.results[0].record.text, text(3), "words find it");
        assert!(service.shut_down().await.is_clean());
    }
}
