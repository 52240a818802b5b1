//! Who asks memory gets the same answer whichever way: what a hook puts into a prompt, what an
//! operation answers, what Ask shows, and what is noted of it.

use super::held::THINGS;
use super::ruled::{Hooks, report, start_hooks};
use super::*;
use crate::operations::recall::{AskedRecall, Recall, RecallArguments, Recalled};
use crate::testing::Ada;
use crate::wire::RecallAnswer;

const RULE: &str = "Always round amounts of the ledger half to even.";
const QUESTION: &str = "are amounts of the ledger always rounded half to even?";

/// Answers a question as the operation does.
pub(super) async fn recall_answer(
    memory: &Memory,
    asked: &RecallArguments,
) -> Result<RecallAnswer, Problem> {
    match crate::run::<Recall>(memory, asked).await?.0 {
        Recalled::Answer(answer) => Ok(*answer),
        Recalled::Context(text) => panic!("a text was not asked for: {text:?}"),
    }
}

/// Returns a lesson by its text.
async fn lesson(memory: &Memory, text: &str) -> RecordId {
    let text = text.to_owned();
    let found = memory.run_on_snapshot(move |memory| {
        let mut records = memory.records().filter_map(Result::ok);
        records.find(|one| one.record_type() != RecordType::Prompt && one.text == text)
    });
    found.await.unwrap().expect("the lesson is learned").id
}

#[tokio::test]
async fn a_lesson_in_place_of_its_prompt_is_marked_where_something_newer_contradicts_it() {
    let (_folder, memories, hooks) = start_hooks().await;
    hooks.tell("one", RULE).await;
    let old = lesson(&hooks.memory, RULE).await;
    let newer = "The auditors want amounts rounded up since May.";
    let newer = NewRecord::new(newer, MemorySource::UserInput, MemoryKind::Finding);
    let RecordFate::Inserted { id: newer, .. } = hooks.memory.store_one(newer).await.unwrap()
    else {
        panic!("it is new");
    };
    let now = hooks.memory.now();
    let mark = move |engine: &mut Engine| engine.mark_contradictions(&[(old, newer)], now).unwrap();
    hooks.memory.run_on_engine(mark).await.unwrap();
    let given = hooks.ask("two", QUESTION).await;
    let line = given.lines().find(|line| line.contains(RULE)).unwrap();
    assert!(line.contains("Was: "), "{given}");
    let asked = RecallArguments {
        query: QUESTION.to_owned(),
        ..RecallArguments::default()
    };
    let answer = recall_answer(&hooks.memory, &asked).await.unwrap();
    let stale = answer.results.iter().filter(|hit| hit.text == RULE);
    let marks: Vec<_> = stale.map(|hit| hit.why.contradicted_by).collect();
    assert_eq!(marks, [Some(newer)], "{answer:?}");
    memories.shut_down().await;
}

#[tokio::test]
async fn a_lesson_of_another_project_is_not_given_in_place_of_its_prompt() {
    let ada = Ada::new().await;
    let hooks = Hooks {
        memory: ada.memory(),
    };
    hooks.tell("one", RULE).await;
    assert!(hooks.ask("two", QUESTION).await.contains(RULE));
    let id = lesson(&hooks.memory, RULE).await;
    let elsewhere = json!({ "id": id, "project": "mail" });
    ada.call("update", elsewhere).await;
    let given = hooks.ask("three", QUESTION).await;
    assert!(!given.contains(RULE), "{given}");
}

/// Lets a lesson hold for an hour more.
async fn let_expire(ada: &Ada, text: &str) {
    let memory = ada.memory();
    let id = lesson(&memory, text).await.to_string();
    let mut metadata = memory.get_record(&id).await.unwrap().metadata.clone();
    let end = memory.now() + TimeDelta::hours(1);
    metadata.insert("expires_at".to_owned(), json!(end));
    let changes = json!({ "id": id, "metadata": metadata });
    ada.call("revise", changes).await;
}

