//! Observations as ralph keeps them, titles, sources and projects, through the operations that
//! every face has.

use reprise_tests::assert_fields;
use serde_json::{Value, json};

use crate::home::Home;
use crate::knowledge::{call, refused, view};

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
    let preference = record(
        "preference",
        "Tabs, never spaces",
        json!({"tags": ["style", "ci"], "related_ids": [unsure["id"]]}),
    );
    assert_eq!(preference["linked"], json!([unsure["id"]]));
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
    assert_fields!(few, "truncated": true, "total_count": 4);
    assert_eq!(few["by_type"]["error"], 2);
    assert!(
        refused(&home, "record", &json!({"type": "gossip", "content": "x"})).contains("summary")
    );
}

#[test]
fn a_day_belongs_to_its_range_whole_and_so_do_both_ends() {
    let home = Home::new();
    let frames = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/reprise-knowledge/tests/fixtures/ralph_memory.jsonl"
    );
    let import = ["--no-daemon", "import", frames, "--user", "ada"];
    home.run(&import).expect_code(0);
    let count = |since: &str, until: &str| {
        let range = json!({ "since": since, "until": until, "limit": 100 });
        call(&home, "observations", &range)["total_count"].clone()
    };
    assert_eq!(count("2026-01-10", "2026-01-10"), 6);
    assert_eq!(count("2026-01-11", "2026-01-12"), 0);
    assert_eq!(
        count("2026-01-10T13:30:00+02:00", "2026-01-10T12:00:00Z"),
        3
    );
}

/// Returns sixty observations of one session, a minute apart, in the form in which an export has
/// them.
pub(crate) fn long_session() -> Vec<Value> {
    let step = |number: usize| {
        let content = format!(
            "Step {number} of the import went on with table {}.",
            number % 5
        );
        let details = json!({ "type": "observation", "observation_type": "context",
            "metadata": {}, "related_ids": [], "source": null, "tags": [] });
        json!({ "text": content, "source": "worker_result", "kind": "episode",
            "session_id": "long", "tags": ["context", "importance:3"], "details": details,
            "timestamp": format!("2026-02-09T09:{number:02}:00Z") })
    };
    (0..60).map(step).collect()
}

#[test]
fn a_long_session_is_made_shorter_and_comes_back() {
    let home = Home::new();
    home.keep(&long_session(), &["--no-daemon", "--user", "ada"]);
    let asked = json!({"session": "long", "dry_run": true});
    let planned = call(&home, "compact_observations", &asked);
    assert!(
        planned["reduction_percentage"]
            .as_f64()
            .is_some_and(|saved| saved >= 50.0),
        "{planned}"
    );
    let done = call(&home, "compact_observations", &json!({"session": "long"}));
    assert_fields!(done, "frames_compacted": 50, "summaries_created": 2);
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
    home.run_ok(&["--no-daemon", "doctor", "undo", original, "--user", "ada"]);
    let back = call(
        &home,
        "observations",
        &json!({"session": "long", "limit": 100}),
    );
    assert_eq!(back["total_count"], 13);
}

#[test]
fn a_project_is_a_tag_and_nothing_else() {
    let home = Home::new();
    let lesson = json!({"title": "Run the linter first", "text": "It is quicker than the tests.",
        "tags": ["Project:Shop"]});
    let id = call(&home, "learn", &lesson)["id"].clone();
    let record = call(&home, "get", &json!({"id": id}))["records"][0].clone();
    assert_eq!(record["tags"], json!(["project:shop"]));
    assert!(record.get("project").is_none() && record["details"].get("project").is_none());
    for (project, expected) in [("shop", 1), ("other", 0)] {
        for asked in [
            json!({"query": "linter before tests", "project": project}),
            json!({"query": "linter before tests", "tag": [format!("project:{project}")]}),
        ] {
            let found = call(&home, "recall", &asked);
            assert_eq!(
                found["results"].as_array().map(Vec::len),
                Some(expected),
                "{asked}"
            );
        }
    }
    // As an argument it is that tag.
    let argued = json!({"title": "x", "text": "y", "project": "shop"});
    let id = call(&home, "learn", &argued)["id"].clone();
    let record = call(&home, "get", &json!({"id": id}))["records"][0].clone();
    assert_eq!(record["tags"], json!(["project:shop"]));
}

