//! Checkpoints: derived blobs, the directory and rvf-runtime's manifest, which a seal makes valid.
//!
//! ```text
//! derived segments... | directory 0x48 | manifest 0x05 | sync | seal 0x49 | sync
//! ```
//! The seal is written after the rest is on disk, so a whole seal proves that all of it is whole.
//! Seal and directory describe the last commit; the derived blobs may describe an earlier one.

use std::io;
use std::sync::Arc;

use rvf_types::FileIdentity;

use reprise_types::ByteReader;

use crate::commit::{FileFacts, SEQ_MAX};
use crate::compress::{decompress, mask_uncompressed};
use crate::directory::LogDirectory;
use crate::disk::{DiskFile, read_within};
use crate::entry::CommitSeq;
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, SegmentHeader, SegmentPreamble, TYPE_DIRECTORY, TYPE_MANIFEST,
    TYPE_SEAL, TYPE_VECTORS, append_segment, decode_header, encode_header, is_derived,
    padding_size, segment_size,
};
use crate::options::{DamagedRange, DerivedBlobReader, DerivedSet};

/// Flag in a directory's encoding: its long lists are stored in chunks.
const IN_CHUNKS: u8 = 4;
/// Flag in the trailer of a derived blob that is stored in several pieces.
pub(crate) const FLAG_PIECE: u32 = 1;
/// Number of the inner-product metric in rvf-runtime.
const METRIC_INNER_PRODUCT: u8 = 1;
/// Marker of the file identity in rvf-runtime's manifest.
const IDENTITY_MARKER: u32 = 0x4649_4449;
/// Bytes that are read and hashed at a time, while they are in the processor's cache.
const HASH_CHUNK_BYTES: usize = 256 << 10;
/// A directory that unpacks to more than this is damage.
const DIRECTORY_RAW_MAX: u64 = 1 << 34;

/// Position and size of a derived blob of a checkpoint, or of a piece of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlobLocation {
    pub(crate) tag: u8,
    pub(crate) offset: u64,
    pub(crate) payload_size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) seq: u64,
    pub(crate) start: u64,
    pub(crate) directory: u64,
    pub(crate) manifest: u64,
    pub(crate) parts: Vec<BlobLocation>,
}

/// A complete checkpoint in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealedCheckpoint {
    /// Sequence number of the last commit before the checkpoint.
    pub(crate) seq: u64,
    /// Offset of the last commit before the checkpoint.
    pub(crate) last_commit: u64,
    pub(crate) end: u64,
}

impl SealedCheckpoint {
    /// Describes a checkpoint that ends at `end` and has this directory.
    pub(crate) fn new(directory: &LogDirectory, end: u64) -> Self {
        Self {
            seq: directory.seq,
            last_commit: directory.last_commit,
            end,
        }
    }
}

impl Seal {
    pub(crate) fn payload_size(&self) -> u64 {
        (PREAMBLE_SIZE + 3 * 8 + 8 + 4 + self.parts.len() * 17) as u64
    }

    /// Whether what it names lies before `offset`, its own place, in the order in which it was
    /// written.
    pub(crate) fn fits_at(&self, offset: u64) -> bool {
        self.start <= self.directory && self.directory < self.manifest && self.manifest < offset
    }

    fn encode(&self, facts: &FileFacts) -> Vec<u8> {
        let mut out = facts.preamble(TYPE_SEAL, 0, self.seq).encode().to_vec();
        for number in [self.start, self.directory, self.manifest] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&facts.created_ms.to_le_bytes());
        out.extend_from_slice(&(self.parts.len() as u32).to_le_bytes());
        for part in &self.parts {
            out.push(part.tag);
            out.extend_from_slice(&part.offset.to_le_bytes());
            out.extend_from_slice(&part.payload_size.to_le_bytes());
        }
        out
    }

    /// Decodes the seal of a payload whose hash was verified.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let preamble = SegmentPreamble::decode(payload)?;
        if preamble.kind != TYPE_SEAL || preamble.seq > SEQ_MAX {
            return None;
        }
        let r = &mut ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
        let (start, directory, manifest) = (r.read_u64()?, r.read_u64()?, r.read_u64()?);
        r.read_i64()?;
        let count = r.read_u32()?;
        let part = |_| {
            Some(BlobLocation {
                tag: r.read_u8()?,
                offset: r.read_u64()?,
                payload_size: r.read_u64()?,
            })
        };
        Some(Self {
            seq: preamble.seq,
            start,
            directory,
            manifest,
            parts: (0..count).map(part).collect::<Option<_>>()?,
        })
    }
}

