//! A session that hooks kept and one that an import brings in are the same memories.

use reprise_knowledge::{ImportKind, ItemContent, read_source};
use reprise_types::Zone;

use super::*;

const ASKED: &str = "why does the staging deploy hang at the migration step";
const ANSWERED: &str = "It turned out that a long-running analytics query holds a lock on users. \
                        The fix is to end it before the migration.";
const COMMAND: &str = "cargo test migration";
const PRINTED: &str = "test result: FAILED. 1 passed; 1 failed";

/// The session as Claude Code writes it.
fn transcript() -> String {
    let line = |own: u32, who: &str, content: Value| {
        json!({"uuid": own.to_string(), "parentUuid": (own - 1).to_string(), "sessionId": "s",
            "cwd": "/work/shop", "timestamp": format!("2026-11-26T10:00:0{own}Z"), "type": who,
            "message": {"id": format!("m{own}"), "role": who, "content": content}})
        .to_string()
    };
    let call = json!([{"type": "tool_use", "id": "t", "name": "Bash",
        "input": {"command": COMMAND}}]);
    let end = json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true,
        "content": PRINTED}]);
    [
        line(1, "user", json!(ASKED)),
        line(2, "assistant", call),
        line(3, "user", end),
        line(4, "assistant", json!([{"type": "text", "text": ANSWERED}])),
        line(5, "user", json!("yes please go on with that")),
        line(
            6,
            "assistant",
            json!([{"type": "text", "text": "OK, that looks good. Continue!"}]),
        ),
    ]
    .join("\n")
}

/// What is the same for both, with the ways in which a record is looked up.
fn same_parts(record: &MemoryRecord) -> Value {
    let typed = record
        .details
        .as_ref()
        .map(|details| details["type"].clone());
    json!({
        "text": record.text, "type": record.record_type(), "details": typed,
        "kind": record.kind, "source": record.source, "session": record.session_id,
        "tags": record.tags, "agent": record.provenance.actor_id, "prompt": record.is_prompt(),
        "visibility": record.visibility, "confidence": record.confidence,
        "quality": record.quality_score,
    })
}

async fn list_parts(memory: &Memory) -> Vec<Value> {
    let all = memory.run_on_snapshot(|snapshot| {
        let all = snapshot.list_matching_records(&MemoryFilter::default());
        let mut parts: Vec<String> = all.iter().map(|one| same_parts(one).to_string()).collect();
        parts.sort();
        parts
    });
    let all = all.await.unwrap().into_iter();
    all.map(|part| serde_json::from_str(&part).unwrap())
        .collect()
}

#[tokio::test]
async fn what_comes_in_is_what_hooks_would_have_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    std::fs::write(&file, transcript()).unwrap();
    let mut imported = Vec::new();
    read_source(&file, ImportKind::ClaudeCode, Zone::Utc, &mut |item| {
        if let ItemContent::Record(record) = item.content {
            imported.push(*record);
        }
        true
    })
    .unwrap();
    let tag = imported[0].tags[0].clone();
    let memories = memories(&folder.path().join("data"), Arc::new(|| Err(no_model()))).await;
    let [hooks, import] = ["ada", "bob"].map(|user| memories.user_memory(&user.parse().unwrap()));
    let report = |text: &str| HookReport {
        text: text.to_owned(),
        agent: "claude-code".to_owned(),
        project: tag.trim_start_matches("project:").to_owned(),
        ..prompt("s")
    };
    let ran = HookReport {
        command: COMMAND.to_owned(),
        succeeded: Some(false),
        ..report(PRINTED)
    };
    for (event, report) in [
        (HookEvent::UserPrompt, report(ASKED)),
        (HookEvent::PostTool, ran),
        (HookEvent::Stop, report(ANSWERED)),
        (HookEvent::UserPrompt, report("yes please go on with that")),
        (HookEvent::Stop, report("OK, that looks good. Continue!")),
    ] {
        hooks.handle_hook(event, report).await.unwrap();
    }
    wait_for_async("the prompt that is kept aside", async || {
        seen_if(list_parts(&hooks).await.len() >= 3, ())
    })
    .await;
    for record in imported.clone() {
        let fate = import.store_one(record).await.unwrap();
        assert!(matches!(fate, RecordFate::Inserted { .. }), "{fate:?}");
    }
    assert_eq!(list_parts(&import).await, list_parts(&hooks).await);
    // Both are one session, in either order.
    for record in imported {
        let fate = hooks.store_one(record).await.unwrap();
        assert!(matches!(fate, RecordFate::Duplicate { .. }), "{fate:?}");
    }
    memories.shut_down().await;
}
