//! `tests/memory/test_knowledge.py` of the original, name by name.

use reprise_tests::assert_fields;

use super::*;

const ALL: [(&str, ObservationType, u8); 7] = [
    ("error", ObservationType::Error, 10),
    ("decision", ObservationType::Decision, 9),
    ("learning", ObservationType::Learning, 8),
    ("preference", ObservationType::Preference, 7),
    ("success", ObservationType::Success, 5),
    ("summary", ObservationType::Summary, 4),
    ("context", ObservationType::Context, 3),
];

#[test]
fn test_observation_types_exist() {
    let all = ALL.map(|(_, kind, _)| kind);
    assert_eq!(ObservationType::ALL, all);
}

#[test]
fn test_observation_type_values() {
    for (name, kind, _) in ALL {
        assert_eq!((kind.name(), ObservationType::of(name)), (name, Some(kind)));
    }
    assert_eq!(ObservationType::of("gossip"), None);
}

#[test]
fn test_importance_scores() {
    for (name, kind, importance) in ALL {
        assert_eq!(kind.importance(), importance, "{name}");
    }
}

#[test]
fn test_importance_ordering() {
    assert!(ObservationType::ALL.is_sorted_by(|a, b| a.importance() > b.importance()));
}

#[test]
fn test_observation_basic() {
    let one = Observation::new("Test error occurred", ObservationType::Error);
    assert_eq!(one.content, "Test error occurred");
    assert_eq!(one.observation_type, ObservationType::Error);
    assert_eq!((one.source, one.confidence), (None, 1.0));
}

#[tokio::test]
async fn test_observation_full() {
    let ada = Ada::new().await;
    let all = json!({ "source": "task-123", "confidence": 0.9, "tags": ["api", "retry"],
        "related_ids": ["obs-1", "obs-2"], "metadata": { "category": "best-practice" } });
    ada.record("learning", "Use exponential backoff", all.clone())
        .await;
    let found = ada.observed(json!({})).await;
    let kept = &found["observations"][0]["metadata"];
    for name in ["source", "confidence", "tags", "related_ids"] {
        assert_eq!(kept[name], all[name], "{name}");
    }
    assert_eq!(kept["category"], "best-practice");
    assert_eq!(kept["observation_type"], "learning");
}

#[test]
fn test_observation_importance() {
    let unsure = Observation {
        confidence: 0.5,
        ..Observation::new("Maybe error", ObservationType::Error)
    };
    assert_eq!(unsure.importance(), 5);
    assert_eq!(
        Observation::new("Error", ObservationType::Error).importance(),
        10
    );
}

#[test]
fn test_observation_to_dict() {
    let one = Observation {
        source: Some("test".to_owned()),
        confidence: 0.8,
        ..Observation::new("Test content", ObservationType::Learning)
    };
    let dict = json!(one.to_dict());
    let expected = json!({ "content": "Test content", "observation_type": "learning",
        "source": "test", "confidence": 0.8, "related_ids": [], "tags": [], "importance": 6 });
    assert_eq!(dict, expected);
}

#[tokio::test]
async fn test_observation_immutable() {
    let ada = Ada::new().await;
    let kept = ada.record("error", "Test", json!({})).await;
    ada.advance_seconds(60);
    ada.call("revise", json!({ "id": kept["id"], "text": "Changed" }))
        .await;
    let history = ada.call("history", json!({ "id": kept["id"] })).await;
    assert_eq!(history["present"]["text"], "Changed");
    assert_eq!(history["earlier"][0]["text"], "Test");
    assert_eq!(history["earlier"][0]["id"], kept["id"]);
}

/// What a recorded observation is as a frame.
async fn frame(kind: &str, content: &str, more: Value) -> Value {
    let ada = Ada::new().await;
    let kept = ada.record(kind, content, more).await;
    let found = ada.observed(json!({})).await;
    assert_eq!(found["total_count"], 1);
    let frame = found["observations"][0].clone();
    assert_eq!(frame["id"], kept["id"]);
    assert_fields!(frame, "frame_type": kind, "content": content);
    frame
}