/// Writes a checkpoint at `start`, which is a multiple of 64, and syncs it. Returns its end, and
/// sets the seal of the directory.
pub(crate) fn write_checkpoint(
    file: &dyn DiskFile,
    facts: &FileFacts,
    directory: &mut LogDirectory,
    start: u64,
    derived: &[(u8, Vec<u8>)],
) -> io::Result<u64> {
    let mut at = start;
    let mut parts = Vec::new();
    for (tag, blob) in derived {
        let part = write_blob(file, &facts.preamble(*tag, 0, directory.seq), at, blob)?;
        at += segment_size(part.payload_size);
        parts.push(part);
    }
    complete_checkpoint(file, facts, directory, at, parts)
}

/// Writes a derived blob, or a piece of one, at `at`.
pub(crate) fn write_blob(
    file: &dyn DiskFile,
    trailer: &SegmentPreamble,
    at: u64,
    blob: &[u8],
) -> io::Result<BlobLocation> {
    let (tag, trailer) = (trailer.kind, trailer.encode());
    let payload_size = (blob.len() + trailer.len()) as u64;
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(blob);
    hasher.update(&trailer);
    let hash = hasher.digest128().to_le_bytes();
    file.write_all_at(at, &encode_header(tag, at, payload_size, hash))?;
    file.write_all_at(at + HEADER_SIZE, blob)?;
    let mut rest = trailer.to_vec();
    rest.resize(rest.len() + padding_size(payload_size), 0);
    file.write_all_at(at + HEADER_SIZE + blob.len() as u64, &rest)?;
    Ok(BlobLocation {
        tag,
        offset: at,
        payload_size,
    })
}

/// Returns the size of derived blobs in the file, in bytes.
pub(crate) fn total_size(parts: &[BlobLocation]) -> u64 {
    let sizes = parts.iter().map(|part| segment_size(part.payload_size));
    sizes.sum()
}

/// Completes a checkpoint whose derived blobs are written: writes directory, manifest and seal at
/// `at`.
pub(crate) fn complete_checkpoint(
    file: &dyn DiskFile,
    facts: &FileFacts,
    directory: &mut LogDirectory,
    mut at: u64,
    parts: Vec<BlobLocation>,
) -> io::Result<u64> {
    // The start that it would have if its blobs were contiguous, because only its size is needed.
    let start = at.saturating_sub(total_size(&parts));
    let body = encode_directory(facts, directory);
    let mut bytes = Vec::with_capacity(body.len() + 4096);
    let directory_offset = append_segment(&mut bytes, at, TYPE_DIRECTORY, &body);
    let manifest = encode_manifest(facts, directory);
    let manifest_offset = append_segment(&mut bytes, at, TYPE_MANIFEST, &manifest);
    file.write_all_at(at, &bytes)?;
    at += bytes.len() as u64;
    file.sync()?;
    let seal = Seal {
        seq: directory.seq,
        start,
        directory: directory_offset,
        manifest: manifest_offset,
        parts,
    };
    let mut bytes = Vec::new();
    let offset = append_segment(&mut bytes, at, TYPE_SEAL, &seal.encode(facts));
    file.write_all_at(at, &bytes)?;
    file.sync()?;
    let end = at + bytes.len() as u64;
    directory.apply_seal(offset, start, end);
    Ok(end)
}

/// ```text
/// preamble | raw size u64 | encoding u8 | stored bytes
/// ```
fn encode_directory(facts: &FileFacts, directory: &LogDirectory) -> Vec<u8> {
    let raw = directory.encode(facts.vector_stride());
    let raw_size = raw.len() as u64;
    let (encoding, stored) = mask_uncompressed(raw, facts.file_id);
    let preamble = facts.preamble(TYPE_DIRECTORY, 0, directory.seq).encode();
    let mut payload = Vec::with_capacity(stored.len() + PREAMBLE_SIZE + 9);
    payload.extend_from_slice(&preamble);
    payload.extend_from_slice(&raw_size.to_le_bytes());
    payload.push(encoding | IN_CHUNKS);
    payload.extend_from_slice(&stored);
    payload
}

