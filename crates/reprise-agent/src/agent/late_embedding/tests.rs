//! Another model replaces the first while a memory is in use.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reprise_engine::EngineStats;
use reprise_types::{DegradedPart, MemoryProvider as _, RecallRequest, RecallResponse};

use crate::testing::{
    EmbedderControls, TestService, ada, new_user_episode, version_space, wait_until,
};
use crate::{MemoryService, OtherModels};

/// Number of notes; they share no word, so that each is found by its own words and by its meaning.
const NOTES: usize = 100;

fn note_text(number: usize) -> String {
    format!("subject{number} matter{number}")
}

/// Fills a memory with the first model and closes it; returns a configuration with the second model
/// in use and the first as an earlier one.
async fn start_with_second_model() -> (TestService, Arc<EmbedderControls>) {
    let mut bench = TestService::new();
    let first_model = Arc::clone(&bench.controls);
    let service = bench.start().await;
    let notes = (0..NOTES).map(|number| new_user_episode(&note_text(number)));
    service.observe(&ada(), notes.collect()).await.unwrap();
    assert!(service.shut_down().await.is_clean());
    bench.controls = Arc::default();
    bench.config.open_embedder = bench.controls.opener_for_version(2);
    bench.config.space = Some(version_space(2));
    let (find, first) = (Arc::clone(&first_model), version_space(1));
    let others = move |space: &_| (*space == first).then(|| find.opener());
    bench.config.others = Some(OtherModels::new(others));
    // The tests call what an agent does by itself.
    bench.config.limits.tick = Duration::from_hours(1);
    (bench, first_model)
}

async fn stats(service: &MemoryService) -> EngineStats {
    let user = ada();
    let stats = service.with_engine(&user, |engine| engine.stats());
    stats.await.unwrap()
}

async fn recall_note(service: &MemoryService, number: usize) -> RecallResponse {
    let request = RecallRequest::new(note_text(number));
    let memory = service.provider(&ada());
    memory.execute_recall(request).await.unwrap()
}

/// Asserts that notes are found by their meaning too, no matter which model made their vectors.
async fn assert_found(service: &MemoryService) {
    for number in (0..NOTES).step_by(9) {
        let answer = recall_note(service, number).await;
        let best = answer.results.first().unwrap();
        assert_eq!(best.record.text, note_text(number));
        assert_eq!(answer.degraded, []);
        assert!(best.why.raw_distance.unwrap() < 0.02, "{number}: {best:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_models_answer_until_the_new_one_has_made_everything_once() {
    let (bench, _before) = start_with_second_model().await;
    let mut service = bench.start().await;
    for batch in 0..4_u32 {
        assert_found(&service).await;
        let now = stats(&service).await;
        assert_eq!(
            (now.embedded, now.foreign_vectors),
            (32 * batch, 100 - 32 * batch)
        );
        assert_eq!(now.re_embedded_percent(), Some(32 * batch));
        let answer = recall_note(&service, 1).await;
        let expected_note = format!("re-embedding: {} %", 32 * batch);
        assert!(
            answer
                .notes
                .iter()
                .any(|note| note.contains(&expected_note)),
            "{answer:?}"
        );
        assert!(service.embed_waiting(&ada()).await.unwrap());
        // A daemon that ends in the middle continues where it was.
        assert!(service.shut_down().await.is_clean());
        service = bench.start().await;
    }
    assert_found(&service).await;
    assert!(!service.embed_waiting(&ada()).await.unwrap());
    assert_eq!(stats(&service).await.other_spaces, []);
    let order = bench.controls.order.lock().unwrap().clone();
    let embed_count = |text: &String| order.iter().filter(|one| *one == text).count();
    for number in (0..NOTES).filter(|number| number % 9 != 0 && *number != 1) {
        assert_eq!(embed_count(&note_text(number)), 1, "{number}");
    }
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_makes_them_anew_by_itself_while_it_is_asked_and_written_to() {
    let (mut bench, _before) = start_with_second_model().await;
    bench.config.limits.tick = Duration::from_millis(5);
    let service = bench.start().await;
    let mut new = 0;
    wait_until(async || {
        assert_found(&service).await;
        let record = new_user_episode(&format!("new{new} kept{new}"));
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
    // Without the new model, records with vectors of the first are found, and none gets a new
    // vector.
    let (bench, _before) = start_with_second_model().await;
    bench.controls.missing.store(true, Ordering::SeqCst);
    let service = bench.start().await;
    assert_found(&service).await;
    assert!(!service.embed_waiting(&ada()).await.unwrap());
    service
        .observe(&ada(), vec![new_user_episode("late comer")])
        .await
        .unwrap();
    let now = stats(&service).await;
    assert_eq!(
        (now.embedded, now.unembedded, now.foreign_vectors),
        (0, 101, 100)
    );
    assert_eq!(
        recall_note(&service, 3).await.degraded,
        [DegradedPart::UnembeddedRecords]
    );
    assert!(service.shut_down().await.is_clean());
    // Without the first model, its vectors are compared with nothing.
    let (bench, first_model) = start_with_second_model().await;
    first_model.missing.store(true, Ordering::SeqCst);
    for other in [bench.config.others.clone(), None] {
        let mut config = bench.config.clone();
        config.others = other;
        let service = MemoryService::start(config, None).await.unwrap();
        let answer = recall_note(&service, 3).await;
        assert_eq!(answer.degraded, [DegradedPart::UnembeddedRecords]);
        let compared = |found: &reprise_types::RetrievedMemory| found.why.raw_distance.is_some();
        assert!(!answer.results.iter().any(compared), "{answer:?}");
        assert_eq!(answer.results[0].record.text, note_text(3), "words find it");
        assert!(service.shut_down().await.is_clean());
    }
}
