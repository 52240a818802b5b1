//! What is embedded and searched of a prompt: its questions, the things of one that nothing
//! answers, and no log.

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