/// Encodes the segment of a manifest without a checkpoint, for file offset `at`.
pub(crate) fn encode_manifest_segment(
    facts: &FileFacts,
    directory: &LogDirectory,
    at: u64,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let payload = encode_manifest(facts, directory);
    append_segment(&mut bytes, at, TYPE_MANIFEST, &payload);
    bytes
}

/// Encodes the manifest of rvf-runtime 0.5: head, segment list, deleted ids, file identity.
fn encode_manifest(facts: &FileFacts, directory: &LogDirectory) -> Vec<u8> {
    let deleted = directory.deleted_ids(facts.dimensions);
    let segments = directory.vectors.len();
    let live = directory
        .slots
        .iter()
        .filter(|slot| slot.vector_offset != 0)
        .count()
        - deleted.len();
    let mut out = Vec::with_capacity(22 + segments * 25 + 4 + deleted.len() * 8 + 72);
    out.extend_from_slice(&(directory.seq as u32).to_le_bytes());
    out.extend_from_slice(&facts.dimensions.to_le_bytes());
    out.extend_from_slice(&(live as u64).to_le_bytes());
    out.extend_from_slice(&(segments as u32).to_le_bytes());
    out.extend_from_slice(&[0, METRIC_INNER_PRODUCT, 0, 0]);
    for segment in directory.vectors.iter() {
        // The segment id, as `frame::encode_header` derives it from the offset.
        out.extend_from_slice(&(segment.offset / HEADER_SIZE + 1).to_le_bytes());
        out.extend_from_slice(&segment.offset.to_le_bytes());
        out.extend_from_slice(&segment.payload_size.to_le_bytes());
        out.push(TYPE_VECTORS);
    }
    out.extend_from_slice(&(deleted.len() as u32).to_le_bytes());
    for id in deleted {
        out.extend_from_slice(&id.to_le_bytes());
    }
    out.extend_from_slice(&IDENTITY_MARKER.to_le_bytes());
    let identity = FileIdentity::new_root(facts.file_id.to_le_bytes());
    out.extend_from_slice(&identity.to_bytes());
    out
}

/// Reads the header of a segment of this kind; returns `None` unless it is ours and ends by `end`.
fn read_header(
    file: &dyn DiskFile,
    offset: u64,
    kind: u8,
    end: u64,
) -> io::Result<Option<SegmentHeader>> {
    let head = read_within(file, offset, HEADER_SIZE as usize, end)?;
    let header = head.and_then(|head| decode_header(&head, offset));
    let fits = |size: u64| size <= end - offset - HEADER_SIZE;
    Ok(header.filter(|h| h.canonical && h.kind == kind && fits(h.payload_size)))
}

/// Reads a segment's payload; returns `None` if the segment is not whole.
fn read_payload(
    file: &dyn DiskFile,
    offset: u64,
    kind: u8,
    end: u64,
) -> io::Result<Option<Vec<u8>>> {
    let Some(header) = read_header(file, offset, kind, end)? else {
        return Ok(None);
    };
    let mut payload = vec![0; header.payload_size as usize];
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    let mut at = offset + HEADER_SIZE;
    for piece in payload.chunks_mut(HASH_CHUNK_BYTES) {
        file.read_exact_at(at, piece)?;
        hasher.update(piece);
        at += piece.len() as u64;
    }
    Ok((hasher.digest128().to_le_bytes() == header.hash).then_some(payload))
}

/// Opens a derived blob for later reading, and reads its trailer only.
fn open_derived_blob(
    file: &Arc<dyn DiskFile>,
    part: &BlobLocation,
    end: u64,
) -> io::Result<Option<(DerivedBlobReader, [u8; PREAMBLE_SIZE])>> {
    let header = read_header(&**file, part.offset, part.tag, end)?;
    let size = header.and_then(|h| h.payload_size.checked_sub(PREAMBLE_SIZE as u64));
    let Some(size) = size else {
        return Ok(None);
    };
    let offset = part.offset + HEADER_SIZE;
    let mut trailer = [0; PREAMBLE_SIZE];
    file.read_exact_at(offset + size, &mut trailer)?;
    let reader = DerivedBlobReader::new(Arc::clone(file), offset, size);
    Ok(Some((reader, trailer)))
}

/// Returns the commit that a derived blob covers, from its trailer. Returns `None` if the trailer
/// belongs to another blob or file, or covers a commit after the seal.
fn covered_seq(facts: &FileFacts, seal: &Seal, tag: u8, trailer: &[u8]) -> Option<u64> {
    let found = SegmentPreamble::decode(trailer)?;
    let own = facts.preamble(tag, found.flags & FLAG_PIECE, found.seq);
    (found == own && found.seq <= seal.seq).then_some(found.seq)
}

