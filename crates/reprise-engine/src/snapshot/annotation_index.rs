//! An index of annotations: tags and links, each with the time from which and until which it held,
//! so that a question about the past sees what was there.
//!
//! A fold of the log and a section of the file, with lookups by ordinal.

mod saved;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use reprise_types::{Annotation, SmallChunkVec};

/// The instant that never comes; instants here are microseconds since the Unix epoch.
const NEVER: i64 = i64::MAX;
/// Ordinals whose annotations are copied together when one changes.
const CHUNK: u32 = 256;
/// Replaces the ordinal of a record that was forgotten since.
const FORGOTTEN: u32 = u32::MAX;

/// Relation from a record to the one that it was retired into. Like the next ones it contains a
/// blank, which no relation of a caller does.
pub(crate) const RETIRED: &str = "retired into";
/// Relation from a record to itself: its time is over, and it is expired.
pub(crate) const EXPIRED: &str = "over since";
/// Relation, of the fold and not of the log, from a record that is retired to what it was retired
/// into: a newer version has replaced it since.
pub(crate) const CORRECTED: &str = "corrected as well";
/// Relation between two records that somebody declared to be different; from a record to itself,
/// that it does not expire.
pub(crate) const DISTINCT: &str = "apart from";
/// Relation from a record to a newer one that contradicts it.
pub(crate) const CONTRADICTED: &str = "contradicted by";
/// Relation from a prompt to itself: its program went on before what memory had for it was there.
pub(crate) const UNDELIVERED: &str = "went on without";
/// Relation from a record to one that it was distilled from. Readers see it.
pub const DISTILLED: &str = "distilled from";

/// Whether a relation is hidden from readers.
pub(crate) fn is_reserved(relation: &str) -> bool {
    let hidden = [
        RETIRED,
        EXPIRED,
        CORRECTED,
        DISTINCT,
        CONTRADICTED,
        UNDELIVERED,
    ];
    hidden.contains(&relation)
}

/// Whether a link of this relation retires its record.
pub(crate) fn is_retirement(relation: &str) -> bool {
    [RETIRED, EXPIRED].contains(&relation)
}

/// Tags and links of all records. Cheap to clone: a change copies only the chunks that it touches,
/// even if many records have a tag.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnnotationIndex {
    tag_numbers: Arc<BTreeMap<Arc<str>, u32>>,
    /// The records of each tag, by tag number, in the order in which they got it.
    tags: SmallChunkVec<TagSpans>,
    links: SmallChunkVec<LinkSpan>,
    /// Whether any two records were ever noted as contradicting each other.
    has_contradictions: bool,
    /// The annotations of each record, in chunks of `CHUNK` ordinals.
    records: Arc<BTreeMap<u32, Arc<RecordChunk>>>,
}

/// The annotations of some records, by ordinal.
type RecordChunk = BTreeMap<u32, Arc<RecordAnnotations>>;

/// A tag and the records that have or had it.
#[derive(Debug, Clone)]
struct TagSpans {
    name: Arc<str>,
    spans: SmallChunkVec<TagSpan>,
}

/// The positions of one record's annotations.
#[derive(Debug, Clone, Default)]
struct RecordAnnotations {
    /// Number of the tag, and the position among its spans.
    spans: Vec<(u32, u32)>,
    links: Vec<u32>,
    /// How often it was stated and the last instant, if that was more than once.
    seen_stats: Option<(u32, i64)>,
    /// Whether its tags differ from those that it was stored with.
    edited: bool,
}

/// The time during which a record has a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TagSpan {
    ordinal: u32,
    from: i64,
    until: i64,
}

/// The time during which a link holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) relation: Arc<str>,
    pub(crate) since: i64,
    until: i64,
}

/// A record that a walk over links reached: over which link, in how many steps, from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReachedRecord<'a> {
    pub(crate) ordinal: u32,
    pub(crate) link: &'a LinkSpan,
    pub(crate) depth: usize,
    pub(crate) via: u32,
}

