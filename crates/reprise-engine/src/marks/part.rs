//! The bytes of tags and links in the file: LEB128 numbers, ordinals and times as differences.
//!
//! Writing and reading the part.

use std::sync::Arc;

use super::{LinkSpan, Marks, NEVER, Span, Tag};

/// Tag of the part in the file.
pub(crate) const MARKS_TAG: u8 = 0x4b;
const VERSION: u8 = 1;
/// The same with what was said more than once at its end.
const WITH_SEEN: u8 = 2;

impl Marks {
    /// The bytes of the part.
    pub(crate) fn to_part(&self) -> Vec<u8> {
        let seen = || {
            let records = self.places.values().flat_map(|chunk| chunk.iter());
            records.filter_map(|(ordinal, places)| Some((*ordinal, places.seen?)))
        };
        let has_seen = seen().next().is_some();
        let mut out = vec![if has_seen { WITH_SEEN } else { VERSION }];
        let tags: Vec<(&Tag, usize)> = self
            .numbers
            .values()
            .filter_map(|number| self.tags.get(*number as usize))
            .map(|tag| (tag, tag.spans.iter().filter(|span| span.is_there()).count()))
            .filter(|(_, spans)| *spans > 0)
            .collect();
        put(&mut out, tags.len() as u64);
        for (tag, count) in tags {
            put_text(&mut out, &tag.name);
            put(&mut out, count as u64);
            let (mut ordinal, mut time) = (0, 0);
            for span in tag.spans.iter().filter(|span| span.is_there()) {
                put_signed(&mut out, i64::from(span.ordinal) - i64::from(ordinal));
                put_time(&mut out, span.from, &mut time);
                put_end(&mut out, span.from, span.until);
                ordinal = span.ordinal;
            }
        }
        let links = || self.links.iter().filter(|link| link.is_there());
        put(&mut out, links().count() as u64);
        let mut time = 0;
        for link in links() {
            put(&mut out, u64::from(link.from));
            put(&mut out, u64::from(link.to));
            put_text(&mut out, &link.relation);
            put_time(&mut out, link.since, &mut time);
            put_end(&mut out, link.since, link.until);
        }
        let edited = || {
            let records = self.places.values().flat_map(|chunk| chunk.iter());
            records.filter(|(_, places)| places.edited)
        };
        put(&mut out, edited().count() as u64);
        for (ordinal, _) in edited() {
            put(&mut out, u64::from(*ordinal));
        }
        if has_seen {
            put(&mut out, seen().count() as u64);
            for (ordinal, (count, at)) in seen() {
                put(&mut out, u64::from(ordinal));
                put(&mut out, u64::from(count));
                put_signed(&mut out, at);
            }
        }
        out
    }

    /// Takes a part over; `None` for any other bytes, and the caller rebuilds.
    pub(crate) fn from_part(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if ![VERSION, WITH_SEEN].contains(version) {
            return None;
        }
        let mut r = Reader(rest);
        let mut marks = Self::default();
        for _ in 0..r.count()? {
            let tag = r.text()?;
            for span in r.spans()? {
                marks.put_span(&tag, span);
            }
        }
        for link in r.links()? {
            marks.put_link(link);
        }
        for _ in 0..r.count()? {
            let ordinal = r.ordinal()?;
            marks.on_mut(ordinal).edited = true;
        }
        if *version == WITH_SEEN {
            for _ in 0..r.count()? {
                let (ordinal, count, at) = (r.ordinal()?, r.ordinal()?, r.signed()?);
                marks.on_mut(ordinal).seen = Some((count, at));
            }
        }
        r.0.is_empty().then_some(marks)
    }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value << 1 ^ value >> 63).cast_unsigned());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// An instant as what lies between it and the one before.
fn put_time(out: &mut Vec<u8>, time: i64, last: &mut i64) {
    put_signed(out, time.wrapping_sub(*last));
    *last = time;
}

/// 0 where there is no end, else one more than the time until then.
fn put_end(out: &mut Vec<u8>, from: i64, until: i64) {
    let length = until.wrapping_sub(from).cast_unsigned();
    let ends = until != NEVER;
    put(out, if ends { length.saturating_add(1) } else { 0 });
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn spans(&mut self) -> Option<Vec<Span>> {
        let count = self.count()?;
        let (mut ordinal, mut time) = (0, 0);
        let next = |_| {
            ordinal = u32::try_from(i64::from(ordinal) + self.signed()?).ok()?;
            let from = self.time(&mut time)?;
            Some(Span {
                ordinal,
                from,
                until: self.end(from)?,
            })
        };
        (0..count).map(next).collect()
    }

    fn links(&mut self) -> Option<Vec<LinkSpan>> {
        let mut time = 0;
        let count = self.count()?;
        let next = |_| {
            let (from, to) = (self.ordinal()?, self.ordinal()?);
            let relation = self.text()?;
            let since = self.time(&mut time)?;
            Some(LinkSpan {
                from,
                to,
                relation,
                since,
                until: self.end(since)?,
            })
        };
        (0..count).map(next).collect()
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number of items, each of which takes at least one byte.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    fn ordinal(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(Arc::from)
    }

    fn time(&mut self, last: &mut i64) -> Option<i64> {
        *last = last.wrapping_add(self.signed()?);
        Some(*last)
    }

    fn end(&mut self, from: i64) -> Option<i64> {
        let length = self.number()?;
        Some(match length.checked_sub(1) {
            None => NEVER,
            Some(length) => from.wrapping_add(length.cast_signed()),
        })
    }
}
