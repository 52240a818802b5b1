//! Checks a memory: hashes the whole file, then rebuilds the index from the log and compares it
//! with the one in use. The index is a projection; this proves it.

use std::sync::Arc;

use reprise_index::is_of_log;
use reprise_store::{CommitSeq, StoreEntry};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::state::EngineState;

/// One defect that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub what: String,
    /// What was found, and what to do.
    pub detail: String,
}

/// The result of a check.
#[derive(Debug)]
pub struct CheckReport {
    /// Records that were read back.
    pub records_read: u32,
    /// All defects; empty means sound.
    pub findings: Vec<Finding>,
}

impl Finding {
    fn new(what: &str, detail: &str) -> Self {
        Self {
            what: what.to_owned(),
            detail: detail.to_owned(),
        }
    }
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Snapshot {
    /// Counts the bytes of the file that do not hold what they should. Reads the whole file.
    pub fn count_damaged_bytes(&self) -> Result<u64, EngineError> {
        let damage = self.reader.scrub()?;
        Ok(damage.iter().map(|damage| damage.length).sum())
    }
}

impl Engine {
    /// Reads everything twice: to verify its hashes, and to fold it again.
    pub fn check(&mut self) -> Result<CheckReport, EngineError> {
        let damage = self.snapshot.reader.scrub()?;
        let mut findings: Vec<Finding> = damage
            .iter()
            .map(|damage| Finding::new("file", &damage.to_string()))
            .collect();
        self.state.load_keys();
        if let Err(error) = self.state.index.load() {
            findings.push(Finding::new("index", &error.to_string()));
        }
        let mut records_read = 0;
        for record in self.snapshot.records() {
            match record {
                Ok(_) => records_read += 1,
                Err(error) => {
                    findings.push(Finding::new("record", &error.to_string()));
                }
            }
        }
        let mut rebuilt = self.fold_log()?;
        // Both are brought to their canonical form: one lexical segment, without forgotten records.
        // A graph is not a fold of the log: a bad one makes answers slower, never wrong.
        self.state.index.canonicalise();
        rebuilt.index.canonicalise();
        let (current, fresh) = (&self.state.learning, &rebuilt.learning);
        if current.digest() != fresh.digest() {
            findings.push(Finding::new(
                "learning",
                "it differs from what the log teaches",
            ));
        }
        if self.state.keys.all() != rebuilt.keys.all() {
            findings.push(Finding::new("keys", "they differ from what the log gives"));
        }
        if self.state.marks.to_bytes() != rebuilt.marks.to_bytes() {
            findings.push(Finding::new("marks", "they differ from what the log gives"));
        }
        let current = self.state.index.to_sections();
        for fresh in rebuilt.index.to_sections() {
            let same = current.contains(&fresh);
            if is_of_log(fresh.key) && !same {
                findings.push(Finding::new(
                    &format!("index section {}", fresh.key.0),
                    "it differs from what the log gives",
                ));
            }
        }
        Ok(CheckReport {
            records_read,
            findings,
        })
    }

    /// Passes every text that the log still holds, forgotten or not, to `visit`; after a compaction
    /// none of the forgotten is among them.
    pub fn visit_logged_texts(&self, visit: &mut dyn FnMut(&str)) -> Result<(), EngineError> {
        self.log.replay(CommitSeq(0), &mut |_, entry| {
            if let StoreEntry::Record(record) = &entry {
                visit(&record.text);
            }
        })?;
        Ok(())
    }

    fn fold_log(&self) -> Result<EngineState, EngineError> {
        let settings = self.state.learning.settings();
        let mut fresh =
            EngineState::from_log(settings, self.state.configured_space.clone(), &self.log)?;
        // The clock advances while nothing is written; it is no fold of the log.
        fresh.known_at = self.state.known_at;
        Ok(fresh)
    }

    /// Discards the index and folds the log again.
    pub fn rebuild(&mut self) -> Result<(), EngineError> {
        let mut fresh = self.fold_log()?;
        fresh
            .index
            .set_graph_threshold(self.state.index.graph_threshold());
        fresh
            .index
            .set_cells_threshold(self.state.index.cells_threshold());
        fresh.space = fresh.space.or(self.state.space.take());
        self.state = fresh;
        self.lineages = Arc::default();
        self.publish();
        self.reopen_vectors()
    }
}
