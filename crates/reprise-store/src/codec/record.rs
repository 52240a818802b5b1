//! The bytes of a record: flags, vector mark, fixed fields, then every variable one.

use reprise_types::{
    ContentHash, Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource, Provenance,
    RecordBody, RecordId, Retention, Visibility,
};

use super::fields::{Outline, VectorMark, instant, mark as read_mark, put_instant, put_mark};
use crate::bytes::{ByteReader, put_bytes, put_varint};

const VECTOR: u64 = 1;
/// The content hash is XXH3-128 of the text, so it is not written.
const HASH_OF_TEXT: u64 = 1 << 1;
const QUALITY: u64 = 1 << 2;
const CONFIDENCE: u64 = 1 << 3;
const EVIDENCE: u64 = 1 << 4;
const SUPERSEDES: u64 = 1 << 5;
const METADATA: u64 = 1 << 6;
const DETAILS: u64 = 1 << 7;
const SESSION: u64 = 1 << 8;
const RUN: u64 = 1 << 9;
const ACTOR: u64 = 1 << 10;
const REFS: u64 = 1 << 11;
const TAGS: u64 = 1 << 12;

const RETENTION_NORMAL: u8 = 1;
const RETENTION_PINNED: u8 = 2;
const RETENTION_SCRATCH: u8 = 3;

