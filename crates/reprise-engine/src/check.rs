//! `check`: hashes the whole file, then rebuilds the index from the log and compares it with the
//! one in use. The index is a projection; this proves it.

use reprise_store::{CommitSeq, Entry};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::state::LEARNING_TAG;
use crate::state::State;

/// One thing that is not as it should be.
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
    /// Everything that is wrong; empty means sound.
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
    /// Bytes of the file that do not hold what they should. Reads all of it.
    pub fn damaged_bytes(&self) -> Result<u64, EngineError> {
        let damage = self.reader.scrub()?;
        Ok(damage.iter().map(|damage| damage.length).sum())
    }
}

impl Engine {
    /// Reads everything twice: for its hashes, and to fold it again.
    pub fn check(&mut self) -> Result<CheckReport, EngineError> {
        let damage = self.snapshot.reader.scrub()?;
        let mut findings: Vec<Finding> = damage
            .iter()
            .map(|damage| Finding::new("file", &damage.to_string()))
            .collect();
        if !self.state.keys.is_sound() {
            findings.push(Finding::new("index", "the saved keys are damaged"));
        }
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
        let mut rebuilt = self.folded_again()?;
        // Both in their canonical form: one lexical segment, nothing of the forgotten. A graph is
        // not a fold of the log: where it leads nowhere, answers are slower, never wrong.
        self.state.index.canonicalise();
        rebuilt.index.canonicalise();
        let (kept, fresh) = (&self.state.learning, &rebuilt.learning);
        if kept.digest() != fresh.digest() {
            findings.push(Finding::new(
                "learning",
                "it differs from what the log teaches",
            ));
        }
        let (kept, _) = self.state.copy().into_parts();
        for (tag, fresh) in rebuilt.copy().into_parts().0 {
            let same = kept.iter().any(|part| part.0 == tag && part.1 == fresh);
            // Learning's part holds receipts besides, which are in no log.
            if tag != LEARNING_TAG && !same {
                findings.push(Finding::new(
                    &format!("index part {tag:#04x}"),
                    "it differs from what the log gives",
                ));
            }
        }
        Ok(CheckReport {
            records_read,
            findings,
        })
    }

    /// Hands every text that the log still holds, forgotten or not, to `visit`: after a compaction
    /// none of the forgotten is among them.
    pub fn logged_texts(&self, visit: &mut dyn FnMut(&str)) -> Result<(), EngineError> {
        self.log.replay(CommitSeq(0), &mut |_, entry| {
            if let Entry::Record(record) = &entry {
                visit(&record.text);
            }
        })?;
        Ok(())
    }

    fn folded_again(&self) -> Result<State, EngineError> {
        let settings = self.state.learning.settings();
        let mut fresh = State::of_log(settings, self.state.configured.clone(), &self.log)?;
        // The clock goes on while nothing is written; it is no fold of the log.
        fresh.known_at = self.state.known_at;
        Ok(fresh)
    }

    /// Throws the index away and folds the log again.
    pub fn rebuild(&mut self) -> Result<(), EngineError> {
        let mut fresh = self.folded_again()?;
        fresh.index.set_graph_from(self.state.index.graph_from());
        fresh.index.set_cells_from(self.state.index.cells_from());
        fresh.space = fresh.space.or(self.state.space.take());
        self.state = fresh;
        self.overtake();
        self.checkpointed = CommitSeq(0);
        self.publish();
        Ok(())
    }
}
