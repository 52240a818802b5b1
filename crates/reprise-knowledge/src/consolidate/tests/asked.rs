//! What a person asks or asks for contradicts nothing; what is said beside it does.

use super::*;

fn said(text: &str) -> NewRecord {
    let mut record = episode(text);
    record.details = Some(json!({"type": "prompt"}));
    record
}

#[test]
fn questions_and_orders_contradict_nothing_and_what_is_said_beside_them_does() {
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
        let new = bench.observe(vec![said(text)]);
        let found = find_contradictions(&bench.engine.snapshot(), new[0]);
        assert_eq!(!found.is_empty(), contradicts, "{text}: {found:?}");
    }
}

#[test]
fn two_prompts_that_ask_other_things_beside_the_same_statement_both_stay() {
    let mut bench = Bench::new();
    bench.observe(vec![
        said("The deploy script lives in ops/deploy.sh. Can you fix its log?"),
        said("The deploy script lives in ops/deploy.sh. Why is it slow?"),
    ]);
    assert!(bench.consolidate().plan.merged.is_empty());
}
