//! The share of an ingest that is spent in the model; the rest should be negligible.
//!
//! A stand-in model takes a fixed time per text, so that the figure measures the actors alone. Run:
//! `cargo bench -p reprise-agent`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reprise_agent::{
    EventFeed, EventMapper, FeedError, FeedSource, MemoryConfig, MemoryService, PoolOptions,
    SourceBinding,
};
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{EmbedError, Embedder, EmbeddingSpace, MemoryProvider, RecallRequest};
use serde_json::{Value, json};

const DIMENSIONS: u16 = 384;
const EVENTS: u64 = 3_000;
const THREADS: usize = 2;

/// A model that takes a fixed time per text.
struct FixedTimeModel {
    space: EmbeddingSpace,
    takes: Duration,
}

impl Embedder for FixedTimeModel {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let began = Instant::now();
        while began.elapsed() < self.takes {
            black_box(text);
        }
        let mut vector = vec![0.0; usize::from(DIMENSIONS)];
        vector[text.bytes().map(usize::from).sum::<usize>() % usize::from(DIMENSIONS)] = 1.0;
        Ok(vector)
    }
}

/// A log that is complete from the start.
struct CompleteLog(u64);

#[async_trait]
impl EventFeed for CompleteLog {
    async fn next(&mut self) -> Option<Vec<Value>> {
        std::future::pending().await
    }

    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError> {
        let event = |seq: u64| {
            json!({"seq": seq, "event_id": format!("e-{seq}"), "event_type": "worker.tool.result",
                   "actor_id": "terminal-1", "timestamp": "2026-02-16T09:00:00Z", "user_id": "system",
                   "payload": {"tool_name": "bash", "success": true, "run_id": format!("r-{}", seq / 20),
                               "output": format!("test number {seq} passed in the auth module ").repeat(4)}})
        };
        let last = self.0.min(since_seq + u64::from(limit));
        Ok((since_seq + 1..=last).map(event).collect())
    }

    async fn latest_seq(&mut self) -> Result<u64, FeedError> {
        Ok(self.0)
    }
}

#[tokio::main]
async fn main() {
    let mut lines = vec![format!(
        "{:>10} {:>10} {:>12} {:>12} {:>14} {:>14}",
        "ms/text", "events", "wall ms", "in model", "events/s", "ms/recall"
    )];
    for takes_us in [500, 1_000, 2_000] {
        lines.push(measure_ingest(Duration::from_micros(takes_us)).await);
    }
    let mut out = std::io::stdout();
    let table = lines.join("\n");
    std::io::Write::write_all(&mut out, format!("{table}\n").as_bytes()).unwrap_or_default();
}

async fn measure_ingest(takes: Duration) -> String {
    let Ok(folder) = tempfile::tempdir() else {
        return "no temporary folder".to_owned();
    };
    let mut config = MemoryConfig::new(
        folder.path().to_owned(),
        DIMENSIONS,
        Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        Arc::new(move || {
            let (model, version) = ("steady".to_owned(), "1".to_owned());
            let space = EmbeddingSpace {
                model,
                version,
                dimensions: DIMENSIONS,
            };
            Ok(Box::new(FixedTimeModel { space, takes }))
        }),
    );
    config.pool = PoolOptions {
        threads: THREADS,
        ..PoolOptions::default()
    };
    ingest_events(config)
        .await
        .unwrap_or_else(|error| error.to_string())
}

async fn ingest_events(config: MemoryConfig) -> Result<String, Box<dyn std::error::Error>> {
    let service = MemoryService::start(config, None).await?;
    let user: reprise_types::UserId = "ada".parse()?;
    service.open_memory(&user).await?;
    let began = Instant::now();
    let binding = SourceBinding {
        stream: "events".to_owned(),
        user: user.clone(),
    };
    let feed = FeedSource(Arc::new(|| Box::new(CompleteLog(EVENTS))));
    let relay = service
        .attach_relay(binding, Arc::new(EventMapper::load_builtin()?), feed)
        .await?;
    let inserted = relay.catch_up().await?.inserted;
    let wall = began.elapsed();
    let pool = service.stats().pool;
    let share = pool.embed_us as f64 / (wall.as_micros() as f64 * THREADS as f64);
    let recalls_began = Instant::now();
    let questions = 20;
    for n in 0..questions {
        let request = RecallRequest::new(format!("which test number passed {n}"));
        service.provider(&user).execute_recall(request).await?;
    }
    let recall_ms = recalls_began.elapsed().as_secs_f64() * 1_000.0 / f64::from(questions);
    let takes_ms = pool.embed_us as f64 / 1_000.0 / pool.documents.max(1) as f64;
    service.shut_down().await;
    Ok(format!(
        "{takes_ms:>10.2} {inserted:>10} {:>12.0} {:>11.1}% {:>14.0} {recall_ms:>14.2}",
        wall.as_secs_f64() * 1_000.0,
        share * 100.0,
        inserted as f64 / wall.as_secs_f64(),
    ))
}
