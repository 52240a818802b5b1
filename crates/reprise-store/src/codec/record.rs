//! The bytes of a record: flags, vector mark, fixed fields, then every variable one.

use reprise_types::{
    ByteReader, ByteWriter, ContentHash, MemoryRecord, Provenance, RecordBody, Retention,
    Tail as _, Wire, put_all,
};
use serde_json::Value;

use super::{KIND_RECORD, RawEntry, VectorMark};

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

pub(super) fn put(out: &mut ByteWriter, record: &MemoryRecord, mark: Option<&VectorMark>) {
    let flags = flags(record, mark);
    flags.put(out);
    if let Some(mark) = mark {
        mark.put(out);
    }
    put_all!(
        out,
        record.id,
        record.kind,
        record.source,
        record.visibility
    );
    match record.retention {
        Retention::Normal => out.raw(&[RETENTION_NORMAL]),
        Retention::Pinned => out.raw(&[RETENTION_PINNED]),
        Retention::Scratch { ttl_seconds } => put_all!(out, RETENTION_SCRATCH, ttl_seconds),
    }
    put_all!(out, record.timestamp, record.known_at, record.text);
    if flags & HASH_OF_TEXT == 0 {
        record.content_hash.put(out);
    }
    record.external_ids.put(out);
    // The fields whose presence the flags tell, in the order of their bits.
    record.quality_score.put_tail(out);
    record.confidence.put_tail(out);
    record.evidence.put_tail(out);
    record.supersedes.put_tail(out);
    if !record.metadata.is_empty() {
        json(&record.metadata).put(out);
    }
    record
        .details
        .as_ref()
        .map(ToString::to_string)
        .put_tail(out);
    if !record.session_id.is_empty() {
        record.session_id.put(out);
    }
    record.provenance.run_id.put_tail(out);
    record.provenance.actor_id.put_tail(out);
    record.provenance.source_refs.put_tail(out);
    record.tags.put_tail(out);
}

/// A JSON object always has a text form: its keys are strings and its numbers are finite.
fn json(object: &serde_json::Map<String, Value>) -> String {
    Value::Object(object.clone()).to_string()
}

/// The flags of a record, and its vector mark, where it has one.
pub(super) fn mark(r: &mut ByteReader<'_>) -> Option<(u64, Option<VectorMark>)> {
    let flags = r.varint()?;
    Some((flags, when(flags & VECTOR != 0, r)?))
}

/// The same record under another vector mark: what compaction writes for a record embedded late.
pub(crate) fn remark(body: &[u8], mark: Option<&VectorMark>) -> Option<RawEntry> {
    let r = &mut ByteReader::new(body);
    let (flags, _) = self::mark(r)?;
    let own = if mark.is_some() { VECTOR } else { 0 };
    let mut out = ByteWriter::default();
    (flags & !VECTOR | own).put(&mut out);
    if let Some(mark) = mark {
        mark.put(&mut out);
    }
    out.raw(r.take(r.remaining())?);
    let (kind, body) = (KIND_RECORD, out.bytes);
    Some(RawEntry { kind, body })
}

/// A record's body without its vector; `embedding` is left empty and `embedding_space` unset.
pub(crate) fn decode(body: &[u8]) -> Option<MemoryRecord> {
    let r = &mut ByteReader::new(body);
    let (flags, _) = mark(r)?;
    let has = |bit: u64| flags & bit != 0;
    let (id, kind, source, visibility) = (r.get()?, r.get()?, r.get()?, r.get()?);
    let retention = match r.u8()? {
        RETENTION_NORMAL => Retention::Normal,
        RETENTION_PINNED => Retention::Pinned,
        RETENTION_SCRATCH => Retention::Scratch {
            ttl_seconds: r.get()?,
        },
        _ => return None,
    };
    let (timestamp, known_at) = (r.get()?, r.get()?);
    let text: String = r.get()?;
    let content_hash = if has(HASH_OF_TEXT) {
        hash_of(&text)
    } else {
        r.get()?
    };
    let body = RecordBody {
        text,
        source,
        kind,
        visibility,
        retention,
        // The fields below are read in the order of their bytes, which is the order here.
        external_ids: r.get()?,
        quality_score: when(has(QUALITY), r)?,
        confidence: when(has(CONFIDENCE), r)?,
        evidence: when(has(EVIDENCE), r)?,
        supersedes: when(has(SUPERSEDES), r)?,
        metadata: match json_when(has(METADATA), r)? {
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return None,
            None => serde_json::Map::default(),
        },
        details: json_when(has(DETAILS), r)?,
        session_id: when(has(SESSION), r)?.unwrap_or_default(),
        provenance: Provenance {
            run_id: when(has(RUN), r)?,
            actor_id: when(has(ACTOR), r)?,
            source_refs: when(has(REFS), r)?.unwrap_or_default(),
        },
        tags: when(has(TAGS), r)?.unwrap_or_default(),
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
fn when<T: Wire>(there: bool, r: &mut ByteReader<'_>) -> Option<Option<T>> {
    if there { r.get().map(Some) } else { Some(None) }
}

#[expect(clippy::option_option, reason = "as above")]
fn json_when(there: bool, r: &mut ByteReader<'_>) -> Option<Option<Value>> {
    let text: Option<String> = when(there, r)?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .ok()
}