#[tokio::test]
async fn test_record_basic() {
    let frame = frame("error", "Test error", json!({})).await;
    assert_eq!(frame["tags"], json!(["error", "error", "importance:10"]));
}

#[tokio::test]
async fn test_record_with_session() {
    let frame = frame("success", "Test", json!({ "session": "session-123" })).await;
    assert_eq!(frame["session_id"], "session-123");
    let tags = frame["tags"].as_array().unwrap();
    assert!(tags.contains(&json!("session:session-123")), "{tags:?}");
}

#[tokio::test]
async fn test_record_error() {
    let more = json!({ "source": "api-client", "confidence": 0.95 });
    let frame = frame("error", "API timeout occurred", more).await;
    assert_eq!(frame["metadata"]["importance"], 9);
    let tags = frame["tags"].as_array().unwrap();
    assert!(tags.contains(&json!("source:api-client")), "{tags:?}");
}

#[tokio::test]
async fn test_record_success() {
    let more = json!({ "source": "task-456" });
    let frame = frame("success", "Task completed successfully", more).await;
    assert_eq!(frame["metadata"]["source"], "task-456");
}

#[tokio::test]
async fn test_record_learning() {
    let more =
        json!({ "related_ids": ["error-001", "error-002"], "tags": ["validation", "input"] });
    let frame = frame("learning", "Always validate input before processing", more).await;
    assert_eq!(
        frame["metadata"]["related_ids"],
        json!(["error-001", "error-002"])
    );
    assert_eq!(frame["metadata"]["tags"], json!(["validation", "input"]));
}

#[tokio::test]
async fn test_record_preference() {
    let more = json!({ "confidence": 0.8 });
    let frame = frame("preference", "Prefer async/await over callbacks", more).await;
    assert_eq!(frame["metadata"]["importance"], 5);
}

#[tokio::test]
async fn test_record_decision() {
    let ada = Ada::new().await;
    let research = ada
        .record("learning", "MongoDB has no joins", json!({}))
        .await;
    let more = json!({ "related_ids": [research["id"]] });
    let kept = ada
        .record("decision", "Chose PostgreSQL over MongoDB", more)
        .await;
    assert_eq!(kept["linked"], json!([research["id"]]));
}

#[tokio::test]
async fn test_record_with_metadata() {
    let more = json!({ "metadata": { "error_code": 500, "retry_count": 3, "timestamp": "mine",
        "content": "other", "metadata": { "own": true } } });
    let frame = frame("error", "Database connection failed", more).await;
    let kept = &frame["metadata"];
    assert_fields!(kept, "error_code": 500, "retry_count": 3);
    // A key of the core wins, and the writer's own value is nested, never written over.
    assert_eq!(kept["content"], "Database connection failed");
    assert_eq!(kept["timestamp"], frame["timestamp"]);
    let nested = json!({ "timestamp": "mine", "content": "other", "metadata": { "own": true } });
    assert_eq!(kept["metadata"], nested);
}

/// One of each type, the most important last.
async fn one_of_each() -> Ada {
    let ada = Ada::new().await;
    for (name, ..) in ALL.into_iter().rev() {
        let content = format!("an api {name} of the week");
        ada.record(name, &content, json!({ "session": "s" })).await;
    }
    ada
}

async fn by_type(kind: &str) {
    let ada = one_of_each().await;
    ada.record(kind, "the newest", json!({})).await;
    let found = ada
        .find_contents(json!({ "type": [kind], "limit": 10 }))
        .await;
    assert_eq!(
        found,
        [
            "the newest".to_owned(),
            format!("an api {kind} of the week")
        ]
    );
    assert_eq!(
        ada.find_contents(json!({ "type": [kind], "limit": 1 }))
            .await,
        ["the newest"]
    );
}

