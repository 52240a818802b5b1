//! Tests of the parts of a lesson, as its document requires them.

use reprise_tests::{assert_contains, assert_fields};
use reprise_types::{ConfidenceLevel, Evidence};
use serde_json::{Value, json};

use crate::testing::Ada;

/// A lesson with what is given besides, as it is shown.
async fn learned(ada: &Ada, more: Value) -> Value {
    let mut lesson = json!({ "title": "Retry", "text": "Retry with backoff." });
    lesson
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap());
    let id = ada.call("learn", lesson).await["id"].clone();
    ada.call("get", json!({ "id": id })).await["records"][0].clone()
}

#[tokio::test]
async fn words_find_what_meaning_does_not_and_meaning_what_words_do_not() {
    let ada = Ada::new().await;
    let both = "a timeout at the gateway";
    let meaning = "deadline deadline deadline deadline";
    let words = "gateway keys tabs trees rivers stones paper windows spoons lamps timeout";
    for text in [words, meaning, both, "tea is best at eighty degrees"] {
        ada.call("learn", json!({ "title": text, "text": text }))
            .await;
    }
    let asked = json!({ "query": "timeout at the gateway" });
    let found = ada.call("recall", asked).await;
    let results = found["results"].as_array().unwrap();
    let place = |text: &str| results.iter().position(|hit| hit["text"] == text);
    assert_eq!(place(both), Some(0), "{found}");
    // It shares no word with the question, and its vector alone brings it.
    let by_meaning = &results[place(meaning).expect("it is found by its meaning")];
    assert_eq!(by_meaning["why"]["matched_words"], json!([]));
    assert!(by_meaning["why"]["raw_distance"].as_f64().unwrap() < 0.6);
    assert!(place(words).is_some(), "it is found by its words");

    let without = Ada::start(false).await;
    for text in [words, meaning, both] {
        without
            .call("learn", json!({ "title": text, "text": text }))
            .await;
    }
    let found = without
        .call("recall", json!({ "query": "timeout at the gateway" }))
        .await;
    let results = found["results"].as_array().unwrap();
    assert!(results.iter().any(|hit| hit["text"] == both), "{found}");
    assert!(
        results.iter().all(|hit| hit["text"] != meaning),
        "words alone do not find it"
    );
}

#[tokio::test]
async fn any_tag_admits_what_has_one_of_them_and_tag_what_has_all() {
    let ada = Ada::new().await;
    for (text, tags) in [
        ("Retry with backoff in Rust.", json!(["rust", "errors"])),
        ("Retry with backoff in Python.", json!(["Python"])),
        ("Retry with backoff in both.", json!(["python", "rust"])),
        ("Retry with backoff in neither.", json!([])),
    ] {
        ada.call("learn", json!({ "text": text, "tags": tags }))
            .await;
    }
    for (filter, expected) in [
        (json!({ "any_tag": ["errors", "python"] }), 3),
        (
            json!({ "any_tag": ["errors", "python"], "tag": ["rust"] }),
            2,
        ),
        (json!({ "tag": ["python", "rust"] }), 1),
        (json!({ "any_tag": ["no-such"] }), 0),
        (json!({ "tags": ["errors", "python"] }), 3),
    ] {
        let found = ada.call("list", filter.clone()).await;
        let count = found["records"].as_array().map(Vec::len);
        assert_eq!(count, Some(expected), "{filter}: {found}");
        let mut asked = filter.clone();
        asked["query"] = json!("retry with backoff");
        let found = ada.call("recall", asked).await;
        let count = found["results"].as_array().map(Vec::len);
        assert_eq!(count, Some(expected), "{filter}: {found}");
    }
}

