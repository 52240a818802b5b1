//! Entries of the log between their meaning and their bytes. `docs/FORMAT.md` draws these.
//!
//! A number in this file never changes its meaning.

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, ByteReader, ByteWriter, ContentHash, EmbeddingSpace, LearningEvent, MemoryRecord,
    RecordBody, RecordId, encode_all, impl_binary_codec, impl_tagged_codec,
};

use crate::directory::slot::Slot;
use crate::entry::{StoreEntry, Tombstone};

/// The space and checksum of an entry's vector. The vectors of a commit are stored in the order of
/// their entries, so the mark has no position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorMark {
    /// Low half of XXH3-64 over the vector's bytes.
    pub(crate) checksum: u32,
    pub(crate) space: EmbeddingSpace,
}

/// What a record's entry has of it before its body.
struct RecordHead {
    id: RecordId,
    timestamp: DateTime<Utc>,
    known_at: DateTime<Utc>,
    /// `None` if it is the hash of the text.
    hash: Option<ContentHash>,
}

impl_binary_codec! {
    VectorMark { checksum, space }
    RecordHead { id, timestamp, known_at, hash }
}

/// What the log itself needs of an entry, which its body begins with. Annotations, what is learned
/// and kinds of later versions have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outline {
    /// The record follows, without its vector.
    Record(Option<VectorMark>),
    Stub(Tombstone),
    Lost,
    Embedded {
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
    /// A vector of another width than the file's, which follows. All vectors of a `VEC_SEG` are as
    /// wide as the file, which is what rvf-runtime reads. Compaction changes the file's width to
    /// the one that most records have.
    SeparateVector {
        ordinal: u32,
        mark: VectorMark,
    },
    Superseded {
        id: RecordId,
        at: DateTime<Utc>,
    },
}

impl_tagged_codec! {
    Outline {
        1 => Record(mark),
        2 => Stub(tombstone),
        3 => Lost,
        4 => Embedded { ordinal, mark },
        5 => Forgotten { ordinal, tombstone },
        6 => Cursor { stream, seq },
        19 => SeparateVector { ordinal, mark },
        22 => Superseded { id, at },
    }
}

/// A vector's mark and its bytes.
pub(crate) type MarkedVector = (VectorMark, Vec<u8>);

/// An entry of the log with its bytes, on its way to the file or from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodedEntry {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
    pub(crate) outline: Option<Outline>,
    /// The first bytes of the body, which are the outline.
    outline_bytes: usize,
    /// The bytes of its vector in the `VEC_SEG`.
    pub(crate) vector: Option<Vec<u8>>,
    /// Where it is, and its vector in the `VEC_SEG`, as the slot of a record there; set once it has
    /// a place in a file.
    pub(crate) slot: Slot,
}

impl EncodedEntry {
    /// Builds an entry from its outline and what follows that.
    pub(crate) fn new(outline: Outline, rest: &[u8]) -> Self {
        let mut out = ByteWriter::default();
        let kind = outline.encode_body(&mut out);
        let outline_bytes = out.bytes.len();
        out.write_raw(rest);
        Self {
            outline: Some(outline),
            outline_bytes,
            ..Self::without_outline(kind, out.bytes)
        }
    }

    fn without_outline(kind: u8, body: Vec<u8>) -> Self {
        Self {
            kind,
            body,
            outline: None,
            outline_bytes: 0,
            vector: None,
            slot: Slot::LOST,
        }
    }

    /// Builds the entry of a vector that came after its record.
    pub(crate) fn from_vector(ordinal: u32, vector: MarkedVector, dimensions: u16) -> Self {
        let (mark, bytes) = vector;
        if mark.space.dimensions != dimensions {
            return Self::new(Outline::SeparateVector { ordinal, mark }, &bytes);
        }
        Self {
            vector: Some(bytes),
            ..Self::new(Outline::Embedded { ordinal, mark }, &[])
        }
    }

