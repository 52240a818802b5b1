//! Fields that several kinds of entries share, and what the directory needs of an entry.

use chrono::{DateTime, Utc};
use reprise_types::{ContentHash, EmbeddingSpace, RecordId};

use crate::bytes::{ByteReader, put_bytes, put_signed, put_varint};

/// What is left of a forgotten record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) id: RecordId,
    pub(crate) at: DateTime<Utc>,
    pub(crate) reason: String,
    pub(crate) content_hash: ContentHash,
    /// Hashes of its external ids.
    pub(crate) keys: Vec<u128>,
}

/// The space and checksum of an entry's vector. Vectors of a commit are stored in the order of
/// their entries, so no position is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorMark {
    /// Low half of XXH3-64 over the vector's bytes.
    pub(crate) check: u32,
    pub(crate) space: EmbeddingSpace,
}

/// As much of an entry as the directory needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outline {
    Record(Option<VectorMark>),
    Stub(Tombstone),
    Lost,
    Embedded {
        ordinal: u32,
        mark: VectorMark,
    },
    /// A vector of another width than the file's, in the entry itself.
    Apart {
        ordinal: u32,
        mark: VectorMark,
    },
    Forgotten {
        ordinal: u32,
        tombstone: Tombstone,
    },
    Cursor {
        stream: String,
        seq: u64,
    },
    Annotated {
        ordinal: u32,
        other: Option<u32>,
    },
    Learning,
    Unknown,
}

impl Outline {
    /// Whether the entry takes the next ordinal. Later kinds never do.
    pub(crate) fn takes_ordinal(&self) -> bool {
        matches!(self, Self::Record(_) | Self::Stub(_) | Self::Lost)
    }

    /// The mark of the entry's vector in the `VEC_SEG`. Kinds of later versions carry none.
    pub(crate) fn mark(&self) -> Option<&VectorMark> {
        match self {
            Self::Record(mark) => mark.as_ref(),
            Self::Embedded { mark, .. } => Some(mark),
            _ => None,
        }
    }

    pub(crate) fn has_vector(&self) -> bool {
        self.mark().is_some()
    }
}

pub(crate) fn put_mark(out: &mut Vec<u8>, mark: &VectorMark) {
    out.extend_from_slice(&mark.check.to_le_bytes());
    put_space(out, &mark.space);
}

pub(crate) fn mark(reader: &mut ByteReader<'_>) -> Option<VectorMark> {
    Some(VectorMark {
        check: reader.u32()?,
        space: space(reader)?,
    })
}

pub(crate) fn put_space(out: &mut Vec<u8>, space: &EmbeddingSpace) {
    put_bytes(out, space.model.as_bytes());
    put_bytes(out, space.version.as_bytes());
    put_varint(out, u64::from(space.dimensions));
}

pub(crate) fn space(reader: &mut ByteReader<'_>) -> Option<EmbeddingSpace> {
    Some(EmbeddingSpace {
        model: reader.string()?,
        version: reader.string()?,
        dimensions: u16::try_from(reader.varint()?).ok()?,
    })
}

pub(crate) fn put_tombstone(out: &mut Vec<u8>, tombstone: &Tombstone) {
    out.extend_from_slice(&tombstone.id.to_u128().to_le_bytes());
    put_instant(out, tombstone.at);
    put_bytes(out, tombstone.reason.as_bytes());
    out.extend_from_slice(&tombstone.content_hash.0.to_le_bytes());
    put_varint(out, tombstone.keys.len() as u64);
    for key in &tombstone.keys {
        out.extend_from_slice(&key.to_le_bytes());
    }
}

pub(crate) fn tombstone(reader: &mut ByteReader<'_>) -> Option<Tombstone> {
    let id = RecordId::from_u128(reader.u128()?);
    let at = instant(reader)?;
    let reason = reader.string()?;
    let content_hash = ContentHash(reader.u128()?);
    let keys = reader
        .varint()
        .filter(|count| *count <= reader.remaining() as u64)?;
    Some(Tombstone {
        id,
        at,
        reason,
        content_hash,
        keys: (0..keys).map(|_| reader.u128()).collect::<Option<_>>()?,
    })
}

pub(super) fn put_instant(out: &mut Vec<u8>, at: DateTime<Utc>) {
    put_signed(out, at.timestamp());
    put_varint(out, u64::from(at.timestamp_subsec_nanos()));
}

pub(super) fn instant(reader: &mut ByteReader<'_>) -> Option<DateTime<Utc>> {
    let seconds = reader.signed()?;
    let nanos = reader.varint_u32()?;
    DateTime::from_timestamp(seconds, nanos)
}
