//! Rules that a person sets in a prompt: the next session in the project begins with them.

use super::*;

pub(super) fn report(session: &str, project: &str, text: &str) -> HookReport {
    HookReport {
        text: text.to_owned(),
        project: project.to_owned(),
        ..prompt(session)
    }
}

/// Starts memories without a model.
pub(super) async fn start_hooks() -> (tempfile::TempDir, Memories, Hooks) {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let hooks = Hooks::of(&memories);
    (folder, memories, hooks)
}

#[tokio::test]
async fn a_rule_of_a_prompt_begins_the_next_session_though_its_own_never_ended() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let hook = async |event, report: HookReport| {
        let answer = memory.handle_hook(event, report).await;
        answer.unwrap().context
    };
    let rule = "we always use pnpm in this repo.";
    let said = [rule, "Add a handler for refund webhooks to the shop."].join(" ");
    hook(HookEvent::UserPrompt, report("one", "shop", &said)).await;
    hook(HookEvent::UserPrompt, report("one", "shop", &said)).await;
    let mut number = 0;
    let begun = wait_for_async("the rule is learned", async || {
        number += 1;
        let next = report(&format!("two {number}"), "shop", "");
        let begun = hook(HookEvent::SessionStart, next).await;
        seen_if(begun.contains(rule), begun)
    });
    let begun = begun.await;
    assert_eq!(begun.matches(rule).count(), 1, "{begun}");
    assert!(!begun.contains("Add a handler"), "{begun}");
    let other = hook(HookEvent::SessionStart, report("three", "mail", "")).await;
    assert!(!other.contains("pnpm"), "{other}");
    // Told later, it is a rule all the same.
    let late = HookReport {
        at: Some(memory.now()),
        ..report(
            "four",
            "mail",
            "Never commit to main here. Is the build green?",
        )
    };
    hook(HookEvent::UserPrompt, late).await;
    let begun = hook(HookEvent::SessionStart, report("five", "mail", "")).await;
    assert!(begun.contains("Never commit to main here."), "{begun}");
    memories.shut_down().await;
}

/// What hooks answer to one person.
pub(super) struct Hooks {
    pub(super) memory: Memory,
}

impl Hooks {
    pub(super) fn of(memories: &Memories) -> Self {
        Self {
            memory: memories.user_memory(&"ada".parse().unwrap()),
        }
    }

    pub(super) async fn begin(&self, session: &str) -> String {
        let next = report(session, "shop", "");
        let begun = self.memory.handle_hook(HookEvent::SessionStart, next);
        begun.await.unwrap().context
    }

    pub(super) async fn ask(&self, session: &str, text: &str) -> String {
        let asked = report(session, "shop", text);
        let answer = self.memory.handle_hook(HookEvent::UserPrompt, asked);
        answer.await.unwrap().context
    }

    /// Tells a prompt of before, which is kept when this returns.
    pub(super) async fn tell(&self, session: &str, text: &str) {
        let told = HookReport {
            at: Some(self.memory.now()),
            ..report(session, "shop", text)
        };
        let told = self.memory.handle_hook(HookEvent::UserPrompt, told);
        told.await.unwrap();
    }

    pub(super) async fn lesson(&self, text: &'static str) -> RecordId {
        let lessons = MemoryFilter {
            types: Some(vec![RecordType::Lesson]),
            ..MemoryFilter::default()
        };
        let found = self
            .memory
            .run_on_snapshot(move |memory| memory.list_matching_records(&lessons));
        let found = found.await.unwrap();
        let found = found.iter().find(|lesson| lesson.text == text);
        found.expect("the lesson is learned").id
    }
}

