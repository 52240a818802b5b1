//! Fields that several kinds of entries share, and what the directory needs of an entry.

use reprise_types::{ByteReader, ByteWriter, EmbeddingSpace, Wire};

use crate::entry::Tombstone;

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

impl Wire for VectorMark {
    fn put(&self, out: &mut ByteWriter) {
        out.raw(&self.check.to_le_bytes());
        self.space.put(out);
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        let (check, space) = (r.u32()?, r.get()?);
        Some(Self { check, space })
    }
}
