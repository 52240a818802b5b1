//! What is embedded and searched of a prompt: its questions, the things of one that nothing
//! answers, and no log.

use reprise_types::{RelevanceVerdict, parse_timestamp};

use super::*;

/// Returns the texts that were embedded for a prompt.
async fn embedded_for(bench: &TestService, service: &MemoryService, prompt: &str) -> Vec<String> {
    bench.controls.order.lock().unwrap().clear();
    recall(service, prompt).await.unwrap();
    std::mem::take(&mut *bench.controls.order.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_question_is_embedded_once_and_each_part_of_a_prompt_as_itself() {
    let bench = TestService::new();
    let service = bench.start().await;
    let kept = "which port does the proxy listen on: port 8443, the proxy listens";
    let kept = vec![new_user_episode(kept), new_user_episode("lunch was late")];
    service.observe(&ada(), kept).await.unwrap();
    let plain = "which port does the proxy listen on?";
    assert_eq!(embedded_for(&bench, &service, plain).await, [plain]);
    let log = "2026-06-01 12:00:00 ERROR worker pool exhausted: 0x7fa1\n".repeat(20);
    let question = "which port does the lost proxy listen on?";
    let prompt = format!("{log}\n{question}");
    assert_eq!(embedded_for(&bench, &service, &prompt).await[0], question);
    let several = "How long are the backups kept? Who signs the release builds?";
    let embedded = embedded_for(&bench, &service, several).await;
    let parts = [
        "How long are the backups kept",
        "Who signs the release builds",
    ];
    assert!(
        parts
            .iter()
            .all(|part| embedded.iter().any(|text| text == part)),
        "{embedded:?}"
    );
    let things = "how does kube schedule pods across our CI pipeline nodes?";
    let embedded = embedded_for(&bench, &service, things).await;
    let thing = "our CI pipeline nodes".to_owned();
    assert!(embedded.contains(&thing), "{embedded:?}");
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_times_of_a_log_and_of_another_question_are_no_times_of_this_one() {
    let bench = TestService::new();
    let service = bench.start().await;
    let kept = [
        ("the proxy listens on port 8443", "2026-05-02T10:00:00Z"),
        ("lunch was late in the canteen", "2026-06-01T12:00:00Z"),
        ("the canteen has new tables", "2026-06-03T12:00:00Z"),
    ];
    let kept = kept.map(|(text, at)| {
        let mut record = new_user_episode(text);
        record.timestamp = parse_timestamp(at).ok();
        record
    });
    service.observe(&ada(), kept.into()).await.unwrap();
    let log = "2026-06-01 12:00:00 ERROR worker pool exhausted: 0x7fa1\n".repeat(20);
    for prompt in [
        format!("{log}\nwhich port does the proxy listen on?"),
        format!("which port does the proxy listen on?\n{log}"),
        "what was late on 2026-06-01? which port does the proxy listen on?".to_owned(),
    ] {
        let found = recall(&service, &prompt).await.unwrap();
        let told = result_texts(&found);
        assert!(told.contains(&"the proxy listens on port 8443"), "{told:?}");
    }
    // The question's own time is read behind a log with others.
    let prompt = format!("{log}\nwhat did the canteen get on 2026-06-03?");
    let found = recall(&service, &prompt).await.unwrap();
    assert_eq!(result_texts(&found), ["the canteen has new tables"]);
    assert!(service.shut_down().await.is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_short_question_the_part_that_memory_knows_is_embedded_as_well() {
    let bench = TestService::new();
    let service = bench.start().await;
    let kept = ["berlin berlin berlin tax", "lunch was late"];
    let kept = kept.map(new_user_episode).to_vec();
    service.observe(&ada(), kept).await.unwrap();
    let embedded = embedded_for(&bench, &service, "berlin rent").await;
    assert_eq!(embedded.len(), 2, "{embedded:?}");
    assert!(embedded.contains(&"berlin".to_owned()), "{embedded:?}");
    let answer = recall(&service, "berlin rent").await.unwrap();
    let lacks = answer.results[0].why.lacks.as_deref();
    assert_eq!(lacks, Some("does not mention `rent`"));
    assert_eq!(answer.verdict, RelevanceVerdict::Weak);
    assert_eq!(embedded_for(&bench, &service, "berlin tax").await.len(), 1);
    assert!(service.shut_down().await.is_clean());
}
