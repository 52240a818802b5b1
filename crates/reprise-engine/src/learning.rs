//! The engine's side of `reprise-learn`: what is said of runs goes through `write.rs`, fits and
//! switches are logged here.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_learn::{Explained, Learning, RunWent, SonaFile, SonaState};
use reprise_store::Entry;
use reprise_types::{
    Consolidation, LearningEvent, Receipt, RecordId, Revision, RunBeginning, RunEnding, RunOutcome,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::forget::ForgetSelector;
use crate::outcome::outcome_name;
use crate::snapshot::Snapshot;
use crate::write::RunTurn;

/// The readable projection of what was learned, in the log's folder.
const SONA_NAME: &str = "sona.json";
/// A longer file is not ours.
const SONA_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A fit of the adapter, to be run off the writer.
#[derive(Debug)]
pub struct ConsolidationJob(Arc<Snapshot>);

impl ConsolidationJob {
    /// Fits. The store serves and writes meanwhile.
    pub fn run(self) -> Consolidation {
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
        self.say_of_run(RunTurn::Begin(run.clone()), now)
    }

    /// A run under way ends, teaches, and leaves a record.
    pub fn end_run(&mut self, run: &RunEnding, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.say_of_run(RunTurn::End(run.clone()), now)
    }

    /// A run that is over is reported, and teaches.
    pub fn outcome(&mut self, run: &RunOutcome, now: DateTime<Utc>) -> Result<(), EngineError> {
        let turn = RunTurn::Outcome {
            run: Box::new(run.clone()),
            leaves: false,
            question: None,
        };
        self.say_of_run(turn, now)
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
        let turn = RunTurn::Revise {
            run_id: run_id.to_owned(),
            revision,
            quality,
        };
        self.say_of_run(turn, now)
    }

    /// Takes back how a run went: nothing is learned from it, and the record that it left is
    /// forgotten. Returns what it had used; nothing where it was taken back before.
    pub fn withdraw_run(
        &mut self,
        run_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<RecordId>, EngineError> {
        let run = self.state.learning.ended_run(run_id);
        let run = run.filter(|run| run.revised != Some(Revision::Withdrawn));
        let used = run.map(|run| run.used.to_vec()).unwrap_or_default();
        self.revise_run(run_id, Revision::Withdrawn, None, now)?;
        let left = ForgetSelector::External(outcome_name(run_id));
        self.forget(&left, "its outcome was taken back", now)?;
        Ok(used)
    }

    /// Gives up the runs that have said nothing for a day while others have; they teach nothing.
    /// Answers how many. The clock has no say: a log that is read late tells its own time.
    pub fn sweep_runs(&mut self) -> Result<usize, EngineError> {
        let learning = &self.state.learning;
        let events = match learning.latest_word() {
            Some(latest) => learning.sweep(latest),
            None => Vec::new(),
        };
        let count = events.len();
        self.log_events(events)?;
        Ok(count)
    }

    /// Switches adjustments on or off; outcomes are learned from in both cases.
    pub fn switch_learning(&mut self, on: bool, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.log_events(vec![LearningEvent::Switched { at: now, on }])
    }

    /// Throws away everything learned so far. The log keeps what happened.
    pub fn reset_learning(&mut self, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.log_events(vec![LearningEvent::Reset { at: now }])
    }

    /// The adapter's next fit, once enough runs have ended since the last one.
    pub fn start_consolidation(&self) -> Option<ConsolidationJob> {
        let due = self.state.learning.needs_consolidation();
        due.then(|| ConsolidationJob(self.snapshot()))
    }

    /// Logs a fit and puts it in force.
    pub fn finish_consolidation(&mut self, done: Consolidation) -> Result<(), EngineError> {
        if !self.state.learning.needs_consolidation() {
            // A reset, or a change of space, came while it was fitted.
            return Ok(());
        }
        self.log_events(vec![LearningEvent::Consolidated(done.into())])
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

    fn log_events(&mut self, events: Vec<LearningEvent>) -> Result<(), EngineError> {
        let entries = events
            .into_iter()
            .map(|event| Entry::Learning(event.into()));
        self.keep(&entries.collect::<Vec<_>>())
    }
}

impl Snapshot {
    /// The runs that stand, newest first, each with the live records that it used: what was
    /// corrected since as its present version.
    pub fn standing_runs(&self) -> impl Iterator<Item = (RunWent<'_>, Vec<RecordId>)> {
        let runs = self.learner.ended_runs();
        let standing = runs.filter(|run| run.revised != Some(Revision::Withdrawn));
        standing.map(|run| {
            let used = run.used.iter().filter_map(|id| self.current(*id));
            let used: BTreeSet<RecordId> = used.collect();
            (run, used.into_iter().collect())
        })
    }

    /// Whether a record is here and not forgotten, whether it still answers or not.
    pub(crate) fn is_there(&self, record: RecordId) -> bool {
        let place = self.index.find(record);
        place.is_some_and(|place| self.is_kept(place))
    }

    /// Writes a record's vector of the space in use; `false` where it has none.
    pub(crate) fn vector_of(&self, record: RecordId, out: &mut [f32]) -> bool {
        let ordinal = self.index.find(record);
        let own = ordinal.filter(|ordinal| self.index.has_vector(*ordinal));
        own.is_some_and(|ordinal| self.vectors.vector(ordinal, out))
    }
}
