//! Golden ids and scores of RFC-065, made by running its own Python.

pub(crate) mod typescript;

use chrono::{TimeZone, Utc};
use reprise_tests::{assert_contains, assert_fields};
use reprise_types::{MemorySource, NewRecord};
use serde_json::Value;

use super::*;
use crate::record_for_tests::record_from_new;
use typescript::{SCHEMAS, render_typescript};

fn read_expected() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/expected.json")).unwrap()
}

fn fixed_time() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 1, 20, 10, 0, 0).unwrap()
}

#[test]
fn ids_are_those_of_the_original() {
    let ids = &read_expected()["ids"];
    let learning = |fact, category| SunwellLearning::new(fact, category, fixed_time()).id;
    assert_eq!(
        learning("User has email", LearningCategory::Type),
        ids["learning type/User has email"]
    );
    assert_eq!(
        SunwellLearning::from_task("task1", "Create model", None, fixed_time()).id,
        ids["learning task_completion/Completed: Create model"]
    );
    let decision = SunwellDecision::new("Use PostgreSQL for persistence", "", fixed_time());
    assert_eq!(decision.id, ids["decision Use PostgreSQL for persistence"]);
    let failure = SunwellFailure::new("Memory leak under load", "Unbounded cache", fixed_time());
    assert_eq!(
        failure.id,
        ids["failure Unbounded cache/Memory leak under load"]
    );
    // The RFC mints another id for the learning, and so keeps it twice; ours has its parent's.
    let by_rule = learning("Memory leak under load", LearningCategory::Failure);
    assert_eq!(by_rule, ids["learning of that failure by the RFC's rule"]);
    assert_eq!(failure.to_learning().id, failure.id);
}

#[test]
fn a_learning_comes_back_from_its_record() {
    let mut learning = SunwellLearning::new("User has email", LearningCategory::Type, fixed_time());
    learning.goal = Some("build a forum".to_owned());
    learning.confidence = 0.9;
    let back = SunwellLearning::of(&record_from_new(learning.to_record(), 1)).unwrap();
    assert_eq!(back, learning);
    assert_eq!(
        (
            learning.source_type.as_str(),
            SunwellLearning::new("x", LearningCategory::Fix, fixed_time()).confidence
        ),
        ("task", 0.8)
    );
    let mut decision = SunwellDecision::new("Use one writer", "Order", fixed_time());
    decision.scope = "file".to_owned();
    assert_eq!(
        SunwellDecision::of(&record_from_new(decision.to_record(), 2)),
        Some(decision)
    );
    let done = SunwellLearning::from_task("t1", "Ship", Some("forum".to_owned()), fixed_time());
    let (source, goal) = (done.source.as_deref(), done.goal.as_deref());
    assert_eq!(
        (source, goal, done.confidence),
        (Some("t1"), Some("forum"), 1.0)
    );
}

#[test]
fn a_decision_and_a_failure_are_one_learning_each() {
    let mut decision = SunwellDecision::new("Use PostgreSQL", "it is there", fixed_time());
    decision.metadata.insert(
        "rejected".to_owned(),
        json!([{"option": "Redis", "reason": "new"}]),
    );
    let failure = SunwellFailure::new("leak", "Unbounded cache", fixed_time());
    let records = [
        record_from_new(decision.to_record(), 1),
        record_from_new(failure.to_record(), 2),
    ];
    assert_contains!(records[0].text, "Rejected: Redis (new)");
    let again = [
        record_from_new(decision.to_record(), 3),
        record_from_new(failure.to_record(), 4),
    ];
    let memory = SunwellMemory::of(records.iter().chain(&again));
    assert_eq!(memory.learnings.len(), 2, "each once (S22)");
    assert_eq!(memory.decisions, [decision.clone()]);
    assert_eq!(memory.failures, std::slice::from_ref(&failure));
    let query = LearningQuery {
        category: Some(LearningCategory::Failure),
        ..LearningQuery::default()
    };
    assert_eq!(memory.find_matching(&query).len(), 1);
    let stands = memory.get(&decision.id).unwrap();
    assert_eq!(
        (stands.source_type.as_str(), stands.confidence),
        ("user", 1.0)
    );
    let said = json!({ "rationale": "it is there", "scope": "project" });
    assert_eq!(json!(stands.metadata), said, "its reason, and the default");
    assert_eq!(
        memory.get(&failure.id).unwrap().metadata["approach"],
        "Unbounded cache"
    );
    let stats = serde_json::to_value(memory.count_learnings()).unwrap();
    assert_eq!(stats["by_category"], json!({ "decision": 1, "failure": 1 }));
    let view = memory.render_intelligence();
    assert_eq!(view["totalDecisions"], 1);
    assert_fields!(view, "totalFailures": 1, "totalDeadEnds": 1);
    assert_eq!(view["deadEnds"][0]["approach"], "Unbounded cache");
    let numbers = memory.render_memory_stats(Some("s"), None);
    assert_fields!(numbers, "totalLearnings": 2, "sessionId": "s");
    assert_eq!(numbers["byCategory"].as_object().unwrap().len(), 7);
}

