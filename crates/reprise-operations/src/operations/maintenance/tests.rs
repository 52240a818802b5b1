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
        Undo::run(
            &memory,
            UndoArguments {
                action,
                dry_run: false,
            },
        )
        .await
        .unwrap()
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
    // It says what it would take back, and of what, before it does.
    let dry = UndoArguments {
        action: None,
        dry_run: true,
    };
    let planned = Undo::run(&ada.memory(), dry).await.unwrap();
    assert_eq!(planned.restored, [other.as_str()]);
    let said = Undo::render_text(&planned);
    assert!(
        said.contains("would be undone") && said.contains("Keys by the door."),
        "{said}"
    );
    for _ in 0..2 {
        assert_eq!(undo("latest", None).await.restored, [other.as_str()]);
    }
    let snapshot = ada.memory().snapshot().await.unwrap();
    assert!(!snapshot.is_live(one.parse().unwrap()));
}

#[tokio::test]
async fn that_both_stay_is_taken_back_and_every_list_has_the_same_contradictions() {
    let ada = Ada::new().await;
    for text in [
        "The timeout of the login page is 30 seconds",
        "The timeout of the login page is 90 seconds",
    ] {
        ada.advance_seconds(5);
        ada.call("learn", json!({ "text": text })).await;
    }
    let memory = ada.memory();
    // To decide, and what a memory says of itself.
    let open = async || -> (usize, usize) {
        let listed = ada.call("review", json!({})).await;
        let pairs = listed["contradictions"].as_array().unwrap().clone();
        let snapshot = memory.snapshot().await.unwrap();
        let noted = snapshot.contradictions();
        let own = memory.list_contradictions_of(noted[0].older).await.unwrap();
        (pairs.len(), own.len())
    };
    assert_eq!(open().await, (1, 1));
    let pair = ada.call("review", json!({})).await["contradictions"][0]["pair"].clone();
    for round in 0..2 {
        ada.advance_seconds(5);
        let asked = json!({ "pair": pair, "answer": "different" });
        let said = ada.call("review", asked).await;
        assert_eq!(said["apart"], true);
        assert_eq!(open().await, (0, 0), "{round}");
        let action = said["action"].as_str().unwrap().to_owned();
        let diary = ada.call("diary", json!({})).await;
        let last = &diary["actions"][0];
        assert_eq!(
            (last["action"].as_str(), &last["undone"]),
            (Some(action.as_str()), &json!(false))
        );
        let texts = last["apart"][0]["texts"].as_array().unwrap();
        assert!(texts[0].as_str().unwrap().contains("login page"), "{diary}");
        ada.advance_seconds(5);
        let undone = ada.call("undo", json!({ "action": action })).await;
        assert_eq!(undone["rejoined"].as_array().unwrap().len(), 1, "{undone}");
        assert_eq!(open().await, (1, 1), "{round}");
        let again = Undo::run(
            &memory,
            UndoArguments {
                action: Some(action),
                dry_run: false,
            },
        )
        .await;
        assert_eq!(again.unwrap_err().kind, ProblemKind::NotFound);
    }
    // Who says that it is no contradiction is not asked about it again.
    let diary = ada.call("diary", json!({})).await;
    let noted = diary["actions"].as_array().unwrap().iter();
    let mut noted = noted.filter(|one| one["undone"] == false && one["contradictions"].is_array());
    let action = noted.next().unwrap()["action"].clone();
    ada.advance_seconds(5);
    ada.call("undo", json!({ "action": action })).await;
    assert_eq!(open().await, (0, 0));
}

#[tokio::test]
async fn what_the_daemon_noted_by_itself_is_no_latest_action_of_anybody() {
    let ada = Ada::new().await;
    for minutes in [30, 90] {
        ada.advance_seconds(5);
        let text = format!("The timeout of the login page is {minutes} seconds");
        ada.call("learn", json!({ "text": text })).await;
    }
    let review = ada.call("review", json!({})).await;
    assert_eq!(review["contradictions"].as_array().unwrap().len(), 1);
    let refused = ada.try_call("undo", json!({})).await.unwrap_err();
    assert!(refused.detail.contains("nothing to undo"), "{refused:?}");
}
