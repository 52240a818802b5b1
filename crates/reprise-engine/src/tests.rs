//! Tests the engine end to end on a real disk: stored records are found, forgotten ones are not,
//! and a restart changes nothing. Vectors are made by hand, so that no model is needed.

mod annotating;
mod answering;
mod archives;
mod asking;
mod branches;
mod checkpoints;
mod contradicting;
mod correcting;
mod exchanges;
mod full;
mod joining;
mod judging;
mod keeping;
mod learning;
mod listing;
mod lookups;
mod parts;
mod past;
mod reembedding;
mod restarts;
mod retiring;
mod spaces;
mod tiers;
mod writing;

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use reprise_store::RealDisk;
use reprise_types::{
    Embedding, EmbeddingSpace, ExternalId, MemoryKind, MemorySource, NewRecord, NoLearning,
    REFERENCE_MODEL, RecallId, RecallRequest, RecallResponse, RecordId, WriteOutcome, normalize,
    parse_timestamp,
};

use crate::{Engine, EngineOptions, EnginePorts, RecallCall};

thread_local! {
    /// Replacements for parts of the engine in this thread's tests.
    pub(crate) static PARTS: RefCell<EnginePorts> = RefCell::default();
}

/// A store in a directory of its own.
pub(crate) struct EngineBench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) engine: Option<Engine>,
    pub(crate) now: DateTime<Utc>,
}

/// Numbers per vector of these tests.
pub(crate) const DIMENSIONS: usize = 8;

pub(crate) fn space() -> EmbeddingSpace {
    EmbeddingSpace {
        // The floor of its cosines is 0.
        model: REFERENCE_MODEL.into(),
        version: "1".into(),
        dimensions: DIMENSIONS as u16,
    }
}

/// A unit vector near axis `axis`, a little different for every `nudge`.
pub(crate) fn vector(axis: usize, nudge: f32) -> Vec<f32> {
    let mut vector = vec![0.05; DIMENSIONS];
    vector[axis % DIMENSIONS] = 1.0;
    vector[(axis + 1) % DIMENSIONS] += nudge;
    normalize(&mut vector);
    vector
}

/// A record about `axis`, in session `session`.
pub(crate) fn record(external: &str, text: &str, axis: usize, session: &str) -> NewRecord {
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, external)];
    record.session_id = session.into();
    record.embedding = Some(Embedding::new(space(), vector(axis, 0.1)));
    record
}

/// Options with this thread's parts.
pub(crate) fn options_at(now: DateTime<Utc>) -> EngineOptions {
    EngineOptions {
        ports: PARTS.with_borrow(Clone::clone),
        ..EngineOptions::new(DIMENSIONS as u16, 42, now)
    }
}

impl EngineBench {
    pub(crate) fn new() -> Self {
        let mut bench = Self {
            folder: tempfile::tempdir().unwrap(),
            engine: None,
            now: parse_timestamp("2026-02-16T09:00:00Z").unwrap(),
        };
        bench.reopen();
        bench
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("memory.rvf")
    }

    /// Drops the engine without closing it, as a crash does, and opens the file again.
    pub(crate) fn reopen(&mut self) {
        drop(self.engine.take());
        let options = options_at(self.now);
        let opened = Engine::open(Arc::new(RealDisk), &self.path(), &options);
        self.engine = Some(opened.unwrap().0);
    }

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// Inserts records one second after the last time.
    pub(crate) fn insert(&mut self, records: Vec<NewRecord>) -> Vec<WriteOutcome> {
        self.now += Duration::seconds(1);
        let now = self.now;
        self.engine().observe(records, None, now).unwrap()
    }

    pub(crate) fn ask(&mut self, query: &str, axis: usize) -> RecallResponse {
        self.ask_with(&RecallRequest::new(query), Some(axis))
    }

    pub(crate) fn ask_with(
        &mut self,
        request: &RecallRequest,
        axis: Option<usize>,
    ) -> RecallResponse {
        let vector = axis.map(|axis| vector(axis, 0.0));
        let space = space();
        let query = vector.as_deref().map(|vector| (&space, vector));
        let memory = self.engine().snapshot();
        let id = RecallId::from_u128(1);
        let call = RecallCall::new(request, id, memory.learning_engine());
        memory.recall(&call.with_vectors(query.as_slice()))
    }

    /// The external ids of an answer, best first.
    pub(crate) fn ids(recall: &RecallResponse) -> Vec<&str> {
        recall
            .results
            .iter()
            .map(|r| r.record.find_external_id("batch").unwrap())
            .collect()
    }
}

/// A small week: three topics in three sessions.
pub(crate) fn week() -> Vec<NewRecord> {
    vec![
        record("auth-1", "users are logged out at random", 0, "tue"),
        record(
            "auth-2",
            "auth race condition in session_manager.rs",
            0,
            "tue",
        ),
        record("auth-3", "fixed with a mutex per user", 0, "tue"),
        record("bill-1", "customers are charged twice", 2, "mon"),
        record("bill-2", "idempotency key for the payment client", 2, "mon"),
        record("trip-1", "hotels in Lisbon for the offsite", 4, "thu"),
        record("trip-2", "Tejo Garden has a meeting room", 4, "thu"),
    ]
}

pub(crate) fn inserted_ids(outcomes: &[WriteOutcome]) -> Vec<RecordId> {
    let id = |outcome: &WriteOutcome| match outcome {
        WriteOutcome::Inserted { id } => *id,
        other => panic!("expected an insertion, got {other:?}"),
    };
    outcomes.iter().map(id).collect()
}
