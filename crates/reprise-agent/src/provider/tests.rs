//! The learning loop through the port: recall, run, outcome, and a better ranking.

mod second;

use reprise_types::{
    Credit, MemoryError, MemoryProvider, RecallId, RecallRequest, Revision, RunBeginning,
    RunEnding, RunStep,
};

use crate::job::WriterJob;
use crate::testing::{TestService, ada, new_user_episode, wait_until};

fn run_beginning(run: usize, recall_id: RecallId) -> RunBeginning {
    RunBeginning {
        run_id: format!("run-{run}"),
        query: None,
        recall_id: Some(recall_id),
    }
}

fn run_ending(run: usize, used: reprise_types::RecordId, quality: f32) -> RunEnding {
    RunEnding {
        run_id: format!("run-{run}"),
        used: vec![used],
        credit: Credit::Explicit,
        quality: Some(quality),
        fail_kind: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helped_is_answered_first_also_after_a_restart() {
    let bench = TestService::new();
    let service = bench.start().await;
    let notes = [
        "deploy notes of june",
        "deploy notes of july",
        "deploy notes of may",
    ];
    service
        .observe(&ada(), notes.map(new_user_episode).to_vec())
        .await
        .unwrap();
    let memory = service.provider(&ada());
    let ask = || RecallRequest::new("deploy notes");
    let first = memory.execute_recall(ask()).await.unwrap();
    assert_eq!(first.results.len(), 3);
    let last = first.results[2].record.id;
    for run in 0..45 {
        let recall = memory.execute_recall(ask()).await.unwrap();
        let used = recall.results[run % 3].record.id;
        memory
            .begin_run(run_beginning(run, recall.recall_id))
            .await
            .unwrap();
        let step = RunStep {
            run_id: format!("run-{run}"),
            action: "deploy".to_owned(),
            used: vec![used],
            result: None,
        };
        memory.add_run_step(step).await.unwrap();
        let quality = if used == last { 0.95 } else { 0.1 };
        memory
            .end_run(run_ending(run, used, quality))
            .await
            .unwrap();
    }
    let better = memory.execute_recall(ask()).await.unwrap();
    assert_eq!(better.results[0].record.id, last, "what helped comes first");
    assert!(better.results[0].sona_score > better.results[0].score);
    assert!(!better.results[0].why.taught_by.is_empty());
    let user = ada();
    wait_until(async || {
        let status = service.with_engine(&user, |engine| engine.learning_state().status());
        status.await.unwrap().fitted_runs >= 32
    })
    .await;
    assert!(service.shut_down().await.is_clean());
    let sona = bench.config.file_path(&ada()).with_file_name("sona.json");
    assert!(sona.exists(), "the readable state is next to the memory");
    let service = bench.start().await;
    let again = service
        .provider(&ada())
        .execute_recall(ask())
        .await
        .unwrap();
    assert_eq!(again.results[0].record.id, last, "and after a restart");
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_no_sense_is_refused_in_one_sentence() {
    let bench = TestService::new();
    let service = bench.start().await;
    service
        .observe(
            &ada(),
            vec![new_user_episode("one"), new_user_episode("two")],
        )
        .await
        .unwrap();
    let memory = service.provider(&ada());
    let recall = memory
        .execute_recall(RecallRequest::new("one"))
        .await
        .unwrap();
    let used = recall.results[0].record.id;
    let refused = memory.end_run(run_ending(1, used, 0.5)).await.unwrap_err();
    assert!(
        matches!(&refused, MemoryError::Invalid { message } if message.contains("has not begun"))
    );
    let strange = run_beginning(1, RecallId::from_u128(5));
    let refused = memory.begin_run(strange).await.unwrap_err();
    assert!(matches!(&refused, MemoryError::Invalid { message } if message.contains("not known")));
    memory
        .begin_run(run_beginning(1, recall.recall_id))
        .await
        .unwrap();
    let refused = memory
        .end_run(run_ending(1, used, f32::NAN))
        .await
        .unwrap_err();
    assert!(matches!(&refused, MemoryError::Invalid { message } if message.contains("0 to 1")));
    memory.end_run(run_ending(1, used, 0.8)).await.unwrap();
    let approved = memory.revise_run("run-1".into(), Revision::Approved, None);
    approved.await.unwrap();
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_is_kept_though_the_writers_queue_is_full() {
    let mut bench = TestService::new();
    bench.config.limits.writer_queue_max = 1;
    let (service, user) = (bench.start().await, ada());
    service
        .observe(&user, vec![new_user_episode("one")])
        .await
        .unwrap();
    let memory = service.provider(&user);
    let handle = memory.shared.directory.open_agent(&user).await.unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (blocking_job, _answer) = WriterJob::from_work(move |_| wait.recv().is_ok());
    handle.send_job(blocking_job).await.unwrap();
    while handle.try_send_job(WriterJob::from_work(|_| ()).0).is_ok() {
        tokio::task::yield_now().await;
    }
    let recall = memory
        .execute_recall(RecallRequest::new("one"))
        .await
        .unwrap();
    go.send(()).unwrap();
    memory
        .begin_run(run_beginning(1, recall.recall_id))
        .await
        .unwrap();
    let used = recall.results[0].record.id;
    memory.end_run(run_ending(1, used, 0.8)).await.unwrap();
    assert!(service.shut_down().await.is_clean());
}
