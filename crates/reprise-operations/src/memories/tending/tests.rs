//! What tending does while nobody asks is told as what is asked for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use reprise_agent::{MemoryConfig, MemoryService};
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::EmbedError;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::memories::Memories;
use crate::testing::Set;

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
    let open = Arc::new(|path: &Path, options: &_| Engine::open(Arc::new(RealDisk), path, options));
    let no_model = || {
        Err(EmbedError::Unavailable {
            message: "this test has no model".to_owned(),
        })
    };
    let mut config = MemoryConfig::new(folder.path().into(), 384, open, Arc::new(no_model));
    config.clock = clock.clone();
    config.limits.tend_after = Duration::ZERO;
    config.limits.tick = Duration::from_millis(10);
    config.tend = Some(tend());
    let service = MemoryService::start(config, None).await.unwrap();
    let memories = Memories::new(service, clock.clone());
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

#[test]
fn what_was_asked_for_lately_is_kept_in_mind() {
    let planners = Planners::default();
    let user = |number: usize| format!("u{number:02}").parse::<UserId>().unwrap();
    let first = planners.of(&user(0));
    for number in 1..40 {
        planners.of(&user(number));
        assert!(Arc::ptr_eq(&first, &planners.of(&user(0))), "{number}");
    }
}