#[tokio::test]
async fn test_get_by_type() {
    for (name, ..) in ALL {
        by_type(name).await;
    }
}

#[tokio::test]
async fn test_get_errors() {
    by_type("error").await;
}

#[tokio::test]
async fn test_get_learnings() {
    by_type("learning").await;
}

#[tokio::test]
async fn test_get_decisions() {
    by_type("decision").await;
}

#[tokio::test]
async fn test_get_preferences() {
    by_type("preference").await;
}

#[tokio::test]
async fn test_query_by_date_range() {
    let ada = one_of_each().await;
    let range = json!({ "start_date": seconds_after_start(2), "end_date": seconds_after_start(4) });
    let found = ada.find_contents(range).await;
    let names = ["success", "summary"].map(|name| format!("an api {name} of the week"));
    let preference = "an api preference of the week".to_owned();
    assert_eq!(
        found,
        [&[preference], &names[..]].concat(),
        "both ends belong to it"
    );
    assert_eq!(
        ada.find_contents(json!({ "since": "2026-01-09", "until": "2026-01-11" }))
            .await
            .len(),
        7
    );
    let none: [&str; 0] = [];
    assert_eq!(
        ada.find_contents(json!({ "since": "2026-01-12", "until": "2026-01-31" }))
            .await,
        none
    );
}

#[tokio::test]
async fn test_query_by_date_range_with_type() {
    let ada = one_of_each().await;
    let range = json!({ "since": seconds_after_start(2), "until": seconds_after_start(4), "type": ["success"] });
    assert_eq!(
        ada.find_contents(range).await,
        ["an api success of the week"]
    );
}

#[tokio::test]
async fn test_query_by_date_range_start_only() {
    let ada = one_of_each().await;
    let found = ada
        .find_contents(json!({ "since": seconds_after_start(6) }))
        .await;
    assert_eq!(
        found,
        ["error", "decision"].map(|name| format!("an api {name} of the week"))
    );
}

#[tokio::test]
async fn test_get_knowledge_at_datetime() {
    let ada = one_of_each().await;
    let found = ada
        .observed(json!({ "known_at": seconds_after_start(2) }))
        .await;
    assert_eq!(found["point_in_time"], "2026-01-10T12:00:02Z");
    assert_eq!(
        contents(&found),
        ["summary", "context"].map(|n| format!("an api {n} of the week"))
    );
}

#[tokio::test]
async fn test_get_knowledge_at_string() {
    let ada = one_of_each().await;
    for point in ["2026-01-10T12:00:02+00:00", "2026-01-10T14:00:02.000+02:00"] {
        assert_eq!(
            ada.find_contents(json!({ "point_in_time": point }))
                .await
                .len(),
            2,
            "{point}"
        );
    }
}

#[tokio::test]
async fn test_get_knowledge_at_with_query() {
    let ada = one_of_each().await;
    let asked =
        json!({ "known_at": seconds_after_start(2), "query": "summary", "mode": "keyword" });
    let found = ada.observed(asked).await;
    assert_eq!(
        (contents(&found), &found["query"]),
        (
            vec!["an api summary of the week".to_owned()],
            &json!("summary"),
        )
    );
}

#[tokio::test]
async fn test_get_knowledge_at_with_types() {
    let ada = one_of_each().await;
    let asked = json!({ "known_at": seconds_after_start(60), "types": ["error", "success"] });
    let found = ada.find_contents(asked).await;
    assert_eq!(
        found,
        ["error", "success"].map(|name| format!("an api {name} of the week"))
    );
}

#[tokio::test]
async fn test_get_knowledge_at_naive_datetime() {
    let ada = one_of_each().await;
    let found = ada
        .observed(json!({ "known_at": "2026-01-10T12:00:02" }))
        .await;
    // The asker's zone, as everywhere; the answer says which instant that is.
    let zone = reprise_types::Zone::Machine
        .parse_timestamp("2026-01-10T12:00:02")
        .unwrap();
    assert_eq!(found["point_in_time"], json!(zone));
}

