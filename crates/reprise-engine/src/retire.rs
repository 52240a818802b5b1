//! Putting a record behind another one that says the same, and taking that back: the text stays in
//! the log, no recall of the present shows it, and its names lead to the other.
//!
//! In the log it is a link of a relation that no caller can spell (`marks.rs`).

use chrono::{DateTime, Utc};
use reprise_store::Entry;
use reprise_types::{Annotation, RecordId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::marks::{APART, LinkSpan, RETIRED};
use crate::snapshot::Snapshot;

/// A record that was put behind another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retired {
    /// The record that answers no more.
    pub gone: RecordId,
    /// The one that answers for it.
    pub kept: RecordId,
    /// When, in microseconds since the Unix epoch: one instant for all of one call.
    pub at_micros: i64,
}

impl Engine {
    /// Puts records behind others, `(gone, kept)` each, in one commit. Pairs of which one is not
    /// there, or which are one record, are passed over. Answers the instant, in microseconds since
    /// the Unix epoch, and how many were put away.
    pub fn retire(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock(now);
        let annotations = pairs.iter().filter_map(|(gone, kept)| {
            let ends = self
                .snapshot
                .ordinal(*gone)
                .zip(self.snapshot.ordinal(*kept));
            let (gone, to) = ends.filter(|(gone, kept)| gone != kept)?;
            let relation = RETIRED.to_owned();
            Some((gone, Annotation::Linked { to, relation }))
        });
        let annotations = annotations.collect();
        let count = self.say_all(annotations, at)?;
        Ok((at.timestamp_micros(), count))
    }

    /// Takes back what [`Self::retire`] did to these records. Answers how many answer again.
    pub fn restore(&mut self, gone: &[RecordId], now: DateTime<Utc>) -> Result<usize, EngineError> {
        let at = self.advance_clock(now);
        let annotations = gone.iter().filter_map(|gone| {
            let ordinal = self.snapshot.index.find(*gone)?;
            let link = self.snapshot.retired_by(ordinal)?;
            let relation = RETIRED.to_owned();
            Some((
                ordinal,
                Annotation::Unlinked {
                    to: link.to,
                    relation,
                },
            ))
        });
        let annotations = annotations.collect();
        self.say_all(annotations, at)
    }

    /// Notes that two records are not the same, whatever they look like. Answers whether that is
    /// new.
    pub fn set_apart(
        &mut self,
        one: RecordId,
        other: RecordId,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let find = |id| {
            self.snapshot
                .ordinal(id)
                .ok_or(EngineError::UnknownRecord { id })
        };
        let (one, to) = (find(one)?, find(other)?);
        if one == to || self.snapshot.is_apart(one, to) {
            return Ok(false);
        }
        let at = self.advance_clock(now);
        let relation = APART.to_owned();
        self.say_all(vec![(one, Annotation::Linked { to, relation })], at)?;
        Ok(true)
    }

    fn say_all(
        &mut self,
        annotations: Vec<(u32, Annotation)>,
        at: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let entries: Vec<Entry> = annotations
            .into_iter()
            .map(|(ordinal, annotation)| Entry::Annotated {
                ordinal,
                at,
                annotation,
            })
            .collect();
        if !entries.is_empty() {
            self.commit(&entries)?;
            self.publish();
        }
        Ok(entries.len())
    }
}

impl Snapshot {
    /// All records that were put behind others and still are, oldest first.
    #[must_use]
    pub fn retired(&self) -> Vec<Retired> {
        let ordinals = 0..self.index.len() as u32;
        let retired = ordinals.filter_map(|ordinal| {
            let doc = self.index.doc(ordinal)?;
            if doc.superseded_at.is_none() || doc.forgotten_at.is_some() {
                return None;
            }
            let link = self.retired_by(ordinal)?;
            Some(Retired {
                gone: doc.id,
                kept: self.index.doc(link.to)?.id,
                at_micros: link.since,
            })
        });
        retired.collect()
    }

    /// Whether somebody said that two records are not the same.
    #[must_use]
    pub fn are_apart(&self, one: RecordId, other: RecordId) -> bool {
        let ends = self.index.find(one).zip(self.index.find(other));
        ends.is_some_and(|(one, other)| self.is_apart(one, other))
    }

    fn is_apart(&self, one: u32, other: u32) -> bool {
        let mut links = self.marks.links(one);
        links.any(|link| &*link.relation == APART && (link.from == other || link.to == other))
    }

    /// The link by which a record was put behind another.
    pub(crate) fn retired_by(&self, ordinal: u32) -> Option<&LinkSpan> {
        let mut links = self.marks.links(ordinal);
        links.find(|link| link.from == ordinal && &*link.relation == RETIRED)
    }

    /// The places of the records behind one, and of those behind them.
    pub(crate) fn behind(&self, ordinal: u32) -> Vec<u32> {
        let (mut behind, mut next) = (Vec::new(), vec![ordinal]);
        while let Some(at) = next.pop() {
            let links = self.marks.links(at);
            let into = links.filter(|link| link.to == at && &*link.relation == RETIRED);
            let new: Vec<u32> = into
                .map(|link| link.from)
                .filter(|from| *from != ordinal && !behind.contains(from))
                .collect();
            behind.extend(&new);
            next.extend(new);
        }
        behind
    }
}