/// Loads the seal at `offset` and its directory, to which the seal is already applied.
pub(crate) fn load_checkpoint(
    file: &dyn DiskFile,
    facts: &FileFacts,
    offset: u64,
    end: u64,
) -> io::Result<Option<(Seal, LogDirectory)>> {
    let Some(payload) = read_payload(file, offset, TYPE_SEAL, end)? else {
        return Ok(None);
    };
    let seal_end = offset + segment_size(payload.len() as u64);
    let own = SegmentPreamble::decode(&payload).is_some_and(|p| p.file_id == facts.file_id);
    let seal = Seal::decode(&payload).filter(|seal| own && seal.fits_at(offset));
    let Some(seal) = seal else {
        return Ok(None);
    };
    let Some(payload) = read_payload(file, seal.directory, TYPE_DIRECTORY, end)? else {
        return Ok(None);
    };
    let Some(mut directory) = decode_directory(payload, facts, seal.seq) else {
        return Ok(None);
    };
    directory.apply_seal(offset, seal.start, seal_end);
    Ok(Some((seal, directory)))
}

fn decode_directory(payload: Vec<u8>, facts: &FileFacts, seq: u64) -> Option<LogDirectory> {
    let expected = facts.preamble(TYPE_DIRECTORY, 0, seq);
    SegmentPreamble::decode(&payload).filter(|p| *p == expected)?;
    let mut reader = ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
    let raw_size = reader
        .read_u64()
        .filter(|size| *size <= DIRECTORY_RAW_MAX)? as usize;
    let encoding = reader.read_u8()?;
    let stored = payload.len() - reader.remaining();
    (encoding & IN_CHUNKS != 0).then_some(())?;
    let directory = if encoding == IN_CHUNKS {
        (reader.remaining() == raw_size).then_some(())?;
        LogDirectory::decode(payload, stored, facts.vector_stride())
    } else {
        let stored = payload.get(stored..)?;
        let raw = decompress(encoding & !IN_CHUNKS, stored, raw_size, facts.file_id)?;
        LogDirectory::decode(raw, 0, facts.vector_stride())
    };
    directory.filter(|directory| directory.seq == seq)
}

/// Loads the derived blobs of a checkpoint from their pieces; blobs whose tag is in `leave` are
/// opened but not read. All of them must cover the same commit. The inner `Err` describes the first
/// piece that is not whole.
pub(crate) fn load_derived_blobs(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    seal: &Seal,
    end: u64,
    leave: &[u8],
) -> io::Result<Result<DerivedSet, DamagedRange>> {
    let mut covered = None;
    let mut blobs: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut unread: Vec<(u8, DerivedBlobReader)> = Vec::new();
    for part in &seal.parts {
        let found = if !is_derived(part.tag) {
            None
        } else if leave.contains(&part.tag) {
            let found = open_derived_blob(file, part, end)?;
            found.and_then(|(blob, trailer)| {
                let seq = covered_seq(facts, seal, part.tag, &trailer)?;
                match unread.last_mut().filter(|(tag, _)| *tag == part.tag) {
                    Some((_, earlier)) => earlier.append(blob),
                    None => unread.push((part.tag, blob)),
                }
                Some(seq)
            })
        } else {
            let payload = read_payload(&**file, part.offset, part.tag, end)?;
            payload.and_then(|mut blob| {
                let size = blob.len().checked_sub(PREAMBLE_SIZE)?;
                let seq = covered_seq(facts, seal, part.tag, &blob[size..])?;
                blob.truncate(size);
                match blobs.last_mut().filter(|(tag, _)| *tag == part.tag) {
                    Some((_, earlier)) => earlier.extend_from_slice(&blob),
                    None => blobs.push((part.tag, blob)),
                }
                Some(seq)
            })
        };
        // A blob that covers another commit belongs to another checkpoint.
        if found.is_none_or(|seq| *covered.get_or_insert(seq) != seq) {
            let what = "a derived blob is not whole; it can be rebuilt";
            let size = segment_size(part.payload_size);
            return Ok(Err(DamagedRange::new(part.offset, size, what)));
        }
    }
    Ok(Ok(DerivedSet {
        covered_seq: CommitSeq(covered.unwrap_or(seal.seq)),
        blobs,
        unread,
    }))
}
