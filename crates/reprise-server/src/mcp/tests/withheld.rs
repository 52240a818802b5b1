//! What is sensitive reaches an agent by its id alone.

use super::*;

#[tokio::test]
async fn what_is_sensitive_is_in_no_answer_but_to_its_id() {
    let running = run().await;
    let session = session(&running, Profile::Full).await;
    let learn = async |text: &str, tags: &[&str]| {
        let lesson = json!({"title": text, "text": text, "tags": tags});
        call(&session, "learn", lesson).await.unwrap()["id"].clone()
    };
    let secret = "The vault key is under the mat";
    let id = learn(secret, &["sensitive", "shop"]).await;
    let plain = learn("The shop opens at nine", &["shop"]).await;
    let link = json!({"from_id": plain, "to_id": id, "relation": "related_to"});
    call(&session, "link", link).await.unwrap();
    let left_out = "sensitive, left out";
    let note = "1 sensitive memory left out";
    for (tool, asked, said) in [
        ("recall", json!({"query": "the vault key"}), note),
        ("list", json!({}), note),
        ("list", json!({"tag": "shop"}), note),
        ("related", json!({"id": plain}), left_out),
        ("path", json!({"from": plain, "to": id}), left_out),
        ("cluster", json!({"id": plain}), left_out),
        ("cluster", json!({}), left_out),
        ("forget", json!({"tag": "sensitive", "dry_run": true}), ""),
        ("audit", json!({}), ""),
        ("review", json!({}), ""),
        ("consolidate", json!({"dry_run": true}), ""),
    ] {
        let (text, found) = call_for_text_and_json(&session, tool, asked).await;
        let all = format!("{text}\n{found}");
        assert_lacks!(all, "the mat");
        assert!(all.contains(said), "{tool}: {all}");
    }
    let recent = session.read_resource(ReadResourceRequestParams::new("memory://recent"));
    let recent = serde_json::to_string(&recent.await.unwrap()).unwrap();
    assert_lacks!(recent, "the mat");
    assert_contains!(recent, note, "opens at nine");
    let (text, _) = call_for_text_and_json(&session, "get", json!({"id": id})).await;
    assert_contains!(text, secret);
    drop(session);
    running.end().await;
}
