//! Runs in a log: each teaches once, cited or quoted records get credit, and the host's own reports
//! take precedence.

use super::*;

fn run_event(seq: u64, day: u32, event_type: &str, payload: &Value) -> Value {
    let mut payload = payload.clone();
    payload["run_id"] = json!(format!("run-{day}"));
    json!({"seq": seq, "event_id": format!("r-{seq}"), "event_type": event_type,
           "actor_id": "conductor:1", "timestamp": format!("2026-02-{day:02}T09:00:00Z"),
           "payload": payload, "user_id": "system"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_a_log_teach_once_and_those_that_nobody_ended_are_given_up() {
    let bench = TestService::new();
    let service = bench.start().await;
    let outcomes = service
        .observe(
            &ada(),
            vec![crate::testing::new_user_episode("use the mutex")],
        )
        .await;
    let outcomes = outcomes.unwrap();
    let [reprise_types::WriteOutcome::Inserted { id }] = outcomes[..] else {
        panic!("{outcomes:?}");
    };
    let ask = json!({"objective": "fix the auth race"});
    let report = json!({"report": {"summary": format!("did as {id} says")}});
    let slow = json!({"failure_kind": "timeout", "error_message": "slow"});
    let deploy = json!({"objective": "deploy to the cloud"});
    let host = TestLog::with_log(vec![
        run_event(1, 3, "conductor.run.started", &ask),
        run_event(2, 10, "conductor.run.started", &ask),
        run_event(3, 10, "worker.report.received", &report),
        run_event(
            4,
            10,
            "conductor.run.completed",
            &json!({"summary": "fixed"}),
        ),
        run_event(5, 11, "conductor.run.started", &deploy),
        run_event(6, 11, "conductor.run.failed", &slow),
    ]);
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    let read_learning = async |service: &MemoryService| {
        let user = ada();
        let learning = service.with_engine(&user, |engine| {
            let learning = engine.learning_state();
            let curve: Vec<(f32, f32)> = learning.learner().quality_curve().collect();
            (learning.status(), curve, learning.digest())
        });
        learning.await.unwrap()
    };
    let (status, curve, digest) = read_learning(&service).await;
    assert_eq!((status.runs, status.open_runs, status.records), (2, 0, 1));
    let qualities: Vec<f32> = curve.iter().map(|run| run.0).collect();
    assert_eq!(
        qualities,
        [0.8, 0.0],
        "completed, failed; the third was given up"
    );
    // The run's step has the record that resulted from it, and so its vector.
    let user = ada();
    let result = service.with_engine(&user, |engine| {
        let patterns = engine.learning_state().learner().patterns();
        let result = patterns[0].chain[0].result.unwrap();
        let memory = engine.snapshot();
        let record = memory.get(result).unwrap().unwrap();
        (record.body.text, memory.vector(result).is_some())
    });
    let (text, has_vector) = result.await.unwrap();
    assert!(text.starts_with("did as") && has_vector, "{text}");
    assert!(service.shut_down().await.is_clean());
    // Read as another stream, the log repeats every event, and each is refused.
    let service = bench.start().await;
    let binding = SourceBinding {
        stream: "again".into(),
        user: ada(),
    };
    let mapper = Arc::new(EventMapper::new(TopicTable::load_builtin().unwrap()));
    let relay = service
        .attach_relay(binding, mapper, host.feed_source())
        .await
        .unwrap();
    relay.catch_up().await.unwrap();
    let (again, _, digest_again) = read_learning(&service).await;
    assert_eq!((again.runs, again.open_runs), (2, 0));
    assert_eq!(digest_again, digest);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_quotes_what_was_recalled_gives_it_half_a_credit_and_an_approval_counts_once() {
    let bench = TestService::new();
    let service = bench.start().await;
    let outcomes = service
        .observe(
            &ada(),
            [
                "guard the session token with one mutex per user",
                "guard the session token against the weather",
            ]
            .map(|text| {
                // These are notes of a person; only requests and plans cannot be quoted.
                let mut note = crate::testing::new_user_episode(text);
                note.kind = reprise_types::MemoryKind::Finding;
                note
            })
            .into(),
        )
        .await;
    let ids: Vec<_> = outcomes
        .unwrap()
        .into_iter()
        .map(|outcome| match outcome {
            reprise_types::WriteOutcome::Inserted { id } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    let objective = "guard the session token";
    let recalled = service
        .provider(&ada())
        .execute_recall(RecallRequest::new(objective))
        .await
        .unwrap();
    assert_eq!(recalled.results.len(), 2);
    let quote = "Done: Guard the session token\nwith one mutex per user, as before";
    let now = reprise_types::Clock::now(&reprise_types::SystemClock);
    let live = |seq, event_type: &str, payload: Value| {
        let mut event = run_event(seq, 1, event_type, &payload);
        event["timestamp"] = json!(now.to_rfc3339());
        event
    };
    let host = TestLog::with_log(vec![
        live(1, "conductor.run.started", json!({"objective": objective})),
        live(2, "conductor.run.completed", json!({"summary": quote})),
        live(3, "citation.confirmed", json!({"citing_run_id": "run-1"})),
        live(4, "citation.confirmed", json!({"citing_run_id": "run-1"})),
        live(
            5,
            "citation.confirmed",
            json!({"citing_run_id": "nobody's"}),
        ),
    ]);
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    let learner = service
        .with_engine(&ada(), |engine| engine.learning_state().learner())
        .await
        .unwrap();
    let query = service
        .with_engine(&ada(), move |engine| {
            let receipt = engine.learning_state().find_receipt(recalled.recall_id);
            receipt.unwrap().query.clone().unwrap().vector
        })
        .await
        .unwrap();
    let explanation = learner.explain_adjustment(&query, ids[0], None);
    assert_eq!(explanation.runs.len(), 1, "{explanation:?}");
    assert!(
        (explanation.runs[0].quality - 1.0).abs() < 1e-6,
        "approved: {explanation:?}"
    );
    assert!(
        (explanation.runs[0].weight - 0.5).abs() < 0.01,
        "implied: {explanation:?}"
    );
    let other = learner.explain_adjustment(&query, ids[1], None);
    assert!(other.runs.is_empty(), "not quoted");
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_run_that_its_host_began_only_the_host_says_what_was_used() {
    use reprise_types::{Credit, RunBeginning, RunEnding, WriteOutcome};
    let bench = TestService::new();
    let service = bench.start().await;
    let notes = ["use the mutex", "use the channel"].map(crate::testing::new_user_episode);
    let outcomes = service.observe(&ada(), notes.into()).await.unwrap();
    let ids: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            WriteOutcome::Inserted { id } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    let provider = service.provider(&ada());
    let recall_id = provider
        .execute_recall(RecallRequest::new("use what?"))
        .await;
    let recall_id = recall_id.unwrap().recall_id;
    let begin = RunBeginning {
        run_id: "run-1".to_owned(),
        query: None,
        recall_id: Some(recall_id),
    };
    provider.begin_run(begin).await.unwrap();
    let report = json!({"report": {"summary": format!("did as {} says", ids[1])}});
    let host = TestLog::with_log(vec![
        run_event(
            1,
            1,
            "conductor.run.started",
            &json!({"objective": "use what?"}),
        ),
        run_event(2, 1, "worker.report.received", &report),
    ]);
    let relay = host.attach_relay(&service).await;
    relay.catch_up().await.unwrap();
    let end = RunEnding {
        run_id: "run-1".to_owned(),
        used: vec![ids[0]],
        credit: Credit::Explicit,
        quality: None,
        fail_kind: None,
    };
    provider.end_run(end).await.unwrap();
    let user = ada();
    let used = service.with_engine(&user, move |engine| {
        let learning = engine.learning_state();
        let query = learning
            .find_receipt(recall_id)
            .unwrap()
            .query
            .clone()
            .unwrap()
            .vector;
        let learner = learning.learner();
        [0, 1].map(|at: usize| learner.explain_adjustment(&query, ids[at], None).runs.len())
    });
    assert_eq!(
        used.await.unwrap(),
        [1, 0],
        "its report cites another, and does not count"
    );
    assert!(service.shut_down().await.is_clean());
}
