//! The thirty-eight tests of the original by their names, each run against the operations that do
//! what its method did; and what the original got wrong.

use reprise_tests::{assert_contains, assert_fields};

use super::*;
use crate::testing::{Ada, seconds_after_start};
use crate::wire::to_ingest_line;

mod original;

impl Ada {
    /// Records one, a second later than the last; answers what was kept.
    async fn record(&self, kind: &str, content: &str, more: Value) -> Value {
        self.advance_seconds(1);
        let mut observation = json!({ "type": kind, "content": content });
        let fields = observation.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap_or_default());
        self.call("record", observation).await
    }

    async fn observed(&self, asked: Value) -> Value {
        self.call("observations", asked).await
    }

    /// The contents of what is found.
    async fn find_contents(&self, asked: Value) -> Vec<String> {
        contents(&self.observed(asked).await)
    }

    async fn keep(&self, observations: impl IntoIterator<Item = Observation>) {
        let lines = observations.into_iter();
        let lines =
            lines.map(|one| serde_json::from_str(&to_ingest_line(&one.to_record("long"))).unwrap());
        let records: Vec<Value> = lines.collect();
        let count = records.len();
        let report = self.call("observe", json!({ "records": records })).await;
        assert_eq!(report["inserted"], count);
        let memory = self.memory();
        let service = memory.require_service().unwrap();
        while service.embed_waiting(memory.user()).await.unwrap() {}
    }
}

