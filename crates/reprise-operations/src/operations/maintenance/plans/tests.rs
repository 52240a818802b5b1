//! What tending does while nobody asks is told as what is asked for.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::testing::{Ada, SetClock, memory_config, no_model, start_memories};

/// Keeps records until tending says that it did something.
async fn await_maintenance(memory: &Memory, round: &str, what: &str) -> Vec<RecordId> {
    let mut changes = memory.all.subscribe_to_changes();
    for batch in 0..200 {
        let records = (0..70).map(|n| json!({ "text": format!("{round}{batch} n{n}") }));
        memory.ingest(records.collect()).await.unwrap();
        let heard = timeout(Duration::from_millis(300), async {
            loop {
                let change = changes.recv().await.unwrap();
                if change.what == what {
                    return change.ids;
                }
            }
        });
        if let Ok(ids) = heard.await {
            return ids;
        }
    }
    panic!("nobody was told");
}

#[tokio::test]
async fn what_is_tended_while_nobody_asks_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let mut config = memory_config(folder.path(), 384, Arc::new(|| Err(no_model())));
    config.clock = clock.clone();
    config.limits.maintain_after = Duration::ZERO;
    config.limits.tick = Duration::from_millis(10);
    config.maintenance = Some(maintenance_factory());
    let memories = start_memories(config, clock.clone()).await;
    let telling = memories.clone();
    tokio::spawn(async move { telling.run_maintenance_announcements().await });
    let memory = memories.user_memory(&"ada".parse().unwrap());
    let scratch = json!({
        "external_id": "s", "text": "a buffer that had its time",
        "metadata": { "expires_at": "2020-01-01" },
    });
    memory.ingest(vec![scratch]).await.unwrap();
    let put_away = await_maintenance(&memory, "first", "consolidated").await;
    assert_eq!(put_away.len(), 1);
    clock.advance(TimeDelta::days(8));
    assert_eq!(
        await_maintenance(&memory, "later", "forgotten").await,
        put_away
    );
    memories.shut_down().await;
}

#[tokio::test]
async fn what_was_asked_for_lately_is_kept_in_mind() {
    let memory = Ada::new().await.memory();
    let planner = |number: usize| {
        let user = format!("u{number:02}").parse().unwrap();
        memory.all_memories().user_memory(&user).planner()
    };
    let first = planner(0);
    for number in 1..40 {
        planner(number);
        assert!(Arc::ptr_eq(&first, &planner(0)), "{number}");
    }
}

#[tokio::test]
async fn what_contradicts_a_known_record_is_noted_as_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::starting_at("2026-02-02T09:00:00Z");
    let mut config = memory_config(folder.path(), 384, Arc::new(|| Err(no_model())));
    config.clock = clock.clone();
    let memories = start_memories(config, clock.clone()).await;
    let memory = memories.user_memory(&"ada".parse().unwrap());
    for text in [
        "The staging database is reset every night",
        "The shed was painted green",
        "Actually, the staging database is no longer reset every night, only on Sundays",
    ] {
        clock.advance(TimeDelta::days(1));
        memory.ingest(vec![json!({ "text": text })]).await.unwrap();
    }
    let noted = memory.run_on_snapshot(|memory| {
        let text = |id| memory.get(id).unwrap().unwrap().text.clone();
        let noted = memory.contradictions().into_iter();
        noted
            .map(|one| (text(one.older), text(one.newer)))
            .collect::<Vec<_>>()
    });
    let noted = noted.await.unwrap();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert!(noted[0].1.starts_with("Actually"));
    memories.shut_down().await;
}
