//! Learnings as Sunwell keeps them and observations as ralph does, through the operations that
//! every face has.

use reprise_tests::finish;
use serde_json::{Value, json};

use crate::home::Home;

fn call(home: &Home, operation: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let words = [
        "--no-daemon",
        "call",
        operation,
        &arguments,
        "--user",
        "ada",
    ];
    let finished = finish(&mut home.command(&words)).expect("reprise runs");
    assert_eq!(
        finished.code,
        Some(0),
        "{operation} {arguments}: {}",
        finished.stderr
    );
    serde_json::from_str(&finished.stdout).expect("JSON")
}

fn refused(home: &Home, operation: &str, arguments: &Value) -> String {
    let arguments = arguments.to_string();
    let words = [
        "--no-daemon",
        "call",
        operation,
        &arguments,
        "--user",
        "ada",
    ];
    let finished = finish(&mut home.command(&words)).expect("reprise runs");
    assert_ne!(finished.code, Some(0), "{operation} {arguments}");
    finished.stderr
}

fn view(home: &Home, asked: &Value) -> Value {
    call(home, "knowledge", asked)
}

fn golden() -> Value {
    let text = include_str!("../../crates/reprise-knowledge/tests/fixtures/expected.json");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_was_learned_is_kept_once_and_scored_as_the_original_does() {
    let home = Home::new();
    let golden = golden();
    assert_eq!(view(&home, &json!({"view": "loaded"})), json!({}));
    for (fact, category, confidence) in [
        ("User model has email field", "type", 0.9),
        ("API uses REST authentication", "api", 0.8),
        ("user authentication via JWT tokens", "pattern", 0.6),
        ("low confidence user authentication note", "pattern", 0.4),
        ("Authentication", "fix", 1.0),
    ] {
        let learning = json!({"fact": fact, "category": category, "confidence": confidence});
        assert_eq!(call(&home, "add_learning", &learning)["is_new"], true);
    }
    let again = json!({"fact": "Authentication", "category": "fix", "confidence": 0.2});
    assert_eq!(call(&home, "add_learning", &again)["is_new"], false);
    let found = view(
        &home,
        &json!({"view": "search", "query": "user authentication"}),
    );
    let expected = golden["search_user_authentication"]
        .as_array()
        .expect("a list");
    let results = found["results"].as_array().expect("results");
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(result["learning"]["fact"], expected[0]);
        let score = |value: &Value| value.as_f64().expect("a number");
        assert!(
            (score(&result["score"]) - score(&expected[1])).abs() < 1e-9,
            "{result}"
        );
    }
}