impl AnnotationIndex {
    /// Inserts the tags that a record is stored with.
    pub(crate) fn insert_tags(&mut self, ordinal: u32, tags: &[String], at: i64) {
        for tag in tags {
            self.open_span(tag, ordinal, at);
        }
    }

    /// Applies an annotation of a record.
    pub(crate) fn apply(&mut self, ordinal: u32, annotation: &Annotation, at: i64) {
        match annotation {
            Annotation::Tagged { tags } => self.replace_tags(ordinal, tags, at),
            Annotation::Linked { to, relation } => self.link(ordinal, *to, relation, at),
            Annotation::Unlinked { to, relation } => self.unlink(ordinal, *to, relation, at),
            Annotation::Seen { count } => {
                self.annotations_mut(ordinal).seen_stats = Some((*count, at));
            }
            // A later version wrote it.
            _ => {}
        }
    }

    /// Returns how often a record was stated and the last instant, if that was more than once.
    pub(crate) fn seen_stats(&self, ordinal: u32) -> Option<(u32, i64)> {
        self.of_record(ordinal)?.seen_stats
    }

    /// Removes all annotations of a forgotten record, even for questions about the past.
    pub(crate) fn forget(&mut self, ordinal: u32) {
        if self.of_record(ordinal).is_none() {
            return;
        }
        let chunk = Arc::make_mut(&mut self.records).get_mut(&(ordinal / CHUNK));
        let Some(places) = chunk.and_then(|chunk| Arc::make_mut(chunk).remove(&ordinal)) else {
            return;
        };
        for (tag, place) in &places.spans {
            if let Some(span) = self.span_mut(*tag, *place) {
                span.ordinal = FORGOTTEN;
            }
        }
        for place in &places.links {
            if let Some(link) = self.links.get_mut(*place as usize) {
                (link.from, link.to) = (FORGOTTEN, FORGOTTEN);
            }
        }
    }

