//! The bytes of an entry (format 1): kind numbers, field order, flags. `docs/FORMAT.md` draws them.
//!
//! A number in this file never changes its meaning.

mod annotation;
mod fields;
mod learning;
mod record;

use reprise_types::EmbeddingSpace;

use crate::apart;
use crate::bytes::{ByteReader, put_bytes, put_varint};
use crate::entry::Entry;

pub(crate) use fields::{
    Outline, Tombstone, VectorMark, mark, put_mark, put_space, put_tombstone, space, tombstone,
};

pub(crate) const KIND_RECORD: u8 = 1;
pub(crate) const KIND_STUB: u8 = 2;
pub(crate) const KIND_LOST: u8 = 3;
const KIND_EMBEDDED: u8 = 4;
const KIND_FORGOTTEN: u8 = 5;
const KIND_CURSOR: u8 = 6;
pub(crate) const KIND_APART: u8 = 19;

/// An entry as it stands in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
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

pub(crate) struct Encoded {
    pub(crate) raw: RawEntry,
    pub(crate) outline: Outline,
    pub(crate) vector: Option<Vec<u8>>,
}

impl Encoded {
    /// Bytes it adds to a commit, before compression.
    pub(crate) fn size(&self) -> usize {
        self.raw.body.len() + self.vector.as_ref().map_or(0, Vec::len)
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
    (space.dimensions != dimensions).then(|| apart::encode(ordinal, mark, &bytes))
}

fn marked(space: &EmbeddingSpace, vector: &[f32]) -> (VectorMark, Vec<u8>) {
    let bytes = vector_bytes(vector);
    let (check, space) = (vector_check(&bytes), space.clone());
    (VectorMark { check, space }, bytes)
}

/// Encodes an entry that was checked before, for a file whose `VEC_SEG`s are `dimensions` wide;
/// `None` for `Entry::Lost`, which no caller may write, and for events of a later version.
pub(crate) fn encode(entry: &Entry, dimensions: u16) -> Option<Encoded> {
    let mut body = Vec::new();
    let mut vector = None;
    let (kind, outline) = match entry {
        Entry::Record(record) => {
            let space = record.embedding_space.as_ref();
            let own = space.filter(|space| space.dimensions == dimensions);
            let mark = own.map(|space| {
                let (mark, bytes) = marked(space, &record.embedding);
                vector = Some(bytes);
                mark
            });
            record::put(&mut body, record, mark.as_ref());
            (KIND_RECORD, Outline::Record(mark))
        }
        Entry::Embedded {
            ordinal,
            space,
            vector: numbers,
        } => {
            let (mark, bytes) = marked(space, numbers);
            return Some(if space.dimensions == dimensions {
                embedded(*ordinal, mark, bytes)
            } else {
                apart::encode(*ordinal, mark, &bytes)
            });
        }
        Entry::Forgotten {
            ordinal,
            id,
            at,
            reason,
            content_hash,
            keys,
        } => {
            let tombstone = Tombstone {
                id: *id,
                at: *at,
                reason: reason.clone(),
                content_hash: *content_hash,
                keys: keys.clone(),
            };
            put_varint(&mut body, u64::from(*ordinal));
            put_tombstone(&mut body, &tombstone);
            let ordinal = *ordinal;
            (KIND_FORGOTTEN, Outline::Forgotten { ordinal, tombstone })
        }
        Entry::Cursor { stream, seq } => {
            let raw = encode_cursor(stream, *seq);
            body = raw.body;
            let stream = stream.clone();
            (KIND_CURSOR, Outline::Cursor { stream, seq: *seq })
        }
        Entry::Annotated {
            ordinal,
            at,
            annotation,
        } => {
            let kind = annotation::put(&mut body, *ordinal, *at, annotation)?;
            let (ordinal, other) = (*ordinal, annotation.other());
            (kind, Outline::Annotated { ordinal, other })
        }
        Entry::Learning(event) => (learning::put(&mut body, event)?, Outline::Learning),
        Entry::Lost { .. } => return None,
    };
    Some(Encoded {
        raw: RawEntry { kind, body },
        outline,
        vector,
    })
}

/// The entry of a late vector, which goes to the `VEC_SEG`.
pub(crate) fn embedded(ordinal: u32, mark: VectorMark, vector: Vec<u8>) -> Encoded {
    let mut body = Vec::new();
    put_varint(&mut body, u64::from(ordinal));
    put_mark(&mut body, &mark);
    Encoded {
        raw: RawEntry {
            kind: KIND_EMBEDDED,
            body,
        },
        outline: Outline::Embedded { ordinal, mark },
        vector: Some(vector),
    }
}

pub(crate) fn encode_cursor(stream: &str, seq: u64) -> RawEntry {
    let mut body = Vec::new();
    put_bytes(&mut body, stream.as_bytes());
    put_varint(&mut body, seq);
    RawEntry {
        kind: KIND_CURSOR,
        body,
    }
}

pub(crate) fn encode_stub(tombstone: &Tombstone) -> RawEntry {
    let mut body = Vec::new();
    put_tombstone(&mut body, tombstone);
    RawEntry {
        kind: KIND_STUB,
        body,
    }
}

/// The outline of an entry; `None` where the bytes of a known kind make no sense.
pub(crate) fn outline(raw: &RawEntry) -> Option<Outline> {
    let mut reader = ByteReader::new(&raw.body);
    Some(match raw.kind {
        KIND_RECORD => record::outline(&mut reader)?,
        KIND_STUB => Outline::Stub(tombstone(&mut reader)?),
        KIND_LOST => Outline::Lost,
        KIND_EMBEDDED => Outline::Embedded {
            ordinal: reader.varint_u32()?,
            mark: mark(&mut reader)?,
        },
        KIND_FORGOTTEN => Outline::Forgotten {
            ordinal: reader.varint_u32()?,
            tombstone: tombstone(&mut reader)?,
        },
        KIND_CURSOR => Outline::Cursor {
            stream: reader.string()?,
            seq: reader.varint()?,
        },
        KIND_APART => {
            let (ordinal, mark, _) = apart::decode(&raw.body)?;
            Outline::Apart { ordinal, mark }
        }
        kind if learning::knows(kind) => Outline::Learning,
        kind if annotation::knows(kind) => {
            let (ordinal, _, annotation) = annotation::decode(kind, &raw.body)?;
            let other = annotation.other();
            Outline::Annotated { ordinal, other }
        }
        _ => Outline::Unknown,
    })
}

/// The entry as `replay` hands it out. `ordinal` is the one it takes, `vector` its verified vector.
pub(crate) fn decode(
    raw: &RawEntry,
    ordinal: Option<u32>,
    vector: Option<Vec<f32>>,
) -> Option<Entry> {
    Some(match outline(raw)? {
        Outline::Record(mark) => {
            let mut record = record::decode(&raw.body)?;
            if let (Some(mark), Some(vector)) = (mark, vector) {
                record.embedding_space = Some(mark.space);
                record.embedding = vector;
            }
            Entry::Record(Box::new(record))
        }
        Outline::Stub(tombstone) => forgotten(ordinal?, tombstone),
        Outline::Lost => Entry::Lost { ordinal: ordinal? },
        Outline::Embedded { ordinal, mark } => Entry::Embedded {
            ordinal,
            space: mark.space,
            vector: vector?,
        },
        Outline::Apart { ordinal, mark } => Entry::Embedded {
            ordinal,
            space: mark.space,
            vector: vector_from_bytes(apart::decode(&raw.body)?.2),
        },
        Outline::Forgotten { ordinal, tombstone } => forgotten(ordinal, tombstone),
        Outline::Cursor { stream, seq } => Entry::Cursor { stream, seq },
        Outline::Annotated { .. } => {
            let (ordinal, at, annotation) = annotation::decode(raw.kind, &raw.body)?;
            Entry::Annotated {
                ordinal,
                at,
                annotation,
            }
        }
        Outline::Learning => Entry::Learning(Box::new(learning::decode(raw.kind, &raw.body)?)),
        Outline::Unknown => return None,
    })
}

/// A record's body without its vector; `embedding` is left empty and `embedding_space` unset.
pub(crate) fn decode_record(body: &[u8]) -> Option<reprise_types::MemoryRecord> {
    record::decode(body)
}

/// The same record under another vector mark: what compaction writes for a record embedded late.
pub(crate) fn remark_record(body: &[u8], mark: Option<&VectorMark>) -> Option<RawEntry> {
    Some(RawEntry {
        kind: KIND_RECORD,
        body: record::remark(body, mark)?,
    })
}

fn forgotten(ordinal: u32, tombstone: Tombstone) -> Entry {
    Entry::Forgotten {
        ordinal,
        id: tombstone.id,
        at: tombstone.at,
        reason: tombstone.reason,
        content_hash: tombstone.content_hash,
        keys: tombstone.keys,
    }
}

#[cfg(test)]
mod tests;
