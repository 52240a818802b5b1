//! The bytes of an entry (format 1): kind numbers, field order, flags. `docs/FORMAT.md` draws them.
//!
//! A number in this file never changes its meaning.

mod record;

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, ByteReader, ByteWriter, EmbeddingSpace, LearningEvent, Wire, put_all,
};

use crate::block;
use crate::entry::{Entry, Tombstone};

pub(crate) use record::{decode as decode_record, remark as remark_record};

pub(crate) const KIND_RECORD: u8 = 1;
pub(crate) const KIND_STUB: u8 = 2;
pub(crate) const KIND_LOST: u8 = 3;
const KIND_EMBEDDED: u8 = 4;
const KIND_FORGOTTEN: u8 = 5;
const KIND_CURSOR: u8 = 6;
/// A vector of another width than the file's own. All vectors of a `VEC_SEG` are as wide as the
/// file, which is what rvf-runtime reads, so one of another width stands in the body of an entry of
/// its own, behind its mark. Builds that know one width alone skip such entries and keep them.
/// Compaction makes the width that most records have the file's own.
const KIND_APART: u8 = 19;

/// An entry as it stands in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
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

/// The checksum that every read of a vector compares.
pub(crate) fn vector_check(bytes: &[u8]) -> u32 {
    xxhash_rust::xxh3::xxh3_64(bytes) as u32
}

/// A vector as `VEC_SEG` holds it.
pub(crate) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The inverse of [`vector_bytes`].
pub(crate) fn vector_from_bytes(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|n| f32::from_le_bytes(*n)).collect()
}

/// An entry that is to be written, and its vector in the `VEC_SEG`.
pub(crate) struct Encoded {
    pub(crate) raw: RawEntry,
    /// The rvf id, then the numbers.
    pub(crate) vector: Option<(u64, Vec<u8>)>,
}

impl Encoded {
    pub(crate) fn alone(raw: RawEntry) -> Self {
        Self { raw, vector: None }
    }

    /// Bytes it adds to a commit, before compression.
    pub(crate) fn size(&self) -> usize {
        self.raw.body.len() + self.vector.as_ref().map_or(0, |vector| vector.1.len())
    }
}

/// The vector of a record of another width than the file's, which takes this ordinal, as the entry
/// behind the record's own.
pub(crate) fn encode_apart(entry: &Entry, ordinal: u32, dimensions: u16) -> Option<Encoded> {
    let Entry::Record(record) = entry else {
        return None;
    };
    let space = record.embedding_space.as_ref()?;
    let (mark, bytes) = marked(space, &record.embedding);
    (space.dimensions != dimensions).then(|| apart(ordinal, &mark, &bytes))
}

fn marked(space: &EmbeddingSpace, vector: &[f32]) -> (VectorMark, Vec<u8>) {
    let bytes = vector_bytes(vector);
    let (check, space) = (vector_check(&bytes), space.clone());
    (VectorMark { check, space }, bytes)
}

/// Encodes an entry that was checked before, for a file whose `VEC_SEG`s are `dimensions` wide; a
/// record takes the ordinal `next`. `None` for `Entry::Lost`, which no caller may write.
pub(crate) fn encode(entry: &Entry, next: u32, dimensions: u16) -> Option<Encoded> {
    let mut vector = None;
    let mut out = ByteWriter::default();
    let kind = match entry {
        Entry::Record(record) => {
            let space = record.embedding_space.as_ref();
            let own = space.filter(|space| space.dimensions == dimensions);
            let mark = own.map(|space| {
                let (mark, bytes) = marked(space, &record.embedding);
                vector = Some((u64::from(next), bytes));
                mark
            });
            record::put(&mut out, record, mark.as_ref());
            KIND_RECORD
        }
        Entry::Embedded {
            ordinal,
            space,
            vector: numbers,
        } => {
            let (mark, bytes) = marked(space, numbers);
            return Some(if space.dimensions == dimensions {
                embedded(*ordinal, &mark, bytes)
            } else {
                apart(*ordinal, &mark, &bytes)
            });
        }
        Entry::Forgotten { ordinal, tombstone } => {
            put_all!(&mut out, *ordinal, *tombstone);
            KIND_FORGOTTEN
        }
        Entry::Cursor { stream, seq } => {
            put_all!(&mut out, *stream, *seq);
            KIND_CURSOR
        }
        Entry::Annotated {
            ordinal,
            at,
            annotation,
        } => {
            put_all!(&mut out, *ordinal, *at);
            annotation.put(&mut out)
        }
        Entry::Learning(event) => event.put(&mut out),
        Entry::Lost { .. } => return None,
    };
    let body = out.bytes;
    let raw = RawEntry { kind, body };
    Some(Encoded { raw, vector })
}

impl RawEntry {
    pub(crate) fn new(kind: u8, put: impl FnOnce(&mut ByteWriter)) -> Self {
        let mut out = ByteWriter::default();
        put(&mut out);
        let body = out.bytes;
        Self { kind, body }
    }

    /// Whether it takes the next ordinal. Later kinds never do.
    pub(crate) fn takes_ordinal(&self) -> bool {
        matches!(self.kind, KIND_RECORD | KIND_STUB | KIND_LOST)
    }

    pub(crate) fn cursor(stream: &String, seq: u64) -> Self {
        Self::new(KIND_CURSOR, |out| put_all!(out, *stream, seq))
    }

