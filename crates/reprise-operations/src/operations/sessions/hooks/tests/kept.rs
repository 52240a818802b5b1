//! What is kept of a prompt that memory gave nothing to, and of what an agent found out.

use super::ruled::{Hooks, report};
use super::*;
use crate::operations::sessions::hooks::kept_prompts::list_received;

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

/// A memory with the lesson, on a clock that is set.
async fn with_lesson(folder: &Path) -> (Memories, Memory, Arc<SetClock>) {
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let config = memory_config(folder, 384, Arc::new(|| Err(no_model())));
    let memories = start_memories(config, clock.clone()).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    (memories, memory, clock)
}

/// The memory as the request of an event reaches it, and the event as it is told when its hook has
/// gone on.
fn sent_and_told(memory: &Memory, event: HookEvent, report: HookReport) -> (Memory, HookReport) {
    let at = memory.now();
    let told = HookReport {
        at: Some(at),
        ..report
    };
    let request = told.request_key(event, at);
    (memory.clone().with_request_key(Some(request)), told)
}

async fn ask(memory: &Memory, report: HookReport) -> String {
    let answered = memory.handle_hook(HookEvent::UserPrompt, report).await;
    answered.unwrap().context
}

/// The newest prompts as the counts of a day and the page read them.
async fn list_kept(memory: &Memory) -> Vec<crate::Prompt> {
    let kept = memory.run_on_snapshot(|memory| list_prompts(memory, None, 10, None).0);
    kept.await.unwrap()
}

async fn count_prompts(memory: &Memory) -> usize {
    let count = memory.run_on_snapshot(|memory| list_prompts(memory, None, 10, None).0.len());
    count.await.unwrap()
}

#[tokio::test]
async fn a_prompt_that_its_program_told_of_is_stored_once_however_late_its_answer_is() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, memory, clock) = with_lesson(folder.path()).await;
    let (sending, told) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
    // A daemon that takes long to start reads it when its program has gone on already.
    clock.advance(TimeDelta::seconds(40));
    assert_eq!(ask(&memory, told).await, "");
    let late = ask(&sending, prompt("now")).await;
    assert_eq!(late, "", "its program is not there any more");
    assert_eq!(count_prompts(&memory).await, 1);
    assert!(!list_kept(&memory).await[0].received_memories());
    // Said again at once, it is another prompt, and it receives what none has received.
    clock.advance(TimeDelta::seconds(5));
    let (sending, _) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
    let again = ask(&sending, prompt("now")).await;
    assert!(again.contains("rounding"), "{again}");
    assert_eq!(count_prompts(&memory).await, 2);
    let kept = list_kept(&memory).await;
    let received: Vec<bool> = kept.iter().map(crate::Prompt::received_memories).collect();
    assert_eq!(received, [true, false]);
    memories.shut_down().await;
}

#[tokio::test]
async fn what_a_late_answer_had_is_given_to_the_next_prompt_and_then_to_none() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, memory, clock) = with_lesson(folder.path()).await;
    let (sending, told) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
    clock.advance(TimeDelta::milliseconds(260));
    // The answer is ready when its program has just gone on, which tells of it then.
    let late = ask(&sending, prompt("now")).await;
    assert!(late.contains("rounding"), "{late}");
    assert!(list_kept(&memory).await[0].received_memories());
    ask(&memory, told).await;
    let kept = list_kept(&memory).await;
    assert!(!kept[0].received_memories(), "{kept:?}");
    assert_eq!(kept[0].unanswered, Some(UnansweredReason::Late));
    assert_eq!((kept.len(), kept[0].tokens), (1, 0));
    // A daemon that began anew knows it from what is stored.
    let received = memory.run_on_snapshot(|memory| list_received(memory, "now", None).count());
    assert_eq!(received.await.unwrap(), 0);
    for is_given in [true, false] {
        clock.advance(TimeDelta::seconds(20));
        let (sending, _) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
        let answer = ask(&sending, prompt("now")).await;
        assert_eq!(answer.contains("rounding"), is_given, "{answer}");
    }
    memories.shut_down().await;
}

