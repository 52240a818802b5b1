//! The manifest, which names the saved sections and what else an open needs to know of the log; and
//! the closing index, which rvf-runtime reads as its own manifest.
//!
//! ```text
//! pages 0x41 ... | sync | manifest 0x49 | sync
//! 0x49: preamble | created | horizon | last commit | dead bytes | section bytes | forgotten
//!       | lost | spaces | cursors | sections
//! ```
//! A manifest is written after all that it names is on disk, so a whole one proves that.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rvf_types::FileIdentity;

use reprise_types::{
    ByteReader, ByteWriter, SavedPart, SectionKey, SectionPages, encode_all, rows_part,
};

use crate::commit::{FileFacts, SEQ_MAX};
use crate::directory::slot::Slot;
use crate::directory::{LogDirectory, VectorSegment};
use crate::disk::DiskFile;
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, SegmentPreamble, TYPE_CLOSING, TYPE_MANIFEST, TYPE_PAGES,
    TYPE_VECTORS, append_segment, read_segment, segment_size,
};
use crate::sections::Sections;

/// Number of the inner-product metric in rvf-runtime.
const METRIC_INNER_PRODUCT: u8 = 1;
/// Marker of the file identity in rvf-runtime's manifest.
const IDENTITY_MARKER: u32 = 0x4649_4449;

/// Sections of the log itself: the places of records, the `VEC_SEG`s, and the tombstones.
const SLOTS: u8 = 1;
const VECTOR_SEGMENTS: u8 = 2;
const TOMBSTONES: u8 = 3;
/// The first kind of a section that belongs to the caller.
const CALLERS_FIRST: u8 = 16;

/// Whether a section belongs to the caller, and not to the log itself.
pub(crate) fn is_of_caller(key: SectionKey) -> bool {
    key.0 >= CALLERS_FIRST
}

/// A manifest in the file, and where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) sections: Sections,
}

impl Manifest {
    /// Decodes the manifest at `offset` from a payload whose hash was verified, with the numbers
    /// of the log; `None` if it names something beyond its own place.
    pub(crate) fn decode(payload: &[u8], offset: u64) -> Option<(Self, LogDirectory)> {
        let preamble = SegmentPreamble::read(payload)?;
        if preamble.kind != TYPE_MANIFEST || preamble.seq > SEQ_MAX {
            return None;
        }
        let r = &mut ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
        let (_, numbers, sections): (i64, LogDirectory, Sections) = r.read_value()?;
        let directory = LogDirectory {
            seq: preamble.seq,
            manifest: offset,
            ..numbers
        };
        let fits = directory.last_commit <= offset && sections.are_whole_before(offset);
        (fits && r.is_empty()).then(|| {
            let end = offset + segment_size(payload.len() as u64);
            let seq = preamble.seq;
            (Self { seq, end, sections }, directory)
        })
    }
}

/// Encodes the segment of a manifest for file offset `at`.
pub(crate) fn encode_manifest(
    facts: &FileFacts,
    directory: &LogDirectory,
    sections: &Sections,
    at: u64,
) -> Vec<u8> {
    let out = &mut ByteWriter::default();
    let preamble = facts.preamble(TYPE_MANIFEST, 0, directory.seq);
    preamble.append_to(&mut out.bytes);
    encode_all!(out, facts.created_ms, *directory, *sections);
    let mut bytes = Vec::new();
    append_segment(&mut bytes, at, TYPE_MANIFEST, &out.bytes);
    bytes
}

/// Writes what changed of the log's own sections at `at`, then the manifest, each with a sync, and
/// applies it to the directory.
pub(crate) fn write_manifest(
    file: &dyn DiskFile,
    facts: &FileFacts,
    directory: &mut LogDirectory,
    sections: &Sections,
    at: u64,
) -> io::Result<Manifest> {
    let mut sections = sections.clone();
    let mut own = take_own_pages(directory, &mut usize::MAX.clone());
    let new_tombstones = directory
        .tombstones
        .take_unsaved(0, &mut usize::MAX.clone());
    if !new_tombstones.is_empty() || !sections.keys().any(|key| key.0 == TOMBSTONES) {
        own.push(SectionPages::from_value(
            (TOMBSTONES, 0),
            &directory.tombstones,
        ));
    }
    let trailer = facts.preamble(TYPE_PAGES, 0, directory.seq);
    let start = sections.write(file, trailer, at, &own)?;
    file.sync()?;
    if !sections.are_whole_before(start) {
        return Err(io::Error::other("a page of a section was never written"));
    }
    directory.add_section_bytes(start - at);
    let bytes = encode_manifest(facts, directory, &sections, start);
    file.write_all_at(start, &bytes)?;
    file.sync()?;
    let end = start + bytes.len() as u64;
    directory.apply_manifest(start, end);
    let seq = directory.seq;
    Ok(Manifest { seq, end, sections })
}

