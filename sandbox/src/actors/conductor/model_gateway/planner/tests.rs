//! Recalled outcomes decide which plan is tried first, after the request's own words.

use reprise_types::{MemorySource, RecordId, RetrievedMemory};

use super::super::super::super::testing::{REPERTOIRE, new_answer, new_lesson};
use super::super::super::Attempt;
use super::*;

fn choose_plan(
    objective: &str,
    history: Vec<RetrievedMemory>,
    failed: &[&str],
) -> Result<RoutingPlan, GatewayError> {
    let planner = RepertoirePlanner::new(Repertoire::from_toml(REPERTOIRE).unwrap());
    let failed: Vec<Attempt> = failed
        .iter()
        .map(|plan| Attempt {
            plan: (*plan).to_owned(),
            reason: String::new(),
            outcome: "it broke".to_owned(),
            failure: None,
        })
        .collect();
    planner.choose_plan(&RoutingRequest {
        objective,
        history: &new_answer(history),
        failed: &failed,
    })
}

const WRONG: &str = "a library, by `the wrong way`: failed";
const RIGHT: &str = "a library, by `the right way`: worked";

#[test]
fn a_plan_that_failed_is_avoided_and_one_that_succeeded_is_preferred() {
    let blind = choose_plan("a library", Vec::new(), &[]).unwrap();
    assert_eq!(blind.plan, "the wrong way", "the textbook comes first");
    assert!(blind.used.is_empty());
    let warned = choose_plan("a library", vec![new_lesson(0, WRONG, "failed", 0.4)], &[]).unwrap();
    assert_eq!(warned.plan, "the right way");
    assert!(
        warned.used.is_empty(),
        "the warning is not what the plan is made from"
    );
    let taught = vec![
        new_lesson(0, WRONG, "failed", 0.4),
        new_lesson(1, RIGHT, "completed", 0.3),
    ];
    let taught = choose_plan("a library", taught, &[]).unwrap();
    assert_eq!(taught.plan, "the right way");
    assert_eq!(taught.used, [RecordId::from_u128(2)]);
    assert!(taught.reason.contains("1 memory"), "{}", taught.reason);
}

/// Returns the outcome of an earlier run, as memory writes it.
fn new_run(number: u128, steps: &[&str], score: f32) -> RetrievedMemory {
    let mut run = new_lesson(number, "set up a library", "", score);
    run.record.source = MemorySource::TrajectoryOutcome;
    run.record.details = Some(json!({ "type": "outcome", "steps": steps }));
    run
}

#[test]
fn the_history_of_earlier_runs_decides_and_gets_the_credit() {
    let history = vec![
        new_run(0, &["plan: `the wrong way`", WRONG, RIGHT], 0.4),
        new_run(
            1,
            &["plan: `the wrong way`", "look, by `the right way`"],
            0.3,
        ),
    ];
    let taught = choose_plan("a library", history, &[]).unwrap();
    assert_eq!(taught.plan, "the right way");
    assert_eq!(
        taught.used,
        [RecordId::from_u128(1)],
        "the run that tried it"
    );
    let misled = vec![new_run(
        0,
        &[RIGHT, "again, by `the right way`: failed"],
        0.4,
    )];
    let taught = choose_plan("a library", misled, &[]).unwrap();
    assert_eq!(taught.plan, "the wrong way", "the last try counts");
}

#[test]
fn scores_decide_between_memories_that_contradict_each_other() {
    let both = |failed: f32, worked: f32| {
        let lessons = vec![
            new_lesson(0, RIGHT, "failed", failed),
            new_lesson(1, RIGHT, "completed", worked),
        ];
        choose_plan("a library", lessons, &[]).unwrap().plan
    };
    assert_eq!(both(0.3, 0.5), "the right way");
    assert_eq!(both(0.5, 0.3), "the wrong way", "untried before failed");
}

#[test]
fn the_users_word_comes_first_and_what_failed_in_this_run_is_not_repeated() {
    let lessons = || vec![new_lesson(1, RIGHT, "completed", 0.9)];
    let requested = choose_plan("a library, wrongly", lessons(), &[]).unwrap();
    assert_eq!(requested.plan, "the wrong way");
    let next = choose_plan("a library, wrongly", lessons(), &["the wrong way"]).unwrap();
    assert_eq!(next.plan, "the right way");
    let all = ["the wrong way", "the right way"];
    assert_eq!(
        choose_plan("a library", lessons(), &all),
        Err(GatewayError::NothingLeft)
    );
}

#[test]
fn prose_is_not_believed_and_what_is_unknown_is_looked_up() {
    let boast = vec![new_lesson(0, "by `the right way`: it worked!", "", 0.9)];
    let planned = choose_plan("a library", boast, &[]).unwrap();
    assert_eq!(planned.plan, "the wrong way", "no status, no vote");
    let mut quote = new_lesson(0, RIGHT, "completed", 0.9);
    let role = "worker_role".to_owned();
    quote.record.metadata.insert(role, "researcher".into());
    let planned = choose_plan("a library", vec![quote], &[]).unwrap();
    assert_eq!(
        planned.plan, "the wrong way",
        "finding a report is not doing the work"
    );
    let other = choose_plan("who wrote the parser?", Vec::new(), &[]).unwrap();
    assert_eq!(other.plan, LOOKUP_PLAN);
    assert_eq!(
        extract_words("Who wrote the parser, the PARSER?"),
        ["wrote", "parser"]
    );
    assert_eq!(extract_name("a library `../Evil one`"), "evilone");
    assert_eq!(extract_name("a library `9`"), "project");
}