    /// Returns the records that have `tag` now, or had it at an instant; ascending.
    pub(crate) fn ordinals_with_tag(&self, tag: &str, at: Option<i64>) -> Vec<u32> {
        let mut ordinals: Vec<u32> = self.iter_with_tag(tag, at).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// Iterates over the records that have `tag` now, or had it at an instant, in the order in
    /// which they got it.
    pub(crate) fn iter_with_tag(&self, tag: &str, at: Option<i64>) -> impl Iterator<Item = u32> {
        let tag = self
            .tag_numbers
            .get(tag)
            .and_then(|number| self.tags.get(*number as usize));
        let spans = tag.into_iter().flat_map(|tag| tag.spans.iter());
        let open_spans = spans.filter(move |span| span.is_open_at(at));
        open_spans.map(|span| span.ordinal)
    }

    /// Returns the tags of a record, ascending, if they differ from those that it was stored with.
    pub(crate) fn edited_tags(&self, ordinal: u32, at: Option<i64>) -> Option<Vec<String>> {
        let places = self.of_record(ordinal).filter(|places| places.edited)?;
        let spans = places.spans.iter().filter_map(|(tag, place)| {
            let tag = self.tags.get(*tag as usize)?;
            let span = tag.spans.get(*place as usize)?;
            span.is_open_at(at).then(|| tag.name.to_string())
        });
        let tags: BTreeSet<String> = spans.collect();
        Some(tags.into_iter().collect())
    }

    /// Returns the tags of a record before their last change, ascending; `kept` are those that it
    /// was stored with. Returns `None` if there is nothing left to undo. A change back to the tags
    /// before undoes a change.
    pub(crate) fn tags_before_edit(
        &self,
        ordinal: u32,
        mut kept: Vec<String>,
    ) -> Option<Vec<String>> {
        let places = self.of_record(ordinal).filter(|places| places.edited)?;
        let times: BTreeSet<i64> = self.tag_change_times(places).collect();
        kept.sort_unstable();
        let mut history = vec![kept];
        for at in times {
            let tags = self.edited_tags(ordinal, Some(at))?;
            if history.iter().rev().nth(1) == Some(&tags) {
                history.pop();
            } else if history.last() != Some(&tags) {
                history.push(tags);
            }
        }
        history.into_iter().rev().nth(1)
    }

    /// Whether a record has or ever had this tag.
    pub(crate) fn had_tag(&self, ordinal: u32, tag: &str) -> bool {
        let number = self.tag_numbers.get(tag);
        let places = self.of_record(ordinal);
        let both = number.zip(places);
        both.is_some_and(|(number, places)| places.spans.iter().any(|(tag, _)| tag == number))
    }

    /// Returns the last instant at which a record got or lost a tag; `None` if it never had one.
    pub(crate) fn last_tag_change(&self, ordinal: u32) -> Option<i64> {
        self.tag_change_times(self.of_record(ordinal)?).max()
    }

    /// Returns the instants at which a record got or lost a tag.
    fn tag_change_times(&self, places: &RecordAnnotations) -> impl Iterator<Item = i64> {
        let spans = places.spans.iter();
        let spans = spans
            .filter_map(|(tag, place)| self.tags.get(*tag as usize)?.spans.get(*place as usize));
        let times = spans.flat_map(|span| [span.from, span.until]);
        times.filter(|time| *time != NEVER)
    }

    /// Iterates over the tags, each with the records that have it now.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        self.tag_numbers.iter().filter_map(|(name, number)| {
            let spans = self.tags.get(*number as usize)?.spans.iter();
            let open = spans.filter(|span| span.is_open_at(None));
            Some((&**name, open.map(|span| span.ordinal)))
        })
    }

    /// Iterates over the links that a record ever had, in the order in which they were created.
    fn link_history(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let places = self
            .of_record(ordinal)
            .into_iter()
            .flat_map(|places| &places.links);
        places.filter_map(|place| self.links.get(*place as usize))
    }

    /// Iterates over the links that a record has now, in the order in which they were created.
    pub(crate) fn open_links(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        self.link_history(ordinal).filter(|link| link.is_open())
    }

    /// Finds the link by which a record is retired or expired.
    pub(crate) fn find_retirement(&self, ordinal: u32) -> Option<&LinkSpan> {
        self.open_retirements(ordinal).next()
    }

    /// Iterates over the links by which a record is retired or expired.
    pub(crate) fn open_retirements(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let links = self.open_links(ordinal);
        links.filter(move |link| link.from == ordinal && is_retirement(&link.relation))
    }

    /// Returns the instant at which a newer version replaced a record that was retired by then.
    pub(crate) fn corrected_at(&self, ordinal: u32) -> Option<i64> {
        let links = self.open_links(ordinal);
        let corrected = links.filter(|link| link.from == ordinal && *link.relation == *CORRECTED);
        corrected.map(|link| link.since).min()
    }

    /// Whether any two records were ever noted as contradicting each other.
    pub(crate) fn has_contradictions(&self) -> bool {
        self.has_contradictions
    }

    /// Iterates over the links that a record ever had to newer ones that contradict it.
    pub(crate) fn contradiction_history(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let links = self.link_history(ordinal);
        links.filter(move |link| link.from == ordinal && *link.relation == *CONTRADICTED)
    }

    /// Iterates over the links that a record has now to newer ones that contradict it.
    pub(crate) fn open_contradictions(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        self.contradiction_history(ordinal)
            .filter(|link| link.is_open())
    }

    /// Iterates over the links of hidden relations that records ever had, in the order in which
    /// they were created, each with its end if it was removed.
    pub(crate) fn reserved_links(&self) -> impl Iterator<Item = (&LinkSpan, Option<i64>)> {
        let links = self.links.iter().filter(|link| link.is_present());
        let hidden = links.filter(|link| is_reserved(&link.relation));
        hidden.map(|link| (link, (link.until != NEVER).then_some(link.until)))
    }

    /// Returns the records that were restored, got other tags or are no longer marked as different
    /// from another one since an instant, which is included, with the last such instant of each.
    pub(crate) fn changes_since(&self, at: i64) -> BTreeMap<u32, i64> {
        let hidden = self.reserved_links();
        let is_told = |relation: &str| is_retirement(relation) || relation == DISTINCT;
        let back = hidden.filter(|(link, _)| is_told(&link.relation));
        let back = back.filter_map(|(link, until)| Some((link.from, until?)));
        let records = self.records.values().flat_map(|chunk| chunk.iter());
        let edited = records.filter(|(_, places)| places.edited);
        let tagged = edited
            .filter_map(|(ordinal, places)| Some((*ordinal, self.tag_change_times(places).max()?)));
        let mut changes = BTreeMap::new();
        for (ordinal, time) in back.chain(tagged).filter(|(_, time)| *time >= at) {
            let last = changes.entry(ordinal).or_insert(time);
            *last = time.max(*last);
        }
        changes
    }

    /// Finds the records that can be reached over at most `depth` links in either direction,
    /// nearest first. Records that `passable` refuses are neither reached nor passed through. Links
    /// are used if `follows` accepts their relation and whether they lead away.
    pub(crate) fn find_reachable(
        &self,
        start: u32,
        depth: usize,
        passable: impl Fn(u32) -> bool,
        follows: impl Fn(&str, bool) -> bool,
    ) -> Vec<ReachedRecord<'_>> {
        let mut seen = BTreeSet::from([start]);
        let mut next = VecDeque::from([(start, 0)]);
        let mut reached = Vec::new();
        while let Some((at, steps)) = next.pop_front() {
            if steps == depth {
                break;
            }
            for link in self
                .open_links(at)
                .filter(|link| !is_reserved(&link.relation))
            {
                let ordinal = if link.from == at { link.to } else { link.from };
                let leads_away = link.from == at;
                let may = passable(ordinal) && follows(&link.relation, leads_away);
                if may && seen.insert(ordinal) {
                    next.push_back((ordinal, steps + 1));
                    reached.push(ReachedRecord {
                        ordinal,
                        link,
                        depth: steps + 1,
                        via: at,
                    });
                }
            }
        }
        reached
    }

    /// Iterates over the links that callers created and that hold now, in the order in which they
    /// were created.
    pub(crate) fn public_links(&self) -> impl Iterator<Item = &LinkSpan> {
        let links = self.links.iter();
        links.filter(|link| link.is_open() && !is_reserved(&link.relation))
    }

    /// Returns the annotations of a record.
    fn of_record(&self, ordinal: u32) -> Option<&RecordAnnotations> {
        let chunk = self.records.get(&(ordinal / CHUNK))?;
        chunk.get(&ordinal).map(Arc::as_ref)
    }

    /// Returns the annotations of a record, to be changed.
    fn annotations_mut(&mut self, ordinal: u32) -> &mut RecordAnnotations {
        let chunks = Arc::make_mut(&mut self.records);
        let chunk = Arc::make_mut(chunks.entry(ordinal / CHUNK).or_default());
        Arc::make_mut(chunk.entry(ordinal).or_default())
    }

    fn span_mut(&mut self, tag: u32, place: u32) -> Option<&mut TagSpan> {
        let tag = self.tags.get_mut(tag as usize)?;
        tag.spans.get_mut(place as usize)
    }

    /// Returns the number of a tag, which is assigned with its first record.
    fn assign_tag_number(&mut self, tag: &str) -> u32 {
        if let Some(number) = self.tag_numbers.get(tag) {
            return *number;
        }
        let number = self.tags.len() as u32;
        let name: Arc<str> = Arc::from(tag);
        Arc::make_mut(&mut self.tag_numbers).insert(Arc::clone(&name), number);
        self.tags.push(TagSpans {
            name,
            spans: SmallChunkVec::default(),
        });
        number
    }

    fn open_span(&mut self, tag: &str, ordinal: u32, from: i64) {
        let until = NEVER;
        self.insert_span(
            tag,
            TagSpan {
                ordinal,
                from,
                until,
            },
        );
    }

    fn insert_span(&mut self, tag: &str, span: TagSpan) {
        let number = self.assign_tag_number(tag);
        let Some(tag) = self.tags.get_mut(number as usize) else {
            return;
        };
        let place = tag.spans.len() as u32;
        tag.spans.push(span);
        self.annotations_mut(span.ordinal)
            .spans
            .push((number, place));
    }

    fn insert_link(&mut self, link: LinkSpan) {
        let place = self.links.len() as u32;
        let (from, to) = (link.from, link.to);
        self.has_contradictions |= *link.relation == *CONTRADICTED;
        self.links.push(link);
        self.annotations_mut(from).links.push(place);
        if to != from {
            self.annotations_mut(to).links.push(place);
        }
    }

    fn replace_tags(&mut self, ordinal: u32, tags: &[String], at: i64) {
        let mut open_tags = BTreeSet::new();
        let spans = self.of_record(ordinal).map(|places| places.spans.clone());
        for (number, place) in spans.unwrap_or_default() {
            let Some(tag) = self.tags.get(number as usize) else {
                continue;
            };
            let name = Arc::clone(&tag.name);
            if !tag
                .spans
                .get(place as usize)
                .is_some_and(|span| span.is_open_at(None))
            {
                continue;
            }
            if tags.iter().any(|tag| **tag == *name) {
                open_tags.insert(name);
            } else if let Some(span) = self.span_mut(number, place) {
                span.until = at;
            }
        }
        for tag in tags {
            if !open_tags.contains(tag.as_str()) {
                self.open_span(tag, ordinal, at);
            }
        }
        self.annotations_mut(ordinal).edited = true;
    }

    fn link(&mut self, from: u32, to: u32, relation: &str, since: i64) {
        let known = self.position_of_open_link(from, to, relation).is_some();
        if !known && (from != to || is_reserved(relation)) {
            self.insert_link(LinkSpan {
                from,
                to,
                relation: Arc::from(relation),
                since,
                until: NEVER,
            });
        }
    }

    fn unlink(&mut self, from: u32, to: u32, relation: &str, at: i64) {
        if let Some(place) = self.position_of_open_link(from, to, relation)
            && let Some(link) = self.links.get_mut(place as usize)
        {
            link.until = at;
        }
    }

    /// Finds the link of this relation from one record to another that holds now.
    pub(crate) fn find_open_link(&self, from: u32, to: u32, relation: &str) -> Option<&LinkSpan> {
        let place = self.position_of_open_link(from, to, relation)?;
        self.links.get(place as usize)
    }

    fn position_of_open_link(&self, from: u32, to: u32, relation: &str) -> Option<u32> {
        let places = self.of_record(from)?.links.iter().copied();
        let mut open = places.filter(|place| {
            let link = self.links.get(*place as usize);
            link.is_some_and(|link| {
                link.is_open() && (link.from, link.to) == (from, to) && *link.relation == *relation
            })
        });
        open.next()
    }
}

impl TagSpan {
    fn is_present(&self) -> bool {
        self.ordinal != FORGOTTEN
    }

    /// Whether the record has the tag now, or had it at an instant.
    fn is_open_at(&self, at: Option<i64>) -> bool {
        let then = |at| self.from <= at && at < self.until;
        self.is_present() && at.map_or(self.until == NEVER, then)
    }
}

impl LinkSpan {
    fn is_present(&self) -> bool {
        self.from != FORGOTTEN
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_present() && self.until == NEVER
    }
}

/// Two indexes are equal if they encode to the same bytes.
#[cfg(test)]
impl PartialEq for AnnotationIndex {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}
