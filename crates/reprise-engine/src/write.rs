//! One way to write: the records, links and statements about runs of one act are one commit, or a
//! few if it is large. They go to disk first, then into the index, then they become visible.

pub(crate) mod annotate;
pub(crate) mod dedup_keys;
pub(crate) mod forget;
pub(crate) mod id_source;
pub(crate) mod identity;
mod late_tags;
pub(crate) mod learning;
pub(crate) mod lineage;
pub(crate) mod outcome;
pub(crate) mod prepare;
pub(crate) mod retire;
mod runs;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use reprise_learn::LearnError;
use reprise_store::{CommitReceipt, StoreEntry};
use reprise_types::{
    Annotation, Embedding, EmbeddingSpace, LearningEvent, MemoryRecord, NewRecord, RecordId,
    RejectReason, Revision, RunBeginning, RunEnding, RunOutcome, RunStep, WriteOutcome,
    normalize_tag,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::annotation_index::{CONTRADICTED, CORRECTED, DISTILLED, LinkSpan, RETIRED};
use crate::snapshot::owner::user_entry;
use crate::write::identity::RecordBatch;

/// What one act writes.
#[derive(Debug, Clone, Default)]
pub struct WriteBatch {
    pub records: Vec<NewRecord>,
    pub links: Vec<NewLink>,
    /// Statements about runs, in order. A refused one is reported in [`WriteBatchReport::learning`]
    /// and holds up nothing else.
    pub learning: Vec<RunWrite>,
    /// How far a stream of events was read. A number that is not greater than the stored one is not
    /// written.
    pub cursor: Option<(String, u64)>,
}

/// The result of writing a batch.
#[derive(Debug, Clone, Default)]
pub struct WriteBatchReport {
    /// The outcome of each record, in order.
    pub outcomes: Vec<WriteOutcome>,
    /// The result of each statement about a run, in order.
    pub learning: Vec<Result<(), LearnError>>,
    /// New records without a vector, including outcome records of runs.
    pub unembedded: Vec<RecordId>,
}

impl WriteBatch {
    /// Creates a batch of one statement about a run.
    pub fn of_run(statement: RunWrite) -> Self {
        Self {
            learning: vec![statement],
            ..Self::default()
        }
    }

    /// Appends another batch to this one.
    pub fn append(&mut self, other: Self) {
        let before = self.records.len();
        let shifted = |end: LinkEnd| match end {
            LinkEnd::New(place) => LinkEnd::New(before + place),
            existing @ LinkEnd::Stored(_) => existing,
        };
        self.records.extend(other.records);
        self.links
            .extend(other.links.into_iter().map(|link| NewLink {
                from: shifted(link.from),
                to: shifted(link.to),
                ..link
            }));
        self.learning
            .extend(other.learning.into_iter().map(|mut statement| {
                if let RunAction::Step { result, .. } = &mut statement.action {
                    *result = result.map(shifted);
                }
                if let Some(InferredUse { question, .. }) = &mut statement.inferred_use {
                    *question = question.map(|place| before + place);
                }
                statement
            }));
        let current = self.cursor.as_ref().map_or(0, |cursor| cursor.1);
        let later = other.cursor.filter(|cursor| cursor.1 >= current);
        self.cursor = later.or_else(|| self.cursor.take());
    }
}

/// An end of a link, or the result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnd {
    /// A record that is stored and live.
    Stored(RecordId),
    /// A record of the batch, by its position; it counts if it is new.
    New(usize),
}

/// A link to be created; it is skipped if an end of it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    from: LinkEnd,
    to: LinkEnd,
    relation: String,
}

impl NewLink {
    /// Creates a link of a caller's relation; `None` if the relation has no word.
    pub fn new(from: LinkEnd, to: LinkEnd, relation: &str) -> Option<Self> {
        Some(Self::with_relation(from, to, normalize_tag(relation)?))
    }

    fn with_relation(from: LinkEnd, to: LinkEnd, relation: String) -> Self {
        Self { from, to, relation }
    }

    /// Creates a link from a record to one that it was distilled from: forgetting that one forgets
    /// it too.
    pub fn distilled_from(made: LinkEnd, source: LinkEnd) -> Self {
        Self::with_relation(made, source, DISTILLED.to_owned())
    }

    /// Creates a link that retires a record into another.
    pub fn retired_into(record: LinkEnd, into: LinkEnd) -> Self {
        Self::with_relation(record, into, RETIRED.to_owned())
    }
}

/// A statement about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWrite {
    /// When it happened, which may be in the past.
    pub at: DateTime<Utc>,
    pub action: RunAction,
    /// The evidence from which the records that the run used are inferred, if the host does not
    /// name them. A run that begins with it is assigned the recall of its question.
    pub inferred_use: Option<InferredUse>,
}

