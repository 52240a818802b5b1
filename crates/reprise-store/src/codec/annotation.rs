//! The bytes of annotations: kinds 16 to 18 and 20.

use chrono::{DateTime, Utc};
use reprise_types::Annotation;

use super::fields::{instant, put_instant};
use crate::bytes::{ByteReader, put_bytes, put_varint};

const TAGGED: u8 = 16;
const LINKED: u8 = 17;
const UNLINKED: u8 = 18;
const SEEN: u8 = 20;

/// Whether a kind is one of these.
pub(super) fn knows(kind: u8) -> bool {
    (TAGGED..=UNLINKED).contains(&kind) || kind == SEEN
}

/// Writes the body and returns the kind; `None` for what this version cannot write.
pub(super) fn put(
    out: &mut Vec<u8>,
    ordinal: u32,
    at: DateTime<Utc>,
    annotation: &Annotation,
) -> Option<u8> {
    put_varint(out, u64::from(ordinal));
    put_instant(out, at);
    Some(match annotation {
        Annotation::Tagged { tags } => {
            put_varint(out, tags.len() as u64);
            for tag in tags {
                put_bytes(out, tag.as_bytes());
            }
            TAGGED
        }
        Annotation::Linked { to, relation } => {
            put_varint(out, u64::from(*to));
            put_bytes(out, relation.as_bytes());
            LINKED
        }
        Annotation::Unlinked { to, relation } => {
            put_varint(out, u64::from(*to));
            put_bytes(out, relation.as_bytes());
            UNLINKED
        }
        Annotation::Seen { count } => {
            put_varint(out, u64::from(*count));
            SEEN
        }
        _ => return None,
    })
}

/// The record's ordinal, the time and the annotation; `None` for malformed bytes.
pub(super) fn decode(kind: u8, body: &[u8]) -> Option<(u32, DateTime<Utc>, Annotation)> {
    let mut reader = ByteReader::new(body);
    let r = &mut reader;
    let (ordinal, at) = (r.varint_u32()?, instant(r)?);
    let annotation = match kind {
        TAGGED => {
            let count = r.varint().filter(|count| *count <= r.remaining() as u64)?;
            let tags = (0..count).map(|_| r.string()).collect::<Option<_>>()?;
            Annotation::Tagged { tags }
        }
        LINKED => Annotation::Linked {
            to: r.varint_u32()?,
            relation: r.string()?,
        },
        UNLINKED => Annotation::Unlinked {
            to: r.varint_u32()?,
            relation: r.string()?,
        },
        SEEN => Annotation::Seen {
            count: r.varint_u32()?,
        },
        _ => return None,
    };
    Some((ordinal, at, annotation))
}
