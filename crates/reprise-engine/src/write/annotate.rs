//! Annotations of stored records: tags and links, each a log entry, and the queries for them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{
    Annotation, MemoryFilter, RecordId, RecordLink, RelatedRecord, SeenStats, normalize_tag,
    normalize_tags,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::snapshot::annotation_index::{LinkSpan, UNDELIVERED, is_reserved};

const DEPTH_MAX: usize = 16;

impl Engine {
    /// Replaces the tags of a record. Returns whether that changed anything.
    pub fn set_tags(
        &mut self,
        id: RecordId,
        tags: &[String],
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let ordinal = self.live_ordinal(id)?;
        let mut wanted = normalize_tags(tags);
        wanted.sort_unstable();
        if self.snapshot.tags_of(ordinal) == wanted {
            return Ok(false);
        }
        let mut at = self.advance_clock(now);
        // Of two changes at one moment the first could not be undone.
        if self.snapshot.marks.last_tag_change(ordinal) == Some(at.timestamp_micros()) {
            at = self.advance_clock(at + TimeDelta::microseconds(1));
        }
        self.annotate_all(vec![(ordinal, Annotation::Tagged { tags: wanted })], at)?;
        Ok(true)
    }

    /// Restores the tags that a record had before their last change; repeated calls go back to the
    /// tags that it was stored with. Returns whether that changed anything.
    pub fn undo_tag_change(
        &mut self,
        id: RecordId,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let Some(ordinal) = self.snapshot.live_ordinal(id) else {
            return Ok(false);
        };
        let kept = self.snapshot.reader.read_record(ordinal)?.body.tags;
        match self.snapshot.marks.tags_before_edit(ordinal, kept) {
            Some(tags) => self.set_tags(id, &tags, now),
            None => Ok(false),
        }
    }

    /// Replaces the tag `from` by `into` on every live record that has it, in commits of many
    /// records each. Returns the number of records that changed.
    pub fn merge_tag(
        &mut self,
        from: &str,
        into: &str,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let named = |tag| normalize_tag(tag).ok_or(EngineError::NoTag);
        let (from, into) = (named(from)?, named(into)?);
        if from == into {
            return Ok(0);
        }
        let (snapshot, mut annotations) = (&self.snapshot, Vec::new());
        for ordinal in snapshot.marks.ordinals_with_tag(&from, None) {
            if snapshot.live_doc(ordinal).is_none() {
                continue;
            }
            let mut tags = snapshot.record(ordinal, None)?.body.tags;
            tags.retain(|tag| *tag != from);
            tags.push(into.clone());
            tags.sort_unstable();
            tags.dedup();
            annotations.push((ordinal, Annotation::Tagged { tags }));
        }
        Ok(self.annotate_all(annotations, now)?.1)
    }

    /// Counts records as stated once more, in one commit; an id that occurs twice counts twice. Ids
    /// of records that are not live are skipped.
    pub fn mark_seen_again(
        &mut self,
        ids: &[RecordId],
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let mut again: BTreeMap<u32, u32> = BTreeMap::new();
        for ordinal in ids.iter().filter_map(|id| self.snapshot.live_ordinal(*id)) {
            *again.entry(ordinal).or_default() += 1;
        }
        let counted = again.into_iter().map(|(ordinal, more)| {
            let before = self
                .snapshot
                .marks
                .seen_stats(ordinal)
                .map_or(1, |(count, _)| count);
            let count = before.saturating_add(more);
            (ordinal, Annotation::Seen { count })
        });
        let counted = counted.collect();
        self.annotate_all(counted, now).map(|_| ())
    }

    /// Links one record to another. Returns whether the link is new.
    pub fn link(
        &mut self,
        from: RecordId,
        to: RecordId,
        relation: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let (from, to) = (self.live_ordinal(from)?, self.live_ordinal(to)?);
        let relation = normalize_tag(relation).ok_or(EngineError::NoRelation)?;
        let marks = &self.snapshot.marks;
        if from == to || marks.find_open_link(from, to, &relation).is_some() {
            return Ok(false);
        }
        self.annotate_all(vec![(from, Annotation::Linked { to, relation })], now)?;
        Ok(true)
    }

    /// Creates many links in one commit: from, to, relation. Returns for each whether it is new; a
    /// link with an end that is not live is not created.
    pub fn link_all(
        &mut self,
        links: &[(RecordId, RecordId, String)],
        now: DateTime<Utc>,
    ) -> Result<Vec<bool>, EngineError> {
        let marks = &self.snapshot.marks;
        let (mut annotations, mut made) = (Vec::new(), BTreeSet::new());
        let mut results = Vec::with_capacity(links.len());
        for (from, to, relation) in links {
            let ends = self
                .snapshot
                .live_ordinal(*from)
                .zip(self.snapshot.live_ordinal(*to));
            let wanted = ends
                .zip(normalize_tag(relation))
                .filter(|((from, to), relation)| {
                    from != to
                        && marks.find_open_link(*from, *to, relation).is_none()
                        && made.insert((*from, *to, relation.clone()))
                });
            results.push(wanted.is_some());
            if let Some(((ordinal, to), relation)) = wanted {
                annotations.push((ordinal, Annotation::Linked { to, relation }));
            }
        }
        self.annotate_all(annotations, now)?;
        Ok(results)
    }

