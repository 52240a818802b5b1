//! What stands written on records: tags and links, each with the time from which and until which it
//! held, so that a question about the past sees what was there.
//!
//! A fold of the log and a derived part of the file (tag 0x4b). The fold and look-ups by ordinal.

mod part;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use reprise_types::{Annotation, Chunked};

pub(crate) use part::MARKS_TAG;

/// The instant that never comes; instants here are microseconds since the Unix epoch.
const NEVER: i64 = i64::MAX;
/// Ordinals whose places are copied together.
const CHUNK: u32 = 256;
/// In the place of an ordinal: of a record that was forgotten since.
const GONE: u32 = u32::MAX;

/// The relation that leads from a record to the one that it was put behind. Like the next it has a
/// blank, which no relation of a caller's has.
pub(crate) const RETIRED: &str = "retired into";
/// From a record to itself: its time was over, and it was put away.
pub(crate) const OVER: &str = "over since";
/// Between two records that somebody said are not the same; from a record to itself, that it stays
/// past its time.
pub(crate) const APART: &str = "apart from";
/// From a record to a newer one that contradicts it.
pub(crate) const CONTRARY: &str = "contradicted by";
/// From a record to one of those that it was distilled from. Readers see it.
pub(crate) const DISTILLED: &str = "distilled from";

/// Whether a relation is one that no reader sees.
pub(crate) fn is_reserved(relation: &str) -> bool {
    [RETIRED, OVER, APART, CONTRARY].contains(&relation)
}

/// Whether a record with a link of this relation answers no more.
pub(crate) fn puts_away(relation: &str) -> bool {
    [RETIRED, OVER].contains(&relation)
}

/// Tags and links of all records. Cheap to clone: a change copies the chunks it touches, however
/// many records have a tag.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    numbers: Arc<BTreeMap<Arc<str>, u32>>,
    /// By number: its records, in the order in which they got it.
    tags: Chunked<Tag>,
    links: Chunked<LinkSpan>,
    /// Whether any two records were ever noted as contradicting each other.
    has_contrary: bool,
    /// Where each record stands in these lists, by `CHUNK` ordinals.
    places: Arc<BTreeMap<u32, Arc<PlacesChunk>>>,
}

/// By ordinal.
type PlacesChunk = BTreeMap<u32, Arc<Places>>;

/// A tag and the records that have or had it.
#[derive(Debug, Clone)]
struct Tag {
    name: Arc<str>,
    spans: Chunked<Span>,
}

/// What stands on one record.
#[derive(Debug, Clone, Default)]
struct Places {
    /// Number of the tag, and the place among its spans.
    spans: Vec<(u32, u32)>,
    links: Vec<u32>,
    /// How often it was said, and the last instant, where that was more than once.
    seen: Option<(u32, i64)>,
    /// Its tags are no longer those that it was kept with.
    edited: bool,
}

/// A record has a tag for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    ordinal: u32,
    from: i64,
    until: i64,
}

/// A link holds for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkSpan {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) relation: Arc<str>,
    pub(crate) since: i64,
    until: i64,
}

/// A step of a walk over links: how it was reached, in how many steps, from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached<'a> {
    pub(crate) ordinal: u32,
    pub(crate) link: &'a LinkSpan,
    pub(crate) depth: usize,
    pub(crate) via: u32,
}

impl Marks {
    /// A record is kept with these tags.
    pub(crate) fn kept(&mut self, ordinal: u32, tags: &[String], at: i64) {
        for tag in tags {
            self.open(tag, ordinal, at);
        }
    }

    /// Something is said of a record.
    pub(crate) fn say(&mut self, ordinal: u32, annotation: &Annotation, at: i64) {
        match annotation {
            Annotation::Tagged { tags } => self.retag(ordinal, tags, at),
            Annotation::Linked { to, relation } => self.link(ordinal, *to, relation, at),
            Annotation::Unlinked { to, relation } => self.unlink(ordinal, *to, relation, at),
            Annotation::Seen { count } => self.on_mut(ordinal).seen = Some((*count, at)),
            // Said by a later version.
            _ => {}
        }
    }