#[tokio::test]
async fn an_expired_lesson_is_not_given_in_place_of_its_prompt() {
    let ada = Ada::start(false).await;
    let hooks = Hooks {
        memory: ada.memory(),
    };
    let rules = [
        "From now on always use pnpm in the shop.",
        "Never deploy the shop on a Friday.",
    ];
    hooks.tell("one", &rules.join(" ")).await;
    let_expire(&ada, rules[1]).await;
    let asked = "do we never deploy the shop on a friday?";
    assert!(hooks.ask("two", asked).await.contains(rules[1]));
    ada.advance_seconds(7_200);
    let begun = hooks.begin("three").await;
    assert!(
        begun.contains(rules[0]) && !begun.contains(rules[1]),
        "{begun}"
    );
    let given = hooks.ask("three", asked).await;
    assert!(!given.contains(rules[1]), "{given}");
}

#[tokio::test]
async fn what_ended_a_rule_takes_its_place_only_where_it_may_be_told() {
    let rule = "always use pnpm in this repo, never npm";
    let end = "forget the rule about pnpm, we use bun now";
    let asked = "do we always use pnpm in this repo, and never npm?";
    for change in [
        json!({ "tags": ["project:shop", "sensitive"] }),
        json!({ "project": "mail" }),
    ] {
        let ada = Ada::start(false).await;
        let hooks = Hooks {
            memory: ada.memory(),
        };
        hooks.tell("one", rule).await;
        ada.advance_seconds(60);
        hooks.tell("two", end).await;
        let given = hooks.ask("three", asked).await;
        assert!(given.contains(end), "{given}");
        let mut change = change;
        change["id"] = json!(lesson(&hooks.memory, end).await);
        ada.call("update", change.clone()).await;
        let given = hooks.ask("four", asked).await;
        assert!(!given.contains("bun"), "{change}: {given}");
    }
}

#[tokio::test]
async fn a_rule_that_a_beginning_left_out_is_told_only_where_it_may_be() {
    let ada = Ada::start(false).await;
    let hooks = Hooks {
        memory: ada.memory(),
    };
    let rule =
        |thing: &str| format!("Never edit the generated {thing} tables of the archive by hand.");
    for thing in THINGS {
        hooks.tell(thing, &rule(thing)).await;
        if thing == THINGS[0] {
            let_expire(&ada, &rule(thing)).await;
        }
        ada.advance_seconds(1);
    }
    let begun = hooks.begin("now").await;
    let mut left_out = THINGS.to_vec();
    left_out.retain(|thing| !begun.contains(&rule(thing)));
    assert_eq!(left_out[..2], THINGS[..2], "{begun}");
    for thing in &left_out[2..] {
        let id = lesson(&hooks.memory, &rule(thing)).await;
        let tags = json!({ "id": id, "tags": ["project:shop", "sensitive"] });
        ada.call("update", tags).await;
    }
    ada.advance_seconds(7_200);
    let mut given = String::new();
    for number in 0..3 {
        let order = format!("Installiere bitte das Paket requests{number}");
        given.push_str(&hooks.ask("now", &order).await);
    }
    assert_eq!(given.matches(&rule(THINGS[1])).count(), 1, "{given}");
    assert_eq!(given.matches("tables of the archive").count(), 1, "{given}");
}

#[tokio::test]
async fn a_prompt_and_the_lessons_that_say_all_of_it_are_told_once() {
    let (_folder, memories, hooks) = start_hooks().await;
    let rules = [
        "From now on always use pnpm in the shop.",
        "Never deploy the shop on a Friday.",
    ];
    hooks.tell("one", &rules.join(" ")).await;
    let asked = "do we always use pnpm in the shop, and never deploy the shop on a friday?";
    let given = hooks.ask("two", asked).await;
    for rule in rules {
        assert_eq!(given.matches(rule).count(), 1, "{rule}: {given}");
    }
    assert!(!given.contains(&rules.join(" ")), "{given}");
    memories.shut_down().await;
}