#[tokio::test]
async fn a_prompt_that_is_answered_late_is_answered_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, memory, _) = with_lesson(folder.path()).await;
    let (sending, _) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
    // Its time is up before it is looked at, and its program may still read what comes.
    let hasty = HookReport {
        deadline_ms: Some(0),
        ..prompt("now")
    };
    let within = Duration::from_mins(1);
    let answer = sending.handle_prompt(&hasty, within, true).await.unwrap();
    assert_eq!(answer.context, "");
    wait_for_async("the prompt is kept", async || {
        let kept = list_kept(&memory).await;
        let received: Vec<bool> = kept.iter().map(crate::Prompt::received_memories).collect();
        seen_if(received == [false], received)
    })
    .await;
    memories.shut_down().await;
}

#[tokio::test]
async fn a_prompt_that_went_on_alone_takes_nothing_from_another_of_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, memory, clock) = with_lesson(folder.path()).await;
    let (sending, _) = sent_and_told(&memory, HookEvent::UserPrompt, prompt("now"));
    let given = ask(&sending, prompt("now")).await;
    assert!(given.contains("rounding"), "{given}");
    clock.advance(TimeDelta::seconds(1));
    let other = HookReport {
        text: "where is the log of the mail queue, and who reads it?".to_owned(),
        ..prompt("now")
    };
    let (_, told) = sent_and_told(&memory, HookEvent::UserPrompt, other);
    ask(&memory, told).await;
    let kept = list_kept(&memory).await;
    let received: Vec<bool> = kept.iter().map(crate::Prompt::received_memories).collect();
    assert_eq!(received, [false, true]);
    memories.shut_down().await;
}

#[tokio::test]
async fn what_a_session_did_not_begin_with_in_time_its_first_prompt_has() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let own = json!({
        "text": "Geese fly south in autumn.", "kind": "finding",
        "tags": ["project:shop"], "details": { "type": "decision" },
    });
    memory.ingest(vec![own]).await.unwrap();
    let begun = HookReport {
        project: "shop".to_owned(),
        ..prompt("now")
    };
    let event = HookEvent::SessionStart;
    let (sending, told) = sent_and_told(&memory, event, begun.clone());
    memory.handle_hook(event, told).await.unwrap();
    let late = sending.handle_hook(event, begun.clone()).await.unwrap();
    assert!(late.context.contains("Geese"), "{late:?}");
    let first = ask(&memory, begun).await;
    assert!(first.contains("Geese"), "{first}");
    memories.shut_down().await;
}

/// Tells a session of one question and one answer.
async fn tell_session(hooks: &Hooks, session: &str, asked: &str, answered: &str) {
    hooks.tell(session, asked).await;
    for (event, text) in [(HookEvent::Stop, answered), (HookEvent::SessionEnd, "")] {
        let told = hooks
            .memory
            .handle_hook(event, report(session, "shop", text));
        told.await.unwrap();
    }
}

#[tokio::test]
async fn a_fix_in_one_sentence_is_a_lesson_which_a_prompt_of_the_same_trouble_gets_once() {
    for (asked, answered, again) in [
        (
            "why does openssl break the install of cryptography",
            "The fix was to pin openssl to 1.1.1w.",
            "what was the fix for openssl",
        ),
        (
            "why does the import fail on the locale",
            "It failed because the locale was unset; setting LC_ALL fixed it.",
            "the import fails on the locale again",
        ),
        (
            "warum ist der Puffer beim Export zu klein",
            "Die Ursache war ein zu kleiner Puffer, der jetzt 64 kB hat.",
            "was war die Ursache mit dem Puffer",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
        let hooks = Hooks::of(&memories);
        tell_session(&hooks, "one", asked, answered).await;
        let lesson = hooks.lesson(answered).await;
        let begun = hooks.begin("two").await;
        assert_eq!(begun.matches(answered).count(), 1, "{begun}");
        let given = hooks.ask("three", again).await;
        assert_eq!(given.matches(answered).count(), 1, "{given}");
        assert!(given.contains(&format!("{lesson}] (lesson")), "{given}");
        // Forgotten, it is not given in the words of the answer either.
        let forget = ForgetArguments {
            id: Some(lesson),
            ..ForgetArguments::default()
        };
        Forget::run(&hooks.memory, forget).await.unwrap();
        let given = hooks.ask("four", again).await;
        assert!(!given.contains(answered), "{given}");
        memories.shut_down().await;
    }
}
