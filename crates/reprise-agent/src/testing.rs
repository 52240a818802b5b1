//! Shared test support: a deterministic embedder that can be blocked, and a service on a temporary
//! folder.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::{
    EmbedError, Embedder, EmbeddingSpace, MemoryKind, MemorySource, NewRecord, UserId, normalize,
};
use tempfile::TempDir;

use crate::{EmbedderOpener, MemoryConfig, MemoryService, PoolOptions};

pub(crate) const DIMENSIONS: u16 = 16;

/// Controls every embedder that is opened with it.
#[derive(Debug, Default)]
pub(crate) struct EmbedderControls {
    /// While set, there is no model.
    pub(crate) missing: AtomicBool,
    /// While `true`, embedders block within a text.
    is_blocked: Mutex<bool>,
    released: Condvar,
    /// Number of embedders that are blocked at this moment.
    pub(crate) blocked: AtomicUsize,
    /// Texts in the order in which they were embedded.
    pub(crate) order: Mutex<Vec<String>>,
}

impl EmbedderControls {
    pub(crate) fn block(&self) {
        *self.is_blocked.lock().unwrap() = true;
    }

    pub(crate) fn unblock(&self) {
        *self.is_blocked.lock().unwrap() = false;
        self.released.notify_all();
    }

    pub(crate) fn opener(self: &Arc<Self>) -> EmbedderOpener {
        self.opener_for_version(1)
    }

    /// Returns the opener of the embedder of a version; embedders of two versions give vectors that
    /// cannot be compared.
    pub(crate) fn opener_for_version(self: &Arc<Self>, version: u64) -> EmbedderOpener {
        let controls = Arc::clone(self);
        Arc::new(move || {
            if controls.missing.load(Ordering::SeqCst) {
                return Err(EmbedError::Unavailable {
                    message: "no model file".into(),
                });
            }
            Ok(Box::new(WordEmbedder {
                space: version_space(version),
                seed: 6 + version,
                controls: Arc::clone(&controls),
            }))
        })
    }
}

/// Returns the space of an embedder's version.
pub(crate) fn version_space(version: u64) -> EmbeddingSpace {
    EmbeddingSpace {
        model: reprise_types::REFERENCE_MODEL.into(),
        version: version.to_string(),
        dimensions: DIMENSIONS,
    }
}

/// An embedder that sums one direction per word. `PANIC` panics, `NAN` gives an invalid vector.
struct WordEmbedder {
    space: EmbeddingSpace,
    seed: u64,
    controls: Arc<EmbedderControls>,
}

impl Embedder for WordEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut is_blocked = self.controls.is_blocked.lock().unwrap();
        self.controls.blocked.fetch_add(1, Ordering::SeqCst);
        while *is_blocked {
            is_blocked = self.controls.released.wait(is_blocked).unwrap();
        }
        self.controls.blocked.fetch_sub(1, Ordering::SeqCst);
        drop(is_blocked);
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

/// The configuration of a service on a temporary folder.
pub(crate) struct TestService {
    _folder: TempDir,
    pub(crate) controls: Arc<EmbedderControls>,
    pub(crate) config: MemoryConfig,
}

impl TestService {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let controls = Arc::new(EmbedderControls::default());
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

pub(crate) fn new_user_episode(text: &str) -> NewRecord {
    NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
}

/// Waits until `holds` returns true.
pub(crate) async fn wait_until(mut holds: impl AsyncFnMut() -> bool) {
    wait_for_async("what the test waits for", async || {
        seen_if(holds().await, "not yet")
    })
    .await;
}
