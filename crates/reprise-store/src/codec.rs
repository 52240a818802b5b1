//! The bytes of an entry: kind numbers, field order, flags. `docs/FORMAT.md` draws them.
//!
//! A number in this file never changes its meaning.

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, BinaryCodec, ByteReader, ByteWriter, ContentHash, EmbeddingSpace, LearningEvent,
    MemoryRecord, RecordBody, RecordId, encode_all, impl_binary_codec,
};

use crate::block::{self, RawEntry};
use crate::entry::{StoreEntry, Tombstone};

pub(crate) const KIND_RECORD: u8 = 1;
pub(crate) const KIND_STUB: u8 = 2;
pub(crate) const KIND_LOST: u8 = 3;
const KIND_EMBEDDED: u8 = 4;
const KIND_FORGOTTEN: u8 = 5;
const KIND_CURSOR: u8 = 6;
/// A vector of another width than the file's. All vectors of a `VEC_SEG` are as wide as the file,
/// which is what rvf-runtime reads, so a vector of another width is stored in the body of a
/// separate entry, after its mark. Builds that know one width only skip such entries and keep them.
/// Compaction changes the file's width to the one that most records have.
const KIND_SEPARATE_VECTOR: u8 = 19;
const KIND_SUPERSEDED: u8 = 22;

/// The space and checksum of an entry's vector. The vectors of a commit are stored in the order of
/// their entries, so the mark has no position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorMark {
    /// Low half of XXH3-64 over the vector's bytes.
    pub(crate) checksum: u32,
    pub(crate) space: EmbeddingSpace,
}

/// The parts of an entry that the directory needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outline {
    Record(Option<VectorMark>),
    Stub(Tombstone),
    Lost,
    Embedded {
        ordinal: u32,
        mark: VectorMark,
    },
    /// A vector of another width than the file's, which is stored in the entry itself.
    SeparateVector {
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
    Superseded(RecordId),
    Learning,
    Unknown,
}

impl Outline {
    /// Returns the mark of the entry's vector in the `VEC_SEG`. Kinds of later versions have none.
    pub(crate) fn vector_mark(&self) -> Option<&VectorMark> {
        match self {
            Self::Record(mark) => mark.as_ref(),
            Self::Embedded { mark, .. } => Some(mark),
            _ => None,
        }
    }

    pub(crate) fn has_vector(&self) -> bool {
        self.vector_mark().is_some()
    }
}

impl_binary_codec! {
    VectorMark { checksum, space }
}

/// Encodes a record: the mark of its vector, its id and times, its hash unless that is the hash of
/// the text, and its body.
fn encode_record(out: &mut ByteWriter, record: &MemoryRecord, mark: Option<&VectorMark>) {
    let hash = Some(record.content_hash).filter(|hash| *hash != hash_text(&record.text));
    encode_all!(out, mark.cloned(), record.id, record.timestamp);
    encode_all!(out, record.known_at, hash, record.body);
}

/// Decodes a record without its vector; `embedding` stays empty and `embedding_space` unset.
pub(crate) fn decode_record(body: &[u8]) -> Option<MemoryRecord> {
    let r = &mut ByteReader::new(body);
    let (_, id, timestamp): (Option<VectorMark>, _, _) = r.read_value()?;
    let (known_at, hash, body): (_, Option<ContentHash>, RecordBody) = r.read_value()?;
    Some(MemoryRecord {
        id,
        timestamp,
        known_at,
        embedding: Vec::new(),
        embedding_space: None,
        content_hash: hash.unwrap_or_else(|| hash_text(&body.text)),
        body,
    })
}

/// Returns the record with another vector mark, as compaction writes a record whose vector came
/// later.
pub(crate) fn remark_record(body: &[u8], mark: Option<&VectorMark>) -> Option<RawEntry> {
    let r = &mut ByteReader::new(body);
    let _: Option<VectorMark> = r.read_value()?;
    let rest = r.read_raw(r.remaining())?;
    Some(RawEntry::new(KIND_RECORD, |out| {
        mark.cloned().encode(out);
        out.write_raw(rest);
    }))
}

