//! What stands written on records: tags and links, each with the time from which and until which it
//! held, so that a question about the past sees what was there.
//!
//! A fold of the log and a derived part of the file (tag 0x4b). Lives here: the fold and look-ups
//! by ordinal. Must never live here: record ids, the log, a spelling (tags come in normal form).

mod part;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use reprise_types::Annotation;

pub(crate) use part::MARKS_TAG;

/// The instant that never comes; instants here are microseconds since the Unix epoch.
const NEVER: i64 = i64::MAX;

/// Tags and links of all records. Cheap to clone: what is large is shared.
#[expect(
    clippy::rc_buffer,
    reason = "they grow in place while no snapshot shares them"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Records by tag, in the order in which they got it.
    tags: BTreeMap<Arc<str>, Arc<Vec<Span>>>,
    links: Arc<Vec<LinkSpan>>,
    /// Records whose tags are no longer those that they were kept with.
    edited: Arc<BTreeSet<u32>>,
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
            // Said by a later version.
            _ => {}
        }
    }

    /// A record is forgotten: nothing on it is kept, not even for questions about the past.
    pub(crate) fn forget(&mut self, ordinal: u32) {
        let on_it = |span: &Span| span.ordinal == ordinal;
        for spans in self.tags.values_mut() {
            if spans.iter().any(on_it) {
                Arc::make_mut(spans).retain(|span| !on_it(span));
            }
        }
        self.tags.retain(|_, spans| !spans.is_empty());
        let on_link = |link: &LinkSpan| link.from == ordinal || link.to == ordinal;
        if self.links.iter().any(on_link) {
            Arc::make_mut(&mut self.links).retain(|link| !on_link(link));
        }
        if self.edited.contains(&ordinal) {
            Arc::make_mut(&mut self.edited).remove(&ordinal);
        }
    }

    /// The records that have `tag` now, or had it at an instant; ascending.
    pub(crate) fn tagged(&self, tag: &str, at: Option<i64>) -> Vec<u32> {
        let spans = self.tags.get(tag).map_or(&[][..], |spans| spans.as_slice());
        let holds = |span: &&Span| holds(span.from, span.until, at);
        let mut ordinals: Vec<u32> = spans.iter().filter(holds).map(|s| s.ordinal).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// The records that have all of `tags` now, or had them at an instant; ascending.
    pub(crate) fn tagged_all(&self, tags: &[String], at: Option<i64>) -> Vec<u32> {
        let Some((first, others)) = tags.split_first() else {
            return Vec::new();
        };
        let mut found = self.tagged(first, at);
        for tag in others {
            if found.is_empty() {
                break;
            }
            let with = self.tagged(tag, at);
            found.retain(|ordinal| with.binary_search(ordinal).is_ok());
        }
        found
    }

    /// The tags of a record, if they are not those that it was kept with; ascending.
    pub(crate) fn edited(&self, ordinal: u32, at: Option<i64>) -> Option<Vec<String>> {
        self.edited.contains(&ordinal).then(|| {
            let has = |spans: &Arc<Vec<Span>>| {
                let mut on_it = spans.iter().filter(|span| span.ordinal == ordinal);
                on_it.any(|span| holds(span.from, span.until, at))
            };
            let tags = self.tags.iter().filter(|(_, spans)| has(spans));
            tags.map(|(tag, _)| tag.to_string()).collect()
        })
    }

    /// Every tag with the records that have it now.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        self.tags.iter().map(|(tag, spans)| {
            let open = spans.iter().filter(|span| span.until == NEVER);
            (&**tag, open.map(|span| span.ordinal))
        })
    }

    /// The links of a record that hold now, in the order in which they were made.
    pub(crate) fn links(&self, ordinal: u32) -> impl Iterator<Item = &LinkSpan> {
        let open = self.links.iter().filter(|link| link.until == NEVER);
        open.filter(move |link| link.from == ordinal || link.to == ordinal)
    }

    /// The records that can be reached from one over at most `depth` links, either way, nearest
    /// first; records that `passable` refuses are neither reached nor passed through.
    pub(crate) fn reach(
        &self,
        start: u32,
        depth: usize,
        passable: impl Fn(u32) -> bool,
    ) -> Vec<Reached<'_>> {
        let mut around: HashMap<u32, Vec<&LinkSpan>> = HashMap::new();
        for link in self.links.iter().filter(|link| link.until == NEVER) {
            around.entry(link.from).or_default().push(link);
            around.entry(link.to).or_default().push(link);
        }
        let mut seen = BTreeSet::from([start]);
        let mut next = VecDeque::from([(start, 0)]);
        let mut reached = Vec::new();
        while let Some((at, steps)) = next.pop_front() {
            if steps == depth {
                break;
            }
            for link in around.get(&at).into_iter().flatten() {
                let ordinal = if link.from == at { link.to } else { link.from };
                if passable(ordinal) && seen.insert(ordinal) {
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

    fn open(&mut self, tag: &str, ordinal: u32, from: i64) {
        let span = Span {
            ordinal,
            from,
            until: NEVER,
        };
        match self.tags.get_mut(tag) {
            Some(spans) => Arc::make_mut(spans).push(span),
            None => {
                self.tags.insert(Arc::from(tag), Arc::new(vec![span]));
            }
        }
    }

    fn retag(&mut self, ordinal: u32, tags: &[String], at: i64) {
        let mut held = BTreeSet::new();
        for (tag, spans) in &mut self.tags {
            let open = |span: &Span| span.ordinal == ordinal && span.until == NEVER;
            let Some(place) = spans.iter().position(open) else {
                continue;
            };
            if tags.iter().any(|kept| **kept == **tag) {
                held.insert(Arc::clone(tag));
            } else if let Some(span) = Arc::make_mut(spans).get_mut(place) {
                span.until = at;
            }
        }
        for tag in tags {
            if !held.contains(tag.as_str()) {
                self.open(tag, ordinal, at);
            }
        }
        Arc::make_mut(&mut self.edited).insert(ordinal);
    }

    fn link(&mut self, from: u32, to: u32, relation: &str, since: i64) {
        let known = self.open_link(from, to, relation).is_some();
        if !known && from != to {
            Arc::make_mut(&mut self.links).push(LinkSpan {
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
            && let Some(link) = Arc::make_mut(&mut self.links).get_mut(place)
        {
            link.until = at;
        }
    }

    fn open_link(&self, from: u32, to: u32, relation: &str) -> Option<usize> {
        self.links.iter().position(|link| {
            link.until == NEVER && (link.from, link.to) == (from, to) && *link.relation == *relation
        })
    }
}

fn holds(from: i64, until: i64, at: Option<i64>) -> bool {
    at.map_or(until == NEVER, |at| from <= at && at < until)
}