/// What happened to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunAction {
    Begin(RunBeginning),
    Step {
        step: RunStep,
        /// The record that is the step's result.
        result: Option<LinkEnd>,
    },
    /// The run ends, and gets a record of what was asked, done, and how it went.
    End(RunEnding),
    /// A whole run is reported after its end.
    Outcome {
        run: Box<RunOutcome>,
        /// Whether the run gets an outcome record.
        leaves_record: bool,
        /// The question of that record; without one, the first of the run's own records.
        question: Option<String>,
    },
    /// The run is judged anew. `quality` counts for [`Revision::Scored`] only.
    Revise {
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    },
}

/// What a relay observed of a run: credit goes to the records that it cites or quotes, among those
/// that its recall returned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InferredUse {
    /// For a beginning, the position in the batch of the record that asks.
    pub question: Option<usize>,
    pub cited: Vec<RecordId>,
    /// The text of the event, on one line in lower case.
    pub text: String,
}

impl RunWrite {
    /// Creates a statement that the host itself makes about its run.
    pub fn new(at: DateTime<Utc>, action: RunAction) -> Self {
        let inferred_use = None;
        Self {
            at,
            action,
            inferred_use,
        }
    }
}

/// What is about to be written, and the state of learning after it.
struct Draft {
    known_at: DateTime<Utc>,
    batch: RecordBatch,
    space: Option<EmbeddingSpace>,
    /// The ids of the caller's records, by their position in the batch; `None` if a record is not
    /// new.
    new_ids: Vec<Option<RecordId>>,
    links: Vec<NewLink>,
    events: Vec<LearningEvent>,
    /// All tags of stored records that got more, by ordinal.
    late_tags: BTreeMap<u32, Vec<String>>,
    /// Runs that ended or were judged anew, each with the question that was given.
    judged_runs: BTreeMap<String, Option<String>>,
}

impl Draft {
    fn resolve_end(&self, end: LinkEnd) -> Option<RecordId> {
        match end {
            LinkEnd::Stored(id) => Some(id),
            LinkEnd::New(place) => self.new_ids.get(place).copied().flatten(),
        }
    }
}

impl Engine {
    /// Writes a batch with one write and one sync, or with one for every few megabytes: each record
    /// comes with its links; statements about runs and the cursor come with the last part.
    /// Replaying a known batch changes nothing. If the disk fails on the way,
    /// [`EngineError::Partly`] reports what was stored until then.
    pub fn write(
        &mut self,
        batch: WriteBatch,
        now: DateTime<Utc>,
    ) -> Result<WriteBatchReport, EngineError> {
        self.write_with_annotations(batch, Vec::new(), now)
    }

    /// Writes a batch together with annotations of stored records, by their ordinals.
    pub(crate) fn write_with_annotations(
        &mut self,
        batch: WriteBatch,
        annotations: Vec<(u32, Annotation)>,
        now: DateTime<Utc>,
    ) -> Result<WriteBatchReport, EngineError> {
        self.ensure_keys_loaded()?;
        let WriteBatch {
            records,
            links,
            learning,
            cursor,
        } = batch;
        let known_at = if records.is_empty() && links.is_empty() && annotations.is_empty() {
            // Statements about runs have times of their own.
            self.state.known_at
        } else {
            self.advance_clock(now)
        };
        let mut draft = Draft {
            known_at,
            batch: RecordBatch::default(),
            space: self.state.space.clone(),
            new_ids: Vec::with_capacity(records.len()),
            links,
            events: Vec::new(),
            late_tags: BTreeMap::new(),
            judged_runs: BTreeMap::new(),
        };
        let mut written = WriteBatchReport::default();
        for new in records {
            let outcome = self.check_and_add_to_draft(new, &mut draft);
            draft.new_ids.push(outcome.inserted_id());
            written.outcomes.push(outcome);
        }
        if !learning.is_empty() {
            let after = self.plan_run_events(learning, &mut draft, &mut written.learning);
            self.draft_outcome_records(&after, now, &mut draft);
        }
        let new_records = draft.batch.records.iter();
        let waiting = new_records.filter(|record| record.embedding.is_empty());
        written.unembedded = waiting.map(|record| record.id).collect();
        let mut entries = self.build_entries(draft, cursor);
        entries.extend(annotations.into_iter().map(|(ordinal, annotation)| {
            StoreEntry::from_annotation(ordinal, known_at, annotation)
        }));
        if entries.is_empty() {
            return Ok(written);
        }
        let (done, committed) = self.apply_in_commits(&entries);
        self.publish();
        let Err(source) = committed else {
            return Ok(written);
        };
        let mut outcomes = written.outcomes;
        let all = outcomes.len();
        let is_record = |entry: &&StoreEntry| matches!(entry, StoreEntry::Record(_));
        let records = entries[..done].iter().filter(is_record).count();
        truncate_to_stored(&mut outcomes, records);
        if outcomes.is_empty() {
            return Err(source);
        }
        let cause = Box::new(source);
        Err(EngineError::Partly {
            outcomes,
            all,
            cause,
        })
    }