fn contents(answer: &Value) -> Vec<String> {
    let list = answer["observations"].as_array().unwrap().iter();
    list.map(|one| one["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_is_asked_for_is_chosen_before_it_is_cut_to_the_best() {
    let ada = Ada::new().await;
    let context = (0..1_500).map(|number| {
        Observation::new(
            format!("step {number} of the import"),
            ObservationType::Context,
        )
    });
    let errors = (0..20).map(|number| {
        Observation::new(
            format!("import failed at row {number}"),
            ObservationType::Error,
        )
    });
    ada.keep(context.chain(errors)).await;
    for mode in ["keyword", "semantic", "hybrid"] {
        let asked = json!({ "type": ["error"], "query": "step of the import", "mode": mode });
        let found = ada.observed(asked).await;
        assert_eq!(found["total_count"], 20, "{mode}");
        assert!(contents(&found).iter().all(|one| one.contains("failed")));
    }
    let asked = json!({ "query": "step", "mode": "keyword", "limit": 10 });
    assert_eq!(ada.observed(asked).await["total_count"], 1_500);
}

#[tokio::test]
async fn a_question_about_a_time_ranks_what_was_known_then() {
    for has_model in [true, false] {
        let ada = Ada::start(has_model).await;
        let first = ada
            .record("error", "the gateway answers 504 at noon", json!({}))
            .await;
        ada.advance_seconds(60);
        let changes = json!({ "id": first["id"], "text": "the gateway was renamed to edge" });
        ada.call("revise", changes).await;
        ada.record("learning", "gateway errors come from the proxy", json!({}))
            .await;
        for mode in ["keyword", "semantic", "hybrid"] {
            let asked = |seconds: i64| json!({ "query": "gateway 504", "mode": mode, "known_at": seconds_after_start(seconds) });
            let then = ada.observed(asked(30)).await;
            assert_eq!(
                contents(&then),
                ["the gateway answers 504 at noon"],
                "{mode}"
            );
            assert_eq!(then["total_count"], 1, "{mode}");
            assert_eq!(then["by_type"], json!({ "error": 1 }), "{mode}");
            assert_eq!(ada.find_contents(asked(600)).await.len(), 2, "{mode}");
            let none: [&str; 0] = [];
            assert_eq!(ada.find_contents(asked(0)).await, none, "{mode}");
        }
    }
}

#[tokio::test]
async fn by_meaning_vectors_decide_and_hybrid_weighs_them_with_words() {
    let ada = Ada::new().await;
    ada.record("error", "deadline", json!({})).await;
    ada.record("error", "a timeout of the api at night", json!({}))
        .await;
    let best = async |more: Value| {
        let mut asked = json!({ "query": "timeout" });
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        ada.find_contents(asked).await[0].clone()
    };
    let (alike, named) = ("deadline", "a timeout of the api at night");
    assert_eq!(best(json!({ "mode": "semantic" })).await, alike);
    assert_eq!(best(json!({ "mode": "keyword" })).await, named);
    assert_eq!(
        best(json!({ "semantic_weight": 0.9, "keyword_weight": 0.1 })).await,
        alike
    );
    assert_eq!(
        best(json!({ "semantic_weight": 0.1, "keyword_weight": 0.9 })).await,
        named
    );
    let asked = json!({ "query": "timeout", "mode": "hybrid" });
    assert_eq!(ada.observed(asked.clone()).await["backend"], "reprise");
    let words = Ada::start(false).await;
    words.record("error", named, json!({})).await;
    let found = words.observed(asked).await;
    assert_fields!(found, "backend": "degraded", "total_count": 1);
}

#[tokio::test]
async fn the_originals_behind_a_summary_are_read_as_of_a_time_before_it() {
    let ada = Ada::new().await;
    let context = (0..60).map(|number| {
        Observation::new(
            format!("step {number} of the import"),
            ObservationType::Context,
        )
    });
    ada.keep(context).await;
    let before = seconds_after_start(5);
    ada.advance_seconds(60);
    let done = ada.call("compact_observations", json!({})).await;
    assert_eq!(done["frames_compacted"], 50);
    let summary = done["summaries"][1].as_str().unwrap();
    let shown = ada.call("get", json!({ "id": summary })).await;
    let originals = shown["records"][0]["details"]["metadata"]["original_ids"].clone();
    let original = originals.as_array().unwrap().last().unwrap().clone();
    let now = ada.call("get", json!({ "id": original })).await;
    assert_eq!(
        now["records"][0]["id"], summary,
        "the summary answers for it"
    );
    let then = ada
        .call("get", json!({ "id": original, "as_of": before }))
        .await;
    assert_eq!(then["records"][0]["id"], original);
    assert_eq!(then["records"][0]["text"], "step 0 of the import");
    let asked = json!({ "known_at": before, "limit": 100 });
    assert_eq!(ada.observed(asked).await["total_count"], 60);
    let asked = json!({ "id": summary, "as_of": before });
    let refused = ada.try_call("get", asked).await.unwrap_err();
    assert_contains!(refused.to_string(), "choose a later time");
}

#[tokio::test]
async fn frames_of_old_are_known_at_their_time_after_a_compaction_too() {
    let ada = Ada::new().await;
    let frames = (0..60).map(|number| {
        json!({ "text": format!("step {number} of the import"), "timestamp": seconds_after_start(number - 7_200),
            "kind": "episode", "session_id": "long",
            "details": { "type": "observation", "observation_type": "context", "related_ids": [],
                "tags": [], "metadata": {}, "frame": {}, "frame_metadata": {} } })
    });
    let frames: Vec<Value> = frames.collect();
    ada.call("observe", json!({ "records": frames })).await;
    ada.advance_seconds(60);
    let known = async |seconds: i64| {
        let asked = json!({ "known_at": seconds_after_start(seconds), "limit": 100 });
        ada.observed(asked).await["total_count"].clone()
    };
    let asked = [(-7_201, 0), (-7_190, 11), (-3_600, 60), (30, 60)];
    for (seconds, count) in asked {
        assert_eq!(known(seconds).await, count, "{seconds}");
    }
    let done = ada.call("compact_observations", json!({})).await;
    assert_eq!(done["frames_compacted"], 50);
    for (seconds, count) in asked {
        assert_eq!(known(seconds).await, count, "{seconds} after a compaction");
    }
    assert_eq!(
        known(120).await,
        12,
        "what is known now is the summaries and the newest"
    );
}

#[tokio::test]
async fn each_facade_refuses_a_word_that_is_not_its_own() {
    let ada = Ada::new().await;
    for (operation, given) in [
        ("record", json!({ "content": "x", "type": "gossip" })),
        ("observations", json!({ "type": ["gossip"] })),
        ("add_learning", json!({ "fact": "x", "category": "gossip" })),
    ] {
        let refused = ada
            .try_call(operation, given)
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("gossip"), "{operation}: {refused}");
    }
}

#[tokio::test]
async fn what_an_observation_belongs_with_is_linked_with_it() {
    let ada = Ada::new().await;
    let one = ada.record("context", "The gate is shut", json!({})).await;
    let more = json!({ "related_ids": [one["id"]] });
    let other = ada.record("success", "The gate is open", more).await;
    let found = ada.call("related", json!({ "id": other["id"] })).await;
    let related = &found["related"][0];
    assert_fields!(related, "id": one["id"], "outgoing": true);
}

#[tokio::test]
async fn a_link_makes_two_belong_together_and_a_session_is_asked_for_alone() {
    let ada = Ada::new().await;
    let one = ada
        .record("context", "The gate is shut", json!({ "session": "s1" }))
        .await;
    let other = ada
        .record("success", "The gate is open", json!({ "session": "s2" }))
        .await;
    let link = json!({ "from": one["id"], "to": other["id"], "relation": "before" });
    ada.call("link", link).await;
    for (of, related) in [(&one, "The gate is open"), (&other, "The gate is shut")] {
        assert_eq!(
            ada.find_contents(json!({ "related_to": of["id"] })).await,
            [related]
        );
    }
    assert_eq!(
        ada.find_contents(json!({ "session": "s2" })).await,
        ["The gate is open"]
    );
}
