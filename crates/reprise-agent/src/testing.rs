//! Shared test support: a deterministic embedder that can be blocked, and a service on a temporary
//! folder.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{
    EmbedError, Embedder, EmbeddingSpace, MemoryKind, MemorySource, NewRecord, UserId, normalize,
};
use tempfile::TempDir;

use crate::{MemoryConfig, MemoryService, OpenEmbedder, PoolOptions};

pub(crate) const DIMENSIONS: u16 = 16;

/// Controls every embedder opened with it.
#[derive(Debug, Default)]
pub(crate) struct Controls {
    /// While set, there is no model.
    pub(crate) missing: AtomicBool,
    /// While `true`, embedders block within a text.
    brake: Mutex<bool>,
    released: Condvar,
    /// Embedders blocked right now.
    pub(crate) standing: AtomicUsize,
    /// Texts in the order in which they were embedded.
    pub(crate) order: Mutex<Vec<String>>,
}

impl Controls {
    pub(crate) fn hold(&self) {
        *self.brake.lock().unwrap() = true;
    }

    pub(crate) fn release(&self) {
        *self.brake.lock().unwrap() = false;
        self.released.notify_all();
    }

    pub(crate) fn opener(self: &Arc<Self>) -> OpenEmbedder {
        self.opener_of(1)
    }

    /// Opens the embedder of this version: what one makes is like nothing that another makes.
    pub(crate) fn opener_of(self: &Arc<Self>, version: u64) -> OpenEmbedder {
        let controls = Arc::clone(self);
        Arc::new(move || {
            if controls.missing.load(Ordering::SeqCst) {
                return Err(EmbedError::Unavailable {
                    message: "no model file".into(),
                });
            }
            Ok(Box::new(WordEmbedder {
                space: space_of(version),
                seed: 6 + version,
                controls: Arc::clone(&controls),
            }))
        })
    }
}

/// The space of a version.
pub(crate) fn space_of(version: u64) -> EmbeddingSpace {
    EmbeddingSpace {
        model: reprise_types::REFERENCE_MODEL.into(),
        version: version.to_string(),
        dimensions: DIMENSIONS,
    }
}

/// Sums one direction per word. `PANIC` panics, `NAN` gives an invalid vector.
struct WordEmbedder {
    space: EmbeddingSpace,
    seed: u64,
    controls: Arc<Controls>,
}

impl Embedder for WordEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut held = self.controls.brake.lock().unwrap();
        self.controls.standing.fetch_add(1, Ordering::SeqCst);
        while *held {
            held = self.controls.released.wait(held).unwrap();
        }
        self.controls.standing.fetch_sub(1, Ordering::SeqCst);
        drop(held);
        self.controls.order.lock().unwrap().push(text.to_owned());
        assert!(!text.contains("PANIC"), "told to panic");
        if text.contains("NAN") {
            return Ok(vec![f32::NAN; usize::from(DIMENSIONS)]);
        }
        let mut vector = vec![0.01; usize::from(DIMENSIONS)];
        for word in text.split_whitespace() {
            let hash = word.bytes().fold(self.seed, |h, b| {
                h.wrapping_mul(31).wrapping_add(u64::from(b))
            });
            vector[(hash % u64::from(DIMENSIONS)) as usize] += 1.0;
        }
        normalize(&mut vector);
        Ok(vector)
    }
}

/// A service on a temporary folder.
pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) controls: Arc<Controls>,
    pub(crate) config: MemoryConfig,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let controls = Arc::new(Controls::default());
        let mut config = MemoryConfig::new(
            folder.path().join("data"),
            DIMENSIONS,
            Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
            controls.opener(),
        );
        config.pool = PoolOptions {
            threads: 1,
            retry: Duration::ZERO,
            ..PoolOptions::default()
        };
        config.limits.tick = Duration::from_millis(5);
        Self {
            _folder: folder,
            controls,
            config,
        }
    }

    pub(crate) async fn start(&self) -> MemoryService {
        MemoryService::start(self.config.clone(), None)
            .await
            .unwrap()
    }
}

pub(crate) fn ada() -> UserId {
    "ada".parse().unwrap()
}

pub(crate) fn note(text: &str) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
}

/// Yields until `holds`; fails the test after two minutes.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(
            began.elapsed() < Duration::from_mins(2),
            "it never came true"
        );
        tokio::task::yield_now().await;
    }
}
