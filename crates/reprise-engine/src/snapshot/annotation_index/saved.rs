//! The saved form of tags and links: plain values, without what was forgotten.

use std::sync::Arc;

use reprise_types::{BinaryCodec as _, ByteReader, ByteWriter};

use super::{AnnotationIndex, LinkSpan, NEVER, RecordAnnotations, TagSpan, TagSpans};

const VERSION: u8 = 4;

/// Version; each tag with its spans (ordinal, from, end); links (from, to, relation, since, end);
/// records with edited tags; records that were stated more than once (how often, and when last).
type SavedAnnotations = (u8, Vec<SavedTag>, Vec<SavedLink>, Vec<u32>, Vec<SavedSeen>);
type SavedTag = (Arc<str>, Vec<(u32, i64, Option<i64>)>);
type SavedLink = (u32, u32, Arc<str>, i64, Option<i64>);
type SavedSeen = (u32, (u32, i64));

impl AnnotationIndex {
    /// Encodes the section.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let save_tag = |tag: &TagSpans| -> SavedTag {
            let spans = tag.spans.iter().filter(|span| span.is_present());
            let spans = spans.map(|span| (span.ordinal, span.from, end_of(span.until)));
            (Arc::clone(&tag.name), spans.collect())
        };
        let tags = self.tag_numbers.values();
        let tags = tags.filter_map(|number| self.tags.get(*number as usize));
        let tags = tags.map(save_tag).filter(|(_, spans)| !spans.is_empty());
        let links = self.links.iter().filter(|link| link.is_present());
        let links = links.map(|link| {
            let relation = Arc::clone(&link.relation);
            let end = end_of(link.until);
            (link.from, link.to, relation, link.since, end)
        });
        let edited = self.iter_annotated().filter(|(_, places)| places.edited);
        let seen = self.iter_annotated();
        let seen = seen.filter_map(|(ordinal, places)| Some((ordinal, places.seen_stats?)));
        let saved: SavedAnnotations = (
            VERSION,
            tags.collect(),
            links.collect(),
            edited.map(|(ordinal, _)| ordinal).collect(),
            seen.collect(),
        );
        let mut out = ByteWriter::default();
        saved.encode(&mut out);
        out.bytes
    }

    fn iter_annotated(&self) -> impl Iterator<Item = (u32, &RecordAnnotations)> {
        let records = self.records.values().flat_map(|chunk| chunk.iter());
        records.map(|(ordinal, places)| (*ordinal, &**places))
    }

    /// Decodes a section; `None` for any other bytes, and the caller rebuilds.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let r = &mut ByteReader::new(bytes);
        let saved: SavedAnnotations = r.read_value()?;
        let (version, tags, links, edited, seen) = saved;
        if version != VERSION || !r.is_empty() {
            return None;
        }
        let mut marks = Self::default();
        for (tag, spans) in tags {
            for (ordinal, from, end) in spans {
                let until = end.unwrap_or(NEVER);
                let span = TagSpan {
                    ordinal,
                    from,
                    until,
                };
                marks.insert_span(&tag, span);
            }
        }
        for (from, to, relation, since, end) in links {
            marks.insert_link(LinkSpan {
                from,
                to,
                relation,
                since,
                until: end.unwrap_or(NEVER),
            });
        }
        for ordinal in edited {
            marks.annotations_mut(ordinal).edited = true;
        }
        for (ordinal, seen_stats) in seen {
            marks.annotations_mut(ordinal).seen_stats = Some(seen_stats);
        }
        Some(marks)
    }
}

fn end_of(until: i64) -> Option<i64> {
    (until != NEVER).then_some(until)
}
