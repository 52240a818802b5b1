//! The bytes of a record: flags, vector mark, fixed fields, then the variable fields.

use reprise_types::{
    BinaryCodec, ByteReader, ByteWriter, ContentHash, MemoryRecord, Provenance, RecordBody,
    Retention, TailCodec as _, encode_all,
};
use serde_json::Value;

use super::{KIND_RECORD, VectorMark};
use crate::block::RawEntry;

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

fn hash_text(text: &str) -> ContentHash {
    ContentHash(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

fn compute_flags(record: &MemoryRecord, mark: Option<&VectorMark>) -> u64 {
    let provenance = &record.provenance;
    [
        (VECTOR, mark.is_some()),
        (HASH_OF_TEXT, record.content_hash == hash_text(&record.text)),
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

pub(super) fn encode_record(
    out: &mut ByteWriter,
    record: &MemoryRecord,
    mark: Option<&VectorMark>,
) {
    let flags = compute_flags(record, mark);
    flags.encode(out);
    if let Some(mark) = mark {
        mark.encode(out);
    }
    encode_all!(
        out,
        record.id,
        record.kind,
        record.source,
        record.visibility
    );
    match record.retention {
        Retention::Normal => out.write_raw(&[RETENTION_NORMAL]),
        Retention::Pinned => out.write_raw(&[RETENTION_PINNED]),
        Retention::Scratch { ttl_seconds } => encode_all!(out, RETENTION_SCRATCH, ttl_seconds),
    }
    encode_all!(out, record.timestamp, record.known_at, record.text);
    if flags & HASH_OF_TEXT == 0 {
        record.content_hash.encode(out);
    }
    record.external_ids.encode(out);
    // The optional fields, in the order of their flags.
    record.quality_score.encode_tail(out);
    record.confidence.encode_tail(out);
    record.evidence.encode_tail(out);
    record.supersedes.encode_tail(out);
    if !record.metadata.is_empty() {
        format_json(&record.metadata).encode(out);
    }
    record
        .details
        .as_ref()
        .map(ToString::to_string)
        .encode_tail(out);
    if !record.session_id.is_empty() {
        record.session_id.encode(out);
    }
    record.provenance.run_id.encode_tail(out);
    record.provenance.actor_id.encode_tail(out);
    record.provenance.source_refs.encode_tail(out);
    record.tags.encode_tail(out);
}

/// Formats a JSON object, which cannot fail because its keys are strings and its numbers are
/// finite.
fn format_json(object: &serde_json::Map<String, Value>) -> String {
    Value::Object(object.clone()).to_string()
}

/// Decodes the flags of a record, and its vector mark if it has one.
pub(super) fn decode_flags_and_mark(r: &mut ByteReader<'_>) -> Option<(u64, Option<VectorMark>)> {
    let flags = r.read_varint()?;
    Some((flags, decode_if(flags & VECTOR != 0, r)?))
}

/// Returns the record with another vector mark, as compaction writes a record whose vector came
/// later.
pub(crate) fn replace_vector_mark(body: &[u8], mark: Option<&VectorMark>) -> Option<RawEntry> {
    let r = &mut ByteReader::new(body);
    let (flags, _) = decode_flags_and_mark(r)?;
    let own = if mark.is_some() { VECTOR } else { 0 };
    let mut out = ByteWriter::default();
    (flags & !VECTOR | own).encode(&mut out);
    if let Some(mark) = mark {
        mark.encode(&mut out);
    }
    out.write_raw(r.read_raw(r.remaining())?);
    let (kind, body) = (KIND_RECORD, out.bytes);
    Some(RawEntry {
        kind,
        body,
        vector: None,
    })
}

/// Decodes a record's body without its vector; `embedding` stays empty and `embedding_space` unset.
pub(crate) fn decode(body: &[u8]) -> Option<MemoryRecord> {
    let r = &mut ByteReader::new(body);
    let (flags, _) = decode_flags_and_mark(r)?;
    let has = |bit: u64| flags & bit != 0;
    let (id, kind, source, visibility) = (
        r.read_value()?,
        r.read_value()?,
        r.read_value()?,
        r.read_value()?,
    );
    let retention = match r.read_u8()? {
        RETENTION_NORMAL => Retention::Normal,
        RETENTION_PINNED => Retention::Pinned,
        RETENTION_SCRATCH => Retention::Scratch {
            ttl_seconds: r.read_value()?,
        },
        _ => return None,
    };
    let (timestamp, known_at) = (r.read_value()?, r.read_value()?);
    let text: String = r.read_value()?;
    let content_hash = if has(HASH_OF_TEXT) {
        hash_text(&text)
    } else {
        r.read_value()?
    };
    let body = RecordBody {
        text,
        source,
        kind,
        visibility,
        retention,
        // The fields below are read in the order of their bytes, which is the order here.
        external_ids: r.read_value()?,
        quality_score: decode_if(has(QUALITY), r)?,
        confidence: decode_if(has(CONFIDENCE), r)?,
        evidence: decode_if(has(EVIDENCE), r)?,
        supersedes: decode_if(has(SUPERSEDES), r)?,
        metadata: match decode_json_if(has(METADATA), r)? {
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return None,
            None => serde_json::Map::default(),
        },
        details: decode_json_if(has(DETAILS), r)?,
        session_id: decode_if(has(SESSION), r)?.unwrap_or_default(),
        provenance: Provenance {
            run_id: decode_if(has(RUN), r)?,
            actor_id: decode_if(has(ACTOR), r)?,
            source_refs: decode_if(has(REFS), r)?.unwrap_or_default(),
        },
        tags: decode_if(has(TAGS), r)?.unwrap_or_default(),
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

/// Decodes an optional field; the outer `None` means that it is malformed.
#[expect(
    clippy::option_option,
    reason = "absent and malformed are two things, and `?` tells them apart"
)]
fn decode_if<T: BinaryCodec>(is_present: bool, r: &mut ByteReader<'_>) -> Option<Option<T>> {
    if is_present {
        r.read_value().map(Some)
    } else {
        Some(None)
    }
}

#[expect(clippy::option_option, reason = "as above")]
fn decode_json_if(is_present: bool, r: &mut ByteReader<'_>) -> Option<Option<Value>> {
    let text: Option<String> = decode_if(is_present, r)?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .ok()
}