fn hash_of(text: &str) -> ContentHash {
    ContentHash(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

fn flags(record: &MemoryRecord, mark: Option<&VectorMark>) -> u64 {
    let provenance = &record.provenance;
    [
        (VECTOR, mark.is_some()),
        (HASH_OF_TEXT, record.content_hash == hash_of(&record.text)),
        (QUALITY, record.quality_score.is_some()),
        (CONFIDENCE, record.confidence.is_some()),
        (EVIDENCE, record.evidence.is_some()),
        (SUPERSEDES, record.supersedes.is_some()),
        (METADATA, !record.metadata.is_empty()),
        (DETAILS, record.details.is_some()),
        (SESSION, !record.session_id.is_empty()),
        (RUN, provenance.run_id.is_some()),
        (ACTOR, provenance.actor_id.is_some()),
        (REFS, !provenance.source_refs.is_empty()),
        (TAGS, !record.tags.is_empty()),
    ]
    .into_iter()
    .filter(|(_, set)| *set)
    .fold(0, |flags, (bit, _)| flags | bit)
}

pub(super) fn put(out: &mut Vec<u8>, record: &MemoryRecord, mark: Option<&VectorMark>) {
    let flags = flags(record, mark);
    put_varint(out, flags);
    if let Some(mark) = mark {
        put_mark(out, mark);
    }
    out.extend_from_slice(&record.id.to_u128().to_le_bytes());
    out.push(record.kind.number());
    out.push(record.source.number());
    out.push(record.visibility.number());
    match record.retention {
        Retention::Normal => out.push(RETENTION_NORMAL),
        Retention::Pinned => out.push(RETENTION_PINNED),
        Retention::Scratch { ttl_seconds } => {
            out.push(RETENTION_SCRATCH);
            put_varint(out, u64::from(ttl_seconds));
        }
    }
    put_instant(out, record.timestamp);
    put_instant(out, record.known_at);
    put_bytes(out, record.text.as_bytes());
    if flags & HASH_OF_TEXT == 0 {
        out.extend_from_slice(&record.content_hash.0.to_le_bytes());
    }
    put_varint(out, record.external_ids.len() as u64);
    for external in &record.external_ids {
        put_bytes(out, external.namespace.as_bytes());
        put_bytes(out, external.id.as_bytes());
    }
    put_optional(out, record);
}

/// The fields whose presence the flags tell, in the order of their bits.
fn put_optional(out: &mut Vec<u8>, record: &MemoryRecord) {
    for number in [record.quality_score, record.confidence]
        .into_iter()
        .flatten()
    {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend(record.evidence.map(Evidence::number));
    if let Some(id) = record.supersedes {
        out.extend_from_slice(&id.to_u128().to_le_bytes());
    }
    if !record.metadata.is_empty() {
        put_bytes(out, json(&record.metadata).as_bytes());
    }
    if let Some(details) = &record.details {
        put_bytes(out, details.to_string().as_bytes());
    }
    if !record.session_id.is_empty() {
        put_bytes(out, record.session_id.as_bytes());
    }
    for text in [&record.provenance.run_id, &record.provenance.actor_id]
        .into_iter()
        .flatten()
    {
        put_bytes(out, text.as_bytes());
    }
    for list in [&record.provenance.source_refs, &record.tags] {
        if !list.is_empty() {
            put_varint(out, list.len() as u64);
            for text in list {
                put_bytes(out, text.as_bytes());
            }
        }
    }
}

/// A JSON object always has a text form: its keys are strings and its numbers are finite.
fn json(object: &serde_json::Map<String, serde_json::Value>) -> String {
    serde_json::Value::Object(object.clone()).to_string()
}

/// The outline of a record: its vector mark, where it has one.
pub(super) fn outline(reader: &mut ByteReader<'_>) -> Option<Outline> {
    let flags = reader.varint()?;
    if flags & VECTOR == 0 {
        return Some(Outline::Record(None));
    }
    read_mark(reader).map(|mark| Outline::Record(Some(mark)))
}

/// The same record with another vector mark in front.
pub(super) fn remark(body: &[u8], mark: Option<&VectorMark>) -> Option<Vec<u8>> {
    let mut reader = ByteReader::new(body);
    let mut flags = reader.varint()?;
    if flags & VECTOR != 0 {
        read_mark(&mut reader)?;
    }
    flags = if mark.is_some() {
        flags | VECTOR
    } else {
        flags & !VECTOR
    };
    let mut out = Vec::with_capacity(body.len() + 32);
    put_varint(&mut out, flags);
    if let Some(mark) = mark {
        put_mark(&mut out, mark);
    }
    out.extend_from_slice(reader.take(reader.remaining())?);
    Some(out)
}

pub(super) fn decode(body: &[u8]) -> Option<MemoryRecord> {
    let mut reader = ByteReader::new(body);
    let r = &mut reader;
    let flags = r.varint()?;
    if flags & VECTOR != 0 {
        read_mark(r)?;
    }
    let has = |bit: u64| flags & bit != 0;
    let id = RecordId::from_u128(r.u128()?);
    let kind = MemoryKind::from_number(r.u8()?)?;
    let source = MemorySource::from_number(r.u8()?)?;
    let visibility = Visibility::from_number(r.u8()?)?;
    let retention = match r.u8()? {
        RETENTION_NORMAL => Retention::Normal,
        RETENTION_PINNED => Retention::Pinned,
        RETENTION_SCRATCH => Retention::Scratch {
            ttl_seconds: r.varint_u32()?,
        },
        _ => return None,
    };
    let timestamp = instant(r)?;
    let known_at = instant(r)?;
    let text = r.string()?;
    let content_hash = if has(HASH_OF_TEXT) {
        hash_of(&text)
    } else {
        ContentHash(r.u128()?)
    };
    let external_ids = list(r, |r| Some(ExternalId::new(r.string()?, r.string()?)))?;
    let body = RecordBody {
        text,
        source,
        kind,
        external_ids,
        visibility,
        retention,
        // The fields below are read in the order of their flags, which is the order here.
        quality_score: when(has(QUALITY), || r.f32())?,
        confidence: when(has(CONFIDENCE), || r.f32())?,
        evidence: when(has(EVIDENCE), || Evidence::from_number(r.u8()?))?,
        supersedes: when(has(SUPERSEDES), || Some(RecordId::from_u128(r.u128()?)))?,
        metadata: when(has(METADATA), || serde_json::from_slice(r.bytes()?).ok())?
            .unwrap_or_default(),
        details: when(has(DETAILS), || serde_json::from_slice(r.bytes()?).ok())?,
        session_id: when(has(SESSION), || r.string())?.unwrap_or_default(),
        provenance: Provenance {
            run_id: when(has(RUN), || r.string())?,
            actor_id: when(has(ACTOR), || r.string())?,
            source_refs: when(has(REFS), || list(r, ByteReader::string))?.unwrap_or_default(),
        },
        tags: when(has(TAGS), || list(r, ByteReader::string))?.unwrap_or_default(),
    };
    Some(MemoryRecord {
        id,
        body,
        timestamp,
        known_at,
        embedding: Vec::new(),
        embedding_space: None,
        content_hash,
    })
}

/// Reads a field that is there; the outer `None` means malformed.
#[expect(
    clippy::option_option,
    reason = "absent and malformed are two things, and `?` tells them apart"
)]
fn when<T>(there: bool, read: impl FnOnce() -> Option<T>) -> Option<Option<T>> {
    if there { read().map(Some) } else { Some(None) }
}

fn list<'a, T>(
    reader: &mut ByteReader<'a>,
    mut read: impl FnMut(&mut ByteReader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = reader.varint()?;
    // A count cannot exceed the remaining bytes: a forged one must not allocate.
    if count > reader.remaining() as u64 {
        return None;
    }
    (0..count).map(|_| read(reader)).collect()
}
