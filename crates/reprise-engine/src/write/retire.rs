//! Retires a record into another one that says the same, or expires it because its time is over,
//! and undoes that: the text stays in the log, no recall of the present returns it, and its
//! external ids lead to the other record.
//!
//! Also notes which records contradict each other, the older and the newer. Both stay live; a
//! recall puts the newer first (`recall/contradictions.rs`).
//!
//! In the log each of these is a link of a relation that no caller can spell
//! (`annotation_index.rs`).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use reprise_store::StoreEntry;
use reprise_types::{Annotation, NewRecord, RecordId, WriteOutcome};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::snapshot::annotation_index::{
    CONTRADICTED, DISTILLED, DISTINCT, EXPIRED, LinkSpan, RETIRED, is_retirement,
};
use crate::write::forget::{ForgetSelector, ForgottenRecord};
use crate::write::{LinkEnd, NewLink, WriteBatch};

/// Most newer records that one record is noted to contradict: a figure that changes every hour
/// needs no more.
const NEWER_MAX: usize = 8;

/// A record that was retired or expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retirement {
    /// The record that is no longer live.
    pub retired: RecordId,
    /// The record that it was retired into; `None` if it expired.
    pub merged_into: Option<RecordId>,
    /// When it was retired, in microseconds since the Unix epoch; the same instant for all records
    /// of one call.
    pub at_micros: i64,
    /// When that was undone, if it was.
    pub undone_micros: Option<i64>,
}

/// Two records that were noted as contradicting each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    pub older: RecordId,
    pub newer: RecordId,
    /// When they were noted, in microseconds since the Unix epoch; the same instant for all pairs
    /// of one call.
    pub at_micros: i64,
    /// When that was undone, if it was.
    pub undone_micros: Option<i64>,
}

/// Two records that were marked as different, or one, given twice, that does not expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distinction {
    pub pair: [RecordId; 2],
    /// When they were marked, in microseconds since the Unix epoch.
    pub at_micros: i64,
    /// When that was taken back, if it was.
    pub undone_micros: Option<i64>,
}

/// What one action changes in a memory.
#[derive(Debug, Clone, Default)]
pub struct ActionChanges {
    /// New records that state what others have in common, each with those others.
    pub distilled: Vec<(NewRecord, Vec<RecordId>)>,
    /// Records to retire, a pair (retired, other) each.
    pub retired: Vec<(RecordId, RecordId)>,
    /// Records whose time is over.
    pub expired: Vec<RecordId>,
    /// Records that contradict each other, a pair (older, newer) each.
    pub contradictions: Vec<(RecordId, RecordId)>,
}

impl Engine {
    /// Makes the changes of an action, all at one instant, later than that of any action before:
    /// the instant is what an action is named by. Returns it, in microseconds since the Unix epoch,
    /// or `None` if nothing changed; and the ids of the new records.
    pub fn execute_action(
        &mut self,
        changes: ActionChanges,
        now: DateTime<Utc>,
    ) -> Result<(Option<i64>, Vec<RecordId>), EngineError> {
        let at = self.advance_clock_past_last(now);
        let mut distilled = Vec::new();
        for (record, sources) in changes.distilled {
            distilled.extend(self.insert_distilled(record, &sources, at)?);
        }
        let linked = self.retire_at(&changes.retired, at)?.1
            + self.expire_at(&changes.expired, at)?.1
            + self.mark_contradictions_at(&changes.contradictions, at)?.1;
        let is_any = linked > 0 || !distilled.is_empty();
        Ok((is_any.then_some(at.timestamp_micros()), distilled))
    }

    /// Retires records into others, a pair (retired, other) each, in one commit. Skips pairs of one
    /// record, pairs that would close a circle, all but the first pair of a retired record, and
    /// pairs of which one is not live. Returns the instant, in microseconds since the Unix epoch,
    /// and how many were retired.
    pub fn retire(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock_past_last(now);
        self.retire_at(pairs, at)
    }

    fn retire_at(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        at: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let mut into: BTreeMap<RecordId, RecordId> = BTreeMap::new();
        let mut open = Vec::with_capacity(pairs.len());
        for (gone, kept) in pairs.iter().filter(|(gone, kept)| gone != kept) {
            let last = std::iter::successors(Some(*kept), |at| into.get(at).copied()).last();
            if last != Some(*gone) && !into.contains_key(gone) {
                into.insert(*gone, *kept);
                open.push((*gone, *kept));
            }
        }
        self.link_all_with(RETIRED, open, at)
    }

    /// Expires records whose time is over. Returns the instant, in microseconds since the Unix
    /// epoch, and how many expired. Their texts leave the file with the first compaction after
    /// [`Self::forget_expired`].
    pub fn expire(
        &mut self,
        ids: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock_past_last(now);
        self.expire_at(ids, at)
    }

