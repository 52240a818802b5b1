//! One way to write: what one act keeps, links and says of runs is one commit, or a few where it is
//! large. On disk first, then in the index, then visible.

mod runs;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use reprise_learn::LearnError;
use reprise_store::{Commit, Entry};
use reprise_types::{
    Annotation, Embedding, EmbeddingSpace, LearningEvent, MemoryRecord, NewRecord, RecordId,
    RejectReason, Revision, RunBeginning, RunEnding, RunOutcome, RunStep, WriteOutcome, normal_tag,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::marks::{CONTRARY, DISTILLED, RETIRED};
use crate::naming::Batch;
use crate::prepare;

/// What one act writes.
#[derive(Debug, Clone, Default)]
pub struct WriteBatch {
    pub records: Vec<NewRecord>,
    pub links: Vec<NewLink>,
    /// What is said of runs, in order. What is refused is told in [`Written::learning`] and holds
    /// up nothing else.
    pub learning: Vec<RunWrite>,
    /// How far a stream of events is kept. One at or behind the one held is not written.
    pub cursor: Option<(String, u64)>,
}

/// What became of a batch.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// Of each record, in order.
    pub outcomes: Vec<WriteOutcome>,
    /// Of each thing said of a run, in order.
    pub learning: Vec<Result<(), LearnError>>,
    /// New records without a vector, those that runs left among them.
    pub waiting: Vec<RecordId>,
}

impl WriteBatch {
    /// What is said of a run, alone.
    pub fn of_run(said: RunWrite) -> Self {
        Self {
            learning: vec![said],
            ..Self::default()
        }
    }

    /// Adds another batch behind this one.
    pub fn join(&mut self, other: Self) {
        let before = self.records.len();
        let moved = |end: LinkEnd| match end {
            LinkEnd::New(place) => LinkEnd::New(before + place),
            kept @ LinkEnd::Kept(_) => kept,
        };
        self.records.extend(other.records);
        self.links
            .extend(other.links.into_iter().map(|link| NewLink {
                from: moved(link.from),
                to: moved(link.to),
                ..link
            }));
        self.learning
            .extend(other.learning.into_iter().map(|mut said| {
                if let RunTurn::Step { result, .. } = &mut said.turn {
                    *result = result.map(moved);
                }
                if let Some(Overheard { question, .. }) = &mut said.overheard {
                    *question = question.map(|place| before + place);
                }
                said
            }));
        let held = self.cursor.as_ref().map_or(0, |cursor| cursor.1);
        let later = other.cursor.filter(|cursor| cursor.1 >= held);
        self.cursor = later.or_else(|| self.cursor.take());
    }
}

/// An end of a link, or the result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnd {
    /// A live record.
    Kept(RecordId),
    /// A record of the batch, by its place; it counts where it is new.
    New(usize),
}

/// A link to be made; one of which an end is not there is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    from: LinkEnd,
    to: LinkEnd,
    relation: String,
}

impl NewLink {
    /// A link of a caller's; `None` where the relation has no word.
    pub fn new(from: LinkEnd, to: LinkEnd, relation: &str) -> Option<Self> {
        Some(Self::named(from, to, normal_tag(relation)?))
    }

    fn named(from: LinkEnd, to: LinkEnd, relation: String) -> Self {
        Self { from, to, relation }
    }

    /// From a record to one that it was made of: forgetting that one forgets it too.
    pub fn distilled(made: LinkEnd, source: LinkEnd) -> Self {
        Self::named(made, source, DISTILLED.to_owned())
    }

    /// From a record that is put away to the one that answers for it.
    pub fn retired(gone: LinkEnd, kept: LinkEnd) -> Self {
        Self::named(gone, kept, RETIRED.to_owned())
    }
}

/// Something said of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWrite {
    /// When it happened, which may lie in the past.
    pub at: DateTime<Utc>,
    pub turn: RunTurn,
    /// Where nobody says which records were used: what they are taken from. A run that begins so
    /// works with the recall that asked what it asks.
    pub overheard: Option<Overheard>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RunTurn {
    Begin(RunBeginning),
    Step {
        step: RunStep,
        /// The record that is its result.
        result: Option<LinkEnd>,
    },
    /// It leaves a record of what was asked, done, and how it went.
    End(RunEnding),
    /// A whole run, after its end.
    Outcome {
        run: Box<RunOutcome>,
        /// Whether it leaves a record,
        leaves: bool,
        /// and what that says was asked; without, the first of the run's own records does.
        question: Option<String>,
    },
    /// `quality` counts for [`Revision::Scored`] alone.
    Revise {
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    },
}

/// What a relay hears of a run: credit goes to records that it cites or quotes, among those that
/// its recall returned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overheard {
    /// Of a beginning: the record of the batch that asks.
    pub question: Option<usize>,
    pub cited: Vec<RecordId>,
    /// What the event says, on one line in lower case.
    pub said: String,
}

impl RunWrite {
    /// Something that the host itself says of its run.
    pub fn told(at: DateTime<Utc>, turn: RunTurn) -> Self {
        let overheard = None;
        Self {
            at,
            turn,
            overheard,
        }
    }
}