#[test]
fn each_view_of_what_was_learned_has_its_readers_words() {
    let home = Home::new();
    let golden = golden();
    let task = json!({"fact": "Create model", "category": "task_completion", "source": "task1",
        "goal": "forum"});
    let task = call(&home, "add_learning", &task)["learning"].clone();
    assert_eq!(
        task["id"],
        golden["ids"]["learning task_completion/Completed: Create model"]
    );
    assert_eq!(
        (
            &task["confidence"],
            &task["source"],
            &task["source_type"],
            &task["goal"]
        ),
        (
            &json!(1.0),
            &json!("task1"),
            &json!("task"),
            &json!("forum")
        )
    );
    let decision = json!({"fact": "Use PostgreSQL for persistence", "category": "decision",
        "rationale": "It is there"});
    let decision = call(&home, "add_learning", &decision)["learning"].clone();
    assert_eq!(
        decision["id"],
        golden["ids"]["decision Use PostgreSQL for persistence"]
    );
    let failure = json!({"fact": "Memory leak under load", "approach": "Unbounded cache",
        "category": "failure"});
    call(&home, "add_learning", &failure);
    let event = json!({"learning": task, "fact": "x"});
    assert_eq!(
        call(&home, "add_learning", &event)["is_new"],
        false,
        "an event is known"
    );

    let all = view(&home, &json!({}));
    assert_eq!(
        (&all["totalLearnings"], &all["totalDecisions"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(all["deadEnds"][0]["approach"], "Unbounded cache");
    let stats = view(&home, &json!({"view": "stats", "session": "s"}));
    assert_eq!(
        (&stats["sessionId"], &stats["byCategory"]["failure"]),
        (&json!("s"), &json!(1))
    );
    let project = view(&home, &json!({"view": "project", "goal": "forum"}));
    assert_eq!(project["completedTasks"], json!(["Create model"]));
    assert_eq!(project["decisions"][0]["rationale"], "It is there");
    let context = view(&home, &json!({"view": "context", "goal": "persistence"}));
    let lines = context["lines"].as_array().expect("lines");
    assert!(
        lines.contains(&json!("Avoid: Unbounded cache (Memory leak under load)")),
        "{lines:?}"
    );
    let loaded = view(&home, &json!({"view": "loaded"}));
    assert_eq!(
        (&loaded["total"], &loaded["by_category"]["decision"]),
        (&json!(3), &json!(1))
    );
    let said = refused(
        &home,
        "add_learning",
        &json!({"fact": "x", "category": "gossip"}),
    );
    assert!(said.contains("task_completion"), "{said}");
}

#[test]
fn observations_are_recorded_found_and_made_fewer() {
    let home = Home::new();
    let record = |kind: &str, content: &str, more: Value| {
        let mut observation = json!({"type": kind, "content": content, "session": "s1"});
        for (name, value) in more.as_object().expect("an object") {
            observation[name] = value.clone();
        }
        call(&home, "record", &observation)
    };
    let error = record(
        "error",
        "API timeout after 30 s",
        json!({"source": "task-1"}),
    );
    assert_eq!(error["importance"], 10);
    let id = error["id"].clone();
    let unsure = record(
        "error",
        "Flaky test",
        json!({"confidence": 0.65, "tags": ["ci"]}),
    );
    assert_eq!(unsure["importance"], 6, "cut, not rounded");
    let learning = record(
        "learning",
        "Retry with backoff",
        json!({"related_ids": [id, "obs-1"]}),
    );
    assert_eq!(learning["linked"], json!([id]));
    record(
        "preference",
        "Tabs, never spaces",
        json!({"tags": ["style", "ci"]}),
    );
    let of = |arguments: Value| {
        let found = call(&home, "observations", &arguments);
        let contents = found["observations"].as_array().expect("a list").iter();
        contents
            .map(|one| one["content"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(json!({"type": ["error"]})),
        ["Flaky test", "API timeout after 30 s"]
    );
    assert_eq!(of(json!({"min_importance": 7})).len(), 3);
    assert_eq!(of(json!({"related_to": id})), ["Retry with backoff"]);
    assert_eq!(
        of(json!({"related_to": learning["id"]})),
        ["API timeout after 30 s"]
    );
    assert_eq!(of(json!({"tags": ["ci", "style"]})).len(), 2);
    assert_eq!(
        of(json!({"tags": ["ci", "style"], "match_all_tags": true})).len(),
        1
    );
    assert_eq!(
        of(json!({"query": "timeout", "mode": "keyword"})),
        ["API timeout after 30 s"]
    );
    assert_eq!(
        of(json!({"query": "retry backoff"}))[0],
        "Retry with backoff"
    );
    assert!(of(json!({"known_at": "2020-01-01"})).is_empty());
    assert_eq!(
        of(json!({"known_at": "2999-01-01", "since": "2020-01-01"})).len(),
        4
    );
    let few = call(&home, "observations", &json!({"max_tokens": 8}));
    assert_eq!(
        (&few["truncated"], &few["total_count"]),
        (&json!(true), &json!(4))
    );
    assert_eq!(few["by_type"]["error"], 2);
    assert!(
        refused(&home, "record", &json!({"type": "gossip", "content": "x"})).contains("summary")
    );
}

#[test]
fn a_long_session_is_made_shorter_and_comes_back() {
    let home = Home::new();
    for number in 0..60 {
        let content = format!(
            "Step {number} of the import went on with table {}.",
            number % 5
        );
        let step = json!({"type": "context", "content": content, "session": "long"});
        call(&home, "record", &step);
    }
    let asked = json!({"session": "long", "dry_run": true});
    let planned = call(&home, "compact_observations", &asked);
    assert!(
        planned["reduction_percentage"]
            .as_f64()
            .is_some_and(|saved| saved >= 50.0),
        "{planned}"
    );
    let done = call(&home, "compact_observations", &json!({"session": "long"}));
    assert_eq!(
        (&done["frames_compacted"], &done["summaries_created"]),
        (&json!(50), &json!(2))
    );
    let left = call(
        &home,
        "observations",
        &json!({"session": "long", "limit": 100}),
    );
    assert_eq!(left["total_count"], 12);
    let again = json!({"session": "long", "threshold_frames": 1});
    assert_eq!(
        call(&home, "compact_observations", &again)["frames_compacted"],
        0
    );
    let summary = done["summaries"][0].as_str().expect("an id").to_owned();
    let shown = call(&home, "get", &json!({"id": summary}));
    let original = shown["records"][0]["details"]["metadata"]["original_ids"][0].clone();
    let original = original.as_str().expect("an id");
    let undone = finish(&mut home.command(&["--no-daemon", "undo", original, "--user", "ada"]));
    assert_eq!(undone.expect("reprise runs").code, Some(0));
    let back = call(
        &home,
        "observations",
        &json!({"session": "long", "limit": 100}),
    );
    assert_eq!(back["total_count"], 13);
}