    /// Decodes an entry; returns `None` if the bytes of a known kind are malformed.
    pub(crate) fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        let body = body.to_vec();
        if !Outline::is_known_kind(kind) {
            return Some(Self::without_outline(kind, body));
        }
        let r = &mut ByteReader::new(&body);
        let outline = Outline::decode_body(kind, r)?;
        let rest = r.read_raw(r.remaining())?;
        if let Outline::SeparateVector { mark, .. } = &outline
            && !mark.matches(rest, mark.space.dimensions)
        {
            return None;
        }
        Some(Self {
            outline: Some(outline),
            outline_bytes: body.len() - rest.len(),
            ..Self::without_outline(kind, body)
        })
    }

    /// Returns what follows the outline.
    pub(crate) fn rest(&self) -> &[u8] {
        self.body.get(self.outline_bytes..).unwrap_or_default()
    }

    /// Returns the bytes that it adds to a commit, before compression.
    pub(crate) fn size(&self) -> usize {
        self.body.len() + self.vector.as_ref().map_or(0, Vec::len)
    }

    /// Whether the entry gets an ordinal of its own. Kinds of later versions never do.
    pub(crate) fn has_ordinal(&self) -> bool {
        let outline = self.outline.as_ref();
        outline.is_some_and(|outline| {
            matches!(
                outline,
                Outline::Record(_) | Outline::Stub(_) | Outline::Lost
            )
        })
    }

    /// Returns the mark of its vector in the `VEC_SEG`.
    pub(crate) fn vector_mark(&self) -> Option<&VectorMark> {
        match self.outline.as_ref()? {
            Outline::Record(mark) => mark.as_ref(),
            Outline::Embedded { mark, .. } => Some(mark),
            _ => None,
        }
    }

    /// Decodes an annotation; returns `None` if it is something else or malformed.
    pub(crate) fn decode_annotation(&self) -> Option<(u32, DateTime<Utc>, Annotation)> {
        let r = &mut ByteReader::new(&self.body);
        let (ordinal, at) = r.read_value()?;
        Some((ordinal, at, Annotation::decode_body(self.kind, r)?))
    }

    /// Decodes the entry as `replay` passes it on; returns `None` if this version does not know it,
    /// or if its vector, without which it is nothing, is damaged. `own` is the ordinal that it has.
    pub(crate) fn to_store_entry(&self, own: Option<u32>) -> Option<StoreEntry> {
        let Some(outline) = self.outline.clone() else {
            if let Some((ordinal, at, annotation)) = self.decode_annotation() {
                return Some(StoreEntry::from_annotation(ordinal, at, annotation));
            }
            let event = LearningEvent::decode_body(self.kind, &mut ByteReader::new(&self.body))?;
            return Some(StoreEntry::Learning(Box::new(event)));
        };
        Some(match outline {
            Outline::Record(mark) => {
                let mut record = decode_record(self.rest())?;
                if let (Some(mark), Some(vector)) = (mark, &self.vector) {
                    record.embedding_space = Some(mark.space);
                    record.embedding = decode_vector(vector);
                }
                StoreEntry::Record(Box::new(record))
            }
            Outline::Stub(tombstone) => StoreEntry::Forgotten {
                ordinal: own?,
                tombstone,
            },
            Outline::Lost => StoreEntry::Lost { ordinal: own? },
            Outline::Embedded { ordinal, mark } => StoreEntry::Embedded {
                ordinal,
                space: mark.space,
                vector: decode_vector(self.vector.as_ref()?),
            },
            Outline::SeparateVector { ordinal, mark } => StoreEntry::Embedded {
                ordinal,
                space: mark.space,
                vector: decode_vector(self.rest()),
            },
            Outline::Forgotten { ordinal, tombstone } => {
                StoreEntry::Forgotten { ordinal, tombstone }
            }
            Outline::Cursor { stream, seq } => StoreEntry::Cursor { stream, seq },
            Outline::Superseded { id, at } => StoreEntry::Superseded { id, at },
        })
    }
}

