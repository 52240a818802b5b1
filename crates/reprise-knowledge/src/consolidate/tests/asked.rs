//! What a person asks or asks for contradicts nothing; what is said with it does.

use super::*;

fn prompt_of(text: &str) -> NewRecord {
    let mut record = episode(text);
    record.details = Some(json!({"type": "prompt"}));
    record
}

#[test]
fn questions_and_orders_contradict_nothing_and_what_is_said_with_them_does() {
    let old = "The gateway of the shop listens on port 8080";
    for (text, contradicts) in [
        ("is the gateway of the shop listening on port 9090", false),
        ("does the gateway of the shop listen on port 9090", false),
        ("so is a gateway of the shop on port 9090 allowed", false),
        ("Make the gateway of the shop listen on port 9090", false),
        ("what about the gateway of the shop on port 9090", false),
        ("The gateway of the shop listens on port 9090", true),
        (
            "The gateway of the shop listens on port 9090 now. Can you fix the docs?",
            true,
        ),
    ] {
        let mut bench = Bench::new();
        bench.observe(vec![episode(old)]);
        let new = bench.observe(vec![prompt_of(text)]);
        let found = find_contradictions(&bench.engine.snapshot(), new[0]);
        assert_eq!(!found.is_empty(), contradicts, "{text}: {found:?}");
    }
}

#[test]
fn two_prompts_that_ask_other_things_beside_the_same_statement_both_stay() {
    let mut bench = Bench::new();
    bench.observe(vec![
        prompt_of("The deploy script lives in ops/deploy.sh. Can you fix its log?"),
        prompt_of("The deploy script lives in ops/deploy.sh. Why is it slow?"),
    ]);
    assert!(bench.consolidate().plan.merged.is_empty());
}

#[test]
fn what_a_person_said_to_an_agent_twice_is_no_duplicate() {
    let text = "The importer skips empty lines, so run its tests again.";
    let again = |session: &str| {
        let mut record = prompt_of(text);
        record.session_id = session.to_owned();
        record
    };
    let mut bench = Bench::new();
    bench.observe(vec![again("one"), again("two")]);
    let plan = bench.consolidate().plan;
    assert!(plan.merged.is_empty() && plan.review.is_empty(), "{plan:?}");
}

#[test]
fn a_rule_that_revokes_another_contradicts_it() {
    let contrary =
        |one: &str, other: &str| matches!(judge_texts(one, other), Judgement::Contradiction(_));
    let old = "From now on always use pnpm here.";
    for new in [
        "From now on use bun here, no longer pnpm.",
        "From now on use bun, not pnpm.",
        "Use bun instead of pnpm from now on.",
        "We no longer use pnpm here, always use bun.",
        "Never use pnpm here.",
        "Don't use pnpm in this repo any more.",
        "Use bun rather than pnpm.",
    ] {
        assert!(contrary(old, new) && contrary(new, old), "{new}");
    }
    for (decided, rule) in [
        (
            "We decided to stay on npm.",
            "from now on we use pnpm here, npm is gone.",
        ),
        (
            "We decided to stay on npm.",
            "from now on pnpm, npm is gone here",
        ),
        (
            "We decided to use Jenkins for the builds.",
            "From now on we use Drone for the builds, Jenkins is out.",
        ),
        (
            "Wir haben uns f\u{fc}r ReportLab entschieden, Geschwindigkeit geht vor.",
            "Ab sofort nehmen wir WeasyPrint statt ReportLab, das Layout ist wichtiger",
        ),
    ] {
        assert!(contrary(decided, rule), "{decided} | {rule}");
    }
    assert!(!contrary(
        "We decided to stay on npm.",
        "From now on we use vitest for the tests, jest is gone."
    ));
    for (one, other) in [
        ("use tabs, not spaces", "use spaces, not tabs"),
        ("We always use pnpm in this repo", "use bun instead of pnpm"),
    ] {
        assert!(contrary(one, other), "{one} | {other}");
    }
    for (one, other) in [
        ("From now on always use pnpm here.", "use pnpm, never npm"),
        (
            "We always use pnpm here.",
            "From now on use tabs, not spaces.",
        ),
        (
            "Never commit the pnpm lock file.",
            "From now on use bun, no longer pnpm.",
        ),
        ("Always use vitest here.", "Use pnpm, not npm."),
        ("Use pnpm, not npm.", "Use pnpm instead of yarn."),
        (
            "Always use pnpm with the frozen lock file.",
            "Use pnpm, not npm, with the lock file.",
        ),
    ] {
        assert!(
            !contrary(one, other) && !contrary(other, one),
            "{one} | {other}"
        );
    }
}
