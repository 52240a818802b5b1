//! A count is no work of the writer's.

use std::sync::{Arc, mpsc};

use reprise_types::{MemoryKind, MemorySource, NewRecord};
use serde_json::json;

use crate::testing::Ada;

/// The only blocking thread is occupied, so that a count on another thread has to wait.
#[test]
fn a_write_is_done_while_the_memory_is_counted() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).max_blocking_threads(1);
    runtime.enable_time().build().unwrap().block_on(async {
        let ada = Arc::new(Ada::new().await);
        let memory = ada.memory();
        let write = async |text: &str| {
            let record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
            let service = memory.all_memories().service();
            service.observe(memory.user(), vec![record]).await.unwrap();
        };
        write("before").await;
        for (round, name) in ["stats", "host_stats"].into_iter().enumerate() {
            let (go, gone) = mpsc::channel::<()>();
            let standing = tokio::task::spawn_blocking(move || gone.recv().is_err());
            let asked = Arc::clone(&ada);
            let counting = tokio::spawn(async move { asked.call(name, json!({})).await });
            for number in 0..50 {
                write(&format!("{name} {number}")).await;
            }
            assert!(!counting.is_finished(), "the writer itself counted");
            drop(go);
            assert!(standing.await.unwrap());
            let live = counting.await.unwrap()["live"].as_u64().unwrap();
            assert!((1..=51 + 50 * round as u64).contains(&live), "{live}");
        }
    });
}
