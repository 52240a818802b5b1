//! Operations over a memory of a test's own, with a model of words and a clock set by the test.

use std::path::Path;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_agent::{EmbedderOpener, MemoryConfig, MemoryService};
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_types::{Clock, EmbedError, Embedder, EmbeddingSpace, parse_timestamp};
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::memories::{Memories, Memory};
use crate::problem::Problem;

const DIMENSIONS: u16 = 64;

/// A model of words: each is a direction, and two that mean the same are one.
struct Words(EmbeddingSpace);

impl Embedder for Words {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn token_limit(&self) -> usize {
        512
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.0_f32; usize::from(DIMENSIONS)];
        for word in text.split_whitespace() {
            let meant = if word == "deadline" { "timeout" } else { word };
            let sum = meant
                .bytes()
                .fold(7_usize, |sum, byte| sum * 31 + usize::from(byte));
            vector[sum % usize::from(DIMENSIONS)] += 1.0;
        }
        let norm = vector
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        if norm == 0.0 {
            vector[0] = 1.0;
            return Ok(vector);
        }
        Ok(vector.iter().map(|number| number / norm).collect())
    }
}

/// That a test has no model.
pub(crate) fn no_model() -> EmbedError {
    EmbedError::Unavailable {
        message: "this test has no model".to_owned(),
    }
}

/// The settings of memories in a folder of the disk.
pub(crate) fn memory_config(folder: &Path, dimensions: u16, model: EmbedderOpener) -> MemoryConfig {
    let open = Arc::new(|path: &Path, options: &_| Engine::open(Arc::new(RealDisk), path, options));
    MemoryConfig::new(folder.to_owned(), dimensions, open, model)
}

/// Memories as they are run with such settings.
pub(crate) async fn start_memories(config: MemoryConfig, clock: Arc<dyn Clock>) -> Memories {
    let service = MemoryService::start(config, None).await.unwrap();
    Memories::new(service, clock)
}

/// A clock that is set.
#[derive(Debug)]
pub(crate) struct SetClock(Mutex<DateTime<Utc>>);

impl SetClock {
    pub(crate) fn starting_at(now: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(parse_timestamp(now).unwrap())))
    }

    pub(crate) fn advance(&self, by: TimeDelta) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

/// So many seconds after the clock of [`Ada`] began.
pub(crate) fn seconds_after_start(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_768_046_400 + seconds, 0).unwrap()
}

/// One user's memory, and every operation over it.
pub(crate) struct Ada {
    _folder: tempfile::TempDir,
    memories: Memories,
    clock: Arc<SetClock>,
    catalogue: Catalogue,
}

impl Ada {
    pub(crate) async fn new() -> Self {
        Self::start(true).await
    }

    pub(crate) async fn start(has_model: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(move || {
            let space = EmbeddingSpace {
                model: "words".to_owned(),
                version: "1".to_owned(),
                dimensions: DIMENSIONS,
            };
            let model = has_model.then_some(Words(space)).ok_or_else(no_model)?;
            Ok(Box::new(model) as Box<dyn Embedder>)
        });
        let clock = SetClock::starting_at("2026-01-10T12:00:00Z");
        let mut config = memory_config(folder.path(), DIMENSIONS, model);
        config.clock = clock.clone();
        let memories = start_memories(config, clock.clone()).await;
        Self {
            _folder: folder,
            memories,
            clock,
            catalogue: Catalogue::default(),
        }
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memories.user_memory(&"ada".parse().unwrap())
    }

    pub(crate) fn advance_seconds(&self, seconds: i64) {
        self.clock.advance(TimeDelta::seconds(seconds));
    }

    pub(crate) async fn try_call(&self, name: &str, arguments: Value) -> Result<Value, Problem> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let operation = self.catalogue.find_operation(name).unwrap();
        let answer = (operation.call)(self.memory(), arguments).await?;
        Ok(serde_json::from_slice(&answer).unwrap())
    }

    /// Calls a tool, as an agent does.
    pub(crate) async fn call_tool(&self, name: &str, arguments: Value) -> Result<Value, Problem> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let tool = self.catalogue.find_tool(name).unwrap();
        let answer = (tool.call_tool)(self.memory(), arguments).await?;
        Ok(answer.structured)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        let answer = self.try_call(name, arguments.clone()).await;
        answer.unwrap_or_else(|problem| panic!("{name} {arguments}: {problem:?}"))
    }
}
