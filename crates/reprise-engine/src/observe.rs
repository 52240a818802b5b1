//! Keeping: one call is one group commit. On disk first, then in the index, then visible.

use chrono::{DateTime, Utc};
use reprise_store::Entry;
use reprise_types::{
    Annotation, EmbeddingSpace, MemoryRecord, NewRecord, RecordId, RejectReason, WriteOutcome,
    check_unit_vector,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::prepare;

impl Engine {
    /// Keeps `records` and moves the stream's cursor, both or neither, with one write and one sync.
    ///
    /// Answers one outcome per record, in order. A cursor at or behind the one held is not written,
    /// so a replay of known events changes nothing.
    pub fn observe(
        &mut self,
        records: Vec<NewRecord>,
        cursor: Option<(String, u64)>,
        now: DateTime<Utc>,
    ) -> Result<Vec<WriteOutcome>, EngineError> {
        let known_at = self.advance_clock(now);
        let mut outcomes = Vec::with_capacity(records.len());
        let mut kept: Vec<MemoryRecord> = Vec::new();
        let mut space = self.state.space.clone();
        for new in records {
            outcomes.push(self.admit(new, known_at, &mut kept, &mut space));
        }
        let links = self.links_handed_on(&kept, known_at);
        let mut entries: Vec<Entry> = kept
            .into_iter()
            .map(|record| Entry::Record(Box::new(record)))
            .collect();
        entries.extend(links);
        if let Some((stream, seq)) = cursor
            && self.log.cursor(&stream).is_none_or(|held| seq > held)
        {
            entries.push(Entry::Cursor { stream, seq });
        }
        if entries.is_empty() {
            return Ok(outcomes);
        }
        self.commit(&entries)?;
        self.publish();
        Ok(outcomes)
    }

    /// The links of what is corrected, made anew for the corrections.
    fn links_handed_on(&self, kept: &[MemoryRecord], at: DateTime<Utc>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (ordinal, record) in (self.log.records()..).zip(kept) {
            let Some(old) = record.supersedes.and_then(|id| self.snapshot.ordinal(id)) else {
                continue;
            };
            for link in self.snapshot.marks.links(old) {
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

    /// Gives waiting records their vectors. Those of another space, already embedded or gone are
    /// passed over; answers how many were taken.
    pub fn embed_late(
        &mut self,
        vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
    ) -> Result<usize, EngineError> {
        let mut space = self.state.space.clone();
        let mut entries = Vec::new();
        for (id, found, vector) in vectors {
            let Some(ordinal) = self.state.index.find(id) else {
                continue;
            };
            let waiting = self
                .snapshot
                .index
                .doc(ordinal)
                .is_some_and(|doc| doc.is_live())
                && !self.snapshot.index.has_vector(ordinal);
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
        self.place_late(&entries);
        self.publish();
        Ok(entries.len())
    }

    /// Up to `limit` live records without a vector, oldest first, with their texts.
    #[must_use]
    pub fn unembedded(&self, limit: usize) -> Vec<(RecordId, String)> {
        let waiting = self.snapshot.index.unembedded(limit);
        let read = |ordinal| self.snapshot.reader.record(ordinal).ok();
        waiting
            .into_iter()
            .filter_map(read)
            .map(|record| (record.id, record.text))
            .collect()
    }

    fn admit(
        &mut self,
        new: NewRecord,
        known_at: DateTime<Utc>,
        kept: &mut Vec<MemoryRecord>,
        space: &mut Option<EmbeddingSpace>,
    ) -> WriteOutcome {
        if let Err(why) = prepare::validate(&new) {
            return WriteOutcome::Rejected { why };
        }
        for external in &new.external_ids {
            let staged = kept
                .iter()
                .find(|record| record.external_ids.contains(external));
            if let Some(of) = staged.map(|r| r.id).or_else(|| self.duplicate_of(external)) {
                return WriteOutcome::Duplicate { of };
            }
        }
        if let Some(id) = new.supersedes
            && self.state.index.find(id).is_none()
            && !kept.iter().any(|record| record.id == id)
        {
            return WriteOutcome::Rejected {
                why: RejectReason::UnknownSuperseded { id },
            };
        }
        if let Some((found, _)) = &new.embedding
            && usize::from(found.dimensions) != self.state.index.dimensions()
        {
            let (got, expected) = (found.dimensions, self.state.index.dimensions());
            let message = format!("the vector has {got} numbers, this store holds {expected}");
            return WriteOutcome::Rejected {
                why: RejectReason::Vector { message },
            };
        }
        let id = self.ids.next(known_at);
        let record = prepare::build(new, id, known_at, space.as_ref());
        if record.embedding_space.is_some() {
            space.clone_from(&record.embedding_space);
        }
        kept.push(record);
        WriteOutcome::Inserted { id }
    }

    /// Appends, then applies what was appended. Nothing is applied that is not on disk.
    pub(crate) fn commit(&mut self, entries: &[Entry]) -> Result<(), EngineError> {
        let commit = self.log.append(entries)?;
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
        Ok(())
    }
}
