//! A rule that is told more than once, or in more than one project: it holds where it was told
//! last, and is over where it was ended last.

use super::ruled::{Hooks, report, start_hooks};
use super::*;

/// Rules, each with a sentence that ends it.
const ENDED: [(&str, &str); 2] = [
    (
        "Never deploy the shop on Fridays.",
        "You may deploy the shop on Fridays again.",
    ),
    (
        "Wir nutzen hier immer pnpm, nie npm.",
        "Die Regel mit pnpm gilt nicht mehr.",
    ),
];

impl Hooks {
    async fn tell_in(&self, project: &str, session: &str, text: &str) {
        let told = HookReport {
            at: Some(self.memory.now()),
            ..report(session, project, text)
        };
        let told = self.memory.handle_hook(HookEvent::UserPrompt, told);
        told.await.unwrap();
    }

    /// Whether a rule holds for a session that begins in a project.
    async fn holds_in(&self, project: &str, session: &str, rule: &str) -> bool {
        let begun = report(session, project, "");
        let begun = self.memory.handle_hook(HookEvent::SessionStart, begun);
        let begun = begun.await.unwrap().context;
        let mut lines = begun.lines().filter(|line| line.contains(rule));
        lines.any(|line| !line.contains("Was: "))
    }
}

#[tokio::test]
async fn a_rule_of_two_projects_is_over_only_where_it_was_ended() {
    for (rule, end) in ENDED {
        let (_folder, memories, hooks) = start_hooks().await;
        hooks.tell_in("shop", "one", rule).await;
        hooks.tell_in("mail", "two", rule).await;
        assert!(hooks.holds_in("shop", "three", rule).await, "{rule}");
        assert!(hooks.holds_in("mail", "four", rule).await, "{rule}");
        hooks.tell_in("shop", "five", end).await;
        assert!(!hooks.holds_in("shop", "six", rule).await, "{rule}");
        assert!(hooks.holds_in("mail", "seven", rule).await, "{rule}");
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_rule_without_a_project_ends_everywhere() {
    for (rule, end) in ENDED {
        let (_folder, memories, hooks) = start_hooks().await;
        hooks.tell_in("", "one", rule).await;
        hooks.tell_in("shop", "two", end).await;
        for project in ["shop", "mail", ""] {
            let session = format!("in {project}");
            assert!(!hooks.holds_in(project, &session, rule).await, "{rule}");
        }
        let is_over = hooks.memory.run_on_snapshot(move |memory| {
            let mut open = memory.open_contradictions();
            open.any(|one| memory.get(one.older).unwrap().unwrap().text == rule)
        });
        assert!(is_over.await.unwrap(), "{rule}");
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_rule_that_was_ended_holds_again_where_it_is_told_again() {
    for (rule, end) in ENDED {
        let (_folder, memories, hooks) = start_hooks().await;
        for (number, (told, holds)) in [
            (rule, true),
            (rule, true),
            (end, false),
            (rule, true),
            (rule, true),
            (end, false),
        ]
        .into_iter()
        .enumerate()
        {
            hooks.tell(&format!("told {number}"), told).await;
            let begun = format!("begun {number}");
            let found = hooks.holds_in("shop", &begun, rule).await;
            assert_eq!(found, holds, "{number}: {rule}");
            // A session that ends later learns nothing from what it said before.
            let over = report("told 0", "shop", "");
            let over = hooks.memory.handle_hook(HookEvent::SessionEnd, over);
            over.await.unwrap();
            let found = hooks
                .holds_in("shop", &[&begun, " over"].concat(), rule)
                .await;
            assert_eq!(found, holds, "{number} over: {rule}");
        }
        memories.shut_down().await;
    }
}

#[tokio::test]
async fn a_rule_that_was_corrected_is_ended_in_its_new_words() {
    let (_folder, memories, hooks) = start_hooks().await;
    let (rule, corrected) = (
        "Never deploy the shop on Fridays.",
        "Never deploy the shop on Mondays.",
    );
    hooks.tell("one", rule).await;
    let changes = json!({"text": corrected}).as_object().unwrap().clone();
    let lesson = hooks.lesson(rule).await.to_string();
    hooks.memory.revise(&lesson, changes).await.unwrap();
    assert!(hooks.holds_in("shop", "two", corrected).await);
    hooks
        .tell("three", "You may deploy the shop on Mondays again.")
        .await;
    assert!(!hooks.holds_in("shop", "four", corrected).await);
    assert!(!hooks.holds_in("shop", "five", rule).await);
    memories.shut_down().await;
}

async fn forget(hooks: &Hooks, id: RecordId) {
    let forget = ForgetArguments {
        id: Some(id),
        ..ForgetArguments::default()
    };
    Forget::run(&hooks.memory, forget).await.unwrap();
}

#[tokio::test]
async fn a_rule_that_was_forgotten_is_not_learned_from_somebody_who_says_it_again() {
    let (_folder, memories, hooks) = start_hooks().await;
    let (rule, end) = ENDED[0];
    hooks.tell("one", rule).await;
    let lesson = hooks.lesson(rule).await;
    forget(&hooks, lesson).await;
    for project in ["shop", "mail"] {
        hooks
            .tell_in(project, &format!("again in {project}"), rule)
            .await;
        let begun = format!("begun in {project}");
        assert!(!hooks.holds_in(project, &begun, rule).await, "{project}");
    }
    // Nothing is left that could be ended.
    hooks.tell("three", end).await;
    assert!(!hooks.holds_in("shop", "four", end).await);
    memories.shut_down().await;
}

#[tokio::test]
async fn a_rule_of_two_prompts_is_forgotten_with_the_last_of_them() {
    let (_folder, memories, hooks) = start_hooks().await;
    let (rule, _) = ENDED[0];
    let prompts = ["Add a page for refunds. ", "Add a page for coupons. "];
    for (session, prompt) in prompts.into_iter().enumerate() {
        let said = [prompt, rule].concat();
        hooks.tell(&format!("told {session}"), &said).await;
    }
    let lesson = hooks.lesson(rule).await;
    let sources = hooks.memory.run_on_snapshot(move |memory| {
        let links = memory.links(lesson).into_iter();
        let sources = links.filter(|link| link.outgoing).map(|link| link.record);
        sources.collect::<Vec<RecordId>>()
    });
    let sources = sources.await.unwrap();
    assert_eq!(sources.len(), 2);
    for (number, source) in sources.into_iter().enumerate() {
        forget(&hooks, source).await;
        let begun = format!("begun {number}");
        let holds = hooks.holds_in("shop", &begun, rule).await;
        assert_eq!(holds, number == 0, "{number}");
    }
    memories.shut_down().await;
}

#[tokio::test]
async fn what_a_person_decided_begins_the_next_session_though_its_own_never_ended() {
    let (_folder, memories, hooks) = start_hooks().await;
    for (number, decision) in [
        "ok, we go with Redis for the cart, TTL 60 seconds",
        "Wir haben uns f\u{fc}r ReportLab entschieden.",
        "agreed, UDP for all snapshots of the game",
    ]
    .into_iter()
    .enumerate()
    {
        hooks.tell(&format!("told {number}"), decision).await;
        let begun = format!("begun {number}");
        let holds = hooks.holds_in("shop", &begun, decision).await;
        assert!(holds, "{decision}");
    }
    memories.shut_down().await;
}