#[tokio::test]
async fn a_lesson_may_say_when_that_was_and_keeps_it() {
    let ada = Ada::new().await;
    let said = json!({ "text": "Ada moved to Turin.", "at": "2026-01-09" });
    let id = ada.call("learn", said).await["id"].clone();
    let day = json!({ "since": "2026-01-09", "until": "2026-01-09" });
    let found = ada.call("list", day).await;
    assert_eq!(found["records"][0]["id"], id, "{found}");
    for (name, asked, why) in [
        (
            "learn",
            json!({ "text": "x", "at": "some day" }),
            "some day",
        ),
        (
            "update",
            json!({ "id": id, "at": "2026-01-10" }),
            "learn it anew",
        ),
    ] {
        let refused = ada.try_call(name, asked).await.unwrap_err().to_string();
        assert_contains!(refused, why);
    }
}

#[tokio::test]
async fn a_lesson_has_no_field_for_a_type_and_a_tag_says_it() {
    let ada = Ada::new().await;
    for name in ["type", "kind", "category"] {
        let lesson = json!({ "title": "Retry", "text": "x", (name): "gotcha" });
        let refused = ada.try_call("learn", lesson).await.unwrap_err();
        assert_contains!(refused.to_string(), &format!("`{name}`"));
    }
    let schema = json!(schemars::schema_for!(crate::Lesson));
    let fields = schema["properties"].as_object().unwrap().clone();
    assert!(
        fields.contains_key("tags") && !fields.contains_key("type"),
        "{fields:?}"
    );
    let lesson = learned(&ada, json!({ "tags": ["gotcha", "type:pattern"] })).await;
    assert_eq!(lesson["tags"], json!(["gotcha", "type:pattern"]));
    assert_eq!(
        lesson["details"]["type"], "lesson",
        "what it is for memory, not for its author"
    );
}

#[tokio::test]
async fn other_tags_leave_a_lesson_in_its_project_whoever_gives_them() {
    let ada = Ada::new().await;
    let told = json!({ "text": "Invoices are paid on Friday.", "tags": ["pay", "project:shop"] });
    let id = ada.call("learn", told).await["id"].clone();
    for (change, tags, project) in [
        (
            json!({ "tags": ["money"] }),
            json!(["money", "project:shop"]),
            json!("shop"),
        ),
        (
            json!({ "tags": [] }),
            json!(["project:shop"]),
            json!("shop"),
        ),
        (
            json!({ "tags": ["pay"], "text": "Invoices are paid on Monday." }),
            json!(["pay", "project:shop"]),
            json!("shop"),
        ),
        (
            json!({ "tags": ["money", "project:mail"] }),
            json!(["money", "project:mail"]),
            json!("mail"),
        ),
        (json!({ "project": "none" }), json!(["money"]), Value::Null),
    ] {
        let mut asked = json!({ "id": id });
        asked
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().cloned().unwrap());
        let updated = ada.call("update", asked).await;
        assert_eq!(updated["project"], project, "{change}: {updated}");
        let shown = ada.call("get", json!({ "id": id })).await["records"][0].clone();
        assert_eq!(shown["tags"], tags, "{change}: {shown}");
    }
}

#[tokio::test]
async fn confidence_is_one_of_five_words_in_their_order_and_none_says_verified() {
    let words = ["very-low", "low", "medium", "high", "very-high"];
    let levels = ConfidenceLevel::ALL.iter();
    let ordinals: Vec<(&str, u8)> = levels.map(|one| (one.name(), one.number())).collect();
    let expected: Vec<(&str, u8)> = words.into_iter().zip(1..).collect();
    assert_eq!(ordinals, expected);
    let ada = Ada::new().await;
    let mut before = 0.0;
    for word in words {
        let title = json!({ "title": word, "confidence": word });
        let number = learned(&ada, title).await["confidence"].as_f64().unwrap();
        assert!(number > before, "{word}: {number}");
        before = number;
        // An answer's number may be sent back.
        let again = json!({ "title": format!("{word} again"), "confidence": number });
        assert_eq!(learned(&ada, again).await["confidence"], number);
    }
    // Of a whole number nobody knows whether it counts the words.
    for word in [
        json!("verified"),
        json!("certain"),
        json!("6"),
        json!(1),
        json!(1.5),
    ] {
        let lesson = json!({ "title": "x", "text": "y", "confidence": word });
        let word = word.as_str().unwrap_or("confidence");
        let refused = ada.try_call("learn", lesson).await.unwrap_err().to_string();
        assert_contains!(refused, word);
    }
}