#[tokio::test]
async fn test_search_knowledge_basic() {
    let ada = one_of_each().await;
    ada.record("error", "tea is best at eighty degrees", json!({}))
        .await;
    let found = ada
        .observed(json!({ "query": "api timeout of the week" }))
        .await;
    assert_eq!(found["mode"], "hybrid");
    assert!(contents(&found)[0].contains("api"), "{found}");
}

#[tokio::test]
async fn test_search_knowledge_with_types() {
    let ada = one_of_each().await;
    let found = ada
        .find_contents(json!({ "query": "api", "type": ["learning"] }))
        .await;
    assert_eq!(found, ["an api learning of the week"]);
}

#[tokio::test]
async fn test_search_knowledge_with_min_importance() {
    let ada = one_of_each().await;
    let found = ada
        .observed(json!({ "query": "api", "min_importance": 7 }))
        .await;
    let importance = found["observations"].as_array().unwrap().iter();
    let mut importance: Vec<_> = importance
        .map(|one| &one["metadata"]["importance"])
        .collect();
    importance.sort_by_key(|one| one.as_u64());
    assert_eq!(importance, [7, 8, 9, 10]);
}

#[tokio::test]
async fn test_get_high_importance() {
    let ada = one_of_each().await;
    ada.record("error", "half sure", json!({ "confidence": 0.65 }))
        .await;
    assert_eq!(
        ada.find_contents(json!({ "min_importance": 8 }))
            .await
            .len(),
        3
    );
    assert_eq!(
        ada.find_contents(json!({ "min_importance": 7 }))
            .await
            .len(),
        4
    );
}

#[tokio::test]
async fn test_get_related() {
    let ada = Ada::new().await;
    let one = ada.record("error", "API timeout", json!({})).await;
    let more = json!({ "related_ids": [one["id"]] });
    let other = ada.record("learning", "Retry with backoff", more).await;
    ada.record("context", "unrelated", json!({})).await;
    for (asked, expected) in [(&one, "Retry with backoff"), (&other, "API timeout")] {
        assert_eq!(
            ada.find_contents(json!({ "related_to": asked["id"] }))
                .await,
            [expected]
        );
    }
}

#[tokio::test]
async fn test_get_summary_stats() {
    let ada = one_of_each().await;
    ada.record("error", "another", json!({})).await;
    let found = ada.observed(json!({ "limit": 1 })).await;
    let total = found["by_type"].as_object().unwrap().values();
    assert_eq!(total.filter_map(Value::as_u64).sum::<u64>(), 8);
    assert_eq!(
        (&found["by_type"]["error"], &found["total_count"]),
        (&json!(2), &json!(8))
    );
}

#[tokio::test]
async fn test_temporal_query_attributes() {
    let ada = one_of_each().await;
    let asked = json!({ "query": "api", "known_at": seconds_after_start(5), "limit": 1 });
    let found = ada.observed(asked).await;
    assert_fields!(found, "query": "api", "total_count": 5);
    assert_eq!(found["point_in_time"], "2026-01-10T12:00:05Z");
    assert_eq!(contents(&found).len(), 1);
}

#[tokio::test]
async fn test_temporal_query_immutable() {
    let ada = one_of_each().await;
    let asked = json!({ "known_at": seconds_after_start(20) });
    ada.advance_seconds(60);
    let mut before = ada.observed(asked.clone()).await;
    let id = before["observations"][0]["id"].clone();
    ada.call("revise", json!({ "id": id, "text": "changed" }))
        .await;
    ada.record("error", "later", json!({})).await;
    let mut after = ada.observed(asked).await;
    for answer in [&mut before, &mut after] {
        answer["query_time_ms"] = json!(0);
    }
    assert_eq!(
        before, after,
        "what was known then stays what was known then"
    );
}