fn hash_text(text: &str) -> ContentHash {
    ContentHash(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

/// Computes the checksum that every read of a vector compares.
pub(crate) fn vector_checksum(bytes: &[u8]) -> u32 {
    xxhash_rust::xxh3::xxh3_64(bytes) as u32
}

/// Encodes a vector as a `VEC_SEG` stores it.
pub(crate) fn encode_vector(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Decodes the bytes of [`encode_vector`].
pub(crate) fn decode_vector(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|n| f32::from_le_bytes(*n)).collect()
}

/// Encodes a record's vector as the entry after the record; returns `None` if the vector is as wide
/// as the file and is therefore stored in the `VEC_SEG`. `ordinal` is that of the record.
pub(crate) fn encode_separate_vector(
    entry: &StoreEntry,
    ordinal: u32,
    dimensions: u16,
) -> Option<RawEntry> {
    let StoreEntry::Record(record) = entry else {
        return None;
    };
    let space = record.embedding_space.as_ref();
    let space = space.filter(|space| space.dimensions != dimensions)?;
    let (mark, bytes) = mark_vector(space, &record.embedding);
    Some(separate_vector_entry(ordinal, &mark, &bytes))
}

fn mark_vector(space: &EmbeddingSpace, vector: &[f32]) -> (VectorMark, Vec<u8>) {
    let bytes = encode_vector(vector);
    let (check, space) = (vector_checksum(&bytes), space.clone());
    (
        VectorMark {
            checksum: check,
            space,
        },
        bytes,
    )
}

/// Encodes a checked entry for a file whose `VEC_SEG`s are `dimensions` wide; a record gets the
/// ordinal `next`. Returns `None` for `StoreEntry::Lost`, which no caller may write.
pub(crate) fn encode_entry(entry: &StoreEntry, next: u32, dimensions: u16) -> Option<RawEntry> {
    let mut vector = None;
    let mut out = ByteWriter::default();
    let kind = match entry {
        StoreEntry::Record(record) => {
            let space = record.embedding_space.as_ref();
            let own = space.filter(|space| space.dimensions == dimensions);
            let mark = own.map(|space| {
                let (mark, bytes) = mark_vector(space, &record.embedding);
                vector = Some((u64::from(next), bytes));
                mark
            });
            encode_record(&mut out, record, mark.as_ref());
            KIND_RECORD
        }
        StoreEntry::Embedded {
            ordinal,
            space,
            vector: numbers,
        } => {
            let (mark, bytes) = mark_vector(space, numbers);
            return Some(if space.dimensions == dimensions {
                late_vector_entry(*ordinal, &mark, bytes)
            } else {
                separate_vector_entry(*ordinal, &mark, &bytes)
            });
        }
        StoreEntry::Forgotten { ordinal, tombstone } => {
            encode_all!(&mut out, *ordinal, *tombstone);
            KIND_FORGOTTEN
        }
        StoreEntry::Cursor { stream, seq } => {
            encode_all!(&mut out, *stream, *seq);
            KIND_CURSOR
        }
        StoreEntry::Superseded { id, at } => return Some(RawEntry::from_supersession(*id, *at)),
        StoreEntry::Annotated {
            ordinal,
            at,
            annotation,
        } => {
            encode_all!(&mut out, *ordinal, *at);
            annotation.encode_body(&mut out)
        }
        StoreEntry::Learning(event) => event.encode_body(&mut out),
        StoreEntry::Lost { .. } => return None,
    };
    let body = out.bytes;
    Some(RawEntry { kind, body, vector })
}

impl RawEntry {
    pub(crate) fn new(kind: u8, put: impl FnOnce(&mut ByteWriter)) -> Self {
        let mut out = ByteWriter::default();
        put(&mut out);
        Self {
            kind,
            body: out.bytes,
            vector: None,
        }
    }

    /// Returns the bytes that it adds to a commit, before compression.
    pub(crate) fn size(&self) -> usize {
        self.body.len() + self.vector.as_ref().map_or(0, |vector| vector.1.len())
    }

    /// Whether the entry gets an ordinal of its own. Kinds of later versions never do.
    pub(crate) fn has_ordinal(&self) -> bool {
        matches!(self.kind, KIND_RECORD | KIND_STUB | KIND_LOST)
    }

    pub(crate) fn from_cursor(stream: &String, seq: u64) -> Self {
        Self::new(KIND_CURSOR, |out| encode_all!(out, *stream, seq))
    }

    /// Builds what remains of a forgotten record that had replaced another one.
    pub(crate) fn from_supersession(replaced: RecordId, at: DateTime<Utc>) -> Self {
        Self::new(KIND_SUPERSEDED, |out| encode_all!(out, replaced, at))
    }

    pub(crate) fn from_tombstone(tombstone: &Tombstone) -> Self {
        Self::new(KIND_STUB, |out| tombstone.encode(out))
    }
}

/// Builds the entry of a vector that was computed after its record, for the `VEC_SEG`.
pub(crate) fn late_vector_entry(ordinal: u32, mark: &VectorMark, vector: Vec<u8>) -> RawEntry {
    RawEntry {
        vector: Some((u64::from(ordinal), vector)),
        ..RawEntry::new(KIND_EMBEDDED, |out| encode_all!(out, ordinal, *mark))
    }
}

/// Builds the entry of a vector that is as wide as the mark's space but not as the file.
pub(crate) fn separate_vector_entry(ordinal: u32, mark: &VectorMark, vector: &[u8]) -> RawEntry {
    RawEntry::new(KIND_SEPARATE_VECTOR, |out| {
        encode_all!(out, ordinal, *mark);
        out.write_raw(vector);
    })
}

/// Decodes an entry of [`separate_vector_entry`] to the record's ordinal, the mark and the vector's
/// bytes; returns `None` if the bytes do not match the mark.
pub(crate) fn decode_separate_vector(body: &[u8]) -> Option<(u32, VectorMark, &[u8])> {
    let mut reader = ByteReader::new(body);
    let (ordinal, mark): (_, VectorMark) = (reader.read_value()?, reader.read_value()?);
    let size = 4 * usize::from(mark.space.dimensions);
    let vector = reader.read_raw(size).filter(|_| reader.is_empty())?;
    (vector_checksum(vector) == mark.checksum).then_some((ordinal, mark, vector))
}

/// Finds a record's vector in an unpacked block by its checksum.
pub(crate) fn find_separate_vector(block: &[u8], ordinal: u32, check: u32) -> Option<Vec<u8>> {
    let entries = block::decode_entries(block)?;
    let apart = entries
        .iter()
        .filter(|entry| entry.kind == KIND_SEPARATE_VECTOR);
    apart
        .filter_map(|entry| decode_separate_vector(&entry.body))
        .find(|(whose, mark, _)| (*whose, mark.checksum) == (ordinal, check))
        .map(|(_, _, vector)| vector.to_vec())
}

/// Decodes the outline of an entry; returns `None` if the bytes of a known kind are malformed.
pub(crate) fn decode_outline(raw: &RawEntry) -> Option<Outline> {
    let r = &mut ByteReader::new(&raw.body);
    Some(match raw.kind {
        KIND_RECORD => Outline::Record(r.read_value()?),
        KIND_STUB => Outline::Stub(r.read_value()?),
        KIND_LOST => Outline::Lost,
        KIND_EMBEDDED => Outline::Embedded {
            ordinal: r.read_value()?,
            mark: r.read_value()?,
        },
        KIND_FORGOTTEN => Outline::Forgotten {
            ordinal: r.read_value()?,
            tombstone: r.read_value()?,
        },
        KIND_CURSOR => Outline::Cursor {
            stream: r.read_value()?,
            seq: r.read_value()?,
        },
        KIND_SEPARATE_VECTOR => {
            let (ordinal, mark, _) = decode_separate_vector(&raw.body)?;
            Outline::SeparateVector { ordinal, mark }
        }
        KIND_SUPERSEDED => Outline::Superseded(r.read_value()?),
        kind if LearningEvent::is_known_kind(kind) => Outline::Learning,
        kind if Annotation::is_known_kind(kind) => {
            let (ordinal, _, annotation) = decode_annotated(raw)?;
            let other = annotation.linked_ordinal();
            Outline::Annotated { ordinal, other }
        }
        _ => Outline::Unknown,
    })
}

fn decode_annotated(raw: &RawEntry) -> Option<(u32, DateTime<Utc>, Annotation)> {
    let r = &mut ByteReader::new(&raw.body);
    Some((
        r.read_value()?,
        r.read_value()?,
        Annotation::decode_body(raw.kind, r)?,
    ))
}

/// Decodes an entry as `replay` passes it on. `ordinal` is the ordinal of the entry itself,
/// `vector` its verified vector.
pub(crate) fn decode_entry(
    raw: &RawEntry,
    outline: Outline,
    ordinal: Option<u32>,
    vector: Option<Vec<f32>>,
) -> Option<StoreEntry> {
    Some(match outline {
        Outline::Record(mark) => {
            let mut record = decode_record(&raw.body)?;
            if let (Some(mark), Some(vector)) = (mark, vector) {
                record.embedding_space = Some(mark.space);
                record.embedding = vector;
            }
            StoreEntry::Record(Box::new(record))
        }
        Outline::Stub(tombstone) => StoreEntry::Forgotten {
            ordinal: ordinal?,
            tombstone,
        },
        Outline::Lost => StoreEntry::Lost { ordinal: ordinal? },
        Outline::Embedded { ordinal, mark } => StoreEntry::Embedded {
            ordinal,
            space: mark.space,
            vector: vector?,
        },
        Outline::SeparateVector { ordinal, mark } => StoreEntry::Embedded {
            ordinal,
            space: mark.space,
            vector: decode_vector(decode_separate_vector(&raw.body)?.2),
        },
        Outline::Forgotten { ordinal, tombstone } => StoreEntry::Forgotten { ordinal, tombstone },
        Outline::Cursor { stream, seq } => StoreEntry::Cursor { stream, seq },
        Outline::Superseded(_) => {
            let r = &mut ByteReader::new(&raw.body);
            let (id, at) = (r.read_value()?, r.read_value()?);
            StoreEntry::Superseded { id, at }
        }
        Outline::Annotated { .. } => {
            let (ordinal, at, annotation) = decode_annotated(raw)?;
            StoreEntry::from_annotation(ordinal, at, annotation)
        }
        Outline::Learning => {
            let r = &mut ByteReader::new(&raw.body);
            StoreEntry::Learning(Box::new(LearningEvent::decode_body(raw.kind, r)?))
        }
        Outline::Unknown => return None,
    })
}

#[cfg(test)]
mod tests;