/// What is about to be written, and the state of learning after it.
struct Draft {
    known_at: DateTime<Utc>,
    batch: Batch,
    space: Option<EmbeddingSpace>,
    /// By place among the records of the batch that the caller brought: which are new.
    new: Vec<Option<RecordId>>,
    links: Vec<NewLink>,
    events: Vec<LearningEvent>,
    /// Runs that ended or were judged anew, each with the question that somebody gave.
    judged: BTreeMap<String, Option<String>>,
}

impl Draft {
    fn id(&self, end: LinkEnd) -> Option<RecordId> {
        match end {
            LinkEnd::Kept(id) => Some(id),
            LinkEnd::New(place) => self.new.get(place).copied().flatten(),
        }
    }
}

impl Engine {
    /// Writes a batch with one write and one sync, or with one for every few megabytes: a record
    /// comes with its links, what is said of runs and the cursor with the last part. A replay of
    /// what is known changes nothing. Where the disk fails on the way, what was kept until then is
    /// told in [`EngineError::Partly`].
    pub fn write(&mut self, batch: WriteBatch, now: DateTime<Utc>) -> Result<Written, EngineError> {
        self.write_and_say(batch, Vec::new(), now)
    }

    /// The same with what is said of records that are known, by their places.
    pub(crate) fn write_and_say(
        &mut self,
        batch: WriteBatch,
        said: Vec<(u32, Annotation)>,
        now: DateTime<Utc>,
    ) -> Result<Written, EngineError> {
        self.know_keys()?;
        let WriteBatch {
            records,
            links,
            learning,
            cursor,
        } = batch;
        let known_at = if records.is_empty() && links.is_empty() && said.is_empty() {
            // What is said of runs has times of its own.
            self.state.known_at
        } else {
            self.advance_clock(now)
        };
        let mut draft = Draft {
            known_at,
            batch: Batch::default(),
            space: self.state.space.clone(),
            new: Vec::with_capacity(records.len()),
            links,
            events: Vec::new(),
            judged: BTreeMap::new(),
        };
        let mut written = Written::default();
        for new in records {
            let outcome = self.admit(new, &mut draft);
            draft.new.push(outcome.new_id());
            written.outcomes.push(outcome);
        }
        if !learning.is_empty() {
            let after = self.say(learning, &mut draft, &mut written.learning);
            self.leave(&after, now, &mut draft);
        }
        let kept = draft.batch.kept.iter();
        let waiting = kept.filter(|record| record.embedding.is_empty());
        written.waiting = waiting.map(|record| record.id).collect();
        let mut entries = self.entries(draft, cursor);
        entries.extend(
            said.into_iter()
                .map(|(ordinal, annotation)| Entry::annotated(ordinal, known_at, annotation)),
        );
        if entries.is_empty() {
            return Ok(written);
        }
        let (done, committed) = self.commit_parts(&entries);
        self.publish();
        let Err(source) = committed else {
            return Ok(written);
        };
        let mut outcomes = written.outcomes;
        let all = outcomes.len();
        let is_record = |entry: &&Entry| matches!(entry, Entry::Record(_));
        let records = entries[..done].iter().filter(is_record).count();
        cut_to(&mut outcomes, records);
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

    /// Keeps records, and how far a stream of events is kept.
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

    /// Says one thing of a run, at this time.
    pub fn say_of_run(&mut self, turn: RunTurn, now: DateTime<Utc>) -> Result<(), EngineError> {
        let batch = WriteBatch::of_run(RunWrite::told(now, turn));
        let said = self.write(batch, now)?.learning.pop();
        Ok(said.unwrap_or(Ok(()))?)
    }

    /// The log's entries of a draft: each record with what it
    /// takes over of the one that it corrects and with the links that it makes possible, then what
    /// is said of runs, then the cursor.
    fn entries(&self, draft: Draft, cursor: Option<(String, u64)>) -> Vec<Entry> {
        let first = self.log.records();
        let at = draft.known_at;
        let place = |end: LinkEnd| {
            let id = draft.id(end)?;
            let new = draft.batch.place(id).map(|place| first + place as u32);
            new.or_else(|| self.snapshot.ordinal(id))
        };
        let linked = |(ordinal, to, relation): (u32, u32, String)| {
            Entry::annotated(ordinal, at, Annotation::Linked { to, relation })
        };
        let mut links: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
        for link in &draft.links {
            if let Some((from, to)) = place(link.from).zip(place(link.to)) {
                let with = from.max(to).max(first);
                let link = linked((from, to, link.relation.clone()));
                links.entry(with).or_default().push(link);
            }
        }
        let mut handed = self.links_handed_on(&draft.batch.kept, first);
        let mut entries = Vec::new();
        for (ordinal, record) in (first..).zip(draft.batch.kept) {
            let seen = self.seen_before(&record);
            entries.push(Entry::Record(Box::new(record)));
            let seen = seen.map(|(count, at)| (at, Annotation::Seen { count }));
            entries.extend(seen.map(|(at, seen)| Entry::annotated(ordinal, at, seen)));
            let handed = handed.remove(&ordinal).unwrap_or_default();
            entries.extend(handed.into_iter().map(linked));
            entries.extend(links.remove(&ordinal).unwrap_or_default());
        }
        entries.extend(links.into_values().flatten());
        let events = draft.events.into_iter();
        entries.extend(events.map(|event| Entry::Learning(Box::new(event))));
        if let Some((stream, seq)) = cursor
            && self.log.cursor(&stream).is_none_or(|held| seq > held)
        {
            entries.push(Entry::Cursor { stream, seq });
        }
        entries
    }

    /// How often what a record corrects was said, and when last, where more than once.
    fn seen_before(&self, record: &MemoryRecord) -> Option<(u32, DateTime<Utc>)> {
        let old = self.snapshot.ordinal(record.supersedes?)?;
        let (count, last) = self.snapshot.marks.seen(old)?;
        Some((count, DateTime::from_timestamp_micros(last)?))
    }

    /// The links of what is corrected, made anew for the corrections: by the place of the one that
    /// makes both ends known, from, to and relation.
    fn links_handed_on(
        &self,
        kept: &[MemoryRecord],
        first: u32,
    ) -> BTreeMap<u32, Vec<(u32, u32, String)>> {
        let old = |record: &MemoryRecord| self.snapshot.ordinal(record.supersedes?);
        let corrected = (first..).zip(kept);
        let corrected = corrected.filter_map(|(new, record)| Some((old(record)?, new)));
        let corrected: BTreeMap<u32, u32> = corrected.collect();
        let mut handed: BTreeMap<u32, Vec<(u32, u32, String)>> = BTreeMap::new();
        for (old, new) in &corrected {
            let links = self.snapshot.marks.links(*old);
            // What a text contradicts is asked anew of another one.
            for link in links.filter(|link| *link.relation != *CONTRARY) {
                let end = |end: u32| corrected.get(&end).copied().unwrap_or(end);
                let (from, to) = (end(link.from), end(link.to));
                // Of two ends that are both corrected the later one brings the link.
                if *new == from.max(to) {
                    let link = (from, to, link.relation.to_string());
                    handed.entry(*new).or_default().push(link);
                }
            }
        }
        handed
    }

    fn admit(&mut self, mut new: NewRecord, draft: &mut Draft) -> WriteOutcome {
        let batch = &mut draft.batch;
        if let Err(why) = new.check() {
            return WriteOutcome::Rejected { why };
        }
        let truncated = new.truncate(self.text_bytes_max);
        if let Some(outcome) = self.name(&mut new, batch) {
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
                .configured
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
        let record = prepare::build(new, id, draft.known_at, draft.space.as_ref());
        if let Some(foreign) = record.metadata.get(prepare::FOREIGN_SPACE_KEY) {
            tracing::warn!(%id, %foreign, "a vector of another space was left out");
        }
        if record.embedding_space.is_some() {
            draft.space.clone_from(&record.embedding_space);
        }
        batch.push(record);
        WriteOutcome::Inserted { id }
    }

    /// Writes entries, and makes them visible.
    pub(crate) fn keep(&mut self, entries: &[Entry]) -> Result<(), EngineError> {
        if !entries.is_empty() {
            self.commit(entries)?;
            self.publish();
        }
        Ok(())
    }

    /// Appends, then applies what was appended, in as many commits as it takes. Nothing is applied
    /// that is not on disk; where a commit fails, readers see those before it.
    pub(crate) fn commit(&mut self, entries: &[Entry]) -> Result<(), EngineError> {
        let (done, committed) = self.commit_parts(entries);
        if committed.is_err() && done > 0 {
            self.publish();
        }
        committed
    }

    /// The same; answers how many of the entries are on disk.
    fn commit_parts(&mut self, entries: &[Entry]) -> (usize, Result<(), EngineError>) {
        let mut done = 0;
        while done < entries.len() {
            match self.log.append_part(&entries[done..]) {
                Ok((commit, taken)) => {
                    self.apply_commit(commit, &entries[done..done + taken]);
                    done += taken;
                }
                Err(error) => return (done, Err(error.into())),
            }
        }
        (done, Ok(()))
    }

    fn apply_commit(&mut self, commit: Commit, entries: &[Entry]) {
        let mut ordinal = commit.first_ordinal;
        for entry in entries {
            let is_record = matches!(entry, Entry::Record(_));
            self.state.apply(is_record.then_some(ordinal), entry);
            ordinal += u32::from(is_record);
        }
        assert_eq!(
            self.state.index.len() as u32,
            self.log.records(),
            "index and log number alike"
        );
    }
}

/// Leaves the outcomes of what is on disk, which are the first `records` insertions and what was
/// found known or refused between them.
fn cut_to(outcomes: &mut Vec<WriteOutcome>, records: usize) {
    let places = 0..outcomes.len();
    let mut inserted = places.filter(|at| outcomes[*at].new_id().is_some());
    if let Some(first_lost) = inserted.nth(records) {
        outcomes.truncate(first_lost);
    }
}
