//! Which memories get credit, and which of two that contradict each other.

use super::*;

#[tokio::test]
async fn of_both_sides_of_a_contradiction_only_the_one_that_the_session_agrees_with_gets_credit() {
    assert_credit_of_one_side(true).await;
    // Nobody has compared these two yet.
    assert_credit_of_one_side(false).await;
}

/// Of two memories with different figures, `is_known` to contradict each other or not, only the one
/// whose figure the answer has gets credit.
async fn assert_credit_of_one_side(is_known: bool) {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let mut ids = Vec::new();
    for number in [100, 250] {
        let text = format!("The rate limit of the checkout is {number} requests per second");
        let fact = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        let RecordFate::Inserted { id, .. } = memory.store_one(fact).await.unwrap() else {
            panic!("{number} is new");
        };
        ids.push(id);
    }
    let [old, new] = ids[..] else {
        panic!("two facts: {ids:?}");
    };
    let now = memory.now();
    if is_known {
        let mark =
            move |engine: &mut Engine| engine.mark_contradictions(&[(old, new)], now).unwrap();
        memory.run_on_engine(mark).await.unwrap();
    }
    for (session, said, credited) in [
        (
            "new",
            "It is 250 requests per second, so forty fit.",
            &[new][..],
        ),
        ("old", "I took 100 requests per second for it.", &[old]),
        (
            "neither",
            "Requests per second are counted for each key.",
            &[],
        ),
        (
            "both",
            "It was 100 requests per second and is 250 now.",
            &[],
        ),
    ] {
        let asked = HookReport {
            text: "what is the rate limit of the checkout".to_owned(),
            ..prompt(session)
        };
        let given = memory
            .handle_hook(HookEvent::UserPrompt, asked.clone())
            .await;
        let given = given.unwrap().context;
        assert!(given.contains("100") && given.contains("250"), "{given}");
        let answer = HookReport {
            text: said.to_owned(),
            ..asked
        };
        memory.handle_hook(HookEvent::Stop, answer).await.unwrap();
        let used = memory.run_on_engine(move |engine| {
            let snapshot = engine.snapshot();
            let prompts = list_prompts(&snapshot, Some(session), 1, None).0;
            let outcome = prompts.into_iter().find_map(|prompt| prompt.outcome);
            outcome.map_or_else(Vec::new, |outcome| outcome.used)
        });
        let mut used = used.await.unwrap();
        // What was answered in the sessions before is given, too.
        used.retain(|id| ids.contains(id));
        assert_eq!(used, credited, "{said}");
    }
    memories.shut_down().await;
}

#[tokio::test]
async fn of_a_session_of_the_past_only_what_was_in_its_prompt_gets_credit_at_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let config = memory_config(folder.path(), 384, Arc::new(|| Err(no_model())));
    let memories = start_memories(config, clock.clone()).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    let given = memory.handle_hook(HookEvent::UserPrompt, prompt("shown"));
    assert!(given.await.unwrap().context.contains("rounding"));
    clock.advance(TimeDelta::minutes(5));
    for session in ["shown", "imported"] {
        let at = memory.now();
        let turn = |text: &str, source, what: &str, seconds| {
            let mut turn = NewRecord::new(text, source, MemoryKind::Episode);
            turn.session_id = session.to_owned();
            turn.timestamp = Some(at + TimeDelta::seconds(seconds));
            turn.details = Some(json!({ "type": what }));
            turn
        };
        let said = "It is since the rounding changed that the checkout total is off.";
        let asked = prompt("").text;
        for turn in [
            (session == "imported").then(|| turn(&asked, MemorySource::UserInput, "prompt", 0)),
            Some(turn(said, MemorySource::WorkerResult, "answer", 1)),
            Some(turn(
                "`cargo test` passed",
                MemorySource::WorkerResult,
                "test",
                2,
            )),
        ]
        .into_iter()
        .flatten()
        {
            memory.store_one(turn).await.unwrap();
        }
    }
    let ended = memory.now() + TimeDelta::seconds(2);
    // The history comes in weeks later.
    clock.advance(TimeDelta::weeks(3));
    assert_eq!(memory.learn_from_history("imported").await.unwrap(), 0);
    assert_eq!(memory.learn_from_history("shown").await.unwrap(), 1);
    assert_eq!(memory.learn_from_history("shown").await.unwrap(), 0);
    let runs = memory.run_on_engine(|engine| {
        let snapshot = engine.snapshot();
        let runs = snapshot.learner().runs_newest_first();
        runs.map(|run| (run.at, run.quality, run.used.len()))
            .collect::<Vec<_>>()
    });
    assert_eq!(runs.await.unwrap(), [(ended, 0.9, 1)]);
    memories.shut_down().await;
}

#[tokio::test]
async fn what_left_no_trace_gets_no_credit() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let fact = NewRecord::new(LESSON, MemorySource::UserInput, MemoryKind::Finding);
    memory.store_one(fact).await.unwrap();
    for (session, said, runs) in [
        (
            "one",
            "I have looked at it and everything is fine again.",
            0,
        ),
        ("two", "It is the rounding that has changed since March.", 1),
    ] {
        let given = memory
            .handle_hook(HookEvent::UserPrompt, prompt(session))
            .await;
        assert!(given.unwrap().context.contains("rounding"));
        let mut answer = prompt(session);
        answer.text = said.to_owned();
        memory.handle_hook(HookEvent::Stop, answer).await.unwrap();
        let ended =
            memory.run_on_engine(|engine| engine.snapshot().learner().runs_newest_first().count());
        assert_eq!(ended.await.unwrap(), runs, "{said}");
    }
    memories.shut_down().await;
}
