//! Checkpoints: derived blobs, the directory and rvf-runtime's manifest, made valid by a seal.
//!
//! ```text
//! derived segments... | directory 0x48 | manifest 0x05 | sync | seal 0x49 | sync
//! ```
//! The seal is written after the rest is on disk, so a seal that is whole vouches for all of it.
//! Seal and directory are as of the last commit; the derived blobs may be as of an earlier one.

use std::io;
use std::sync::Arc;

use rvf_types::FileIdentity;

use reprise_types::ByteReader;

use crate::commit::FileFacts;
use crate::compress::{decompress, uncompressed};
use crate::directory::Directory;
use crate::disk::{DiskFile, read_within};
use crate::entry::CommitSeq;
use crate::frame::{
    HEADER_SIZE, Header, PREAMBLE_SIZE, Preamble, TYPE_DIRECTORY, TYPE_MANIFEST, TYPE_SEAL,
    TYPE_VECTORS, header_bytes, is_derived, padding, parse_header, put_segment, segment_size,
};
use crate::options::{Damage, DerivedPart, DerivedSet};

/// In a directory's encoding: its long lists stand in chunks.
const IN_CHUNKS: u8 = 4;
/// In the trailer of a derived blob that stands in several pieces.
pub(crate) const FLAG_PIECE: u32 = 1;
/// rvf-runtime's number of the inner-product metric.
const METRIC_INNER_PRODUCT: u8 = 1;
/// Marker of the file identity in rvf-runtime's manifest.
const IDENTITY_MARKER: u32 = 0x4649_4449;
/// Bytes read and hashed at a time: hashing them while they are in the cache saves a pass.
const PIECE: usize = 256 << 10;
/// A directory that unpacks to more than this is damage.
const DIRECTORY_RAW_MAX: u64 = 1 << 34;

/// Where one part of a checkpoint stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
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
    pub(crate) parts: Vec<Part>,
}

/// A checkpoint that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// The last commit before it: its number,
    pub(crate) seq: u64,
    /// and its offset.
    pub(crate) last_commit: u64,
    pub(crate) end: u64,
}

