//! A prompt and the answer that ended its turn are one thing to find: what came of it comes first.

use reprise_types::{NewRecord, RecordType};
use serde_json::json;

use super::answering::{insert_unrelated_records, prompt_record};
use super::*;

/// A record of a session, of a type, about something else than the question by its vector.
fn step(external: &str, text: &str, record_type: RecordType) -> NewRecord {
    let mut step = record(external, text, 5, "one");
    step.source = MemorySource::WorkerResult;
    step.details = Some(json!({"type": record_type.name()}));
    step
}

/// Puts a prompt, the steps after it and its answer into a session of a memory.
fn bench_with_turn(prompt: &str, steps: &[(&str, RecordType)], answer: &str) -> EngineBench {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let mut asked = prompt_record("asked", prompt, "one");
    // About the question, and not the same text.
    asked.embedding = Some(Embedding::new(space(), vector(0, 0.7)));
    let mut turn = vec![asked];
    for (place, (text, record_type)) in steps.iter().enumerate() {
        turn.push(step(&format!("step-{place}"), text, *record_type));
    }
    turn.push(step("told", answer, RecordType::Answer));
    turn.push(prompt_record(
        "next",
        "tidy the colours of the header",
        "one",
    ));
    turn.push(step("tidied", "The header is blue.", RecordType::Answer));
    bench.insert(turn);
    bench
}

const STEPS: &[(&str, RecordType)] = &[
    ("`npm test parcels` passed", RecordType::Test),
    ("Edited src/parcels.ts", RecordType::Document),
    (
        "I look at the driver of the database first.",
        RecordType::Answer,
    ),
    ("`npm test parcels` passed again", RecordType::Test),
];
const CAUSE: &str = "Each row asked for its own address. One statement joins them now, and two \
    thousand rows take a second and not a minute.";

#[test]
pub(super) fn what_came_of_a_complaint_comes_before_it_though_it_has_none_of_its_words() {
    for prompt in [
        "the list of parcels is slow",
        "make the list of parcels faster",
        "why does the list of parcels take a minute?",
        "parcels need a minute until they are in the list",
        "Die Liste der Parcels ist langsam",
    ] {
        for question in [
            "the list of parcels is slow again",
            "why was the list of parcels slow",
        ] {
            let mut bench = bench_with_turn(prompt, STEPS, CAUSE);
            let recall = bench.ask(question, 0);
            let ids = EngineBench::ids(&recall);
            assert_eq!(ids[0], "told", "{prompt} | {question}: {recall:?}");
            let first = &recall.results[0];
            assert!(
                first.shown && first.why.reason.contains("its prompt contains: "),
                "{first:?}"
            );
            let sum: f32 = first.why.signals.iter().map(|part| part.contribution).sum();
            assert!((1.0 / (1.0 + (-sum).exp()) - first.score).abs() < 1e-4);
            // The steps on the way are no lines of their own where what came of them is one.
            let shown = recall.results.iter().filter(|one| one.shown);
            let mut shown = shown.map(|one| one.record.external_ids[0].id.as_str());
            assert!(
                shown.all(|id| !id.starts_with("step")),
                "{prompt}: {recall:?}"
            );
        }
    }
}

#[test]
pub(super) fn a_complaint_to_which_nothing_was_said_is_no_answer() {
    let mut bench = bench_with_turn("make the list of parcels faster", STEPS, CAUSE);
    let complaint = "the list of parcels is slow again";
    bench.insert(vec![prompt_record("again", complaint, "two")]);
    let recall = bench.ask("why was the list of parcels slow", 0);
    let ids = EngineBench::ids(&recall);
    assert_eq!(ids[0], "told", "{recall:?}");
    assert!(!ids.contains(&"again"), "{recall:?}");
}

#[test]
pub(super) fn what_a_prompt_tells_stands_above_an_answer_that_takes_note_of_it() {
    let told = "the limit of the parcels of the depot is 30 kg";
    let mut bench = bench_with_turn(told, &[], "Noted, 30 kg.");
    let recall = bench.ask("what is the limit of parcels of the depot", 0);
    assert_eq!(EngineBench::ids(&recall)[0], "asked", "{recall:?}");
    // What is told with a task is found by who asks for it.
    let told = "The depot of the parcels is hall 7, print labels for the vans";
    let printed = "A hundred and twelve labels lie in the tray of the second printer, sorted by \
                   route; the rest follows in the afternoon.";
    let mut bench = bench_with_turn(told, &[], printed);
    let recall = bench.ask("which hall is the depot of the parcels", 0);
    assert_eq!(EngineBench::ids(&recall)[0], "asked", "{recall:?}");
}

#[test]
pub(super) fn a_step_that_is_named_or_asked_for_stands_above_the_answer() {
    let mut bench = bench_with_turn("the list of parcels is slow", STEPS, CAUSE);
    let recall = bench.ask("src/parcels.ts", 5);
    assert_eq!(EngineBench::ids(&recall)[0], "step-1", "{recall:?}");
    let recall = bench.ask("which tests of the parcels passed", 5);
    assert!(
        EngineBench::ids(&recall)[0].starts_with("step"),
        "{recall:?}"
    );
}

#[test]
pub(super) fn what_came_of_a_turn_is_found_by_a_test_of_it_that_failed() {
    let steps = [(
        "`npm test` failed: routing of vans at night ... FAILED",
        RecordType::Test,
    )];
    let mut bench = bench_with_turn("deliveries come too late", &steps, CAUSE);
    let recall = bench.ask("get the test of the routing at night to pass", 2);
    let ids = EngineBench::ids(&recall);
    let place = |wanted: &str| ids.iter().position(|id| *id == wanted);
    assert!(
        place("told") < place("step-0") && place("told").is_some(),
        "{recall:?}"
    );
    assert!(
        !ids.contains(&"tidied") || place("tidied") > place("told"),
        "{recall:?}"
    );
}
