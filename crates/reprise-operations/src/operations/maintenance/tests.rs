//! What is taken back is taken back once, however often its request is sent.

use serde_json::json;

use super::*;
use crate::testing::Ada;

#[tokio::test]
async fn a_request_that_is_sent_again_takes_nothing_more_back() {
    let ada = Ada::new().await;
    let learn = async |text: &str| -> String {
        ada.advance_seconds(1);
        let learned = ada.call("learn", json!({ "text": text })).await;
        learned["id"].as_str().unwrap().to_owned()
    };
    let undo = async |key: &str, action: Option<&str>| -> UndoneReport {
        ada.advance_seconds(1);
        let memory = ada.memory().with_request_key(Some(key.to_owned()));
        let action = action.map(str::to_owned);
        Undo::run(&memory, UndoArguments { action }).await.unwrap()
    };
    let id = learn("Retry with backoff.").await;
    for change in [
        json!({ "id": id, "text": "Never retry." }),
        json!({ "id": id, "tags": ["x"] }),
    ] {
        ada.advance_seconds(1);
        ada.call("update", change).await;
    }
    for (key, text) in [("tags", "Never retry."), ("text", "Retry with backoff.")] {
        let first = undo(key, Some(&id)).await;
        assert_eq!(undo(key, Some(&id)).await, first);
        let record = ada.memory().get_record(&id).await.unwrap();
        assert_eq!((record.text.as_str(), record.tags.len()), (text, 0));
    }
    // Without a name it is the latest action, and not the one before it too.
    let one = learn("Tea at five.").await;
    let other = learn("Keys by the door.").await;
    let kept = ada.memory().get_record(&id).await.unwrap().id;
    for gone in [&one, &other] {
        ada.advance_seconds(1);
        let (gone, now) = (gone.parse::<RecordId>().unwrap(), ada.memory().now());
        let retire = move |engine: &mut Engine| engine.retire(&[(gone, kept)], now);
        ada.memory().run_on_engine(retire).await.unwrap().unwrap();
    }
    for _ in 0..2 {
        assert_eq!(undo("latest", None).await.restored, [other.as_str()]);
    }
    let snapshot = ada.memory().snapshot().await.unwrap();
    assert!(!snapshot.is_live(one.parse().unwrap()));
}
