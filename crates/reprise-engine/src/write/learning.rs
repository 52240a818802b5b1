//! The engine's side of `reprise-learn`: statements about runs are written by `write.rs`; fits and
//! switches are logged here.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_learn::{AdjustmentExplanation, OutcomeLearning, RunResult, SonaFile, SonaState};
use reprise_store::StoreEntry;
use reprise_types::{
    AdapterFit, LearningEvent, RecallReceipt, RecordId, Revision, RunBeginning, RunEnding,
    RunOutcome, VectorStore as _,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::write::RunAction;
use crate::write::forget::ForgetSelector;
use crate::write::outcome::outcome_external_id;

/// Name of the readable projection of what was learned, in the log's folder.
const SONA_NAME: &str = "sona.json";
/// Most bytes of a projection that is read; a longer file is not ours.
const SONA_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A fit of the adapter, to be run off the writer.
#[derive(Debug)]
pub struct AdapterFitJob(Arc<Snapshot>);

impl AdapterFitJob {
    /// Fits the adapter. The store serves and writes meanwhile.
    pub fn run(self) -> AdapterFit {
        let snapshot = self.0;
        snapshot.learning.consolidate();
        let vector = |record: RecordId, out: &mut [f32]| snapshot.read_vector(record, out);
        snapshot.learner.fit_adapter(&vector)
    }
}

impl Engine {
    /// Returns what was learned, and the runs under way.
    pub fn learning_state(&self) -> &OutcomeLearning {
        &self.state.learning
    }

    /// Remembers what a recall returned, so that a run can give credit to it. The receipt is logged
    /// with the first run that refers to it.
    pub fn remember_recall(&mut self, receipt: RecallReceipt) {
        self.state.learning.edit_unsaved().store_receipt(receipt);
    }

    /// Begins a run.
    pub fn begin_run(&mut self, run: &RunBeginning, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.write_run_action(RunAction::Begin(run.clone()), now)
    }

    /// Ends a run under way, learns from it, and writes its outcome record.
    pub fn end_run(&mut self, run: &RunEnding, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.write_run_action(RunAction::End(run.clone()), now)
    }

    /// Reports a whole run after its end, and learns from it.
    pub fn report_outcome(
        &mut self,
        run: &RunOutcome,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let turn = RunAction::Outcome {
            run: Box::new(run.clone()),
            leaves_record: false,
            question: None,
        };
        self.write_run_action(turn, now)
    }

    /// Revises a run that has ended. `quality` counts for [`Revision::Scored`] only.
    pub fn revise_run(
        &mut self,
        run_id: &str,
        revision: Revision,
        quality: Option<f32>,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let turn = RunAction::Revise {
            run_id: run_id.to_owned(),
            revision,
            quality,
        };
        self.write_run_action(turn, now)
    }

    /// Withdraws how a run went: nothing is learned from it, and its outcome record is forgotten.
    /// Returns the records that it had used; none if it was withdrawn before.
    pub fn withdraw_run(
        &mut self,
        run_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<RecordId>, EngineError> {
        let run = self.state.learning.find_ended_run(run_id);
        let run = run.filter(|run| run.revision != Some(Revision::Withdrawn));
        let used = run.map(|run| run.used.to_vec()).unwrap_or_default();
        self.revise_run(run_id, Revision::Withdrawn, None, now)?;
        let left = ForgetSelector::External(outcome_external_id(run_id));
        self.forget(&left, "its outcome was taken back", now)?;
        Ok(used)
    }

    /// Abandons the runs without an event for a day while other runs had some; they teach nothing.
    /// Returns how many. The clock does not count, because a log that is read late has its own
    /// time.
    pub fn abandon_stale_runs(&mut self) -> Result<usize, EngineError> {
        let learning = &self.state.learning;
        let events = match learning.last_event_at() {
            Some(latest) => learning.plan_abandonments(latest),
            None => Vec::new(),
        };
        let count = events.len();
        self.append_events(events)?;
        Ok(count)
    }

    /// Switches adjustments on or off; outcomes are learned from in both cases.
    pub fn switch_learning(&mut self, on: bool, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.append_events(vec![LearningEvent::Switched { at: now, on }])
    }

    /// Discards everything learned so far. The log keeps what happened.
    pub fn reset_learning(&mut self, now: DateTime<Utc>) -> Result<(), EngineError> {
        self.append_events(vec![LearningEvent::Reset { at: now }])
    }

    /// Returns the adapter's next fit, once enough runs have ended since the last one.
    pub fn start_adapter_fit(&self) -> Option<AdapterFitJob> {
        let due = self.state.learning.is_fit_due();
        due.then(|| AdapterFitJob(self.snapshot()))
    }

    /// Logs a fit and puts it in use.
    pub fn finish_adapter_fit(&mut self, done: AdapterFit) -> Result<(), EngineError> {
        if !self.state.learning.is_fit_due() {
            // A reset, or a change of space, came while it was fitted.
            return Ok(());
        }
        self.append_events(vec![LearningEvent::AdapterFitted(done.into())])
    }

    /// Explains why learning moves a record for a question.
    pub fn explain_learning(&self, query: &[f32], record: RecordId) -> AdjustmentExplanation {
        let mut vector = vec![0.0; self.snapshot.index.dimensions()];
        let has = self.snapshot.read_vector(record, &mut vector);
        let vector = has.then_some(vector.as_slice());
        self.snapshot
            .learner
            .explain_adjustment(query, record, vector)
    }

    /// Returns the content of `sona.json` as of now.
    pub fn sona_file(&self) -> SonaFile {
        let space = self.state.space.clone();
        SonaFile::from_learning(&self.state.learning, space, self.log.seq().0)
    }

    /// Compares `sona.json` next to the log with the state, and rewrites it if it differs. Nothing
    /// is ever learned from its content.
    pub fn refresh_sona(&self) -> Result<SonaState, EngineError> {
        let file = self.sona_file();
        let state = self.compare_sona(&file)?;
        if state != SonaState::Current {
            let text = file.to_json();
            self.log.write_projection(SONA_NAME, text.as_bytes())?;
        }
        Ok(state)
    }

    /// Compares `sona.json` next to the log with the state; writes nothing.
    pub fn compare_sona(&self, file: &SonaFile) -> Result<SonaState, EngineError> {
        let found = self.log.read_projection(SONA_NAME, SONA_BYTES_MAX)?;
        let text = found.map(|bytes| String::from_utf8(bytes).unwrap_or_default());
        Ok(file.compare_with_file(text.as_deref()))
    }

    fn append_events(&mut self, events: Vec<LearningEvent>) -> Result<(), EngineError> {
        let entries = events
            .into_iter()
            .map(|event| StoreEntry::Learning(event.into()));
        self.append_and_publish(&entries.collect::<Vec<_>>())
    }
}

impl Snapshot {
    /// Iterates over the runs that were not withdrawn, without ratings, newest first, each with the
    /// live records that it used, in their present versions.
    pub fn valid_runs(&self) -> impl Iterator<Item = (RunResult<'_>, Vec<RecordId>)> {
        let runs = self.learner.runs_newest_first();
        let is_valid =
            |run: &RunResult<'_>| run.revision != Some(Revision::Withdrawn) && !run.is_rating;
        let standing = runs.filter(is_valid);
        standing.map(|run| {
            let used = run.used.iter().filter_map(|id| self.current_version(*id));
            let used: BTreeSet<RecordId> = used.collect();
            (run, used.into_iter().collect())
        })
    }

    /// Whether a record is stored: live, corrected or retired, and not forgotten.
    pub(crate) fn is_stored_id(&self, record: RecordId) -> bool {
        let place = self.index.find(record);
        place.is_some_and(|place| self.is_stored(place))
    }

    /// Reads a record's vector of the space in use into `out`; returns `false` if it has none.
    pub(crate) fn read_vector(&self, record: RecordId, out: &mut [f32]) -> bool {
        let ordinal = self.index.find(record);
        let own = ordinal.filter(|ordinal| self.index.has_vector(*ordinal));
        own.is_some_and(|ordinal| match &self.second_store {
            Some(store) => store.copy_vector(ordinal, out),
            None => self.reader.copy_vector(ordinal, out),
        })
    }
}
