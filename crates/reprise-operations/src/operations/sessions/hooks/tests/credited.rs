//! Which of two memories that contradict each other gets credit.

use super::*;

#[tokio::test]
async fn of_both_sides_of_a_contradiction_only_the_one_that_the_session_agrees_with_gets_credit() {
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
    let marked =
        memory.run_on_engine(move |engine| engine.mark_contradictions(&[(old, new)], now).unwrap());
    marked.await.unwrap();
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
        assert_eq!(used.await.unwrap(), credited, "{said}");
    }
    memories.shut_down().await;
}
