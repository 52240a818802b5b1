//! Learning from runs: each thing said of a run is checked, logged in one commit, folded,
//! published.
//!
//! The engine's side of `reprise-learn`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_learn::{Explained, LearnError, Learning, Premises, SonaFile, SonaState};
use reprise_store::Entry;
use reprise_types::{
    AdapterWeights, LearningEvent, Receipt, RecordId, Revision, RunBeginning, RunEnding,
    RunOutcome, VectorStore,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;

/// The readable projection of what was learned, in the log's folder.
const SONA_NAME: &str = "sona.json";
/// A longer file is not ours.
const SONA_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A fit of the adapter, to be run off the writer.
#[derive(Debug)]
pub struct ConsolidationJob(Arc<Snapshot>);

impl ConsolidationJob {
    /// Fits. The store serves and writes meanwhile.
    pub fn run(self) -> AdapterWeights {
        let snapshot = self.0;
        let vector = |record: RecordId, out: &mut [f32]| snapshot.vector_of(record, out);
        snapshot.learner.consolidate(&vector)
    }
}

impl Engine {
    /// What was learned, and the runs under way.
    pub fn learning(&self) -> &Learning {
        &self.state.learning
    }

    /// Remembers what a recall returned, so that a run can give credit to it. The receipt goes into
    /// the log with the first run that refers to it.
    pub fn remember_recall(&mut self, receipt: Receipt) {
        self.state.learning.remember(receipt);
    }

    pub fn begin_run(&mut self, run: &RunBeginning, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say(now, |learning, premises| learning.begin(run, premises))
    }

    /// A run under way does something, with records that it used for it.
    pub fn step_run(
        &mut self,
        run_id: &str,
        action: &str,
        used: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        self.say(now, |learning, premises| {
            learning.step(run_id, action, used, premises)
        })
    }

    /// A run under way ends, and teaches.
    pub fn end_run(&mut self, run: &RunEnding, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say(now, |learning, premises| learning.end(run, premises))
    }

    /// A run that is over is reported, and teaches.
    pub fn outcome(&mut self, run: &RunOutcome, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say(now, |learning, premises| learning.outcome(run, premises))
    }

    /// Something is learned about a run that has ended. `quality` counts for
    /// [`Revision::Scored`] alone.
    pub fn revise_run(
        &mut self,
        run_id: &str,
        revision: Revision,
        quality: Option<f32>,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        self.say(now, |learning, premises| {
            learning.revise(run_id, revision, quality, premises.now)
        })
    }

    /// Gives up the runs that have said nothing for a day while others have; they teach nothing.
    /// Answers how many. The clock has no say: a log that is read late tells its own time.
    pub fn sweep_runs(&mut self) -> Result<usize, EngineError> {
        let before = self.state.learning.open_runs();
        let Some(now) = self.state.learning.latest_word() else {
            return Ok(0);
        };
        self.say(now, |learning, premises| Ok(learning.sweep(premises.now)))?;
        Ok(before - self.state.learning.open_runs())
    }

    /// Switches adjustments on or off; outcomes are learned from in both cases.
    pub fn switch_learning(&mut self, on: bool, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say(now, |_, premises| {
            let at = premises.now;
            Ok(vec![LearningEvent::Switched { at, on }])
        })
    }

    /// Throws away everything learned so far. The log keeps what happened.
    pub fn reset_learning(&mut self, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say(now, |_, premises| {
            Ok(vec![LearningEvent::Reset { at: premises.now }])
        })
    }

    /// The adapter's next fit, once enough runs have ended since the last one.
    pub fn start_consolidation(&self) -> Option<ConsolidationJob> {
        let due = self.state.learning.needs_consolidation();
        due.then(|| ConsolidationJob(self.snapshot()))
    }

    /// Logs fitted weights and puts them in force.
    pub fn finish_consolidation(&mut self, weights: AdapterWeights) -> Result<(), EngineError> {
        if !self.state.learning.needs_consolidation() {
            // A reset, or a change of space, came while it was fitted.
            return Ok(());
        }
        let event = LearningEvent::Consolidated(weights.into());
        self.commit(&[Entry::Learning(Box::new(event))])?;
        self.publish();
        Ok(())
    }

    /// Why learning moves a record for a question.
    pub fn explain_learning(&self, query: &[f32], record: RecordId) -> Explained {
        let mut vector = vec![0.0; self.snapshot.index.dimensions()];
        let has = self.snapshot.vector_of(record, &mut vector);
        let vector = has.then_some(vector.as_slice());
        self.snapshot.learner.explain(query, record, vector)
    }

    /// The content of `sona.json` as of now.
    pub fn sona_file(&self) -> SonaFile {
        let space = self.state.space.clone();
        SonaFile::of(&self.state.learning, space, self.log.seq().0)
    }

    /// Compares `sona.json` beside the log with the state, and writes it anew where it differs
    /// (M66). Whatever it says, nothing is learned from it.
    pub fn refresh_sona(&self) -> Result<SonaState, EngineError> {
        let file = self.sona_file();
        let state = self.compare_sona(&file)?;
        if state != SonaState::Current {
            let text = file.to_text();
            self.log.write_projection(SONA_NAME, text.as_bytes())?;
        }
        Ok(state)
    }

    /// How `sona.json` beside the log compares with the state; writes nothing.
    pub fn compare_sona(&self, file: &SonaFile) -> Result<SonaState, EngineError> {
        let found = self.log.read_projection(SONA_NAME, SONA_BYTES_MAX)?;
        let text = found.map(|bytes| String::from_utf8(bytes).unwrap_or_default());
        Ok(file.compare(text.as_deref()))
    }

    /// Checks what is said, writes it in one commit (at the host's time, which may lie in the
    /// past), folds it and shows it to readers.
    fn say(
        &mut self,
        now: DateTime<Utc>,
        events: impl FnOnce(&Learning, Premises<'_>) -> Result<Vec<LearningEvent>, LearnError>,
    ) -> Result<(), EngineError> {
        let snapshot = &self.snapshot;
        let index = &snapshot.index;
        let live = |record| {
            let doc = index.find(record).and_then(|ordinal| index.doc(ordinal));
            doc.is_some_and(|doc| doc.forgotten_at.is_none())
        };
        let premises = Premises {
            now,
            space: self.state.space.as_ref(),
            live: &live,
            vector: &|record, out| snapshot.vector_of(record, out),
        };
        let events = events(&self.state.learning, premises)?;
        if events.is_empty() {
            return Ok(());
        }
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|event| Entry::Learning(Box::new(event)))
            .collect();
        self.commit(&entries)?;
        self.publish();
        Ok(())
    }
}

impl Snapshot {
    /// Writes a record's vector of the space in use; `false` where it has none.
    pub(crate) fn vector_of(&self, record: RecordId, out: &mut [f32]) -> bool {
        let ordinal = self.index.find(record);
        let own = ordinal.filter(|ordinal| self.index.has_vector(*ordinal));
        own.is_some_and(|ordinal| self.reader.vector(ordinal, out))
    }
}