    /// Writes records, and how far a stream of events was read.
    pub fn observe(
        &mut self,
        records: Vec<NewRecord>,
        cursor: Option<(String, u64)>,
        now: DateTime<Utc>,
    ) -> Result<Vec<WriteOutcome>, EngineError> {
        let batch = WriteBatch {
            records,
            cursor,
            ..WriteBatch::default()
        };
        Ok(self.write(batch, now)?.outcomes)
    }

    /// Writes one statement about a run, as of now.
    pub fn write_run_action(
        &mut self,
        turn: RunAction,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let batch = WriteBatch::of_run(RunWrite::new(now, turn));
        let result = self.write(batch, now)?.learning.pop();
        Ok(result.unwrap_or(Ok(()))?)
    }

    /// Builds the log's entries of a draft: each record with what it inherits from the record that
    /// it corrects and with the links that it makes possible, then statements about runs, then the
    /// cursor.
    fn build_entries(&self, draft: Draft, cursor: Option<(String, u64)>) -> Vec<StoreEntry> {
        let first = self.log.record_count();
        let at = draft.known_at;
        let place = |end: LinkEnd| {
            let id = draft.resolve_end(end)?;
            let new = draft.batch.position(id).map(|place| first + place as u32);
            new.or_else(|| self.snapshot.live_ordinal(id))
        };
        let linked = |(ordinal, to, relation): (u32, u32, String)| {
            StoreEntry::from_annotation(ordinal, at, Annotation::Linked { to, relation })
        };
        let mut links: BTreeMap<u32, Vec<StoreEntry>> = BTreeMap::new();
        for link in &draft.links {
            if let Some((from, to)) = place(link.from).zip(place(link.to)) {
                let with = from.max(to).max(first);
                let link = linked((from, to, link.relation.clone()));
                links.entry(with).or_default().push(link);
            }
        }
        let mut inherited = self.inherited_links(&draft.batch.records, first);
        let mut entries = Vec::new();
        for (ordinal, record) in (first..).zip(draft.batch.records) {
            let seen = self.seen_stats_to_inherit(&record);
            entries.push(StoreEntry::Record(Box::new(record)));
            let seen = seen.map(|(count, at)| (at, Annotation::Seen { count }));
            entries.extend(seen.map(|(at, seen)| StoreEntry::from_annotation(ordinal, at, seen)));
            let inherited = inherited.remove(&ordinal).unwrap_or_default();
            entries.extend(inherited.into_iter().map(linked));
            entries.extend(links.remove(&ordinal).unwrap_or_default());
        }
        entries.extend(links.into_values().flatten());
        entries.extend(draft.late_tags.into_iter().map(|(ordinal, tags)| {
            StoreEntry::from_annotation(ordinal, at, Annotation::Tagged { tags })
        }));
        let events = draft.events.into_iter();
        entries.extend(events.map(|event| StoreEntry::Learning(Box::new(event))));
        if let Some((stream, seq)) = cursor
            && self.log.cursor(&stream).is_none_or(|current| seq > current)
        {
            entries.push(StoreEntry::Cursor { stream, seq });
        }
        let user = self.user.as_ref();
        entries.extend(user.and_then(|user| user_entry(&self.log, user)));
        entries
    }

    /// Returns how often the record that this one corrects was stated, and when last, if more than
    /// once.
    fn seen_stats_to_inherit(&self, record: &MemoryRecord) -> Option<(u32, DateTime<Utc>)> {
        let old = self.snapshot.live_ordinal(record.supersedes?)?;
        let (count, last) = self.snapshot.marks.seen_stats(old)?;
        Some((count, DateTime::from_timestamp_micros(last)?))
    }

    /// Returns the links of corrected records, renewed for their corrections, by the ordinal of the
    /// record that makes both ends known: from, to and relation.
    fn inherited_links(
        &self,
        records: &[MemoryRecord],
        first: u32,
    ) -> BTreeMap<u32, Vec<(u32, u32, String)>> {
        let old = |record: &MemoryRecord| self.snapshot.live_ordinal(record.supersedes?);
        let corrected = (first..).zip(records);
        let corrected = corrected.filter_map(|(new, record)| Some((old(record)?, new)));
        let corrected: BTreeMap<u32, u32> = corrected.collect();
        let mut inherited: BTreeMap<u32, Vec<(u32, u32, String)>> = BTreeMap::new();
        for (old, new) in &corrected {
            let links = self.snapshot.marks.open_links(*old);
            // A new text is compared anew for contradictions, and the log has no corrections.
            let inherits = |link: &&LinkSpan| ![CONTRADICTED, CORRECTED].contains(&&*link.relation);
            for link in links.filter(inherits) {
                let end = |end: u32| corrected.get(&end).copied().unwrap_or(end);
                let (from, to) = (end(link.from), end(link.to));
                // If both ends are corrected, the later one brings the link.
                if *new == from.max(to) {
                    let link = (from, to, link.relation.to_string());
                    inherited.entry(*new).or_default().push(link);
                }
            }
        }
        inherited
    }

