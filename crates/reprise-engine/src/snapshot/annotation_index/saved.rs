//! The encoding of tags and links in the file: LEB128 numbers; ordinals and times as differences.

use reprise_types::{BinaryCodec as _, ByteReader, ByteWriter, encode_all};

use super::{AnnotationIndex, LinkSpan, NEVER, TagSpan, TagSpans};

const VERSION: u8 = 3;

impl AnnotationIndex {
    /// Encodes the section.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let seen = || {
            let records = self.records.values().flat_map(|chunk| chunk.iter());
            records.filter_map(|(ordinal, places)| Some((*ordinal, places.seen_stats?)))
        };
        let out = &mut ByteWriter::default();
        out.write_raw(&[VERSION]);
        let tags: Vec<(&TagSpans, usize)> = self
            .tag_numbers
            .values()
            .filter_map(|number| self.tags.get(*number as usize))
            .map(|tag| {
                (
                    tag,
                    tag.spans.iter().filter(|span| span.is_present()).count(),
                )
            })
            .filter(|(_, spans)| *spans > 0)
            .collect();
        out.write_count(tags.len());
        for (tag, count) in tags {
            encode_all!(out, tag.name, count);
            let (mut ordinal, mut time) = (0, 0);
            for span in tag.spans.iter().filter(|span| span.is_present()) {
                (i64::from(span.ordinal) - i64::from(ordinal)).encode(out);
                encode_time(out, span.from, &mut time);
                encode_end(out, span.from, span.until);
                ordinal = span.ordinal;
            }
        }
        let links = || self.links.iter().filter(|link| link.is_present());
        out.write_count(links().count());
        let mut time = 0;
        for link in links() {
            encode_all!(out, link.from, link.to, link.relation);
            encode_time(out, link.since, &mut time);
            encode_end(out, link.since, link.until);
        }
        let edited = || {
            let records = self.records.values().flat_map(|chunk| chunk.iter());
            records.filter(|(_, places)| places.edited)
        };
        out.write_count(edited().count());
        out.write_items(edited().map(|(ordinal, _)| ordinal));
        out.write_count(seen().count());
        for (ordinal, (count, at)) in seen() {
            encode_all!(out, ordinal, count, at);
        }
        std::mem::take(&mut out.bytes)
    }

    /// Decodes a section; `None` for any other bytes, and the caller rebuilds.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let r = &mut ByteReader::new(rest);
        let mut marks = Self::default();
        for _ in 0..r.read_count()? {
            let tag: String = r.read_value()?;
            let (mut ordinal, mut time) = (0_u32, 0);
            for _ in 0..r.read_count()? {
                ordinal = u32::try_from(i64::from(ordinal).checked_add(r.read_signed()?)?).ok()?;
                let (from, until) = decode_times(r, &mut time)?;
                let span = TagSpan {
                    ordinal,
                    from,
                    until,
                };
                marks.insert_span(&tag, span);
            }
        }
        let mut time = 0;
        for _ in 0..r.read_count()? {
            let (from, to, relation) = (r.read_value()?, r.read_value()?, r.read_value()?);
            let (since, until) = decode_times(r, &mut time)?;
            marks.insert_link(LinkSpan {
                from,
                to,
                relation,
                since,
                until,
            });
        }
        for _ in 0..r.read_count()? {
            marks.annotations_mut(r.read_value()?).edited = true;
        }
        for _ in 0..r.read_count()? {
            let (ordinal, count, at) = (r.read_value()?, r.read_value()?, r.read_value()?);
            marks.annotations_mut(ordinal).seen_stats = Some((count, at));
        }
        r.is_empty().then_some(marks)
    }
}

/// Encodes an instant as the difference to the one before.
fn encode_time(out: &mut ByteWriter, time: i64, last: &mut i64) {
    time.wrapping_sub(*last).encode(out);
    *last = time;
}

/// Encodes an end as one more than the time until then, or 0 if there is none.
fn encode_end(out: &mut ByteWriter, from: i64, until: i64) {
    let length = until.wrapping_sub(from).cast_unsigned();
    let ends = until != NEVER;
    (if ends { length.saturating_add(1) } else { 0 }).encode(out);
}

/// Decodes what [`encode_time`] and [`encode_end`] wrote.
fn decode_times(r: &mut ByteReader<'_>, last: &mut i64) -> Option<(i64, i64)> {
    *last = last.wrapping_add(r.read_signed()?);
    let until = match r.read_varint()?.checked_sub(1) {
        None => NEVER,
        Some(length) => last.wrapping_add(length.cast_signed()),
    };
    Some((*last, until))
}