    fn expire_at(
        &mut self,
        ids: &[RecordId],
        at: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        self.link_all_with(EXPIRED, ids.iter().map(|id| (*id, *id)).collect(), at)
    }

    /// Undoes the retirement or expiry of these records. Returns how many are live again.
    pub fn restore(&mut self, gone: &[RecordId], now: DateTime<Utc>) -> Result<usize, EngineError> {
        let annotations = gone.iter().filter_map(|gone| {
            let ordinal = self.snapshot.index.find(*gone)?;
            let link = self.snapshot.retirement_link(ordinal)?;
            let (to, relation) = (link.to, link.relation.to_string());
            Some((ordinal, Annotation::Unlinked { to, relation }))
        });
        let annotations = annotations.collect();
        Ok(self.annotate_all(annotations, now)?.1)
    }

    /// Forgets the records that expired before an instant.
    pub fn forget_expired(
        &mut self,
        before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<ForgottenRecord>, EngineError> {
        let before = before.timestamp_micros();
        let over = self.snapshot.retirements().into_iter();
        let over = over.filter(|one| one.merged_into.is_none() && one.at_micros <= before);
        let over: Vec<RecordId> = over.map(|one| one.retired).collect();
        self.forget(&ForgetSelector::All(over), "its time was over", now)
    }

    /// Notes that two records are different, however similar they look; for one record, given
    /// twice, that it does not expire. The same commit ends a contradiction between them. Returns
    /// whether it is new.
    pub fn mark_distinct(
        &mut self,
        one: RecordId,
        other: RecordId,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let memory = &self.snapshot;
        let (from, to) = (self.live_ordinal(one)?, self.live_ordinal(other)?);
        let new = !memory.are_distinct(one, other);
        let mut annotations = Vec::new();
        if new {
            let relation = DISTINCT.to_owned();
            annotations.push((from, Annotation::Linked { to, relation }));
        }
        for (older, to) in [(from, to), (to, from)] {
            if memory
                .marks
                .open_contradictions(older)
                .any(|link| link.to == to)
            {
                let relation = CONTRADICTED.to_owned();
                annotations.push((older, Annotation::Unlinked { to, relation }));
            }
        }
        let at = self.advance_clock_past_last(now);
        self.annotate_all(annotations, at)?;
        Ok(new)
    }

    /// Takes back that records were marked as different, at an instant of
    /// [`Snapshot::distinctions`]. The same commit notes again the contradictions that the mark
    /// had ended. Returns the pairs.
    pub fn unmark_distinct(
        &mut self,
        at_micros: i64,
        now: DateTime<Utc>,
    ) -> Result<Vec<[RecordId; 2]>, EngineError> {
        let memory = self.snapshot();
        let (mut pairs, mut annotations) = (Vec::new(), Vec::new());
        let marked = memory.distinctions().into_iter();
        for one in marked.filter(|one| one.undone_micros.is_none() && one.at_micros == at_micros) {
            let ends = one.pair.map(|id| memory.index.find(id));
            let [Some(from), Some(to)] = ends else {
                continue;
            };
            let relation = DISTINCT.to_owned();
            annotations.push((from, Annotation::Unlinked { to, relation }));
            let ended = memory.contradictions().into_iter().filter(|noted| {
                noted.undone_micros == Some(at_micros)
                    && (one.pair == [noted.older, noted.newer]
                        || one.pair == [noted.newer, noted.older])
            });
            for noted in ended {
                let ends = memory.live_ordinal(noted.older);
                if let Some((older, to)) = ends.zip(memory.live_ordinal(noted.newer)) {
                    let relation = CONTRADICTED.to_owned();
                    annotations.push((older, Annotation::Linked { to, relation }));
                }
            }
            pairs.push(one.pair);
        }
        let at = self.advance_clock_past_last(now);
        self.annotate_all(annotations, at)?;
        Ok(pairs)
    }

    /// Notes that live records contradict each other, a pair (older, newer) each, in one commit.
    /// Skips pairs that were noted before, even if that was undone, and pairs marked as different.
    /// Returns the instant, in microseconds since the Unix epoch, and how many are new.
    pub fn mark_contradictions(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock_past_last(now);
        self.mark_contradictions_at(pairs, at)
    }

    fn mark_contradictions_at(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        at: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let memory = self.snapshot();
        let marks = &memory.marks;
        // Counts the newer records of each older one, those of this call included.
        let mut newer_counts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut is_new = |(older, newer): &(RecordId, RecordId)| {
            let ends = memory.index.find(*older).zip(memory.index.find(*newer));
            ends.is_some_and(|(older, newer)| {
                if older == newer
                    || marks
                        .contradiction_history(older)
                        .any(|link| link.to == newer)
                {
                    return false;
                }
                let open = || marks.open_contradictions(older).count();
                let count = newer_counts.entry(older).or_insert_with(open);
                *count += 1;
                *count <= NEWER_MAX
            })
        };
        let not_distinct = pairs
            .iter()
            .filter(|(one, other)| !memory.are_distinct(*one, *other));
        let new = not_distinct.filter(|pair| is_new(pair)).copied();
        self.link_all_with(CONTRADICTED, new.collect(), at)
    }

    /// Undoes the contradictions that were noted at an instant. Returns the pairs, the older record
    /// first.
    pub fn undo_contradictions(
        &mut self,
        at_micros: i64,
        now: DateTime<Utc>,
    ) -> Result<Vec<[RecordId; 2]>, EngineError> {
        let (mut pairs, mut annotations) = (Vec::new(), Vec::new());
        let noted = self.snapshot.contradictions().into_iter();
        for one in noted.filter(|one| one.undone_micros.is_none() && one.at_micros == at_micros) {
            let index = &self.snapshot.index;
            if let Some((from, to)) = index.find(one.older).zip(index.find(one.newer)) {
                let relation = CONTRADICTED.to_owned();
                annotations.push((from, Annotation::Unlinked { to, relation }));
                pairs.push([one.older, one.newer]);
            }
        }
        self.annotate_all(annotations, now)?;
        Ok(pairs)
    }

    /// Writes a record that states what others have in common, and links it to them: forgetting one
    /// of them forgets it too. Returns its id if it is new.
    pub fn insert_distilled(
        &mut self,
        record: NewRecord,
        sources: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<Option<RecordId>, EngineError> {
        let sources = sources.iter().copied().map(LinkEnd::Stored);
        let links = sources.map(|source| NewLink::distilled_from(LinkEnd::New(0), source));
        let batch = WriteBatch {
            records: vec![record],
            links: links.collect(),
            ..WriteBatch::default()
        };
        let outcomes = self.write(batch, now)?.outcomes;
        Ok(outcomes.first().and_then(WriteOutcome::inserted_id))
    }

    /// Links live records by a relation at an instant, in one commit; returns it and how many.
    pub(crate) fn link_all_with(
        &mut self,
        relation: &str,
        pairs: Vec<(RecordId, RecordId)>,
        at: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let annotations = pairs.into_iter().filter_map(|(from, to)| {
            let (from, to) = self
                .snapshot
                .live_ordinal(from)
                .zip(self.snapshot.live_ordinal(to))?;
            let relation = relation.to_owned();
            Some((from, Annotation::Linked { to, relation }))
        });
        let annotations = annotations.collect();
        self.annotate_all(annotations, at)
    }

    /// Writes annotations in one commit; returns the instant, in microseconds since the Unix epoch,
    /// and how many.
    pub(crate) fn annotate_all(
        &mut self,
        annotations: Vec<(u32, Annotation)>,
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock(now);
        let entries: Vec<StoreEntry> = annotations
            .into_iter()
            .map(|(ordinal, annotation)| StoreEntry::from_annotation(ordinal, at, annotation))
            .collect();
        self.append_and_publish(&entries)?;
        Ok((at.timestamp_micros(), entries.len()))
    }
}

impl Snapshot {
    /// Returns all records that are retired or expired now, oldest first.
    pub fn retirements(&self) -> Vec<Retirement> {
        let mut current = self.list_all_retirements();
        current.retain(|one| one.undone_micros.is_none());
        current.sort_by_key(|one| one.retired);
        current
    }

    /// Returns every retirement and expiry, including those that were undone, in the order in which
    /// they happened, of records that are not forgotten.
    pub fn list_all_retirements(&self) -> Vec<Retirement> {
        let links = self.marks.reserved_links();
        let links = links.filter(|(link, _)| is_retirement(&link.relation));
        let retired = links.filter_map(|(link, undone_micros)| {
            let retired = self.index.doc(link.from)?.id;
            let kept = self.index.doc(link.to)?.id;
            Some(Retirement {
                retired,
                merged_into: (kept != retired).then_some(kept),
                at_micros: link.since,
                undone_micros,
            })
        });
        retired.collect()
    }

    /// Returns every pair that was noted as contradictory, including those that were undone, in the
    /// order in which they were noted, of records that are not forgotten.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let links = self.marks.reserved_links();
        let links = links.filter(|(link, _)| &*link.relation == CONTRADICTED);
        let noted = links.filter_map(|(link, undone_micros)| {
            Some(Contradiction {
                older: self.index.doc(link.from)?.id,
                newer: self.index.doc(link.to)?.id,
                at_micros: link.since,
                undone_micros,
            })
        });
        noted.collect()
    }

    /// Returns the noted contradictions that are not decided: both records are live, and nobody
    /// has marked them as different.
    pub fn open_contradictions(&self) -> impl Iterator<Item = Contradiction> {
        self.contradictions().into_iter().filter(|one| {
            one.undone_micros.is_none()
                && [one.older, one.newer].iter().all(|id| self.is_live(*id))
                && !self.are_distinct(one.older, one.newer)
        })
    }

    /// Returns the records that something newer contradicts, each with that; of several the one
    /// that was noted last counts.
    pub fn list_contradicted(&self) -> BTreeMap<RecordId, RecordId> {
        let open = self.open_contradictions();
        open.map(|one| (one.older, one.newer)).collect()
    }

    /// Returns every pair that was marked as different, including those of which that was taken
    /// back, in the order in which they were marked, of records that are not forgotten.
    pub fn distinctions(&self) -> Vec<Distinction> {
        let links = self.marks.reserved_links();
        let links = links.filter(|(link, _)| &*link.relation == DISTINCT);
        let marked = links.filter_map(|(link, undone_micros)| {
            Some(Distinction {
                pair: [self.index.doc(link.from)?.id, self.index.doc(link.to)?.id],
                at_micros: link.since,
                undone_micros,
            })
        });
        marked.collect()
    }

    /// Returns the stored records that a live record was distilled from.
    pub fn sources(&self, id: RecordId) -> Vec<RecordId> {
        let Some(ordinal) = self.live_ordinal(id) else {
            return Vec::new();
        };
        let links = self.marks.open_links(ordinal);
        let cited = links.filter(|link| link.from == ordinal && &*link.relation == DISTILLED);
        cited.filter_map(|link| self.id_at(link.to)).collect()
    }

    /// Returns the live records that were distilled from others.
    pub fn list_distilled_record_ids(&self) -> BTreeSet<RecordId> {
        let links = self.marks.public_links();
        let links = links.filter(|link| &*link.relation == DISTILLED);
        let live = links.filter_map(|link| self.live_doc(link.from));
        live.map(|doc| doc.id).collect()
    }

    /// Whether two records were marked as different; for one record, given twice, whether it was
    /// marked as not expiring.
    pub fn are_distinct(&self, one: RecordId, other: RecordId) -> bool {
        let ends = self.index.find(one).zip(self.index.find(other));
        ends.is_some_and(|(one, other)| {
            let is_said = |from, to| self.marks.find_open_link(from, to, DISTINCT).is_some();
            is_said(one, other) || is_said(other, one)
        })
    }

    /// Returns the link by which a record was retired or expired.
    pub(crate) fn retirement_link(&self, ordinal: u32) -> Option<&LinkSpan> {
        self.marks.find_retirement(ordinal)
    }

    /// Whether a record was distilled from another one.
    pub(crate) fn is_distilled_from(&self, distilled_record: u32, source: u32) -> bool {
        self.marks
            .find_open_link(distilled_record, source, DISTILLED)
            .is_some()
    }

    /// Returns the live record that this one was retired into, in any number of steps, or itself;
    /// `None` if it was corrected, forgotten or expired.
    pub fn merged_into(&self, id: RecordId) -> Option<RecordId> {
        let mut at = self.index.find(id)?;
        let mut passed = BTreeSet::new();
        // Two machines may each have retired one of two records into the other.
        while passed.insert(at) {
            let doc = self.index.doc(at)?;
            if doc.is_live() {
                return Some(doc.id);
            }
            at = self.retirement_link(at).filter(|link| link.to != at)?.to;
        }
        None
    }

    /// Collects the ordinals of the records that were retired into one, directly or through others,
    /// and of those that were distilled from any of these, without their other sources.
    pub(crate) fn collect_dependents(&self, ordinal: u32) -> Vec<u32> {
        let (mut dependents, mut next) = (Vec::new(), vec![ordinal]);
        while let Some(at) = next.pop() {
            let links = self.marks.open_links(at);
            let into = links.filter(|link| {
                let says_it_too = match &*link.relation {
                    RETIRED => at == ordinal || !self.is_distilled_from(at, link.from),
                    relation => relation == DISTILLED,
                };
                link.to == at && says_it_too
            });
            let new: Vec<u32> = into
                .map(|link| link.from)
                .filter(|from| *from != ordinal && !dependents.contains(from))
                .collect();
            dependents.extend(&new);
            next.extend(new);
        }
        dependents
    }

    /// Iterates over the records that were retired into one directly.
    pub(crate) fn iter_retired_into(&self, ordinal: u32) -> impl Iterator<Item = u32> {
        let links = self.marks.open_links(ordinal);
        let into = links.filter(move |link| link.to == ordinal && &*link.relation == RETIRED);
        into.map(|link| link.from)
    }
}