    pub(crate) fn stub(tombstone: &Tombstone) -> Self {
        Self::new(KIND_STUB, |out| tombstone.put(out))
    }
}

/// The entry of a late vector, which goes to the `VEC_SEG`.
pub(crate) fn embedded(ordinal: u32, mark: &VectorMark, vector: Vec<u8>) -> Encoded {
    Encoded {
        raw: RawEntry::new(KIND_EMBEDDED, |out| put_all!(out, ordinal, *mark)),
        vector: Some((u64::from(ordinal), vector)),
    }
}

/// The entry of a vector whose bytes are as wide as the mark's space, but not as the file.
pub(crate) fn apart(ordinal: u32, mark: &VectorMark, vector: &[u8]) -> Encoded {
    Encoded::alone(RawEntry::new(KIND_APART, |out| {
        put_all!(out, ordinal, *mark);
        out.raw(vector);
    }))
}

/// The inverse: whose it is, its mark and its bytes; `None` where they are not what the mark says.
pub(crate) fn decode_apart(body: &[u8]) -> Option<(u32, VectorMark, &[u8])> {
    let mut reader = ByteReader::new(body);
    let (ordinal, mark): (_, VectorMark) = (reader.get()?, reader.get()?);
    let size = 4 * usize::from(mark.space.dimensions);
    let vector = reader.take(size).filter(|_| reader.is_empty())?;
    (vector_check(vector) == mark.check).then_some((ordinal, mark, vector))
}

/// A record's vector in an unpacked block, by its check.
pub(crate) fn find_apart(block: &[u8], ordinal: u32, check: u32) -> Option<Vec<u8>> {
    let entries = block::entries(block)?;
    let apart = entries.iter().filter(|entry| entry.kind == KIND_APART);
    apart
        .filter_map(|entry| decode_apart(&entry.body))
        .find(|(whose, mark, _)| (*whose, mark.check) == (ordinal, check))
        .map(|(_, _, vector)| vector.to_vec())
}

/// The outline of an entry; `None` where the bytes of a known kind make no sense.
pub(crate) fn outline(raw: &RawEntry) -> Option<Outline> {
    let r = &mut ByteReader::new(&raw.body);
    Some(match raw.kind {
        KIND_RECORD => Outline::Record(record::mark(r)?.1),
        KIND_STUB => Outline::Stub(r.get()?),
        KIND_LOST => Outline::Lost,
        KIND_EMBEDDED => Outline::Embedded {
            ordinal: r.get()?,
            mark: r.get()?,
        },
        KIND_FORGOTTEN => Outline::Forgotten {
            ordinal: r.get()?,
            tombstone: r.get()?,
        },
        KIND_CURSOR => Outline::Cursor {
            stream: r.get()?,
            seq: r.get()?,
        },
        KIND_APART => {
            let (ordinal, mark, _) = decode_apart(&raw.body)?;
            Outline::Apart { ordinal, mark }
        }
        kind if LearningEvent::knows(kind) => Outline::Learning,
        kind if Annotation::knows(kind) => {
            let (ordinal, _, annotation) = annotated(raw)?;
            let other = annotation.other();
            Outline::Annotated { ordinal, other }
        }
        _ => Outline::Unknown,
    })
}

fn annotated(raw: &RawEntry) -> Option<(u32, DateTime<Utc>, Annotation)> {
    let r = &mut ByteReader::new(&raw.body);
    Some((r.get()?, r.get()?, Annotation::take(raw.kind, r)?))
}

/// The entry of this outline as `replay` hands it out. `ordinal` is the one it takes, `vector` its
/// verified vector.
pub(crate) fn decode(
    raw: &RawEntry,
    outline: Outline,
    ordinal: Option<u32>,
    vector: Option<Vec<f32>>,
) -> Option<Entry> {
    Some(match outline {
        Outline::Record(mark) => {
            let mut record = record::decode(&raw.body)?;
            if let (Some(mark), Some(vector)) = (mark, vector) {
                record.embedding_space = Some(mark.space);
                record.embedding = vector;
            }
            Entry::Record(Box::new(record))
        }
        Outline::Stub(tombstone) => Entry::Forgotten {
            ordinal: ordinal?,
            tombstone,
        },
        Outline::Lost => Entry::Lost { ordinal: ordinal? },
        Outline::Embedded { ordinal, mark } => Entry::Embedded {
            ordinal,
            space: mark.space,
            vector: vector?,
        },
        Outline::Apart { ordinal, mark } => Entry::Embedded {
            ordinal,
            space: mark.space,
            vector: vector_from_bytes(decode_apart(&raw.body)?.2),
        },
        Outline::Forgotten { ordinal, tombstone } => Entry::Forgotten { ordinal, tombstone },
        Outline::Cursor { stream, seq } => Entry::Cursor { stream, seq },
        Outline::Annotated { .. } => {
            let (ordinal, at, annotation) = annotated(raw)?;
            Entry::annotated(ordinal, at, annotation)
        }
        Outline::Learning => {
            let r = &mut ByteReader::new(&raw.body);
            Entry::Learning(Box::new(LearningEvent::take(raw.kind, r)?))
        }
        Outline::Unknown => return None,
    })
}

#[cfg(test)]
mod tests;
