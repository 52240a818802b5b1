//! Saying something of a record that is there: tags and links, each a log entry; and asking for it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{
    Annotation, Link, MemoryFilter, RecordId, Related, Seen, normal_tag, normal_tags,
};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::marks::{LinkSpan, is_reserved};
use crate::snapshot::Snapshot;

const DEPTH_MAX: usize = 16;

impl Engine {
    /// Gives a record these tags in place of those it has. Answers whether that changed anything.
    pub fn tag(
        &mut self,
        id: RecordId,
        tags: &[String],
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let ordinal = self.live(id)?;
        let mut wanted = normal_tags(tags);
        wanted.sort_unstable();
        if self.snapshot.tags_of(ordinal) == wanted {
            return Ok(false);
        }
        let mut at = self.advance_clock(now);
        // Of two changes at one moment the first could not be given back.
        if self.snapshot.marks.last_tagged(ordinal) == Some(at.timestamp_micros()) {
            at = self.advance_clock(at + TimeDelta::microseconds(1));
        }
        self.say_all(vec![(ordinal, Annotation::Tagged { tags: wanted })], at)?;
        Ok(true)
    }

    /// Gives a record the tags that it had before they last changed, and then those before that, to
    /// the ones that it was kept with. Answers whether that changed anything.
    pub fn tag_as_before(&mut self, id: RecordId, now: DateTime<Utc>) -> Result<bool, EngineError> {
        let Some(ordinal) = self.snapshot.ordinal(id) else {
            return Ok(false);
        };
        let kept = self.snapshot.reader.record(ordinal)?.body.tags;
        match self.snapshot.marks.before_edit(ordinal, kept) {
            Some(tags) => self.tag(id, &tags, now),
            None => Ok(false),
        }
    }

    /// Gives every live record that has the tag `from` the tag `into` in its place, in commits of
    /// many records each. Answers how many records that changed.
    pub fn merge_tag(
        &mut self,
        from: &str,
        into: &str,
        now: DateTime<Utc>,
    ) -> Result<usize, EngineError> {
        let named = |tag| normal_tag(tag).ok_or(EngineError::NoTag);
        let (from, into) = (named(from)?, named(into)?);
        if from == into {
            return Ok(0);
        }
        let (snapshot, mut annotations) = (&self.snapshot, Vec::new());
        for ordinal in snapshot.marks.tagged(&from, None) {
            if snapshot.live(ordinal).is_none() {
                continue;
            }
            let mut tags = snapshot.record(ordinal, None)?.body.tags;
            tags.retain(|tag| *tag != from);
            tags.push(into.clone());
            tags.sort_unstable();
            tags.dedup();
            annotations.push((ordinal, Annotation::Tagged { tags }));
        }
        Ok(self.say_all(annotations, now)?.1)
    }

    /// Notes of records that somebody said the same again, in one commit; one that is named twice
    /// was said twice more. What is not there is passed over.
    pub fn seen_again(&mut self, ids: &[RecordId], now: DateTime<Utc>) -> Result<(), EngineError> {
        let mut again: BTreeMap<u32, u32> = BTreeMap::new();
        for ordinal in ids.iter().filter_map(|id| self.snapshot.ordinal(*id)) {
            *again.entry(ordinal).or_default() += 1;
        }
        let counted = again.into_iter().map(|(ordinal, more)| {
            let before = self
                .snapshot
                .marks
                .seen(ordinal)
                .map_or(1, |(count, _)| count);
            let count = before.saturating_add(more);
            (ordinal, Annotation::Seen { count })
        });
        let counted = counted.collect();
        self.say_all(counted, now).map(|_| ())
    }

    /// Links one record to another. Answers whether the link is new.
    pub fn link(
        &mut self,
        from: RecordId,
        to: RecordId,
        relation: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let (from, to) = (self.live(from)?, self.live(to)?);
        let relation = normal_tag(relation).ok_or(EngineError::NoRelation)?;
        let marks = &self.snapshot.marks;
        if from == to || marks.held_link(from, to, &relation).is_some() {
            return Ok(false);
        }
        self.say_all(vec![(from, Annotation::Linked { to, relation })], now)?;
        Ok(true)
    }

    /// Makes many links in one commit: from, to, relation. Answers which of them are new, in order;
    /// an end that is not there makes none.
    pub fn link_all(
        &mut self,
        links: &[(RecordId, RecordId, String)],
        now: DateTime<Utc>,
    ) -> Result<Vec<bool>, EngineError> {
        let marks = &self.snapshot.marks;
        let (mut annotations, mut made) = (Vec::new(), BTreeSet::new());
        let mut fates = Vec::with_capacity(links.len());
        for (from, to, relation) in links {
            let ends = self.snapshot.ordinal(*from).zip(self.snapshot.ordinal(*to));
            let wanted = ends
                .zip(normal_tag(relation))
                .filter(|((from, to), relation)| {
                    from != to
                        && marks.held_link(*from, *to, relation).is_none()
                        && made.insert((*from, *to, relation.clone()))
                });
            fates.push(wanted.is_some());
            if let Some(((ordinal, to), relation)) = wanted {
                annotations.push((ordinal, Annotation::Linked { to, relation }));
            }
        }
        self.say_all(annotations, now)?;
        Ok(fates)
    }

