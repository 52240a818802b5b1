//! What a prompt receives that names a time, and why it received each memory.

use reprise_types::parse_timestamp;

use super::*;

const OLD: &str = "Users are logged out at random where the token refresh runs twice: refresh a token behind one mutex.";

/// Stores a lesson of March, and of today what a release and a chat left; returns what a prompt
/// receives, and the note of its recall.
async fn receive(text: &str) -> (String, PromptRecall) {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let today = memory.now() - TimeDelta::minutes(30);
    for (text, at) in [
        (OLD, parse_timestamp("2026-03-01T08:00:00Z").unwrap()),
        ("The last release is done.", today),
        ("The canteen has soup.", today + TimeDelta::minutes(1)),
        ("The plants are watered.", today + TimeDelta::minutes(2)),
        ("The printer is repaired.", today + TimeDelta::minutes(3)),
    ] {
        let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        record.timestamp = Some(at);
        memory.store_one(record).await.unwrap();
    }
    let asked = HookReport {
        text: text.to_owned(),
        ..prompt("now")
    };
    let answer = memory.handle_hook(HookEvent::UserPrompt, asked).await;
    let context = answer.unwrap().context;
    let given = memory.run_on_snapshot(|snapshot| {
        let (all, _) = list_prompts(snapshot, Some("now"), 1, None);
        all[0].given.clone().unwrap()
    });
    let given = given.await.unwrap();
    memories.shut_down().await;
    (context, given)
}

#[tokio::test]
async fn a_task_receives_what_is_older_than_the_time_that_it_names() {
    for task in [
        "Users are logged out at random since the last release, look at the token refresh",
        "since today users are logged out at random, please fix the token refresh",
        "fix the token refresh: users are logged out at random since today",
        // Asked for a time of which no memory helps, it receives one of another time.
        "what logged users out at random since the last release, the token refresh?",
        "which token refresh logged users out at random today?",
    ] {
        let (context, given) = receive(task).await;
        assert!(context.contains("mutex"), "{task}: {context} {given:?}");
        assert_eq!(given.only_times, Some(Vec::new()), "{task}");
    }
}

#[tokio::test]
async fn who_asks_for_a_time_receives_what_is_of_it_and_the_note_says_so() {
    let (context, given) = receive("what was said about the canteen and the soup today?").await;
    assert!(context.contains("soup"), "{context} {given:?}");
    assert_eq!(given.only_times, Some(vec!["today".to_owned()]));
}

#[tokio::test]
async fn each_memory_is_noted_with_the_reason_of_that_time() {
    let (_, given) = receive("why are users logged out at random by the token refresh").await;
    let received = given.found.iter().find(|one| one.left_out.is_none());
    let received = received.expect("it received the lesson");
    assert!(received.reason.contains("token"), "{received:?}");
    assert!(received.reason.contains("same words"), "{received:?}");
}
