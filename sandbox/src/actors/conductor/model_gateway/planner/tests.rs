//! Recalled outcomes decide which plan is tried first, after the request's own words.

use reprise_types::{RecordId, RetrievedMemory};

use super::super::super::super::testing::{REPERTOIRE, lesson, remembered};
use super::super::super::Attempt;
use super::*;

fn plan(
    objective: &str,
    lessons: Vec<RetrievedMemory>,
    failed: &[&str],
) -> Result<Routing, GatewayError> {
    let planner = Planner::new(Repertoire::from_toml(REPERTOIRE).unwrap());
    let failed: Vec<Attempt> = failed
        .iter()
        .map(|plan| Attempt {
            plan: (*plan).to_owned(),
            reason: String::new(),
            outcome: "it broke".to_owned(),
            failure: None,
        })
        .collect();
    planner.plan(&RoutingRequest {
        objective,
        history: &remembered(Vec::new()),
        lessons: &remembered(lessons),
        failed: &failed,
    })
}

const WRONG: &str = "a library, by `the wrong way`: failed";
const RIGHT: &str = "a library, by `the right way`: worked";

#[test]
fn a_plan_that_failed_is_avoided_and_one_that_succeeded_is_preferred() {
    let blind = plan("a library", Vec::new(), &[]).unwrap();
    assert_eq!(blind.plan, "the wrong way", "the textbook comes first");
    assert!(blind.used.is_empty());
    let warned = plan("a library", vec![lesson(0, WRONG, "failed", 0.4)], &[]).unwrap();
    assert_eq!(warned.plan, "the right way");
    assert!(
        warned.used.is_empty(),
        "the warning is not what the plan is made from"
    );
    let taught = vec![
        lesson(0, WRONG, "failed", 0.4),
        lesson(1, RIGHT, "completed", 0.3),
    ];
    let taught = plan("a library", taught, &[]).unwrap();
    assert_eq!(taught.plan, "the right way");
    assert_eq!(taught.used, [RecordId::from_u128(2)]);
    assert!(taught.reason.contains("1 memory"), "{}", taught.reason);
}

#[test]
fn scores_decide_between_memories_that_contradict_each_other() {
    let both = |failed: f32, worked: f32| {
        let lessons = vec![
            lesson(0, RIGHT, "failed", failed),
            lesson(1, RIGHT, "completed", worked),
        ];
        plan("a library", lessons, &[]).unwrap().plan
    };
    assert_eq!(both(0.3, 0.5), "the right way");
    assert_eq!(both(0.5, 0.3), "the wrong way", "untried before failed");
}

#[test]
fn the_users_word_comes_first_and_what_failed_in_this_run_is_not_repeated() {
    let lessons = || vec![lesson(1, RIGHT, "completed", 0.9)];
    let asked = plan("a library, wrongly", lessons(), &[]).unwrap();
    assert_eq!(asked.plan, "the wrong way");
    let next = plan("a library, wrongly", lessons(), &["the wrong way"]).unwrap();
    assert_eq!(next.plan, "the right way");
    let all = ["the wrong way", "the right way"];
    assert_eq!(
        plan("a library", lessons(), &all),
        Err(GatewayError::NothingLeft)
    );
}

#[test]
fn prose_is_not_believed_and_what_is_unknown_is_looked_up() {
    let boast = vec![lesson(0, "by `the right way`: it worked!", "", 0.9)];
    let planned = plan("a library", boast, &[]).unwrap();
    assert_eq!(planned.plan, "the wrong way", "no status, no vote");
    let mut quote = lesson(0, RIGHT, "completed", 0.9);
    let role = "worker_role".to_owned();
    quote.record.metadata.insert(role, "researcher".into());
    let planned = plan("a library", vec![quote], &[]).unwrap();
    assert_eq!(
        planned.plan, "the wrong way",
        "finding a report is not doing the work"
    );
    let other = plan("who wrote the parser?", Vec::new(), &[]).unwrap();
    assert_eq!(other.plan, LOOK_IT_UP);
    assert_eq!(
        words_in("Who wrote the parser, the PARSER?"),
        ["wrote", "parser"]
    );
    assert_eq!(name_in("a library `../Evil one`"), "evilone");
    assert_eq!(name_in("a library `9`"), "project");
}