#[test]
fn a_line_of_a_unified_store_keeps_the_id_that_it_came_with() {
    let named = |new: NewRecord, id: &str, number| {
        let mut record = record_from_new(new, number);
        record.external_ids = vec![ExternalId::new(ExternalId::SUNWELL, id)];
        record
    };
    let learning = SunwellLearning::new("Pools need a limit", LearningCategory::Fix, fixed_time());
    let mut newer = SunwellDecision::new("Use PostgreSQL", "Many", fixed_time());
    newer.supersedes = Some("unified-d1".to_owned());
    let older = SunwellDecision::new("Use SQLite", "Simple", fixed_time());
    let records = [
        named(learning.to_record(), "abc123", 1),
        named(older.to_record(), "unified-d1", 2),
        named(newer.to_record(), "unified-d2", 3),
    ];
    let memory = SunwellMemory::of(&records);
    assert_eq!(memory.get("abc123").unwrap().fact, "Pools need a limit");
    let ids: Vec<&str> = memory.decisions.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["unified-d1", "unified-d2"]);
    let replaced = memory.decisions[1].supersedes.as_deref();
    assert_eq!(replaced, Some(ids[0]));
    assert!(memory.get(&learning.id).is_none(), "one id, not two");
}

/// A goal with a plan, one of whose tasks was finished, and a task of another goal.
fn records_of_goal() -> Vec<MemoryRecord> {
    let task = |id: &str, said: &str, goal: Option<&str>| {
        SunwellLearning::from_task(id, said, goal.map(str::to_owned), fixed_time()).to_record()
    };
    let mut plan = NewRecord::new("Plan", MemorySource::ConductorPlan, MemoryKind::Strategy);
    plan.details = Some(json!({"type": "plan", "plan": {"goal": "forum", "tasks": [
        {"id": "t1", "description": "Create model"},
        {"id": "t2", "description": "Add routes"},
        {"id": "t3", "description": "Write tests", "status": "completed"},
        "Ship it",
    ]}}));
    let news = [
        task("t0", "Paint the shop", Some("shop")),
        task("t1", "Create model", Some("forum")),
        plan,
        SunwellDecision::new("Use PostgreSQL", "it is there", fixed_time()).to_record(),
        SunwellFailure::new("leak", "Unbounded cache", fixed_time()).to_record(),
        SunwellLearning::new("User model has email", LearningCategory::Type, fixed_time())
            .to_record(),
    ];
    (1..)
        .zip(news)
        .map(|(n, new)| record_from_new(new, n))
        .collect()
}

#[test]
fn what_is_pending_stands_in_the_plan_and_what_is_done_in_both() {
    let records = records_of_goal();
    let memory = SunwellMemory::of(&records);
    for goal in [Some("forum"), None] {
        let told = memory.render_project_learnings(goal);
        assert_eq!(told["originalGoal"], "forum");
        assert_eq!(told["original_goal"], "forum");
        assert_eq!(
            told["completedTasks"],
            json!(["Create model", "Write tests"])
        );
        assert_eq!(told["pendingTasks"], json!(["Add routes", "Ship it"]));
        assert_eq!(told["pending_tasks"], told["pendingTasks"]);
    }
    let other = memory.render_project_learnings(Some("shop"));
    assert_eq!(other["completedTasks"], json!(["Paint the shop"]));
    assert_eq!(other["pendingTasks"], json!([]));
}

