//! What tending does while nobody asks is told as what is asked for.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::testing::{Ada, Set, config, no_model, started};

/// Keeps records until tending says that it did something.
async fn tended(memory: &Memory, round: &str, what: &str) -> Vec<RecordId> {
    let mut changes = memory.all.listen();
    for batch in 0..200 {
        let records = (0..70).map(|n| json!({ "text": format!("{round}{batch} n{n}") }));
        memory.observe(records.collect()).await.unwrap();
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
    let clock = Set::to("2026-02-02T09:00:00Z");
    let mut config = config(folder.path(), 384, Arc::new(|| Err(no_model())));
    config.clock = clock.clone();
    config.limits.tend_after = Duration::ZERO;
    config.limits.tick = Duration::from_millis(10);
    config.tend = Some(tend());
    let memories = started(config, clock.clone()).await;
    let telling = memories.clone();
    tokio::spawn(async move { telling.keep_told().await });
    let memory = memories.of(&"ada".parse().unwrap());
    let scratch = json!({
        "external_id": "s", "text": "a buffer that had its time",
        "metadata": { "expires_at": "2020-01-01" },
    });
    memory.observe(vec![scratch]).await.unwrap();
    let put_away = tended(&memory, "first", "consolidated").await;
    assert_eq!(put_away.len(), 1);
    clock.later(TimeDelta::days(8));
    assert_eq!(tended(&memory, "later", "forgotten").await, put_away);
    memories.shut_down().await;
}

#[tokio::test]
async fn what_was_asked_for_lately_is_kept_in_mind() {
    let memory = Ada::new().await.memory();
    let planner = |number: usize| {
        let user = format!("u{number:02}").parse().unwrap();
        memory.all().of(&user).planner()
    };
    let first = planner(0);
    for number in 1..40 {
        planner(number);
        assert!(Arc::ptr_eq(&first, &planner(0)), "{number}");
    }
}
