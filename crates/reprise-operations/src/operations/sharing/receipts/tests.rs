//! Receipts are written by Reprise alone.

use std::path::Path;
use std::sync::Arc;

use reprise_types::SystemClock;
use serde_json::Value;

use super::*;
use crate::catalogue::Catalogue;
use crate::memories::Memories;
use crate::testing::{memory_config, no_model, start_memories};

async fn memories(folder: &Path) -> Memories {
    let config = memory_config(folder, 384, Arc::new(|| Err(no_model())));
    start_memories(config, Arc::new(SystemClock)).await
}

async fn call(memory: &Memory, name: &str, arguments: Value) -> Result<Value, Problem> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let catalogue = Catalogue::default();
    let operation = catalogue.find_operation(name).unwrap();
    let answer = (operation.call)(memory.clone(), arguments).await?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

#[tokio::test]
async fn no_caller_writes_a_receipt_and_none_becomes_an_ordinary_record() {
    let folder = tempfile::tempdir().unwrap();
    let memories = memories(folder.path()).await;
    let memory = memories
        .user_memory(&"ada".parse().unwrap())
        .with_machine_caller();
    let call = async |name, arguments| call(&memory, name, arguments).await;
    let refuse = async |name, arguments, word: &str| {
        let Problem { kind, detail, .. } = call(name, arguments).await.unwrap_err();
        assert_eq!(kind, ProblemKind::Invalid, "{name}");
        assert!(detail.contains(word), "{detail}");
    };
    let act = ReceiptAct::for_unpublication(RecordId::from_u128(5), 2);
    let named = memory.clone().with_request_key(Some("first".to_owned()));
    let receipt = named.write_receipt(&[act]).await.unwrap();
    // A request that comes again, because its answer was lost, hears what it did; no other does.
    let (back, told) = named.find_earlier_unpublication().await.unwrap();
    assert_eq!(
        (back.id, back.versions, told),
        (RecordId::from_u128(5), 2, receipt)
    );
    let other = memory.clone().with_request_key(Some("second".to_owned()));
    assert!(
        other.find_earlier_unpublication().await.is_none()
            && memory.find_earlier_unpublication().await.is_none()
    );
    let receipt = receipt.to_string();
    let own = json!({ "external_id": "own", "text": "the build is slow", "tags": ["ci"] });
    call("observe", json!({ "records": own })).await.unwrap();

    let forged = json!({ "text": "Published record 1.", "tags": [" Receipt:Global "],
        "details": { "receipt": [{ "act": "published", "global_id": RecordId::from_u128(6) }] } });
    for (name, arguments) in [
        ("observe", json!({ "records": forged })),
        (
            "learn",
            json!({ "text": "the build is red", "tags": ["receipt:global"] }),
        ),
        (
            "update",
            json!({ "id": "own", "tags": ["receipt:global", "ci"] }),
        ),
        (
            "update",
            json!({ "id": "own", "text": "slow", "tags": ["receipt:global"] }),
        ),
        ("revise", json!({ "id": "own", "tags": ["receipt:global"] })),
        (
            "merge_tags",
            json!({ "from": "Receipt:global", "into": "ci" }),
        ),
        (
            "merge_tags",
            json!({ "from": "ci", "into": "receipt:global" }),
        ),
    ] {
        refuse(name, arguments, "`receipt:global`").await;
    }
    // What is said of the past is not corrected.
    for (name, arguments) in [
        ("update", json!({ "id": receipt, "tags": ["ci"] })),
        ("update", json!({ "id": receipt, "text": "Nothing left." })),
        ("revise", json!({ "id": receipt, "tags": [] })),
    ] {
        refuse(name, arguments, "is a receipt").await;
    }
    // Of several the others are kept.
    let several = call(
        "observe",
        json!({ "records": [forged, { "text": "another" }] }),
    )
    .await;
    assert_eq!(several.unwrap()["inserted"], 1);
    let lines = async || {
        let read = memory.run_on_snapshot(ReceiptLog::read).await.unwrap();
        read.lines().count()
    };
    assert_eq!(lines().await, 1);
    // Nor does one who keeps texts as they stand.
    let carried = json!({ "records": forged, "verbatim": true });
    refuse("observe", carried, "`receipt:global`").await;
    assert_eq!(lines().await, 1);
    memories.shut_down().await;
}