#[tokio::test]
async fn ask_and_the_list_of_questions_say_what_the_operation_answers() {
    let ada = Ada::new().await;
    let memory = ada.memory();
    let left = "test_refund_signature still fails: Flask re-serialises the body.";
    let done = report("before", "shop", left);
    memory.handle_hook(HookEvent::Stop, done).await.unwrap();
    for number in 0..6 {
        let text = format!("Warehouse {number} keeps stock files under data/{number}.csv");
        ada.call("learn", json!({ "text": text })).await;
    }
    let question = "what is left to do in shop";
    let answer = ada.call("recall", json!({ "query": question })).await;
    assert_eq!(answer["results"][0]["text"], left);
    let noted = memory.all_memories().list_recent_recalls(memory.user());
    let shown = answer["results"].as_array().unwrap().iter();
    let shown = shown.filter(|hit| hit["shown"] == true).count();
    assert_eq!(
        (noted[0].shown, json!(noted[0].verdict)),
        (shown, answer["verdict"].clone())
    );
    let request = RecallRequest::new(question);
    let asked = AskedRecall::of_request(&memory, request, RecallScope::Local)
        .await
        .unwrap();
    let asked = memory.answer(asked).await.unwrap();
    assert_eq!(asked.recall.results[0].record.text, left);
    let given = report("now", "shop", question);
    let given = memory
        .handle_hook(HookEvent::UserPrompt, given)
        .await
        .unwrap();
    assert!(given.context.contains(left), "{given:?}");
}

#[tokio::test]
async fn an_outcome_may_name_a_recall_whose_vector_its_caller_gave() {
    let ada = Ada::new().await;
    let learned = ada
        .call("learn", json!({ "text": "The paper is at the dock." }))
        .await;
    let vector: Vec<f32> = std::iter::once(1.0).chain([0.0; 63]).collect();
    let space = json!({ "model": "words", "version": "1", "dimensions": 64 });
    let asked = json!({ "query": "paper", "embedding": vector, "embedding_space": space });
    let answer = ada.call("recall", asked).await;
    let used = [&learned["id"]];
    let outcome = json!({ "recall_id": answer["recall_id"], "used": used, "quality": 1.0 });
    let outcome = ada.call("outcome", outcome).await;
    assert_eq!(outcome["learned"], 1);
}

#[tokio::test]
async fn trouble_that_comes_back_gets_what_came_of_it_and_neither_its_steps_nor_itself() {
    let (_folder, memories, hooks) = start_hooks().await;
    let came = "Each row asked for its own address. One statement joins them now.";
    let ran = HookReport {
        command: "npm test parcels".to_owned(),
        printed: "Tests  80 passed (80)".to_owned(),
        succeeded: Some(true),
        ..report("one", "shop", "")
    };
    for (event, report) in [
        (
            HookEvent::UserPrompt,
            report("one", "shop", "the list of parcels is slow"),
        ),
        (HookEvent::PostTool, ran),
        (HookEvent::Stop, report("one", "shop", came)),
        (HookEvent::SessionEnd, report("one", "shop", "")),
    ] {
        hooks.memory.handle_hook(event, report).await.unwrap();
    }
    let again = "the list of parcels is slow again";
    for session in ["two", "three"] {
        let given = hooks.ask(session, again).await;
        assert_eq!(given.matches(came).count(), 1, "{given}");
        assert!(!given.contains("npm test parcels"), "{given}");
        assert!(!given.contains(again), "{given}");
    }
    // What the session has already leaves no room for its steps.
    let given = hooks.ask("three", again).await;
    assert!(
        !given.contains("npm test parcels") && !given.contains(came),
        "{given}"
    );
    memories.shut_down().await;
}