#[test]
fn an_agent_gets_facts_decisions_and_failures_apart() {
    let records = records_of_goal();
    let memory = SunwellMemory::of(&records);
    let told = memory.render_context("forum", Some("/srv/forum"));
    assert_eq!(told["cwd"], "/srv/forum");
    assert_eq!(told["completed"], json!(["Create model", "Write tests"]));
    assert_eq!(told["learnings"], json!([]));
    assert_eq!(told["decisions"], json!(["Use PostgreSQL: it is there"]));
    assert_eq!(told["failures"], json!(["Avoid: Unbounded cache (leak)"]));
    let near = memory.render_context("user email", None);
    assert_eq!(near["learnings"], json!(["User model has email"]));
    assert_eq!(near["lines"].as_array().unwrap().len(), 3);
    let more = (0..12).flat_map(|n| {
        [
            SunwellLearning::new(format!("email {n}"), LearningCategory::Type, fixed_time())
                .to_record(),
            SunwellDecision::new(format!("Decided {n}"), "so", fixed_time()).to_record(),
            SunwellFailure::new(format!("Failed {n}"), "this way", fixed_time()).to_record(),
        ]
    });
    let more: Vec<MemoryRecord> = (1..)
        .zip(more)
        .map(|(n, new)| record_from_new(new, n))
        .collect();
    let told = SunwellMemory::of(&more).render_context("email", None);
    let count = |name: &str| told[name].as_array().unwrap().len();
    let counts = ["learnings", "decisions", "failures"].map(count);
    assert_eq!(counts, [10, 5, 3]);
    assert_eq!(told["decisions"][4], "Decided 11: so");
}

#[test]
fn what_stood_in_old_files_is_read_only_where_nothing_took_its_place() {
    let mut old = record_from_new(
        SunwellDecision::new("Legacy", "old", fixed_time()).to_record(),
        1,
    );
    old.details.as_mut().unwrap()[LEGACY] = json!(true);
    let new = record_from_new(
        SunwellDecision::new("Unified", "new", fixed_time()).to_record(),
        2,
    );
    let only_failure = record_from_new(
        SunwellFailure::new("leak", "cache", fixed_time()).to_record(),
        3,
    );
    let count = |records: &[&MemoryRecord]| {
        let memory = SunwellMemory::of(records.iter().copied());
        let decisions = memory.decisions.iter();
        decisions
            .map(|one| one.decision.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(count(&[&old, &new]), ["Unified"], "one and not two");
    assert_eq!(count(&[&old]), ["Legacy"]);
    assert_eq!(count(&[&old, &only_failure]), ["Legacy"]);
}

#[test]
fn every_view_keeps_to_the_schema_that_its_types_are_made_of() {
    let records = records_of_goal();
    let memory = SunwellMemory::of(&records);
    let store = StoreCounts::default();
    let learning = memory.learnings[0].clone();
    let views = [
        ("IntelligenceData", memory.render_intelligence()),
        (
            "MemoryStats",
            memory.render_memory_stats(None, Some(&store)),
        ),
        ("ProjectLearnings", memory.render_project_learnings(None)),
        ("Learning", to_studio(&learning)),
        ("GoalContext", memory.render_context("forum", None)),
        ("MemoryIndex", memory.render_index()),
        (
            "MemoryLoaded",
            json!(memory.count_learnings().to_loaded_event()),
        ),
        ("MemoryLearning", json!(learning.to_event())),
    ];
    let definitions = typescript::definitions();
    for (name, told) in views {
        let lead = format!("#/definitions/{name}");
        let schema = json!({
            "$ref": lead,
            "definitions": definitions,
        });
        let validator = jsonschema::draft7::new(&schema).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&told)
            .map(|it| it.to_string())
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?} in {told}");
        assert!(
            render_typescript().contains(&format!("export interface {name} {{")),
            "{name}"
        );
    }
    // A reader of the file finds it complete.
    assert_eq!(render_typescript(), TYPESCRIPT);
}

