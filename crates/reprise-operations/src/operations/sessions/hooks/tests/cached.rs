//! A recorded session replayed: what memory adds to a conversation leaves its beginning as it was,
//! so that what a program has cached of it stays valid.

use super::*;

/// A session as its program reported it; it goes on after a pause, and is shortened once.
const RECORDED: [(HookEvent, &str); 9] = [
    (HookEvent::SessionStart, ""),
    (
        HookEvent::UserPrompt,
        "why is the checkout total wrong with a coupon",
    ),
    (
        HookEvent::Answer,
        "The coupon was rounded twice; the checkout total is right now.",
    ),
    (
        HookEvent::UserPrompt,
        "is the checkout total with a coupon tested",
    ),
    (HookEvent::SessionStart, ""),
    (
        HookEvent::UserPrompt,
        "where is the coupon of the checkout stored",
    ),
    (
        HookEvent::PreCompact,
        "We work on the coupon of the checkout.",
    ),
    (HookEvent::SessionStart, ""),
    (
        HookEvent::UserPrompt,
        "show me the checkout total once more",
    ),
];

const DECISION: &str = "Coupons are taken once, on the sum of the checkout.";

fn build_report(session: &str, text: &str) -> HookReport {
    HookReport {
        text: text.to_owned(),
        project: "shop".to_owned(),
        ..prompt(session)
    }
}

/// Keeps a decision and a lesson of the project.
async fn teach(memory: &Memory) -> RecordId {
    let line = json!({
        "text": DECISION, "kind": "finding", "tags": ["project:shop"],
        "timestamp": "2026-02-10T10:00:00Z", "details": { "type": "decision" },
    });
    let kept = memory.ingest(vec![line]).await.unwrap();
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    match kept.outcomes[0] {
        RecordFate::Inserted { id, .. } => id,
        ref other => panic!("{other:?}"),
    }
}

/// Replays the session; returns what memory put in at each event.
async fn replay_recorded(memory: &Memory, session: &str) -> Vec<String> {
    let mut contexts = Vec::new();
    for (event, text) in RECORDED {
        let answer = memory
            .handle_hook(event, build_report(session, text))
            .await
            .unwrap();
        contexts.push(answer.context);
    }
    contexts
}

/// The conversation as a program sends it at each event: everything so far, and then what is new.
fn requests(contexts: &[String]) -> Vec<String> {
    let mut all = String::new();
    let mut requests = Vec::new();
    for ((event, text), context) in RECORDED.iter().zip(contexts) {
        if *event == HookEvent::PreCompact {
            continue;
        }
        all.push_str(&[*text, "\n", context, "\n"].concat());
        requests.push(all.clone());
    }
    requests
}

#[tokio::test]
async fn a_replayed_session_keeps_every_prefix_and_repeats_itself_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let decision = teach(&memory).await;
    let contexts = replay_recorded(&memory, "now").await;
    for pair in requests(&contexts).windows(2) {
        assert!(pair[1].starts_with(&pair[0]));
    }
    // The session goes on, and goes on after it was shortened, with the bytes that it began with.
    assert!(
        contexts[0].starts_with("<reprise-memory-"),
        "{}",
        contexts[0]
    );
    assert!(
        contexts[0].contains("Reprise: 1 decision"),
        "{}",
        contexts[0]
    );
    assert_eq!(contexts[0], contexts[4]);
    assert_eq!(contexts[0], contexts[7]);
    // No prompt before that receives a memory that the conversation has.
    let prompts = [&contexts[1], &contexts[3], &contexts[5]];
    for text in [DECISION, LESSON] {
        let times = prompts.iter().filter(|context| context.contains(text));
        let begun = usize::from(contexts[0].contains(text));
        assert!(begun + times.count() <= 1, "{text}: {contexts:#?}");
    }
    // What was corrected is not repeated.
    let forget = ForgetArguments {
        id: Some(decision),
        ..ForgetArguments::default()
    };
    Forget::run(&memory, forget).await.unwrap();
    let again = memory
        .handle_hook(HookEvent::SessionStart, build_report("now", ""))
        .await;
    assert!(!again.unwrap().context.contains(DECISION));
    memories.shut_down().await;
}

