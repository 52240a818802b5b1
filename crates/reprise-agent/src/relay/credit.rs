//! The fourth stage: events of runs, with credit for the records they used.
//!
//! Finds the recall and the records of a run's event, and whether the host reports the run itself.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, Snapshot, subject};
use reprise_types::{
    Credit, Embedding, MemorySource, NewRecord, RecordId, Revision, RunBeginning, RunEnding,
};

use super::runs::{self, RunSignal, RunTurn};
use crate::embedder::EmbedPool;

/// Most runs remembered as begun by the relay; the oldest is dropped.
const OWN_RUNS_MAX: usize = 1_024;

/// Runs begun by the relay from the log. Only for these it infers the records used: a host that
/// begins its runs itself reports them itself.
#[derive(Debug, Default)]
pub(super) struct OwnRuns(VecDeque<String>);

impl OwnRuns {
    fn begin(&mut self, run_id: String) {
        self.end(&run_id);
        if self.0.len() >= OWN_RUNS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(run_id);
    }

    fn holds(&self, run_id: &str) -> bool {
        self.0.iter().any(|own| own == run_id)
    }

    fn end(&mut self, run_id: &str) {
        self.0.retain(|own| own != run_id);
    }
}

/// The vector of the query in a record: the one that a recall with the same words has.
async fn question(pool: &EmbedPool, record: &NewRecord) -> Option<Embedding> {
    let own = record.embedding.as_ref()?;
    if let Cow::Borrowed(_) = subject(&record.text) {
        return Some(own.clone());
    }
    let asked = pool.query(&record.text).await.ok()?;
    Some(Arc::unwrap_or_clone(asked))
}

/// The run events of one batch, ready for the engine.
#[derive(Clone)]
pub(super) struct Credits {
    of_runs: Vec<Credited>,
    own: Arc<Mutex<OwnRuns>>,
    told: Arc<AtomicBool>,
}

/// One event of a run.
#[derive(Clone)]
struct Credited {
    signal: RunSignal,
    question: Option<Embedding>,
    now: DateTime<Utc>,
}

impl Credits {
    /// The events of `signals`, each with the index of the record that holds its query.
    pub(super) async fn of(
        signals: Vec<(RunSignal, usize)>,
        records: &[NewRecord],
        pool: &EmbedPool,
        own: &Arc<Mutex<OwnRuns>>,
        now: DateTime<Utc>,
    ) -> Self {
        let mut of_runs = Vec::with_capacity(signals.len());
        for (signal, place) in signals {
            let question = match (&signal.what, records.get(place)) {
                (RunTurn::Began, Some(record)) => question(pool, record).await,
                _ => None,
            };
            of_runs.push(Credited {
                signal,
                question,
                now,
            });
        }
        Self {
            of_runs,
            own: Arc::clone(own),
            told: Arc::default(),
        }
    }

    /// The runs that ended or were revised.
    pub(super) fn judged(&self) -> Vec<String> {
        let judged = self.of_runs.iter().filter(|credited| {
            matches!(
                credited.signal.what,
                RunTurn::Ended { .. } | RunTurn::Approved
            )
        });
        judged.map(|one| one.signal.run_id.clone()).collect()
    }

    /// Whether the engine does not have them yet.
    pub(super) fn are_due(&self) -> bool {
        !self.of_runs.is_empty() && !self.told.load(Ordering::Acquire)
    }

    /// Passes the events to the engine. A refused one was a repetition or is invalid, and never
    /// blocks the records.
    pub(super) fn apply(self, engine: &mut Engine) {
        self.told.store(true, Ordering::Release);
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        for credit in self.of_runs {
            if let Err(error) = credit.apply(engine, &mut own) {
                tracing::debug!(%error, "an event of a run was refused");
            }
        }
        // A log may hold runs that were never ended.
        if let Err(error) = engine.sweep_runs() {
            tracing::warn!(%error, "stale runs could not be abandoned");
        }
    }
}

impl Credited {
    fn apply(self, engine: &mut Engine, own: &mut OwnRuns) -> Result<(), EngineError> {
        let RunSignal {
            run_id,
            at,
            what,
            mut cited,
            said,
        } = self.signal;
        let at = at.unwrap_or(self.now);
        // Ignores words that look like ids, and ids of other memories.
        let snapshot = engine.snapshot();
        cited.retain(|record| snapshot.get(*record).is_some());
        let receipt = engine.learning().receipt_of(&run_id);
        if let Some(returned) = receipt.map(|receipt| &receipt.records) {
            // Only recalled records can get credit.
            cited.retain(|record| returned.contains(record));
            let quotes = |record: &&RecordId| is_quoted(&snapshot, **record, &said);
            let mut quoted: Vec<RecordId> = returned.iter().filter(quotes).copied().collect();
            quoted.retain(|record| !cited.contains(record));
            cited.extend(quoted);
        }
        match what {
            RunTurn::Began => {
                let asked = self.question.as_ref();
                let asked = asked.and_then(|asked| engine.learning().recalled_for(asked, at));
                let run = RunBeginning {
                    run_id,
                    recall_id: asked.map(|receipt| receipt.recall_id),
                    query: self.question,
                };
                engine.begin_run(&run, at)?;
                own.begin(run.run_id);
                Ok(())
            }
            RunTurn::Acted { action } => {
                if !own.holds(&run_id) {
                    cited.clear();
                }
                engine.step_run(&run_id, &action, &cited, at)
            }
            RunTurn::Ended { fail } => {
                own.end(&run_id);
                let run = RunEnding {
                    run_id,
                    used: cited,
                    credit: Credit::Implicit,
                    quality: None,
                    fail,
                };
                engine.end_run(&run, at)
            }
            RunTurn::Approved => engine.revise_run(&run_id, Revision::Approved, None, at),
        }
    }
}

/// Whether the run's output quotes a recalled record. Requests and plans do not count: a run
/// repeats its own request, and with it similar ones.
fn is_quoted(snapshot: &Snapshot, record: RecordId, said: &str) -> bool {
    let Some(Ok(record)) = snapshot.get(record) else {
        return false;
    };
    let told = match record.source {
        MemorySource::UserInput | MemorySource::ConductorPlan => false,
        MemorySource::WorkerResult
        | MemorySource::WriterRevision
        | MemorySource::TrajectoryOutcome => true,
    };
    told && runs::quoted(said, &record.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_nobody_ends_make_room_for_those_to_come() {
        let mut own = OwnRuns::default();
        for run in 0..2 * OWN_RUNS_MAX {
            own.begin(run.to_string());
        }
        assert_eq!(own.0.len(), OWN_RUNS_MAX);
        assert!(own.holds(&(2 * OWN_RUNS_MAX - 1).to_string()) && !own.holds("0"));
        own.end("1500");
        assert!(!own.holds("1500"));
    }
}
