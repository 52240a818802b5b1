//! What a person corrects: it is a fact from then on, and what it corrects is marked.

use super::ruled::{Hooks, start_hooks};
use super::*;
use crate::operations::recall::AskedRecall;

const STALE: &str =
    "The root cause was that the planner ignored the 16:00 cutoff of the dough room.";

impl Hooks {
    /// Tells what an agent said in a session that ends then, and its lessons are kept.
    async fn answer(&self, session: &str, text: &str) {
        for (event, text) in [(HookEvent::Answer, text), (HookEvent::SessionEnd, "")] {
            let said = self
                .memory
                .handle_hook(event, ruled::report(session, "shop", text));
            said.await.unwrap();
        }
    }

    async fn recall(&self, query: &str) -> Vec<String> {
        let request = RecallRequest::new(query);
        let asked = AskedRecall::new(request, false);
        let found = self.memory.answer(asked).await.unwrap();
        let found = found.recall.results.into_iter();
        found.map(|one| one.record.body.text).collect()
    }
}

/// Whether each line with a text says that something newer is known.
fn marks(block: &str, text: &str) -> bool {
    let mut lines = block.lines().filter(|line| line.contains(text));
    lines.all(|line| line.contains("newer") || line.contains("Was: "))
}

#[tokio::test]
async fn what_a_person_corrects_is_given_first_and_the_old_is_marked() {
    let (_folder, memories, hooks) = start_hooks().await;
    let answer = ["I have read the planner and its tests.", STALE].join(" ");
    hooks.answer("one", &answer).await;
    let bom = "Always send UTF-8 with BOM to the zebra printer.";
    hooks.tell("two", bom).await;
    assert!(hooks.begin("two next").await.contains(bom));
    let cutoff = "The cutoff of the dough room is 15:00 now, not 16:00 any more.";
    hooks.tell("three", cutoff).await;
    let utf = "Nein, das ist falsch: Der Zebra-Drucker braucht UTF-16, nicht UTF-8 mit BOM.";
    hooks.tell("four", utf).await;
    let begun = hooks.begin("five").await;
    assert!(
        begun.contains("UTF-16") && begun.contains("15:00"),
        "{begun}"
    );
    assert!(
        marks(&begun, bom) && marks(&begun, "16:00 cutoff"),
        "{begun}"
    );
    let given = hooks
        .ask("six", "When is the cutoff of the dough room?")
        .await;
    assert!(marks(&given, "16:00 cutoff"), "{given}");
    let old = given.find("16:00 cutoff").unwrap_or(given.len());
    assert!(given.find("15:00").is_some_and(|new| new < old), "{given}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_fact_that_a_person_states_is_found_and_given_whatever_precedes_it() {
    for (said, asked) in [
        (
            "No, the tick rate is 120 Hz, not 60 Hz.",
            "What is the tick rate?",
        ),
        (
            "Nein, die Praemie ist erst am 5. faellig, nicht am 3.",
            "Wann ist die Praemie faellig?",
        ),
        (
            "You used the wrong table: claims live in schaden_2026.",
            "In which table do claims live?",
        ),
        ("Physics: the tick rate is 60 Hz.", "tick rate"),
        (
            "Das ist falsch: Der Zebra-Drucker braucht UTF-16.",
            "UTF-16",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
        let hooks = Hooks::of(&memories);
        hooks.tell("one", said).await;
        let found = hooks.recall(asked).await;
        assert!(found.iter().any(|text| text == said), "{asked}: {found:?}");
        let given = hooks.ask("two", asked).await;
        let is_asked = asked.ends_with('?');
        assert!(!is_asked || given.contains(said), "{asked}: {given}");
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_rule_is_given_by_its_lesson_where_its_prompt_asked_for_work_too() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rule = "From now on all batch jobs log to /var/log/claims in JSON.";
    let said = [rule, "Please fix the export of the ledger first."].join(" ");
    hooks.tell("one", &said).await;
    let asked = "Write a batch job that logs all expired claims";
    let given = hooks.ask("two", asked).await;
    assert_eq!(given.matches(rule).count(), 1, "{given}");
    assert!(!given.contains("ledger"), "{given}");
    memories.shut_down().await;
}

#[tokio::test]
async fn rules_and_decisions_begin_a_session_before_all_other_lessons() {
    let (_folder, memories, hooks) = start_hooks().await;
    let kept = [
        "Always round amounts half to even.",
        "Never write CSV files without a BOM.",
        "Always write commit messages in English.",
        "We decided to use SQLite for the ledger.",
    ];
    for text in kept {
        hooks.tell(text, text).await;
        hooks.answer(text, "Noted.").await;
    }
    for number in 0..8 {
        let lesson = format!("The root cause was the stale lock of worker {number} in the queue.");
        let other = ["I have run the tests on both machines.", &lesson].join(" ");
        hooks.answer(&format!("other {number}"), &other).await;
    }
    let begun = hooks.begin("last").await;
    for text in kept {
        assert!(begun.contains(text), "{text}: {begun}");
    }
    memories.shut_down().await;
}

#[tokio::test]
async fn a_change_that_a_person_tells_is_decided_and_another_one_is_one_pair_to_decide() {
    let (_folder, memories, hooks) = start_hooks().await;
    for (number, rule) in [
        "From now on always use pnpm here.",
        "From now on use bun here, no longer pnpm.",
        "Never deploy the shop on Fridays.",
        "A deploy of the shop on Friday is allowed now.",
    ]
    .into_iter()
    .enumerate()
    {
        hooks.tell(&format!("session {number}"), rule).await;
    }
    let count_pairs = async || {
        let pairs = hooks.memory.run_on_plan(|_, plan| plan.contradictions);
        pairs.await.unwrap().len()
    };
    assert_eq!(count_pairs().await, 0);
    // An answer and its lesson are one.
    let answer = ["I have read the planner and its tests.", STALE].join(" ");
    hooks.answer("five", &answer).await;
    let cutoff = "The cutoff of the dough room is 15:00 now, not 16:00 any more.";
    let mut note = NewRecord::new(cutoff, MemorySource::UserInput, MemoryKind::Finding);
    note.tags = vec!["project:shop".to_owned()];
    hooks.memory.store_one(note).await.unwrap();
    assert_eq!(count_pairs().await, 1);
    memories.shut_down().await;
}

#[tokio::test]
async fn a_lesson_and_the_answer_that_has_its_sentence_are_given_once() {
    let (_folder, memories, hooks) = start_hooks().await;
    let answer = ["I have read the planner and its tests.", STALE].join(" ");
    hooks.answer("one", &answer).await;
    let asked = "what was the root cause of the cutoff of the dough room in the planner";
    let given = hooks.ask("two", asked).await;
    assert_eq!(given.matches(STALE).count(), 1, "{given}");
    memories.shut_down().await;
}