/// Encodes a checked entry for a file whose `VEC_SEG`s are `dimensions` wide; a record gets the
/// ordinal `next`. `StoreEntry::Lost`, which no caller may write, adds nothing.
pub(crate) fn encode_entry(
    out: &mut Vec<EncodedEntry>,
    entry: &StoreEntry,
    next: u32,
    dimensions: u16,
) {
    let body = &mut ByteWriter::default();
    out.push(match entry {
        StoreEntry::Record(record) => {
            let hash = Some(record.content_hash);
            let head = RecordHead {
                id: record.id,
                timestamp: record.timestamp,
                known_at: record.known_at,
                hash: hash.filter(|hash| *hash != ContentHash::of_text(&record.text)),
            };
            encode_all!(body, head, record.body);
            let space = record.embedding_space.as_ref();
            let vector = space.map(|space| mark_vector(space, &record.embedding));
            return push_record(out, &body.bytes, next, vector, dimensions);
        }
        StoreEntry::Embedded {
            ordinal,
            space,
            vector,
        } => EncodedEntry::from_vector(*ordinal, mark_vector(space, vector), dimensions),
        StoreEntry::Forgotten { ordinal, tombstone } => {
            let (ordinal, tombstone) = (*ordinal, tombstone.clone());
            EncodedEntry::new(Outline::Forgotten { ordinal, tombstone }, &[])
        }
        StoreEntry::Cursor { stream, seq } => {
            let (stream, seq) = (stream.clone(), *seq);
            EncodedEntry::new(Outline::Cursor { stream, seq }, &[])
        }
        StoreEntry::Superseded { id, at } => {
            EncodedEntry::new(Outline::Superseded { id: *id, at: *at }, &[])
        }
        StoreEntry::Annotated {
            ordinal,
            at,
            annotation,
        } => {
            encode_all!(body, *ordinal, *at);
            let kind = annotation.encode_body(body);
            EncodedEntry::without_outline(kind, std::mem::take(&mut body.bytes))
        }
        StoreEntry::Learning(event) => {
            let kind = event.encode_body(body);
            EncodedEntry::without_outline(kind, std::mem::take(&mut body.bytes))
        }
        StoreEntry::Lost { .. } => return,
    });
}

/// Appends the entry of a record, and after it that of its vector if this has another width than
/// the file. `rest` is what the entry has of the record after the mark.
pub(crate) fn push_record(
    out: &mut Vec<EncodedEntry>,
    rest: &[u8],
    ordinal: u32,
    vector: Option<MarkedVector>,
    dimensions: u16,
) {
    let is_own = |(mark, _): &MarkedVector| mark.space.dimensions == dimensions;
    let (own, separate) = match vector {
        Some(vector) if is_own(&vector) => (Some(vector), None),
        vector => (None, vector),
    };
    let (mark, vector) = own.unzip();
    out.push(EncodedEntry {
        vector,
        ..EncodedEntry::new(Outline::Record(mark), rest)
    });
    out.extend(separate.map(|vector| EncodedEntry::from_vector(ordinal, vector, dimensions)));
}

/// Decodes the rest of a record's entry; `embedding` stays empty and `embedding_space` unset.
pub(crate) fn decode_record(rest: &[u8]) -> Option<MemoryRecord> {
    let (head, body): (RecordHead, RecordBody) = ByteReader::new(rest).read_value()?;
    Some(MemoryRecord {
        id: head.id,
        timestamp: head.timestamp,
        known_at: head.known_at,
        embedding: Vec::new(),
        embedding_space: None,
        content_hash: head
            .hash
            .unwrap_or_else(|| ContentHash::of_text(&body.text)),
        body,
    })
}

impl VectorMark {
    /// Whether these are the bytes of its vector, which has so many dimensions.
    pub(crate) fn matches(&self, bytes: &[u8], dimensions: u16) -> bool {
        bytes.len() == 4 * usize::from(dimensions) && vector_checksum(bytes) == self.checksum
    }
}

fn mark_vector(space: &EmbeddingSpace, vector: &[f32]) -> MarkedVector {
    let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (checksum, space) = (vector_checksum(&bytes), space.clone());
    (VectorMark { checksum, space }, bytes)
}

/// Computes the checksum that every read of a vector compares.
pub(crate) fn vector_checksum(bytes: &[u8]) -> u32 {
    xxhash_rust::xxh3::xxh3_64(bytes) as u32
}

/// Decodes the bytes of a vector.
pub(crate) fn decode_vector(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|n| f32::from_le_bytes(*n)).collect()
}

#[cfg(test)]
mod tests;