#[test]
fn no_line_goes_out_that_its_schema_refuses() {
    let mut odd = SunwellLearning::new("Odd", LearningCategory::Type, fixed_time()).to_record();
    odd.details = Some(json!({
        "type": "learning", "category": "gossip", "source_type": "rumour", "created_at": "soon",
        "metadata": 7,
    }));
    let mut naive = SunwellDecision::new("Naive", "", fixed_time()).to_record();
    naive.details.as_mut().unwrap()["created_at"] = json!("2026-01-19T10:00:00");
    naive.details.as_mut().unwrap()["scope"] = json!("world");
    let records = [record_from_new(odd, 1), record_from_new(naive, 2)];
    let memory = SunwellMemory::of(&records);
    let lines = [
        (SCHEMAS[0].1, json!(memory.learnings[0])),
        (SCHEMAS[0].1, json!(memory.learnings[1])),
        (SCHEMAS[1].1, json!(memory.decisions[0])),
    ];
    for (schema, line) in lines {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let options = jsonschema::draft7::options().should_validate_formats(true);
        let validator = options.build(&schema).unwrap();
        assert!(validator.is_valid(&line), "{line}");
    }
}

#[test]
fn search_scores_as_the_original_does() {
    let facts = [
        ("User model has email field", LearningCategory::Type, 0.9),
        ("API uses REST authentication", LearningCategory::Api, 0.8),
        (
            "user authentication via JWT tokens",
            LearningCategory::Pattern,
            0.6,
        ),
        (
            "low confidence user authentication note",
            LearningCategory::Pattern,
            0.4,
        ),
        ("Authentication", LearningCategory::Fix, 1.0),
    ];
    let records: Vec<MemoryRecord> = facts
        .iter()
        .enumerate()
        .map(|(number, (fact, category, confidence))| {
            let mut learning = SunwellLearning::new(*fact, *category, fixed_time());
            learning.confidence = *confidence;
            record_from_new(learning.to_record(), number as u32)
        })
        .collect();
    let memory = SunwellMemory::of(&records);
    let found = memory.search_by_words("user authentication", 10, 0.5);
    let found: Vec<(String, f64)> = found
        .into_iter()
        .map(|(learning, score)| (learning.fact.clone(), score))
        .collect();
    let expected = read_expected()["search_user_authentication"].clone();
    let expected: Vec<(String, f64)> = serde_json::from_value(expected).unwrap();
    assert_eq!(found.len(), expected.len());
    for ((fact, score), (expected, golden)) in found.iter().zip(&expected) {
        assert_eq!(fact, expected);
        assert!(
            (score - golden).abs() < 1e-12,
            "{fact}: {score}, not {golden}"
        );
    }
    let order = memory.find_matching(&LearningQuery::default());
    let order: Vec<f64> = order.iter().map(|learning| learning.confidence).collect();
    assert_eq!(order, [1.0, 0.9, 0.8, 0.6, 0.4]);
}

#[test]
fn a_query_narrows_by_each_part_and_of_the_sure_the_newest_is_first() {
    let learned = |fact: &str, category, part: &str, days: i64| {
        let mut one =
            SunwellLearning::new(fact, category, fixed_time() + chrono::TimeDelta::days(days));
        (one.goal, one.source) = (Some(part.to_owned()), Some(format!("{part}.rs")));
        one.to_record()
    };
    let records = [
        record_from_new(learned("old", LearningCategory::Fix, "forum", 0), 1),
        record_from_new(learned("new", LearningCategory::Fix, "forum", 2), 2),
        record_from_new(learned("shop", LearningCategory::Type, "shop", 1), 3),
    ];
    let memory = SunwellMemory::of(&records);
    let facts = |query: LearningQuery<'_>| -> Vec<String> {
        let found = memory.find_matching(&query).into_iter();
        found.map(|one| one.fact.clone()).collect()
    };
    let all = LearningQuery::default();
    assert_eq!(facts(all.clone()), ["new", "shop", "old"]);
    let one = ["shop"];
    let (category, goal, source) = (Some(LearningCategory::Type), Some("shop"), Some("shop.rs"));
    assert_eq!(
        facts(LearningQuery {
            category,
            ..all.clone()
        }),
        one
    );
    assert_eq!(
        facts(LearningQuery {
            goal,
            ..all.clone()
        }),
        one
    );
    assert_eq!(
        facts(LearningQuery {
            source,
            ..all.clone()
        }),
        one
    );
    let min_confidence = 0.9;
    assert!(
        facts(LearningQuery {
            min_confidence,
            ..all
        })
        .is_empty()
    );
}