    /// Removes a link. Returns whether there was one.
    pub fn unlink(
        &mut self,
        from: RecordId,
        to: RecordId,
        relation: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let (from, to) = (self.live_ordinal(from)?, self.live_ordinal(to)?);
        let relation = normalize_tag(relation).ok_or(EngineError::NoRelation)?;
        let marks = &self.snapshot.marks;
        if marks.find_open_link(from, to, &relation).is_none() {
            return Ok(false);
        }
        self.annotate_all(vec![(from, Annotation::Unlinked { to, relation })], now)?;
        Ok(true)
    }

    /// Notes that the program of a prompt went on before what memory had for it was there. Returns
    /// whether that is new.
    pub fn mark_undelivered(
        &mut self,
        prompt: RecordId,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let to = self.live_ordinal(prompt)?;
        if self.snapshot.is_undelivered(prompt) {
            return Ok(false);
        }
        let relation = UNDELIVERED.to_owned();
        self.annotate_all(vec![(to, Annotation::Linked { to, relation })], now)?;
        Ok(true)
    }

    /// Returns the ordinal of a live record, or an error.
    pub(crate) fn live_ordinal(&self, id: RecordId) -> Result<u32, EngineError> {
        let found = self.snapshot.live_ordinal(id);
        found.ok_or(EngineError::UnknownRecord { id })
    }
}

impl Snapshot {
    /// Returns whether the program of a prompt went on before what memory had for it was there.
    pub fn is_undelivered(&self, prompt: RecordId) -> bool {
        let ordinal = self.index.find(prompt);
        ordinal.is_some_and(|one| self.marks.find_open_link(one, one, UNDELIVERED).is_some())
    }

    /// Returns every tag that a live record has, with the number of such records, by name.
    pub fn tag_counts(&self) -> Vec<(String, usize)> {
        let view = self.view(&MemoryFilter::default(), None);
        let live = |ordinal: &u32| view.contains(*ordinal);
        let counted = self.marks.tags().map(|(tag, ordinals)| {
            let count = ordinals.filter(live).count();
            (tag.to_owned(), count)
        });
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the live records that have a tag, in the order in which they got it.
    pub fn ids_with_tag(&self, tag: &str) -> Vec<RecordId> {
        let view = self.tag_view(tag);
        let docs = view.ordinals().filter_map(|one| self.index.doc(one));
        docs.map(|doc| doc.id).collect()
    }

    /// Returns how often a live record was stated and when last, which is when it was stored if
    /// that was once.
    pub fn seen_stats(&self, id: RecordId) -> Option<SeenStats> {
        let ordinal = self.live_ordinal(id)?;
        let known_at = self.index.doc(ordinal)?.known_at();
        let once = (1, known_at.timestamp_micros());
        let (seen_count, last) = self.marks.seen_stats(ordinal).unwrap_or(once);
        Some(SeenStats {
            seen_count,
            last_seen: DateTime::from_timestamp_micros(last)?,
        })
    }

    /// Returns the links of a live record to other live records, in the order in which they were
    /// created.
    pub fn links(&self, id: RecordId) -> Vec<RecordLink> {
        let Some(ordinal) = self.live_ordinal(id) else {
            return Vec::new();
        };
        let links = self.marks.open_links(ordinal);
        links
            .filter_map(|link| self.link_as_seen_from(ordinal, link))
            .collect()
    }

    /// Returns the live records that can be reached over at most `depth` links in either direction,
    /// nearest first, at most `limit`.
    pub fn related(&self, id: RecordId, depth: usize, limit: usize) -> Vec<RelatedRecord> {
        self.related_filtered(id, depth, limit, |_, _| true)
    }

    /// Like [`Self::related`], over the links that `follows` accepts by their relation and whether
    /// they lead away from the record at hand.
    pub fn related_filtered(
        &self,
        id: RecordId,
        depth: usize,
        limit: usize,
        follows: impl Fn(&str, bool) -> bool,
    ) -> Vec<RelatedRecord> {
        let Some(ordinal) = self.live_ordinal(id) else {
            return Vec::new();
        };
        let (depth, live) = (depth.min(DEPTH_MAX), |at| self.live_doc(at).is_some());
        let reached = self.marks.find_reachable(ordinal, depth, live, follows);
        let related = reached.into_iter().filter_map(|reached| {
            Some(RelatedRecord {
                link: self.link_as_seen_from(reached.via, reached.link)?,
                depth: reached.depth,
                via: self.index.doc(reached.via)?.id,
            })
        });
        related.take(limit).collect()
    }

    /// Iterates over the links between live records, in the order in which they were created: from,
    /// to, relation.
    pub fn all_links(&self) -> impl Iterator<Item = (RecordId, RecordId, &str)> {
        self.marks.public_links().filter_map(|link| {
            let (from, to) = (self.live_doc(link.from)?, self.live_doc(link.to)?);
            Some((from.id, to.id, &*link.relation))
        })
    }

    /// Describes a link as the record at `ordinal` sees it; `None` if the other record is not live
    /// or the relation is hidden from readers.
    fn link_as_seen_from(&self, ordinal: u32, link: &LinkSpan) -> Option<RecordLink> {
        let outgoing = link.from == ordinal;
        let other = if outgoing { link.to } else { link.from };
        let doc = self.live_doc(other)?;
        if is_reserved(&link.relation) {
            return None;
        }
        Some(RecordLink {
            record: doc.id,
            relation: link.relation.to_string(),
            outgoing,
            since: DateTime::from_timestamp_micros(link.since)?,
        })
    }
}