#[tokio::test]
async fn a_session_that_goes_on_receives_no_memory_a_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let hook = async |event, text| {
        let report = build_report("one", text);
        memory.handle_hook(event, report).await.unwrap().context
    };
    // It begins with nothing, and memory learns meanwhile.
    assert_eq!(hook(HookEvent::SessionStart, "").await, "");
    teach(&memory).await;
    let (_, question) = RECORDED[1];
    let first = hook(HookEvent::UserPrompt, question).await;
    hook(HookEvent::Stop, "The checkout total is right now.").await;
    hook(HookEvent::SessionEnd, "").await;
    let resumed = hook(HookEvent::SessionStart, "").await;
    let again = hook(HookEvent::UserPrompt, question).await;
    let told: Vec<&str> = [DECISION, LESSON]
        .into_iter()
        .filter(|text| first.contains(text))
        .collect();
    assert!(!told.is_empty(), "{first}");
    for text in told {
        assert!(!resumed.contains(text), "{text}: {resumed}");
        assert!(!again.contains(text), "{text}: {again}");
    }
    // Once it was shortened, the conversation does not have them any more.
    hook(HookEvent::PreCompact, "").await;
    let shortened = hook(HookEvent::SessionStart, "").await;
    let once_more = hook(HookEvent::UserPrompt, question).await;
    let all = [shortened, once_more].concat();
    assert!(all.contains(DECISION) || all.contains(LESSON), "{all}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_session_receives_no_memory_a_second_time_from_a_daemon_that_began_anew() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let hook = async |memory: &Memory, event, text| {
        let report = build_report("one", text);
        memory.handle_hook(event, report).await.unwrap().context
    };
    let (_, question) = RECORDED[1];
    let first = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = first.user_memory(&ada);
    teach(&memory).await;
    let begun = hook(&memory, HookEvent::SessionStart, "").await;
    let answered = hook(&memory, HookEvent::UserPrompt, question).await;
    let received = [begun, answered].concat();
    let told = [DECISION, LESSON].map(|text| received.contains(text));
    assert_eq!(told, [true, true], "{received}");
    let line = hook(&memory, HookEvent::StatusLine, "").await;
    assert!(line.starts_with("memory: 2 in"), "{line}");
    first.shut_down().await;

    let second = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = second.user_memory(&ada);
    let line = hook(&memory, HookEvent::StatusLine, "").await;
    assert!(line.starts_with("memory: 2 in"), "{line}");
    let again = [
        hook(&memory, HookEvent::UserPrompt, question).await,
        hook(&memory, HookEvent::SessionStart, "").await,
    ];
    let again = again.concat();
    for text in [DECISION, LESSON] {
        assert!(!again.contains(text), "{text}: {again}");
    }
    // Another session has received nothing yet.
    let other = memory.handle_hook(HookEvent::SessionStart, build_report("two", ""));
    assert!(other.await.unwrap().context.contains(DECISION));
    second.shut_down().await;
}

#[tokio::test]
async fn what_a_repeated_prompt_received_is_known_to_a_daemon_that_began_anew() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let ask = async |memory: &Memory| {
        let report = build_report("one", RECORDED[1].1);
        let answer = memory.handle_hook(HookEvent::UserPrompt, report).await;
        answer.unwrap().context
    };
    let first = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = first.user_memory(&ada);
    teach(&memory).await;
    assert!(ask(&memory).await.contains(LESSON));
    let later = "a checkout total with a coupon is wrong where the tax is added twice";
    let fact = NewRecord::new(later, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    assert!(ask(&memory).await.contains(later));
    // Nothing is left to say: it is the same prompt.
    for _ in 0..2 {
        assert_eq!(ask(&memory).await, "");
    }
    let kept = memory.run_on_snapshot(|snapshot| list_prompts(snapshot, None, 10, None).0.len());
    assert_eq!(kept.await.unwrap(), 2);
    first.shut_down().await;
    let second = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    assert_eq!(ask(&second.user_memory(&ada)).await, "");
    second.shut_down().await;
}

#[tokio::test]
async fn a_shortened_conversation_receives_again_what_it_lost_from_a_daemon_that_began_anew() {
    let folder = tempfile::tempdir().unwrap();
    let ada = "ada".parse().unwrap();
    let hook = async |memory: &Memory, event, text| {
        let report = build_report("one", text);
        memory.handle_hook(event, report).await.unwrap().context
    };
    let (_, question) = RECORDED[1];
    let holds = |context: &str| [DECISION, LESSON].map(|text| context.contains(text));
    let first = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = first.user_memory(&ada);
    teach(&memory).await;
    let begun = hook(&memory, HookEvent::SessionStart, "").await;
    let answered = hook(&memory, HookEvent::UserPrompt, question).await;
    assert_eq!(holds(&[begun, answered].concat()), [true, true]);
    hook(&memory, HookEvent::PreCompact, "").await;
    let elsewhere = "what is the weather in Lisbon tomorrow";
    let given = hook(&memory, HookEvent::UserPrompt, elsewhere).await;
    assert_eq!(holds(&given), [false, false], "{given}");
    first.shut_down().await;

    let second = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = second.user_memory(&ada);
    let begun = hook(&memory, HookEvent::SessionStart, "").await;
    let answered = hook(&memory, HookEvent::UserPrompt, question).await;
    let again = [begun, answered].concat();
    assert_eq!(holds(&again), [true, true], "{again}");
    // What it went on with after that it has.
    hook(&memory, HookEvent::PreCompact, "").await;
    hook(&memory, HookEvent::SessionStart, "").await;
    hook(&memory, HookEvent::UserPrompt, elsewhere).await;
    second.shut_down().await;
    let third = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = third.user_memory(&ada);
    let begun = hook(&memory, HookEvent::SessionStart, "").await;
    assert!(!begun.contains(DECISION), "{begun}");
    third.shut_down().await;
}

#[tokio::test]
async fn a_budget_of_the_day_ends_what_is_put_in_and_keeps_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memories = memories.with_settings(MemorySettings {
        prompt_tokens_per_day: Some(1),
        ..MemorySettings::default()
    });
    let memory = memories.user_memory(&"ada".parse().unwrap());
    teach(&memory).await;
    let ask = async |session: &str| {
        let answer = memory
            .handle_hook(HookEvent::UserPrompt, prompt(session))
            .await;
        !answer.unwrap().context.is_empty()
    };
    assert!(ask("one").await, "the first block may pass the budget");
    assert!(!ask("two").await, "the second is not begun");
    let begun = memory
        .handle_hook(HookEvent::SessionStart, build_report("three", ""))
        .await;
    assert_eq!(begun.unwrap().context, "");
    let kept = memory.run_on_snapshot(|snapshot| list_prompts(snapshot, None, 10, None).0.len());
    assert_eq!(kept.await.unwrap(), 2);
    memories.shut_down().await;
}
