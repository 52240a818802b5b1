//! Golden ids and scores of RFC-065, made by running its own Python.

use chrono::{TimeZone, Utc};
use serde_json::Value;

use super::*;
use crate::record_for_tests::kept;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/expected.json")).unwrap()
}

fn at() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 1, 20, 10, 0, 0).unwrap()
}

#[test]
fn ids_are_those_of_the_original() {
    let ids = &golden()["ids"];
    let learning = |fact, category| Learning::new(fact, category, at()).id;
    assert_eq!(
        learning("User has email", Category::Type),
        ids["learning type/User has email"]
    );
    assert_eq!(
        Learning::of_task("task1", "Create model", None, at()).id,
        ids["learning task_completion/Completed: Create model"]
    );
    let decision = Decision::new("Use PostgreSQL for persistence", "", at());
    assert_eq!(decision.id, ids["decision Use PostgreSQL for persistence"]);
    let failure = Failure::new("Memory leak under load", "Unbounded cache", at());
    assert_eq!(
        failure.id,
        ids["failure Unbounded cache/Memory leak under load"]
    );
    // The RFC mints another id for the learning, and so keeps it twice; ours has its parent's.
    let by_rule = learning("Memory leak under load", Category::Failure);
    assert_eq!(by_rule, ids["learning of that failure by the RFC's rule"]);
    assert_eq!(failure.to_learning().id, failure.id);
}

#[test]
fn a_learning_comes_back_from_its_record() {
    let mut learning = Learning::new("User has email", Category::Type, at());
    learning.goal = Some("build a forum".to_owned());
    learning.confidence = 0.9;
    let back = Learning::of(&kept(learning.record(), 1)).unwrap();
    assert_eq!(back, learning);
    assert_eq!(
        (
            learning.source_type.as_str(),
            Learning::new("x", Category::Fix, at()).confidence
        ),
        ("task", 0.8)
    );
}

#[test]
fn a_decision_and_a_failure_are_one_learning_each() {
    let mut decision = Decision::new("Use PostgreSQL", "it is there", at());
    decision.metadata.insert(
        "rejected".to_owned(),
        json!([{"option": "Redis", "reason": "new"}]),
    );
    let failure = Failure::new("leak", "Unbounded cache", at());
    let records = [kept(decision.record(), 1), kept(failure.record(), 2)];
    assert!(
        records[0].text.contains("Rejected: Redis (new)"),
        "{}",
        records[0].text
    );
    let memory = SunwellMemory::of(&records);
    assert_eq!(memory.decisions(), [decision.clone()]);
    assert_eq!(memory.failures(), std::slice::from_ref(&failure));
    let query = LearningQuery {
        category: Some(Category::Failure),
        ..LearningQuery::default()
    };
    assert_eq!(memory.query(&query).len(), 1);
    assert_eq!(memory.get(&decision.id).unwrap().source_type, "user");
    assert_eq!(
        memory.get(&failure.id).unwrap().metadata["approach"],
        "Unbounded cache"
    );
    let stats = serde_json::to_value(memory.stats()).unwrap();
    assert_eq!(stats["by_category"], json!({ "decision": 1, "failure": 1 }));
    let view = serde_json::to_value(memory.intelligence()).unwrap();
    assert_eq!(view["totalDecisions"], 1);
    assert_eq!(view["deadEnds"][0]["approach"], "Unbounded cache");
    let numbers = serde_json::to_value(memory.memory_stats(Some("s".to_owned()))).unwrap();
    assert_eq!(
        (&numbers["totalLearnings"], &numbers["sessionId"]),
        (&json!(2), &json!("s"))
    );
    let project = serde_json::to_value(memory.project_learnings("ship", Vec::new())).unwrap();
    assert_eq!(project["originalGoal"], project["original_goal"]);
    assert_eq!(memory.context("postgresql")[0], "Use PostgreSQL");
    assert_eq!(memory.context("-").len(), 2);
}

#[test]
fn search_scores_as_the_original_does() {
    let facts = [
        ("User model has email field", Category::Type, 0.9),
        ("API uses REST authentication", Category::Api, 0.8),
        ("user authentication via JWT tokens", Category::Pattern, 0.6),
        (
            "low confidence user authentication note",
            Category::Pattern,
            0.4,
        ),
        ("Authentication", Category::Fix, 1.0),
    ];
    let records: Vec<MemoryRecord> = facts
        .iter()
        .enumerate()
        .map(|(number, (fact, category, confidence))| {
            let mut learning = Learning::new(*fact, *category, at());
            learning.confidence = *confidence;
            kept(learning.record(), number as u32)
        })
        .collect();
    let memory = SunwellMemory::of(&records);
    let found = memory.search("user authentication", 10, 0.5);
    let found: Vec<(String, f64)> = found
        .into_iter()
        .map(|(learning, score)| (learning.fact.clone(), score))
        .collect();
    let expected = golden()["search_user_authentication"].clone();
    let expected: Vec<(String, f64)> = serde_json::from_value(expected).unwrap();
    assert_eq!(found.len(), expected.len());
    for ((fact, score), (expected, golden)) in found.iter().zip(&expected) {
        assert_eq!(fact, expected);
        assert!(
            (score - golden).abs() < 1e-12,
            "{fact}: {score}, not {golden}"
        );
    }
    let order = memory.query(&LearningQuery::default());
    let order: Vec<f64> = order.iter().map(|learning| learning.confidence).collect();
    assert_eq!(order, [1.0, 0.9, 0.8, 0.6, 0.4]);
}
