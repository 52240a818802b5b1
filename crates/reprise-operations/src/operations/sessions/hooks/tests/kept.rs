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

#[tokio::test]
async fn a_prompt_that_its_program_told_of_since_is_not_stored_a_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let config = memory_config(folder.path(), 384, Arc::new(|| Err(no_model())));
    let memories = start_memories(config, clock.clone()).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    let told = HookReport {
        at: Some(memory.now()),
        ..prompt("now")
    };
    // A daemon that starts reads it when its program has gone on already.
    clock.advance(TimeDelta::milliseconds(120));
    let mut live = memory.words_record(&prompt("now"), &prompt("").text, MemorySource::UserInput);
    let block = InjectedBlock {
        at: memory.now(),
        tokens: 1,
        nonce: "1".to_owned(),
        parts: Vec::new(),
    };
    live.details = Some(json!({ "type": MemoryRecord::PROMPT_TYPE, "block": block }));
    let again = live.clone();
    clock.advance(TimeDelta::seconds(1));
    memory
        .handle_hook(HookEvent::UserPrompt, told)
        .await
        .unwrap();
    memory.store_prompt(live).await.unwrap();
    let count = async || {
        let count = memory.run_on_snapshot(|memory| list_prompts(memory, None, 10, None).0.len());
        count.await.unwrap()
    };
    assert_eq!(count().await, 1);
    // Said again an hour later it is another prompt.
    clock.advance(TimeDelta::hours(1));
    let again = NewRecord {
        timestamp: Some(memory.now()),
        ..again
    };
    memory.store_prompt(again).await.unwrap();
    assert_eq!(count().await, 2);
    memories.shut_down().await;
}