    /// Checks a new record, resolves its identity and adds it to the draft.
    fn check_and_add_to_draft(&mut self, mut new: NewRecord, draft: &mut Draft) -> WriteOutcome {
        let batch = &mut draft.batch;
        if let Err(why) = new.validate() {
            return WriteOutcome::Rejected { why };
        }
        let truncated = new.truncate_text(self.text_bytes_max);
        if let Some(outcome) = self.snapshot.resolve_identity(&mut new, batch) {
            if let WriteOutcome::Duplicate { of, .. } = outcome {
                self.draft_late_tags(&new, of, draft);
            }
            return outcome;
        }
        if let Some(id) = new.supersedes
            && self.state.index.find(id).is_none()
            && batch.get(id).is_none()
        {
            return WriteOutcome::Rejected {
                why: RejectReason::UnknownSuperseded { id },
            };
        }
        if let Some(Embedding { space: found, .. }) = &new.embedding
            && usize::from(found.dimensions) != self.state.index.dimensions()
            && self
                .state
                .configured_space
                .as_ref()
                .is_none_or(|own| own == found)
        {
            let (got, expected) = (found.dimensions, self.state.index.dimensions());
            let message = format!("the vector has {got} numbers, this store holds {expected}");
            return WriteOutcome::Rejected {
                why: RejectReason::Vector { message },
            };
        }
        let id = self.ids.next(draft.known_at);
        if let Some(bytes) = truncated {
            tracing::warn!(%id, bytes, "a text was cut");
        }
        let record = prepare::build_record(new, id, draft.known_at, draft.space.as_ref());
        if let Some(foreign) = record.metadata.get(prepare::FOREIGN_SPACE_KEY) {
            tracing::warn!(%id, %foreign, "a vector of another space was left out");
        }
        if record.embedding_space.is_some() {
            draft.space.clone_from(&record.embedding_space);
        }
        batch.push(record);
        WriteOutcome::Inserted { id }
    }

    /// Writes entries and makes them visible.
    pub(crate) fn append_and_publish(&mut self, entries: &[StoreEntry]) -> Result<(), EngineError> {
        if !entries.is_empty() {
            self.append_and_apply(entries)?;
            self.publish();
        }
        Ok(())
    }

    /// Appends entries, then applies them, in as many commits as it takes. Only what is on disk is
    /// applied; if a commit fails, readers see those before it.
    pub(crate) fn append_and_apply(&mut self, entries: &[StoreEntry]) -> Result<(), EngineError> {
        let (done, committed) = self.apply_in_commits(entries);
        if committed.is_err() && done > 0 {
            self.publish();
        }
        committed
    }

    /// Appends and applies entries; returns how many of them are on disk.
    fn apply_in_commits(&mut self, entries: &[StoreEntry]) -> (usize, Result<(), EngineError>) {
        let mut done = 0;
        while done < entries.len() {
            match self.log.append_prefix(&entries[done..]) {
                Ok((commit, count)) => {
                    self.apply_commit(commit, &entries[done..done + count]);
                    done += count;
                }
                Err(error) => return (done, Err(error.into())),
            }
        }
        (done, Ok(()))
    }

    fn apply_commit(&mut self, commit: CommitReceipt, entries: &[StoreEntry]) {
        let mut ordinal = commit.first_ordinal;
        for entry in entries {
            let is_record = matches!(entry, StoreEntry::Record(_));
            self.state.apply(is_record.then_some(ordinal), entry);
            ordinal += u32::from(is_record);
        }
        assert_eq!(
            self.state.index.len() as u32,
            self.log.record_count(),
            "index and log number alike"
        );
        self.tell_ports(commit.first_ordinal, entries);
    }
}

/// Keeps the outcomes of what is on disk: the first `records` insertions, and the duplicates and
/// rejections between them.
fn truncate_to_stored(outcomes: &mut Vec<WriteOutcome>, records: usize) {
    let places = 0..outcomes.len();
    let mut inserted = places.filter(|at| outcomes[*at].inserted_id().is_some());
    if let Some(first_lost) = inserted.nth(records) {
        outcomes.truncate(first_lost);
    }
}