    /// Takes a link back. Answers whether there was one.
    pub fn unlink(
        &mut self,
        from: RecordId,
        to: RecordId,
        relation: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, EngineError> {
        let (from, to) = (self.live(from)?, self.live(to)?);
        let relation = normal_tag(relation).ok_or(EngineError::NoRelation)?;
        let marks = &self.snapshot.marks;
        if marks.held_link(from, to, &relation).is_none() {
            return Ok(false);
        }
        self.say_all(vec![(from, Annotation::Unlinked { to, relation })], now)?;
        Ok(true)
    }

    /// The place of a record that answers.
    pub(crate) fn live(&self, id: RecordId) -> Result<u32, EngineError> {
        let found = self.snapshot.ordinal(id);
        found.ok_or(EngineError::UnknownRecord { id })
    }
}

impl Snapshot {
    /// Every tag that a live record has, with how many do; by name.
    pub fn tags(&self) -> Vec<(String, usize)> {
        let view = self.view(&MemoryFilter::default(), None);
        let live = |ordinal: &u32| view.admits(*ordinal);
        let counted = self.marks.tags().map(|(tag, ordinals)| {
            let count = ordinals.filter(live).count();
            (tag.to_owned(), count)
        });
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// The live records that have a tag, in the order in which they were kept.
    pub fn tagged(&self, tag: &str) -> Vec<RecordId> {
        let view = self.tagged_view(tag);
        let docs = view.ordinals().filter_map(|one| self.index.doc(one));
        docs.map(|doc| doc.id).collect()
    }

    /// How often a live record was said, and when last: the day when it was kept, where once.
    pub fn seen(&self, id: RecordId) -> Option<Seen> {
        let ordinal = self.ordinal(id)?;
        let known_at = self.index.doc(ordinal)?.known_at();
        let once = (1, known_at.timestamp_micros());
        let (seen_count, last) = self.marks.seen(ordinal).unwrap_or(once);
        Some(Seen {
            seen_count,
            last_seen: DateTime::from_timestamp_micros(last)?,
        })
    }

    /// The links of a live record to others that are live, in the order in which they were made.
    pub fn links(&self, id: RecordId) -> Vec<Link> {
        let Some(ordinal) = self.ordinal(id) else {
            return Vec::new();
        };
        let links = self.marks.links(ordinal);
        links
            .filter_map(|link| self.seen_from(ordinal, link))
            .collect()
    }

    /// The live records that can be reached over at most `depth` links, either way, nearest first,
    /// at most `limit`.
    pub fn related(&self, id: RecordId, depth: usize, limit: usize) -> Vec<Related> {
        self.related_by(id, depth, limit, |_, _| true)
    }

    /// The same over links that `follows` takes, by their relation and whether they lead away.
    pub fn related_by(
        &self,
        id: RecordId,
        depth: usize,
        limit: usize,
        follows: impl Fn(&str, bool) -> bool,
    ) -> Vec<Related> {
        let Some(ordinal) = self.ordinal(id) else {
            return Vec::new();
        };
        let (depth, live) = (depth.min(DEPTH_MAX), |at| self.live(at).is_some());
        let reached = self.marks.reach(ordinal, depth, live, follows);
        let related = reached.into_iter().filter_map(|reached| {
            Some(Related {
                link: self.seen_from(reached.via, reached.link)?,
                depth: reached.depth,
                via: self.index.doc(reached.via)?.id,
            })
        });
        related.take(limit).collect()
    }

    /// Every link between two live records, in the order in which they were made: from, to,
    /// relation.
    pub fn all_links(&self) -> impl Iterator<Item = (RecordId, RecordId, &str)> {
        self.marks.all_links().filter_map(|link| {
            let (from, to) = (self.live(link.from)?, self.live(link.to)?);
            Some((from.id, to.id, &*link.relation))
        })
    }

    fn seen_from(&self, ordinal: u32, link: &LinkSpan) -> Option<Link> {
        let outgoing = link.from == ordinal;
        let other = if outgoing { link.to } else { link.from };
        let doc = self.live(other)?;
        if is_reserved(&link.relation) {
            return None;
        }
        Some(Link {
            record: doc.id,
            relation: link.relation.to_string(),
            outgoing,
            since: DateTime::from_timestamp_micros(link.since)?,
        })
    }
}