#[tokio::test]
async fn no_question_and_no_order_overrides_a_rule() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rule = "From now on never deploy the shop on a Friday.";
    hooks.tell("one", rule).await;
    for (number, asked) in [
        "what about the deploy of the shop on friday",
        "is a deploy of the shop on friday allowed",
        "deploy the shop on friday",
        "The build is green. is a deploy of the shop on friday allowed",
    ]
    .into_iter()
    .enumerate()
    {
        hooks.tell(&format!("asked {number}"), asked).await;
    }
    let open = hooks
        .memory
        .run_on_snapshot(|memory| memory.contradictions().len());
    assert_eq!(open.await.unwrap(), 0);
    let given = hooks
        .ask("last", "should we deploy the shop on a friday or never")
        .await;
    assert!(given.contains(rule) && !given.contains("Was: "), "{given}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_later_rule_that_revokes_an_earlier_one_takes_its_place() {
    let (_folder, memories, hooks) = start_hooks().await;
    hooks.tell("one", "From now on always use pnpm here.").await;
    let later = "From now on use bun here, no longer pnpm.";
    hooks.tell("two", later).await;
    let begun = hooks.begin("three").await;
    assert!(begun.contains(later), "{begun}");
    let is_over = |line: &str| !line.contains("always use pnpm") || line.contains("Was: ");
    assert!(begun.lines().all(is_over), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_prompt_is_not_given_beside_the_lesson_that_was_learned_from_it() {
    let (_folder, memories, hooks) = start_hooks().await;
    let (rule, branch) = (
        "From now on always use pnpm for the checkout packages here.",
        "Never commit to the main branch of the shop here.",
    );
    hooks.tell("one", rule).await;
    let said = [branch, "Add a handler for the refunds."].join(" ");
    hooks.tell("two", &said).await;
    let begun = hooks.begin("three").await;
    assert!(begun.contains(rule) && begun.contains(branch), "{begun}");
    let asks = [
        "which package manager do we always use for the checkout packages here",
        "do we ever commit to the main branch of the shop directly",
    ];
    for asked in asks {
        let given = hooks.ask("three", asked).await;
        assert!(!given.contains(rule) && !given.contains(branch), "{given}");
    }
    let given = hooks.ask("four", asks[0]).await;
    assert_eq!(given.matches(rule).count(), 1, "{given}");
    let given = hooks.ask("five", asks[1]).await;
    assert_eq!(given.matches(branch).count(), 1, "{given}");
    // What was corrected or forgotten is not given in the words of the prompt either.
    let corrected = "From now on always use bun for the checkout packages here.";
    let changes = json!({"text": corrected}).as_object().unwrap().clone();
    let lesson = hooks.lesson(rule).await.to_string();
    hooks.memory.revise(&lesson, changes).await.unwrap();
    let given = hooks.ask("six", asks[0]).await;
    assert!(
        given.contains(corrected) && !given.contains(rule),
        "{given}"
    );
    let forget = ForgetArguments {
        id: Some(hooks.lesson(branch).await),
        ..ForgetArguments::default()
    };
    Forget::run(&hooks.memory, forget).await.unwrap();
    let given = hooks.ask("seven", asks[1]).await;
    assert!(!given.contains(branch), "{given}");
    memories.shut_down().await;
}

#[tokio::test]
async fn rules_begin_a_session_however_many_other_lessons_came_later() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rules = ["Never commit to main here.", "We always use pnpm here."];
    for rule in rules {
        hooks.tell(rule, rule).await;
    }
    for number in 0..30 {
        let session = format!("ordinary {number}");
        let text = format!("The root cause was the stale lock of worker {number} in the queue.");
        for event in [HookEvent::Answer, HookEvent::SessionEnd] {
            let text = if event == HookEvent::Answer {
                text.as_str()
            } else {
                ""
            };
            let said = hooks
                .memory
                .handle_hook(event, report(&session, "shop", text));
            said.await.unwrap();
        }
    }
    let begun = hooks.begin("last").await;
    for rule in rules {
        assert!(begun.contains(rule), "{rule}: {begun}");
    }
    assert!(begun.contains("worker 29"), "{begun}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_sentence_that_ends_a_rule_takes_its_place_where_the_rule_is_known() {
    for (number, (rule, end)) in [
        (
            "Never deploy on Fridays.",
            "A deploy on Friday is allowed now.",
        ),
        (
            "always use pnpm in this repo, never npm",
            "forget the rule about pnpm, we use bun now",
        ),
        (
            "Bitte nie am Freitag ausrollen.",
            "Du darfst jetzt am Freitag ausrollen.",
        ),
        (
            "Wir nutzen hier immer pnpm, nie npm",
            "Die Regel mit pnpm gilt nicht mehr, wir nehmen jetzt bun",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        let memories = memories(folder.path(), Arc::new(|| Err(no_model()))).await;
        let hooks = Hooks::of(&memories);
        // Without the rule it teaches nothing.
        let other = "Never log the mail addresses of customers.";
        hooks
            .tell("zero", if number == 1 { other } else { end })
            .await;
        let begun = hooks.begin("zero next").await;
        assert!(!begun.contains(end), "{begun}");
        hooks.tell("one", rule).await;
        let begun = hooks.begin("one next").await;
        assert!(begun.contains(rule), "{begun}");
        hooks.tell("two", end).await;
        let begun = hooks.begin("three").await;
        assert!(begun.contains(end), "{begun}");
        assert!(!begun.contains(rule), "{begun}");
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_lesson_that_is_marked_as_sensitive_does_not_stand_for_its_prompt() {
    let ada = crate::testing::Ada::new().await;
    let memory = ada.memory();
    let rule = "From now on always write the vault reports with two signatures.";
    let told = HookReport {
        at: Some(memory.now()),
        ..report("one", "shop", rule)
    };
    let told = memory.handle_hook(HookEvent::UserPrompt, told);
    told.await.unwrap();
    let hooks = Hooks {
        memory: memory.clone(),
    };
    let asked = "how do we always write the vault reports, with two signatures";
    assert!(hooks.ask("two", asked).await.contains(rule));
    let id = hooks.lesson(rule).await;
    let marked = json!({ "id": id, "tags": ["project:shop", "sensitive"] });
    ada.call("revise", marked).await;
    let given = hooks.ask("three", asked).await;
    assert!(!given.contains("vault"), "{given}");
    let begun = hooks.begin("four").await;
    assert!(!begun.contains("vault"), "{begun}");
}