#[tokio::test]
async fn a_lesson_rests_on_one_of_five_kinds_with_their_meaning_and_confidence() {
    let ada = Ada::new().await;
    let kinds = ada.call("evidence", json!({})).await["evidence"].clone();
    let mut kinds: Vec<[String; 3]> = kinds
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| {
            ["name", "description", "typical_confidence"]
                .map(|part| kind[part].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    kinds.sort();
    let expected = [
        ["documented", "Official docs, specs", "medium-high"],
        ["hearsay", "Someone said so", "low"],
        ["inferred", "Reasoned from evidence", "low-medium"],
        ["observed", "Saw in logs/output", "medium"],
        ["tested", "Ran code, verified behavior", "high"],
    ];
    assert_eq!(kinds, expected.map(|kind| kind.map(str::to_owned)));
    for kind in Evidence::ALL {
        let lesson = json!({ "title": kind.name(), "source": kind.name() });
        assert_eq!(learned(&ada, lesson).await["evidence"], kind.name());
    }
}

#[tokio::test]
async fn notes_on_the_source_are_kept_shown_changed_and_found_in_no_other_field() {
    let ada = Ada::new().await;
    let notes = "Lost 3 statuses on HSP, see ticket 12";
    let lesson = learned(&ada, json!({ "source": "tested", "source_notes": notes })).await;
    assert_eq!(lesson["details"]["source_notes"], notes);
    assert_eq!(
        lesson["evidence"], "tested",
        "the notes are stored with the kind, not in its place"
    );
    let change = json!({ "id": lesson["id"], "source_notes": "see ticket 13" });
    let new = ada.call("update", change).await["id"].clone();
    let shown = ada.call("get", json!({ "id": new })).await["records"][0].clone();
    assert_eq!(shown["details"]["source_notes"], "see ticket 13");
    assert_fields!(shown, "title": lesson["title"], "evidence": lesson["evidence"]);
    let none = learned(&ada, json!({ "title": "No notes" })).await;
    assert!(none["details"].get("source_notes").is_none(), "{none}");
}

#[tokio::test]
async fn two_events_of_one_millisecond_are_two_learnings() {
    let ada = Ada::new().await;
    let mut ids = Vec::new();
    for fact in ["It has email", "It has a name"] {
        let event = json!({ "event": "memory_learning", "fact": fact, "goal": "forum" });
        let told = ada.call("add_learning", event).await;
        assert_eq!(told["is_new"], true, "{told}");
        assert_eq!(told["learning"]["fact"], fact);
        ids.push(told["learning"]["id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("legacy-")));
}

#[tokio::test]
async fn what_was_forgotten_is_learned_again_by_a_person_alone() {
    let ada = Ada::new().await;
    let lesson = json!({ "title": "Keys", "text": "The vault opens at noon.", "tags": ["a"] });
    let other = json!({ "title": "Keys", "text": "The vault opens at noon.", "tags": ["b"] });
    let id = ada.call_tool("learn", lesson.clone()).await.unwrap()["id"].clone();
    let gone = ada
        .call_tool("delete", json!({ "ids": [id] }))
        .await
        .unwrap();
    assert_eq!(gone["forgotten"], json!([id]));
    for again in [&lesson, &other] {
        let refused = ada.call_tool("learn", again.clone()).await.unwrap_err();
        assert_contains!(refused.detail, "told to forget this on 2026-01-10");
    }
    let kept = ada.call("learn", other).await["id"].clone();
    let known = ada.call_tool("learn", lesson).await.unwrap();
    assert_ne!(
        known["id"], id,
        "a person has brought the text back: {kept}"
    );
}