/// Loads the manifest at `offset` and the directory that it describes; `None` if something of it
/// is not whole. The places of records are read and checked later.
pub(crate) fn load_manifest(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    offset: u64,
    end: u64,
    damage: &Arc<AtomicBool>,
) -> io::Result<Option<(Manifest, LogDirectory)>> {
    let read = read_manifest(file, facts, offset, end)?;
    Ok(read.and_then(|(manifest, mut directory)| {
        let open = |tag| manifest.sections.open((tag, 0), file, damage);
        directory.slots = open(SLOTS)?.to_rows(Slot::LOST, |_| true)?;
        let none = VectorSegment::default();
        directory.vectors = open(VECTOR_SEGMENTS)?.to_rows(none, |_| true)?;
        directory.tombstones = open(TOMBSTONES)?.read_value()?;
        directory
            .has_possible_counts()
            .then_some((manifest, directory))
    }))
}

/// Loads what the manifest at `offset` still knows of the state of records, though pages of it may
/// be damaged: a record whose place cannot be read is lost in it, and one whose tombstone cannot be
/// read has none.
pub(crate) fn load_record_states(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    offset: u64,
    end: u64,
) -> io::Result<Option<LogDirectory>> {
    let read = read_manifest(file, facts, offset, end)?;
    Ok(read.and_then(|(manifest, mut directory)| {
        let open = |tag| manifest.sections.open((tag, 0), file, &Arc::default());
        directory.slots = open(SLOTS)?.to_rows(Slot::LOST, |_| true)?;
        let tombstones = open(TOMBSTONES).and_then(|all| all.read_value());
        directory.tombstones = tombstones.unwrap_or_default();
        directory.has_possible_counts().then_some(directory)
    }))
}

/// Reads the manifest at `offset` and the numbers of the log in it; `None` if it is not whole.
fn read_manifest(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    offset: u64,
    end: u64,
) -> io::Result<Option<(Manifest, LogDirectory)>> {
    let payload = read_segment(&**file, offset, end, |header| {
        header.canonical && header.kind == TYPE_MANIFEST
    })?;
    let own = |payload: &Vec<u8>| {
        let preamble = SegmentPreamble::read(payload);
        preamble.is_some_and(|preamble| preamble.file_id == facts.file_id)
    };
    let decode = |payload: Vec<u8>| Manifest::decode(&payload, offset);
    Ok(payload.filter(own).and_then(decode))
}

/// Whether the places of all records match their checks.
pub(crate) fn are_places_sound(
    sections: &Sections,
    file: &Arc<dyn DiskFile>,
    damage: &Arc<AtomicBool>,
) -> bool {
    [SLOTS, VECTOR_SEGMENTS].iter().all(|tag| {
        let section = sections.open((*tag, 0), file, damage);
        section.is_some_and(|section| section.is_sound())
    })
}

/// Lists the log's own columns.
pub(crate) fn own_parts(directory: &mut LogDirectory) -> [Box<dyn SavedPart + '_>; 2] {
    let (slots, vectors) = (&mut directory.slots, &mut directory.vectors);
    [
        rows_part((SLOTS, 0), slots),
        rows_part((VECTOR_SEGMENTS, 0), vectors),
    ]
}

/// Takes pages of these that are not saved, as many as the budget allows. If they cannot be
/// written, nothing is saved.
pub(crate) fn take_own_pages(
    directory: &mut LogDirectory,
    budget: &mut usize,
) -> Vec<SectionPages> {
    let parts = own_parts(directory).into_iter();
    parts.map(|mut part| part.take_unsaved(budget)).collect()
}

/// Encodes the segment of the closing index for file offset `at`.
pub(crate) fn encode_closing_segment(
    facts: &FileFacts,
    directory: &LogDirectory,
    at: u64,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let payload = encode_closing_index(facts, directory);
    append_segment(&mut bytes, at, TYPE_CLOSING, &payload);
    bytes
}

/// Encodes what rvf-runtime 0.5 reads as its manifest: head, segment list, deleted ids, file
/// identity.
fn encode_closing_index(facts: &FileFacts, directory: &LogDirectory) -> Vec<u8> {
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