    /// How often a record was said, and the last instant, where that was more than once.
    pub(crate) fn seen(&self, ordinal: u32) -> Option<(u32, i64)> {
        self.on(ordinal)?.seen
    }

    /// A record is forgotten: nothing on it is kept, not even for questions about the past.
    pub(crate) fn forget(&mut self, ordinal: u32) {
        if self.on(ordinal).is_none() {
            return;
        }
        let chunk = Arc::make_mut(&mut self.places).get_mut(&(ordinal / CHUNK));
        let Some(places) = chunk.and_then(|chunk| Arc::make_mut(chunk).remove(&ordinal)) else {
            return;
        };
        for (tag, place) in &places.spans {
            if let Some(span) = self.span_mut(*tag, *place) {
                span.ordinal = GONE;
            }
        }
        for place in &places.links {
            if let Some(link) = self.links.get_mut(*place as usize) {
                (link.from, link.to) = (GONE, GONE);
            }
        }
    }

    /// The records that have `tag` now, or had it at an instant; ascending.
    pub(crate) fn tagged(&self, tag: &str, at: Option<i64>) -> Vec<u32> {
        let mut ordinals: Vec<u32> = self.holding(tag, at).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// The same, in the order in which they got it.
    pub(crate) fn holding(&self, tag: &str, at: Option<i64>) -> impl Iterator<Item = u32> {
        let tag = self
            .numbers
            .get(tag)
            .and_then(|number| self.tags.get(*number as usize));
        let spans = tag.into_iter().flat_map(|tag| tag.spans.iter());
        let holding = spans.filter(move |span| span.holds(at));
        holding.map(|span| span.ordinal)
    }

    /// The tags of a record, if they are not those that it was kept with; ascending.
    pub(crate) fn edited(&self, ordinal: u32, at: Option<i64>) -> Option<Vec<String>> {
        let places = self.on(ordinal).filter(|places| places.edited)?;
        let spans = places.spans.iter().filter_map(|(tag, place)| {
            let tag = self.tags.get(*tag as usize)?;
            let span = tag.spans.get(*place as usize)?;
            span.holds(at).then(|| tag.name.to_string())
        });
        let tags: BTreeSet<String> = spans.collect();
        Some(tags.into_iter().collect())
    }

    /// The tags of a record before they last changed, ascending, where it was kept with `kept`;
    /// `None` where nothing is left to take back. A change back to what was before takes one back.
    pub(crate) fn before_edit(&self, ordinal: u32, mut kept: Vec<String>) -> Option<Vec<String>> {
        let places = self.on(ordinal).filter(|places| places.edited)?;
        let times: BTreeSet<i64> = self.changes(places).collect();
        kept.sort_unstable();
        let mut had = vec![kept];
        for at in times {
            let tags = self.edited(ordinal, Some(at))?;
            if had.iter().rev().nth(1) == Some(&tags) {
                had.pop();
            } else if had.last() != Some(&tags) {
                had.push(tags);
            }
        }
        had.into_iter().rev().nth(1)
    }

    /// The last instant at which a record got a tag or lost one; `None` where it never had any.
    pub(crate) fn last_tagged(&self, ordinal: u32) -> Option<i64> {
        self.changes(self.on(ordinal)?).max()
    }

    /// The instants at which a record that stands there got a tag or lost one.
    fn changes(&self, places: &Places) -> impl Iterator<Item = i64> {
        let spans = places.spans.iter();
        let spans = spans
            .filter_map(|(tag, place)| self.tags.get(*tag as usize)?.spans.get(*place as usize));
        let times = spans.flat_map(|span| [span.from, span.until]);
        times.filter(|time| *time != NEVER)
    }

    /// Every tag with the records that have it now.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        self.numbers.iter().filter_map(|(name, number)| {
            let spans = self.tags.get(*number as usize)?.spans.iter();
            let open = spans.filter(|span| span.holds(None));
            Some((&**name, open.map(|span| span.ordinal)))
        })
    }

    /// The links that a record ever had, in the order in which they were made.
    fn ever_linked(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let places = self
            .on(ordinal)
            .into_iter()
            .flat_map(|places| &places.links);
        places.filter_map(|place| self.links.get(*place as usize))
    }

    /// The same, as far as they hold now.
    pub(crate) fn links(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        self.ever_linked(ordinal).filter(|link| link.is_open())
    }

    /// Whether any two records were ever noted as contradicting each other.
    pub(crate) fn has_contrary(&self) -> bool {
        self.has_contrary
    }

    /// The links of a record to newer ones that contradict it, also those that were taken back.
    pub(crate) fn ever_contrary(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let links = self.ever_linked(ordinal);
        links.filter(move |link| link.from == ordinal && *link.relation == *CONTRARY)
    }

    /// The same, as far as they hold now.
    pub(crate) fn contrary(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        self.ever_contrary(ordinal).filter(|link| link.is_open())
    }

    /// Every link that a record ever had of relations that no reader sees, in the order in which
    /// they were made, with the end of those that were taken back.
    pub(crate) fn hidden_links(&self) -> impl Iterator<Item = (&LinkSpan, Option<i64>)> {
        let links = self.links.iter().filter(|link| link.is_there());
        let hidden = links.filter(|link| is_reserved(&link.relation));
        hidden.map(|link| (link, (link.until != NEVER).then_some(link.until)))
    }

    /// The records that answer again since an instant (included), or have other tags since;
    /// with the last instant of each.
    pub(crate) fn changes_since(&self, at: i64) -> BTreeMap<u32, i64> {
        let hidden = self.hidden_links();
        let back = hidden.filter(|(link, _)| puts_away(&link.relation));
        let back = back.filter_map(|(link, until)| Some((link.from, until?)));
        let records = self.places.values().flat_map(|chunk| chunk.iter());
        let edited = records.filter(|(_, places)| places.edited);
        let tagged =
            edited.filter_map(|(ordinal, places)| Some((*ordinal, self.changes(places).max()?)));
        let mut changes = BTreeMap::new();
        for (ordinal, time) in back.chain(tagged).filter(|(_, time)| *time >= at) {
            let last = changes.entry(ordinal).or_insert(time);
            *last = time.max(*last);
        }
        changes
    }

    /// The records that can be reached from one over at most `depth` links, either way, nearest
    /// first; records that `passable` refuses are neither reached nor passed through, and links
    /// that `follows` refuses, by relation and whether they lead away, are not taken.
    pub(crate) fn reach(
        &self,
        start: u32,
        depth: usize,
        passable: impl Fn(u32) -> bool,
        follows: impl Fn(&str, bool) -> bool,
    ) -> Vec<Reached<'_>> {
        let mut seen = BTreeSet::from([start]);
        let mut next = VecDeque::from([(start, 0)]);
        let mut reached = Vec::new();
        while let Some((at, steps)) = next.pop_front() {
            if steps == depth {
                break;
            }
            for link in self.links(at).filter(|link| !is_reserved(&link.relation)) {
                let ordinal = if link.from == at { link.to } else { link.from };
                let leads_away = link.from == at;
                let may = passable(ordinal) && follows(&link.relation, leads_away);
                if may && seen.insert(ordinal) {
                    next.push_back((ordinal, steps + 1));
                    reached.push(Reached {
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

    /// Every link of a caller's that holds now, in the order in which they were made.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = &LinkSpan> {
        let links = self.links.iter();
        links.filter(|link| link.is_open() && !is_reserved(&link.relation))
    }

    fn on(&self, ordinal: u32) -> Option<&Places> {
        let chunk = self.places.get(&(ordinal / CHUNK))?;
        chunk.get(&ordinal).map(Arc::as_ref)
    }

    /// The places of a record, to be changed.
    fn on_mut(&mut self, ordinal: u32) -> &mut Places {
        let chunks = Arc::make_mut(&mut self.places);
        let chunk = Arc::make_mut(chunks.entry(ordinal / CHUNK).or_default());
        Arc::make_mut(chunk.entry(ordinal).or_default())
    }

    fn span_mut(&mut self, tag: u32, place: u32) -> Option<&mut Span> {
        let tag = self.tags.get_mut(tag as usize)?;
        tag.spans.get_mut(place as usize)
    }

    /// The number of a tag, which it gets with its first record.
    fn number(&mut self, tag: &str) -> u32 {
        if let Some(number) = self.numbers.get(tag) {
            return *number;
        }
        let number = self.tags.len() as u32;
        let name: Arc<str> = Arc::from(tag);
        Arc::make_mut(&mut self.numbers).insert(Arc::clone(&name), number);
        self.tags.push(Tag {
            name,
            spans: Chunked::default(),
        });
        number
    }

    fn open(&mut self, tag: &str, ordinal: u32, from: i64) {
        let until = NEVER;
        self.put_span(
            tag,
            Span {
                ordinal,
                from,
                until,
            },
        );
    }

    fn put_span(&mut self, tag: &str, span: Span) {
        let number = self.number(tag);
        let Some(tag) = self.tags.get_mut(number as usize) else {
            return;
        };
        let place = tag.spans.len() as u32;
        tag.spans.push(span);
        self.on_mut(span.ordinal).spans.push((number, place));
    }

    fn put_link(&mut self, link: LinkSpan) {
        let place = self.links.len() as u32;
        let (from, to) = (link.from, link.to);
        self.has_contrary |= *link.relation == *CONTRARY;
        self.links.push(link);
        self.on_mut(from).links.push(place);
        if to != from {
            self.on_mut(to).links.push(place);
        }
    }

    fn retag(&mut self, ordinal: u32, tags: &[String], at: i64) {
        let mut held = BTreeSet::new();
        let spans = self.on(ordinal).map(|places| places.spans.clone());
        for (number, place) in spans.unwrap_or_default() {
            let Some(tag) = self.tags.get(number as usize) else {
                continue;
            };
            let name = Arc::clone(&tag.name);
            if !tag
                .spans
                .get(place as usize)
                .is_some_and(|span| span.holds(None))
            {
                continue;
            }
            if tags.iter().any(|kept| **kept == *name) {
                held.insert(name);
            } else if let Some(span) = self.span_mut(number, place) {
                span.until = at;
            }
        }
        for tag in tags {
            if !held.contains(tag.as_str()) {
                self.open(tag, ordinal, at);
            }
        }
        self.on_mut(ordinal).edited = true;
    }

    fn link(&mut self, from: u32, to: u32, relation: &str, since: i64) {
        let known = self.open_link(from, to, relation).is_some();
        if !known && (from != to || is_reserved(relation)) {
            self.put_link(LinkSpan {
                from,
                to,
                relation: Arc::from(relation),
                since,
                until: NEVER,
            });
        }
    }

    fn unlink(&mut self, from: u32, to: u32, relation: &str, at: i64) {
        if let Some(place) = self.open_link(from, to, relation)
            && let Some(link) = self.links.get_mut(place as usize)
        {
            link.until = at;
        }
    }

    /// The link of this relation from one record to another that holds now.
    pub(crate) fn held_link(&self, from: u32, to: u32, relation: &str) -> Option<&LinkSpan> {
        let place = self.open_link(from, to, relation)?;
        self.links.get(place as usize)
    }

    fn open_link(&self, from: u32, to: u32, relation: &str) -> Option<u32> {
        let places = self.on(from)?.links.iter().copied();
        let mut open = places.filter(|place| {
            let link = self.links.get(*place as usize);
            link.is_some_and(|link| {
                link.is_open() && (link.from, link.to) == (from, to) && *link.relation == *relation
            })
        });
        open.next()
    }
}

impl Span {
    fn is_there(&self) -> bool {
        self.ordinal != GONE
    }

    /// Whether the record has the tag now, or had it at an instant.
    fn holds(&self, at: Option<i64>) -> bool {
        let then = |at| self.from <= at && at < self.until;
        self.is_there() && at.map_or(self.until == NEVER, then)
    }
}

impl LinkSpan {
    fn is_there(&self) -> bool {
        self.from != GONE
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_there() && self.until == NEVER
    }
}

/// Alike where a checkpoint of the one is that of the other.
#[cfg(test)]
impl PartialEq for Marks {
    fn eq(&self, other: &Self) -> bool {
        self.to_part() == other.to_part()
    }
}
