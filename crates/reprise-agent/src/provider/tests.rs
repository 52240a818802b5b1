//! The learning loop through the port: recall, run, outcome, and a better ranking.

mod second;

use reprise_types::{
    Credit, MemoryError, MemoryProvider, RecallId, RecallRequest, Revision, RunBeginning, RunEnding,
};

use crate::job::Job;
use crate::testing::{Bench, ada, note, until};

fn begin(run: usize, recall_id: RecallId) -> RunBeginning {
    RunBeginning {
        run_id: format!("run-{run}"),
        query: None,
        recall_id: Some(recall_id),
    }
}

fn end(run: usize, used: reprise_types::RecordId, quality: f32) -> RunEnding {
    RunEnding {
        run_id: format!("run-{run}"),
        used: vec![used],
        credit: Credit::Explicit,
        quality: Some(quality),
        fail: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helped_is_answered_first_also_after_a_restart() {
    let bench = Bench::new();
    let service = bench.start().await;
    let told = [
        "deploy notes of june",
        "deploy notes of july",
        "deploy notes of may",
    ];
    service
        .observe(&ada(), told.map(note).to_vec())
        .await
        .unwrap();
    let memory = service.provider(&ada());
    let ask = || RecallRequest::new("deploy notes");
    let first = memory.recall_request(ask()).await.unwrap();
    assert_eq!(first.results.len(), 3);
    let last = first.results[2].record.id;
    for run in 0..45 {
        let recall = memory.recall_request(ask()).await.unwrap();
        let used = recall.results[run % 3].record.id;
        memory
            .begin_run(begin(run, recall.recall_id))
            .await
            .unwrap();
        let step = memory.step_run(format!("run-{run}"), "deploy".into(), vec![used]);
        step.await.unwrap();
        let quality = if used == last { 0.95 } else { 0.1 };
        memory.end_run(end(run, used, quality)).await.unwrap();
    }
    let better = memory.recall_request(ask()).await.unwrap();
    assert_eq!(better.results[0].record.id, last, "what helped comes first");
    assert!(better.results[0].sona_score > better.results[0].score);
    assert!(!better.results[0].why.taught_by.is_empty());
    let user = ada();
    until(async || {
        let status = service.with_engine(&user, |engine| engine.learning().status());
        status.await.unwrap().consolidated_runs >= 32
    })
    .await;
    assert!(service.shut_down().await.is_clean());
    let sona = bench.config.file_of(&ada()).with_file_name("sona.json");
    assert!(sona.exists(), "the readable state stands beside the memory");
    let service = bench.start().await;
    let again = service
        .provider(&ada())
        .recall_request(ask())
        .await
        .unwrap();
    assert_eq!(again.results[0].record.id, last, "and after a restart");
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_no_sense_is_refused_in_one_sentence() {
    let bench = Bench::new();
    let service = bench.start().await;
    service
        .observe(&ada(), vec![note("one"), note("two")])
        .await
        .unwrap();
    let memory = service.provider(&ada());
    let recall = memory
        .recall_request(RecallRequest::new("one"))
        .await
        .unwrap();
    let used = recall.results[0].record.id;
    let refused = memory.end_run(end(1, used, 0.5)).await.unwrap_err();
    assert!(
        matches!(&refused, MemoryError::Invalid { message } if message.contains("has not begun"))
    );
    let strange = begin(1, RecallId::from_u128(5));
    let refused = memory.begin_run(strange).await.unwrap_err();
    assert!(matches!(&refused, MemoryError::Invalid { message } if message.contains("not known")));
    memory.begin_run(begin(1, recall.recall_id)).await.unwrap();
    let refused = memory.end_run(end(1, used, f32::NAN)).await.unwrap_err();
    assert!(matches!(&refused, MemoryError::Invalid { message } if message.contains("0 to 1")));
    memory.end_run(end(1, used, 0.8)).await.unwrap();
    let approved = memory.revise_run("run-1".into(), Revision::Approved, None);
    approved.await.unwrap();
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_is_kept_though_the_writers_queue_is_full() {
    let mut bench = Bench::new();
    bench.config.limits.writer_queue_max = 1;
    let (service, user) = (bench.start().await, ada());
    service.observe(&user, vec![note("one")]).await.unwrap();
    let memory = service.provider(&user);
    let handle = memory.directory.agent(&user).await.unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (held, _answer) = Job::run(move |_| wait.recv().is_ok());
    handle.send(held).await.unwrap();
    while handle.try_send(Job::run(|_| ()).0).is_ok() {
        tokio::task::yield_now().await;
    }
    let recall = memory
        .recall_request(RecallRequest::new("one"))
        .await
        .unwrap();
    go.send(()).unwrap();
    memory.begin_run(begin(1, recall.recall_id)).await.unwrap();
    let used = recall.results[0].record.id;
    memory.end_run(end(1, used, 0.8)).await.unwrap();
    assert!(service.shut_down().await.is_clean());
}
