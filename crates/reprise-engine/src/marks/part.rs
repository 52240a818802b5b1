//! The bytes of tags and links in the file: LEB128 numbers, ordinals and times as differences.

use reprise_types::{ByteReader, ByteWriter, Wire as _, put_all};

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
        let out = &mut ByteWriter::default();
        out.raw(&[if has_seen { WITH_SEEN } else { VERSION }]);
        let tags: Vec<(&Tag, usize)> = self
            .numbers
            .values()
            .filter_map(|number| self.tags.get(*number as usize))
            .map(|tag| (tag, tag.spans.iter().filter(|span| span.is_there()).count()))
            .filter(|(_, spans)| *spans > 0)
            .collect();
        out.count(tags.len());
        for (tag, count) in tags {
            put_all!(out, tag.name, count);
            let (mut ordinal, mut time) = (0, 0);
            for span in tag.spans.iter().filter(|span| span.is_there()) {
                (i64::from(span.ordinal) - i64::from(ordinal)).put(out);
                put_time(out, span.from, &mut time);
                put_end(out, span.from, span.until);
                ordinal = span.ordinal;
            }
        }
        let links = || self.links.iter().filter(|link| link.is_there());
        out.count(links().count());
        let mut time = 0;
        for link in links() {
            put_all!(out, link.from, link.to, link.relation);
            put_time(out, link.since, &mut time);
            put_end(out, link.since, link.until);
        }
        let edited = || {
            let records = self.places.values().flat_map(|chunk| chunk.iter());
            records.filter(|(_, places)| places.edited)
        };
        out.count(edited().count());
        out.each(edited().map(|(ordinal, _)| ordinal));
        if has_seen {
            out.count(seen().count());
            for (ordinal, (count, at)) in seen() {
                put_all!(out, ordinal, count, at);
            }
        }
        std::mem::take(&mut out.bytes)
    }

    /// Takes a part over; `None` for any other bytes, and the caller rebuilds.
    pub(crate) fn from_part(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if ![VERSION, WITH_SEEN].contains(version) {
            return None;
        }
        let r = &mut ByteReader::new(rest);
        let mut marks = Self::default();
        for _ in 0..r.count()? {
            let tag: String = r.get()?;
            let (mut ordinal, mut time) = (0_u32, 0);
            for _ in 0..r.count()? {
                ordinal = u32::try_from(i64::from(ordinal).checked_add(r.signed()?)?).ok()?;
                let (from, until) = take_times(r, &mut time)?;
                let span = Span {
                    ordinal,
                    from,
                    until,
                };
                marks.put_span(&tag, span);
            }
        }
        let mut time = 0;
        for _ in 0..r.count()? {
            let (from, to, relation) = (r.get()?, r.get()?, r.get()?);
            let (since, until) = take_times(r, &mut time)?;
            marks.put_link(LinkSpan {
                from,
                to,
                relation,
                since,
                until,
            });
        }
        for _ in 0..r.count()? {
            marks.on_mut(r.get()?).edited = true;
        }
        if *version == WITH_SEEN {
            for _ in 0..r.count()? {
                let (ordinal, count, at) = (r.get()?, r.get()?, r.get()?);
                marks.on_mut(ordinal).seen = Some((count, at));
            }
        }
        r.is_empty().then_some(marks)
    }
}

/// An instant as what lies between it and the one before.
fn put_time(out: &mut ByteWriter, time: i64, last: &mut i64) {
    time.wrapping_sub(*last).put(out);
    *last = time;
}

/// 0 where there is no end, else one more than the time until then.
fn put_end(out: &mut ByteWriter, from: i64, until: i64) {
    let length = until.wrapping_sub(from).cast_unsigned();
    let ends = until != NEVER;
    (if ends { length.saturating_add(1) } else { 0 }).put(out);
}

/// The inverse of both.
fn take_times(r: &mut ByteReader<'_>, last: &mut i64) -> Option<(i64, i64)> {
    *last = last.wrapping_add(r.signed()?);
    let until = match r.varint()?.checked_sub(1) {
        None => NEVER,
        Some(length) => last.wrapping_add(length.cast_signed()),
    };
    Some((*last, until))
}