impl Sealed {
    /// One that ends at `end`, with this directory.
    pub(crate) fn of(directory: &Directory, end: u64) -> Self {
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

    fn payload(&self, facts: &FileFacts) -> Vec<u8> {
        let mut out = facts.preamble(TYPE_SEAL, 0, self.seq).bytes().to_vec();
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

    /// The seal in a payload whose hash was verified.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let preamble = Preamble::parse(payload).filter(|p| p.kind == TYPE_SEAL)?;
        let r = &mut ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
        let (start, directory, manifest) = (r.u64()?, r.u64()?, r.u64()?);
        r.i64()?;
        let count = r.u32()?;
        let part = |_| {
            Some(Part {
                tag: r.u8()?,
                offset: r.u64()?,
                payload_size: r.u64()?,
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

/// Writes a checkpoint at `start`, which is a multiple of 64, and syncs it. Returns its end; the
/// directory then names its seal.
pub(crate) fn write(
    file: &dyn DiskFile,
    facts: &FileFacts,
    directory: &mut Directory,
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
    complete(file, facts, directory, at, parts)
}

/// Writes a derived blob, or a piece of one, at `at`.
pub(crate) fn write_blob(
    file: &dyn DiskFile,
    trailer: &Preamble,
    at: u64,
    blob: &[u8],
) -> io::Result<Part> {
    let (tag, trailer) = (trailer.kind, trailer.bytes());
    let payload_size = (blob.len() + trailer.len()) as u64;
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(blob);
    hasher.update(&trailer);
    let hash = hasher.digest128().to_le_bytes();
    file.write_all_at(at, &header_bytes(tag, at, payload_size, hash))?;
    file.write_all_at(at + HEADER_SIZE, blob)?;
    let mut rest = trailer.to_vec();
    rest.resize(rest.len() + padding(payload_size), 0);
    file.write_all_at(at + HEADER_SIZE + blob.len() as u64, &rest)?;
    Ok(Part {
        tag,
        offset: at,
        payload_size,
    })
}

/// Bytes of derived blobs in the file.
pub(crate) fn bytes_of(parts: &[Part]) -> u64 {
    let sizes = parts.iter().map(|part| segment_size(part.payload_size));
    sizes.sum()
}

/// Completes, at `at`, a checkpoint whose derived blobs are written.
pub(crate) fn complete(
    file: &dyn DiskFile,
    facts: &FileFacts,
    directory: &mut Directory,
    mut at: u64,
    parts: Vec<Part>,
) -> io::Result<u64> {
    // Where it begins, or would if its blobs stood together: what it weighs is all that is asked.
    let start = at.saturating_sub(bytes_of(&parts));
    let body = directory_payload(facts, directory);
    let mut bytes = Vec::with_capacity(body.len() + 4096);
    let directory_offset = put_segment(&mut bytes, at, TYPE_DIRECTORY, &body);
    let manifest = manifest_payload(facts, directory);
    let manifest_offset = put_segment(&mut bytes, at, TYPE_MANIFEST, &manifest);
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
    let offset = put_segment(&mut bytes, at, TYPE_SEAL, &seal.payload(facts));
    file.write_all_at(at, &bytes)?;
    file.sync()?;
    let end = at + bytes.len() as u64;
    directory.sealed(offset, start, end);
    Ok(end)
}

/// ```text
/// preamble | raw size u64 | encoding u8 | stored bytes
/// ```
fn directory_payload(facts: &FileFacts, directory: &Directory) -> Vec<u8> {
    let raw = directory.encode(facts.stride());
    let raw_size = raw.len() as u64;
    let (encoding, stored) = uncompressed(raw, facts.file_id);
    let preamble = facts.preamble(TYPE_DIRECTORY, 0, directory.seq).bytes();
    let mut payload = Vec::with_capacity(stored.len() + PREAMBLE_SIZE + 9);
    payload.extend_from_slice(&preamble);
    payload.extend_from_slice(&raw_size.to_le_bytes());
    payload.push(encoding | IN_CHUNKS);
    payload.extend_from_slice(&stored);
    payload
}

/// The segment of a manifest that stands at `at` without a checkpoint.
pub(crate) fn manifest_alone(facts: &FileFacts, directory: &Directory, at: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let payload = manifest_payload(facts, directory);
    put_segment(&mut bytes, at, TYPE_MANIFEST, &payload);
    bytes
}

/// rvf-runtime 0.5's manifest: head, segment list, deleted ids, file identity.
fn manifest_payload(facts: &FileFacts, directory: &Directory) -> Vec<u8> {
    let deleted = directory.deleted_ids(facts.dimensions);
    let segments = directory.vectors.len();
    let live = directory
        .slots
        .iter()
        .filter(|slot| slot.vector != 0)
        .count()
        - deleted.len();
    let mut out = Vec::with_capacity(22 + segments * 25 + 4 + deleted.len() * 8 + 72);
    out.extend_from_slice(&(directory.seq as u32).to_le_bytes());
    out.extend_from_slice(&facts.dimensions.to_le_bytes());
    out.extend_from_slice(&(live as u64).to_le_bytes());
    out.extend_from_slice(&(segments as u32).to_le_bytes());
    out.extend_from_slice(&[0, METRIC_INNER_PRODUCT, 0, 0]);
    for segment in directory.vectors.iter() {
        // The segment id, as `frame::header_bytes` derives it from the offset.
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

/// The header of a segment of this kind that ends within the file.
fn read_header(file: &dyn DiskFile, offset: u64, kind: u8, end: u64) -> io::Result<Option<Header>> {
    let head = read_within(file, offset, HEADER_SIZE as usize, end)?;
    let header = head.and_then(|head| parse_header(&head, offset));
    let fits = |size: u64| size <= end - offset - HEADER_SIZE;
    Ok(header.filter(|h| h.strict && h.kind == kind && fits(h.payload_size)))
}

/// A whole segment's payload, read into a buffer of its own; `None` where it is not whole.
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
    for piece in payload.chunks_mut(PIECE) {
        file.read_exact_at(at, piece)?;
        hasher.update(piece);
        at += piece.len() as u64;
    }
    Ok((hasher.digest128().to_le_bytes() == header.hash).then_some(payload))
}

/// Finds a derived blob and its trailer, without reading the blob.
fn leave_part(
    file: &Arc<dyn DiskFile>,
    part: &Part,
    end: u64,
) -> io::Result<Option<(DerivedPart, [u8; PREAMBLE_SIZE])>> {
    let header = read_header(&**file, part.offset, part.tag, end)?;
    let size = header.and_then(|h| h.payload_size.checked_sub(PREAMBLE_SIZE as u64));
    let Some(size) = size else {
        return Ok(None);
    };
    let offset = part.offset + HEADER_SIZE;
    let mut trailer = [0; PREAMBLE_SIZE];
    file.read_exact_at(offset + size, &mut trailer)?;
    let left = DerivedPart::new(Arc::clone(file), offset, size);
    Ok(Some((left, trailer)))
}

/// The commit that a derived blob covers, by its trailer: not one behind the seal. `None` where the
/// trailer is not of this part in this file.
fn covered(facts: &FileFacts, seal: &Seal, tag: u8, trailer: &[u8]) -> Option<u64> {
    let found = Preamble::parse(trailer)?;
    let own = facts.preamble(tag, found.flags & FLAG_PIECE, found.seq);
    (found == own && found.seq <= seal.seq).then_some(found.seq)
}

/// The seal at `offset` and the directory that it covers, already updated with the seal.
pub(crate) fn load(
    file: &dyn DiskFile,
    facts: &FileFacts,
    offset: u64,
    end: u64,
) -> io::Result<Option<(Seal, Directory)>> {
    let Some(payload) = read_payload(file, offset, TYPE_SEAL, end)? else {
        return Ok(None);
    };
    let seal_end = offset + segment_size(payload.len() as u64);
    let own = Preamble::parse(&payload).is_some_and(|p| p.file_id == facts.file_id);
    let Some(seal) = Seal::parse(&payload).filter(|_| own) else {
        return Ok(None);
    };
    let Some(payload) = read_payload(file, seal.directory, TYPE_DIRECTORY, end)? else {
        return Ok(None);
    };
    let Some(mut directory) = parse_directory(payload, facts, seal.seq) else {
        return Ok(None);
    };
    directory.sealed(offset, seal.start, seal_end);
    Ok(Some((seal, directory)))
}

fn parse_directory(payload: Vec<u8>, facts: &FileFacts, seq: u64) -> Option<Directory> {
    let expected = facts.preamble(TYPE_DIRECTORY, 0, seq);
    Preamble::parse(&payload).filter(|p| *p == expected)?;
    let mut reader = ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
    let raw_size = reader.u64().filter(|size| *size <= DIRECTORY_RAW_MAX)? as usize;
    let encoding = reader.u8()?;
    let stored = payload.len() - reader.remaining();
    let directory = if encoding == IN_CHUNKS {
        (reader.remaining() == raw_size).then_some(())?;
        Directory::decode(payload, stored, facts.stride())
    } else {
        let stored = payload.get(stored..)?;
        let raw = decompress(encoding & !IN_CHUNKS, stored, raw_size, facts.file_id)?;
        if encoding & IN_CHUNKS == 0 {
            Directory::decode_run(&raw, facts.stride())
        } else {
            Directory::decode(raw, 0, facts.stride())
        }
    };
    directory.filter(|directory| directory.seq == seq)
}

/// The derived blobs of a checkpoint, put together from their pieces; those whose tag is in `leave`
/// are not read. All of them are as of one commit. The inner `Err` is the damage of the first piece
/// that is not whole.
pub(crate) fn load_derived(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    seal: &Seal,
    end: u64,
    leave: &[u8],
) -> io::Result<Result<DerivedSet, Damage>> {
    let mut covers = None;
    let mut parts: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut left: Vec<(u8, DerivedPart)> = Vec::new();
    for part in &seal.parts {
        let found = if !is_derived(part.tag) {
            None
        } else if leave.contains(&part.tag) {
            let found = leave_part(file, part, end)?;
            found.and_then(|(blob, trailer)| {
                let seq = covered(facts, seal, part.tag, &trailer)?;
                match left.last_mut().filter(|(tag, _)| *tag == part.tag) {
                    Some((_, begun)) => begun.extend(blob),
                    None => left.push((part.tag, blob)),
                }
                Some(seq)
            })
        } else {
            let payload = read_payload(&**file, part.offset, part.tag, end)?;
            payload.and_then(|mut blob| {
                let size = blob.len().checked_sub(PREAMBLE_SIZE)?;
                let seq = covered(facts, seal, part.tag, &blob[size..])?;
                blob.truncate(size);
                match parts.last_mut().filter(|(tag, _)| *tag == part.tag) {
                    Some((_, begun)) => begun.extend_from_slice(&blob),
                    None => parts.push((part.tag, blob)),
                }
                Some(seq)
            })
        };
        // What covers another commit than the others did not come with them.
        if found.is_none_or(|seq| *covers.get_or_insert(seq) != seq) {
            let what = "a derived blob is not whole; it can be rebuilt";
            let size = segment_size(part.payload_size);
            return Ok(Err(Damage::new(part.offset, size, what)));
        }
    }
    Ok(Ok(DerivedSet {
        covers: CommitSeq(covers.unwrap_or(seal.seq)),
        parts,
        left,
    }))
}
