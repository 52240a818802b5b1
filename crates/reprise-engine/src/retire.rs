//! Putting a record behind another one that says the same, or away because its time is over, and
//! taking that back: the text stays in the log, no recall of the present shows it, and its names
//! lead to the other.
//!
//! And which records cannot both hold, the older and the newer, as tending notes them. Both answer;
//! of the two a recall puts the newer first (`recall/contrary.rs`).
//!
//! In the log each is a link of a relation that no caller can spell (`marks.rs`).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use reprise_store::Entry;
use reprise_types::{Annotation, NewRecord, RecordId, WriteOutcome};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::forget::{ForgetSelector, Forgotten};
use crate::marks::{APART, CONTRARY, DISTILLED, LinkSpan, OVER, RETIRED, puts_away};
use crate::snapshot::Snapshot;
use crate::write::{LinkEnd, NewLink, WriteBatch};

/// Newer records that one is noted to contradict; of a figure that is told anew every hour these
/// are enough.
const NEWER_MAX: usize = 8;

/// A record that was put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retired {
    /// The record that answers no more.
    pub gone: RecordId,
    /// The one that answers for it; `None` where its time was over.
    pub kept: Option<RecordId>,
    /// When, in microseconds since the Unix epoch: one instant for all of one call.
    pub at_micros: i64,
    /// When that was taken back, where it was.
    pub undone_micros: Option<i64>,
}