#[test]
fn a_title_that_nobody_gave_is_not_stored_as_if_somebody_had() {
    let home = Home::new();
    let text = "Ask for the transitions first.\nTheir ids differ from project to project.";
    let without = call(&home, "learn", &json!({"text": text}))["id"].clone();
    let with = json!({"title": "Jira", "text": "Ask for the transitions of an issue first.",
        "contexts": ["  Jira   Cloud ", "jira cloud", ""]});
    let with = call(&home, "learn", &with)["id"].clone();
    let get = |id: &Value| call(&home, "get", &json!({"id": id}))["records"][0].clone();
    let (derived, given) = (get(&without), get(&with));
    assert_eq!(derived["title_derived"], true);
    assert!(
        text.replace('\n', " ").starts_with(
            derived["title"]
                .as_str()
                .expect("a title")
                .trim_end_matches("...")
        )
    );
    assert_eq!(derived["details"]["title"], "");
    assert_eq!(
        (&given["title"], given.get("title_derived")),
        (&json!("Jira"), None)
    );
    // A context has one spelling, too, and is stored there once.
    assert_eq!(given["details"]["contexts"], json!(["Jira Cloud"]));
}

#[test]
fn what_is_called_a_source_in_three_ways_stands_in_three_places() {
    let home = Home::new();
    let learning = json!({"fact": "User model has email field", "category": "type",
        "source": "models.py:12", "source_type": "analysis"});
    let id = call(&home, "add_learning", &learning)["id"].clone();
    let record = call(&home, "get", &json!({"id": id}))["records"][0].clone();
    // Who said it, where it is stored, how it was come by; and what it rests on is said by nobody.
    assert_eq!(record["source"], "worker_result");
    assert_eq!(record["details"]["source"], "models.py:12");
    assert_eq!(record["details"]["source_type"], "analysis");
    assert!(record["evidence"].is_null());
    let lesson = json!({"text": "The API answers 429 after a hundred requests", "source": "tested",
        "source_notes": "load test of May"});
    let id = call(&home, "learn", &lesson)["id"].clone();
    let record = call(&home, "get", &json!({"id": id}))["records"][0].clone();
    assert_fields!(record, "source": "user_input", "evidence": "tested");
    assert_eq!(record["details"]["source_notes"], "load test of May");
}

#[test]
fn a_session_leaves_what_it_taught_once() {
    let home = Home::new();
    let line = |text: &str| {
        json!({"text": text, "session_id": "s1", "source": "worker_result",
            "kind": "episode"})
    };
    let fix = "The fix was to close the cursor before the next statement.";
    let records = json!({"records": [
        line("Can you look at the flaky importer test, please?"),
        line(&format!("It is green now. {fix} I ran it fifty times.")),
    ]});
    call(&home, "observe", &records);
    let planned = call(
        &home,
        "extract_learnings",
        &json!({"session": "s1", "dry_run": true}),
    );
    assert_eq!(planned["learnings"][0]["fact"], fix);
    assert_eq!(planned["ids"], json!([]));
    assert_eq!(
        view(&home, &json!({"view": "loaded"})),
        json!({}),
        "a dry run keeps nothing"
    );
    for expected in [1, 0] {
        let done = call(&home, "extract_learnings", &json!({"session": "s1"}));
        assert_eq!(
            done["ids"].as_array().map(Vec::len),
            Some(expected),
            "{done}"
        );
    }
    let found = view(
        &home,
        &json!({"view": "query", "category": "fix", "source": "s1"}),
    );
    assert_eq!(found["learnings"][0]["fact"], fix);
    assert_eq!(found["learnings"][0]["source_type"], "session");
    let forget = json!({"session": "s1"});
    assert_eq!(
        call(&home, "forget", &forget)["forgotten"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    assert!(refused(&home, "extract_learnings", &json!({"session": ""})).contains("session"));
}
