//! What is kept of a prompt that memory gave nothing to.

use super::*;

#[tokio::test]
async fn a_prompt_that_is_told_later_is_a_prompt_and_of_a_long_one_the_beginning_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&ada);
    let late = HookReport {
        at: Some(memory.now()),
        ..prompt("late")
    };
    let mut long = prompt("long");
    let log = "the pool of the worker is exhausted\n".repeat(300);
    long.text = format!("{log}{}", long.text);
    for report in [late, long] {
        let event = HookEvent::UserPrompt;
        memory.handle_hook(event, report).await.unwrap();
    }
    let kept = memory
        .run_on_snapshot(|memory| list_prompts(memory, None, 10, None).0)
        .await
        .unwrap();
    assert_eq!(kept[1].unanswered, Some(UnansweredReason::Late));
    assert_eq!(kept[0].unanswered, None, "it was answered");
    let texts: Vec<&str> = kept.iter().map(|prompt| prompt.text.as_str()).collect();
    let [long, late] = texts[..] else {
        panic!("two prompts: {texts:?}");
    };
    assert_eq!(late, prompt("late").text);
    assert_eq!(long, log[..KEPT_BYTES_MAX].trim());
    memories.shut_down().await;
}