/// Two records that were noted as contradicting each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    pub older: RecordId,
    pub newer: RecordId,
    /// When, in microseconds since the Unix epoch: one instant for all of one call.
    pub at_micros: i64,
    /// When that was taken back, where it was.
    pub undone_micros: Option<i64>,
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
        let pairs = pairs.iter().filter(|(gone, kept)| gone != kept).copied();
        self.link_all_as(RETIRED, pairs.collect(), now)
    }

    /// Puts records away because their time is over; answers as [`Self::retire`] does. What they
    /// say is gone from the file with the first compaction that [`Self::forget_over`] precedes.
    pub fn put_away(
        &mut self,
        ids: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        self.link_all_as(OVER, ids.iter().map(|id| (*id, *id)).collect(), now)
    }

    /// Takes back what put these records away. Answers how many answer again.
    pub fn restore(&mut self, gone: &[RecordId], now: DateTime<Utc>) -> Result<usize, EngineError> {
        let annotations = gone.iter().filter_map(|gone| {
            let ordinal = self.snapshot.index.find(*gone)?;
            let link = self.snapshot.retired_by(ordinal)?;
            let (to, relation) = (link.to, link.relation.to_string());
            Some((ordinal, Annotation::Unlinked { to, relation }))
        });
        let annotations = annotations.collect();
        Ok(self.say_all(annotations, now)?.1)
    }

    /// Forgets what was put away because its time was over, before an instant.
    pub fn forget_over(
        &mut self,
        before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Forgotten>, EngineError> {
        let before = before.timestamp_micros();
        let over = self.snapshot.retired().into_iter();
        let over = over.filter(|one| one.kept.is_none() && one.at_micros <= before);
        let over: Vec<RecordId> = over.map(|one| one.gone).collect();
        self.forget(&ForgetSelector::All(over), "its time was over", now)
    }

    /// Notes that two records are not the same, whatever they look like; or of one, named twice,
    /// that it stays past its time. In the same commit they contradict each other no more. Answers
    /// whether it is new.
    pub fn set_apart(
        &mut self,
        one: RecordId,
        other: RecordId,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let memory = &self.snapshot;
        let (from, to) = (self.live(one)?, self.live(other)?);
        let new = !memory.are_apart(one, other);
        let mut annotations = Vec::new();
        if new {
            let relation = APART.to_owned();
            annotations.push((from, Annotation::Linked { to, relation }));
        }
        for (older, to) in [(from, to), (to, from)] {
            if memory.marks.contrary(older).any(|link| link.to == to) {
                let relation = CONTRARY.to_owned();
                annotations.push((older, Annotation::Unlinked { to, relation }));
            }
        }
        self.say_all(annotations, now)?;
        Ok(new)
    }

    /// Notes that live records contradict each other, `(older, newer)` each, in one commit. What
    /// was noted before, also where it was taken back, is passed over, and so is what somebody set
    /// apart. Answers the instant, in microseconds since the Unix epoch, and how many are new.
    pub fn contradict(
        &mut self,
        pairs: &[(RecordId, RecordId)],
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let memory = self.snapshot();
        let marks = &memory.marks;
        // With those of this call.
        let mut held: BTreeMap<u32, usize> = BTreeMap::new();
        let mut is_new = |(older, newer): &(RecordId, RecordId)| {
            let ends = memory.index.find(*older).zip(memory.index.find(*newer));
            ends.is_some_and(|(older, newer)| {
                if older == newer || marks.ever_contrary(older).any(|link| link.to == newer) {
                    return false;
                }
                let open = || marks.contrary(older).count();
                let held = held.entry(older).or_insert_with(open);
                *held += 1;
                *held <= NEWER_MAX
            })
        };
        let together = pairs
            .iter()
            .filter(|(one, other)| !memory.are_apart(*one, *other));
        let new = together.filter(|pair| is_new(pair)).copied();
        self.link_all_as(CONTRARY, new.collect(), now)
    }

    /// Takes back what was noted at an instant. Answers the pairs, the older first.
    pub fn take_back_contradictions(
        &mut self,
        at_micros: i64,
        now: DateTime<Utc>,
    ) -> Result<Vec<[RecordId; 2]>, EngineError> {
        let (mut pairs, mut annotations) = (Vec::new(), Vec::new());
        let held = self.snapshot.contradictions().into_iter();
        for one in held.filter(|one| one.undone_micros.is_none() && one.at_micros == at_micros) {
            let index = &self.snapshot.index;
            if let Some((from, to)) = index.find(one.older).zip(index.find(one.newer)) {
                let relation = CONTRARY.to_owned();
                annotations.push((from, Annotation::Unlinked { to, relation }));
                pairs.push([one.older, one.newer]);
            }
        }
        self.say_all(annotations, now)?;
        Ok(pairs)
    }

    /// Keeps a record that says what others have in common, and cites them: forgetting one of them
    /// forgets it too. Answers its id where it is new.
    pub fn distil(
        &mut self,
        record: NewRecord,
        sources: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<Option<RecordId>, EngineError> {
        let sources = sources.iter().copied().map(LinkEnd::Kept);
        let links = sources.map(|source| NewLink::distilled(LinkEnd::New(0), source));
        let batch = WriteBatch {
            records: vec![record],
            links: links.collect(),
            ..WriteBatch::default()
        };
        let outcomes = self.write(batch, now)?.outcomes;
        Ok(outcomes.first().and_then(WriteOutcome::new_id))
    }

    /// Links live records, in one commit; answers the instant and how many.
    pub(crate) fn link_all_as(
        &mut self,
        relation: &str,
        pairs: Vec<(RecordId, RecordId)>,
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let annotations = pairs.into_iter().filter_map(|(from, to)| {
            let (from, to) = self.snapshot.ordinal(from).zip(self.snapshot.ordinal(to))?;
            let relation = relation.to_owned();
            Some((from, Annotation::Linked { to, relation }))
        });
        let annotations = annotations.collect();
        self.say_all(annotations, now)
    }

    /// Says something of records, in one commit; answers the instant, in microseconds since the
    /// Unix epoch, and of how many.
    pub(crate) fn say_all(
        &mut self,
        annotations: Vec<(u32, Annotation)>,
        now: DateTime<Utc>,
    ) -> Result<(i64, usize), EngineError> {
        let at = self.advance_clock(now);
        let entries: Vec<Entry> = annotations
            .into_iter()
            .map(|(ordinal, annotation)| Entry::annotated(ordinal, at, annotation))
            .collect();
        self.keep(&entries)?;
        Ok((at.timestamp_micros(), entries.len()))
    }
}

impl Snapshot {
    /// All records that were put away and still are, oldest first.
    pub fn retired(&self) -> Vec<Retired> {
        let mut retired = self.ever_retired();
        retired.retain(|one| one.undone_micros.is_none());
        retired.sort_by_key(|one| one.gone);
        retired
    }

    /// The same with what was taken back, in the order in which it was done, as far as it is not
    /// forgotten.
    pub fn ever_retired(&self) -> Vec<Retired> {
        let links = self.marks.hidden_links();
        let links = links.filter(|(link, _)| puts_away(&link.relation));
        let retired = links.filter_map(|(link, undone_micros)| {
            let gone = self.index.doc(link.from)?.id;
            let kept = self.index.doc(link.to)?.id;
            Some(Retired {
                gone,
                kept: (kept != gone).then_some(kept),
                at_micros: link.since,
                undone_micros,
            })
        });
        retired.collect()
    }

    /// Every pair that was noted, with those that were taken back, in the order in which that was
    /// done, as far as they are not forgotten.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let links = self.marks.hidden_links();
        let links = links.filter(|(link, _)| &*link.relation == CONTRARY);
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

    /// The records that a live record was distilled from, as far as they are there.
    pub fn sources(&self, id: RecordId) -> Vec<RecordId> {
        let Some(ordinal) = self.ordinal(id) else {
            return Vec::new();
        };
        let links = self.marks.links(ordinal);
        let cited = links.filter(|link| link.from == ordinal && &*link.relation == DISTILLED);
        cited.filter_map(|link| self.id_at(link.to)).collect()
    }

    /// The live records that were distilled from others.
    pub fn distilled(&self) -> BTreeSet<RecordId> {
        let links = self.marks.all_links();
        let links = links.filter(|link| &*link.relation == DISTILLED);
        let live = links.filter_map(|link| self.live(link.from));
        live.map(|doc| doc.id).collect()
    }

    /// Whether somebody said that two records are not the same, or of one that it stays.
    pub fn are_apart(&self, one: RecordId, other: RecordId) -> bool {
        let ends = self.index.find(one).zip(self.index.find(other));
        ends.is_some_and(|(one, other)| {
            let is_said = |from, to| self.marks.held_link(from, to, APART).is_some();
            is_said(one, other) || is_said(other, one)
        })
    }

    /// The link by which a record was put away.
    pub(crate) fn retired_by(&self, ordinal: u32) -> Option<&LinkSpan> {
        let mut links = self.marks.links(ordinal);
        links.find(|link| link.from == ordinal && puts_away(&link.relation))
    }

    /// Whether a record was made of another one's words.
    pub(crate) fn cites(&self, made: u32, source: u32) -> bool {
        self.marks.held_link(made, source, DISTILLED).is_some()
    }

    /// The live record that this one was put behind, in however many steps, or itself; `None` where
    /// it was corrected or forgotten, or its time was over.
    pub fn stands_for(&self, id: RecordId) -> Option<RecordId> {
        let mut at = self.index.find(id)?;
        loop {
            let doc = self.index.doc(at)?;
            if doc.is_live() {
                return Some(doc.id);
            }
            at = self.retired_by(at).filter(|link| link.to != at)?.to;
        }
    }

    /// The places of the records behind one, and of those behind them; and of what was distilled
    /// from any of these, without its other sources.
    pub(crate) fn behind(&self, ordinal: u32) -> Vec<u32> {
        let (mut behind, mut next) = (Vec::new(), vec![ordinal]);
        while let Some(at) = next.pop() {
            let links = self.marks.links(at);
            let into = links.filter(|link| {
                let says_it_too = match &*link.relation {
                    RETIRED => at == ordinal || !self.cites(at, link.from),
                    relation => relation == DISTILLED,
                };
                link.to == at && says_it_too
            });
            let new: Vec<u32> = into
                .map(|link| link.from)
                .filter(|from| *from != ordinal && !behind.contains(from))
                .collect();
            behind.extend(&new);
            next.extend(new);
        }
        behind
    }

    /// What was put behind a record.
    pub(crate) fn put_behind(&self, ordinal: u32) -> impl Iterator<Item = u32> {
        let links = self.marks.links(ordinal);
        let into = links.filter(move |link| link.to == ordinal && &*link.relation == RETIRED);
        into.map(|link| link.from)
    }
}
