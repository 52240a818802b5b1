//! Rules that a person sets in a prompt: the next session in the project begins with them.

use super::*;

fn report(session: &str, project: &str, text: &str) -> HookReport {
    HookReport {
        text: text.to_owned(),
        project: project.to_owned(),
        ..prompt(session)
    }
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
