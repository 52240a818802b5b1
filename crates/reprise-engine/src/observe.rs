//! Keeping: one call is one group commit, or a few where it is large. On disk first, then in the
//! index, then visible.

use chrono::{DateTime, Utc};
use reprise_store::{Commit, Entry};
use reprise_types::{
    Annotation, Embedding, EmbeddingSpace, MemoryRecord, NewRecord, RecordId, RejectReason,
    WriteOutcome, check_unit_vector,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::marks::CONTRARY;
use crate::naming::Batch;
use crate::prepare::{self, name_of};

impl Engine {
    /// Keeps `records` and moves the stream's cursor, both or neither, with one write and one sync
    /// for every few megabytes; the cursor goes with the last of them.
    ///
    /// Answers one outcome per record, in order. A cursor at or behind the one held is not written,
    /// so a replay of known events changes nothing. Where the disk fails on the way, what was kept
    /// until then is told in [`EngineError::Partly`].
    pub fn observe(
        &mut self,
        records: Vec<NewRecord>,
        cursor: Option<(String, u64)>,
        now: DateTime<Utc>,
    ) -> Result<Vec<WriteOutcome>, EngineError> {
        self.observe_and_say(records, Vec::new(), cursor, now)
    }

    /// The same with what is said of records that are there, in the commit of the last of these.
    pub(crate) fn observe_and_say(
        &mut self,
        records: Vec<NewRecord>,
        annotations: Vec<(u32, Annotation)>,
        cursor: Option<(String, u64)>,
        now: DateTime<Utc>,
    ) -> Result<Vec<WriteOutcome>, EngineError> {
        self.know_keys()?;
        let known_at = self.advance_clock(now);
        let mut outcomes = Vec::with_capacity(records.len());
        let mut batch = Batch::default();
        let mut space = self.state.space.clone();
        for new in records {
            outcomes.push(self.admit(new, known_at, &mut batch, &mut space));
        }
        let links = self.links_handed_on(&batch.kept, known_at);
        let mut entries: Vec<Entry> = batch
            .kept
            .into_iter()
            .map(|record| Entry::Record(Box::new(record)))
            .collect();
        entries.extend(links);
        let annotated = annotations.into_iter().map(|(ordinal, annotation)| Entry::Annotated {
            ordinal,
            at: known_at,
            annotation,
        });
        entries.extend(annotated);
        if let Some((stream, seq)) = cursor
            && self.log.cursor(&stream).is_none_or(|held| seq > held)
        {
            entries.push(Entry::Cursor { stream, seq });
        }
        if entries.is_empty() {
            return Ok(outcomes);
        }
        let (done, committed) = self.commit_parts(&entries);
        self.publish();
        let Err(source) = committed else {
            return Ok(outcomes);
        };
        let all = outcomes.len();
        cut_to(&mut outcomes, done);
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

    /// The links of what is corrected, and how often that was said, made anew for the corrections.
    fn links_handed_on(&self, kept: &[MemoryRecord], at: DateTime<Utc>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (ordinal, record) in (self.log.records()..).zip(kept) {
            let Some(old) = record.supersedes.and_then(|id| self.snapshot.ordinal(id)) else {
                continue;
            };
            if let Some((count, last)) = self.snapshot.marks.seen(old) {
                let at = DateTime::from_timestamp_micros(last).unwrap_or(at);
                let annotation = Annotation::Seen { count };
                entries.push(Entry::Annotated {
                    ordinal,
                    at,
                    annotation,
                });
            }
            // What a text contradicts is asked anew of another one.
            let links = self.snapshot.marks.links(old);
            for link in links.filter(|link| *link.relation != *CONTRARY) {
                let end = |end: u32| if end == old { ordinal } else { end };
                let relation = link.relation.to_string();
                let (ordinal, to) = (end(link.from), end(link.to));
                entries.push(Entry::Annotated {
                    ordinal,
                    at,
                    annotation: Annotation::Linked { to, relation },
                });
            }
        }
        entries
    }

    /// Gives waiting records their vectors, which come from the model in use: where nobody said
    /// which that is, its space becomes the store's. Those of another space, already embedded or
    /// gone are passed over; answers how many were taken.
    pub fn embed_late(
        &mut self,
        vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
    ) -> Result<usize, EngineError> {
        let mut entries = Vec::new();
        self.adopt(vectors.first().map(|(_, found, _)| found))?;
        let mut space = self.state.space.clone();
        for (id, found, vector) in vectors {
            let Some(ordinal) = self.state.index.find(id) else {
                continue;
            };
            let doc = self.snapshot.index.doc(ordinal);
            let answers = doc.is_some_and(|doc| doc.is_live()) || self.state.others.has(ordinal);
            let waiting = answers && !self.snapshot.index.has_vector(ordinal);
            let fits = space.as_ref().is_none_or(|space| *space == found)
                && check_unit_vector(&vector, self.state.index.dimensions()).is_ok();
            if waiting && fits {
                space = Some(found.clone());
                entries.push(Entry::Embedded {
                    ordinal,
                    space: found,
                    vector,
                });
            }
        }
        if entries.is_empty() {
            return Ok(0);
        }
        self.commit(&entries)?;
        self.publish();
        Ok(entries.len())
    }

    /// Puts the model's space in force where none was configured; what the store holds of others is
    /// left out from now on, and waits for the model.
    fn adopt(&mut self, space: Option<&EmbeddingSpace>) -> Result<(), EngineError> {
        let held = self.state.space.as_ref();
        let Some(found) =
            space.filter(|found| self.state.configured.is_none() && held != Some(found))
        else {
            return Ok(());
        };
        if held.is_none() && usize::from(found.dimensions) == self.state.index.dimensions() {
            return Ok(());
        }
        let (held, found) = (held.map(name_of), name_of(found));
        tracing::warn!(
            ?held,
            ?found,
            "the model in use reads another space; vectors are made anew"
        );
        self.state.configured = space.cloned();
        self.rebuild()
    }

    /// Up to `limit` records that wait for a vector, oldest first, with their texts: live ones
    /// without, and all that have one of another space.
    pub fn unembedded(&self, limit: usize) -> Vec<(RecordId, String)> {
        let waiting = self.unembedded_from(0, limit);
        waiting
            .into_iter()
            .map(|(_, id, text)| (id, text))
            .collect()
    }

    /// The same from a place in the log on, with the place of each.
    pub fn unembedded_from(&self, first: u32, limit: usize) -> Vec<(u32, RecordId, String)> {
        let (index, others) = (&self.snapshot.index, &self.state.others);
        let waits = |ordinal: &u32| others.has(*ordinal) || index.is_unembedded(*ordinal);
        let read = |ordinal| {
            let record = self.snapshot.reader.record(ordinal).ok()?;
            Some((ordinal, record.id, record.body.text))
        };
        let waiting = (first..index.len() as u32).filter(waits);
        waiting.filter_map(read).take(limit).collect()
    }

    fn admit(
        &mut self,
        mut new: NewRecord,
        known_at: DateTime<Utc>,
        batch: &mut Batch,
        space: &mut Option<EmbeddingSpace>,
    ) -> WriteOutcome {
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
        let id = self.ids.next(known_at);
        if let Some(bytes) = truncated {
            tracing::warn!(%id, bytes, "a text was cut");
        }
        let record = prepare::build(new, id, known_at, space.as_ref());
        if let Some(foreign) = record.metadata.get(prepare::FOREIGN_SPACE_KEY) {
            tracing::warn!(%id, %foreign, "a vector of another space was left out");
        }
        if record.embedding_space.is_some() {
            space.clone_from(&record.embedding_space);
        }
        batch.push(record);
        WriteOutcome::Inserted { id }
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
    let inserted =
        |(_, outcome): &(usize, &WriteOutcome)| matches!(outcome, WriteOutcome::Inserted { .. });
    let first_lost = outcomes.iter().enumerate().filter(inserted).nth(records);
    if let Some((at, _)) = first_lost {
        outcomes.truncate(at);
    }
}
