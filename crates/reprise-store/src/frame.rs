//! Segment framing: RVF's 64-byte header, 64-byte alignment and XXH3-128, plus the preamble that
//! each of our own segments has inside its hashed payload.
//!
//! RVF's hash does not cover its header, so we accept a header only if it is, byte for byte, the
//! one we would write: segment id = offset / 64 + 1, flags 0, timestamp 0. The preamble repeats the
//! type and has the file id, and it is hashed.

use std::io;

use reprise_types::{ByteReader, RowCodec, encode_row, impl_row_codec};
use rvf_types::{SEGMENT_ALIGNMENT, SEGMENT_HEADER_SIZE, SEGMENT_MAGIC_BYTES, SEGMENT_VERSION};
use rvf_wire::hash::compute_content_hash;
use rvf_wire::reader::read_segment_header;

use crate::disk::{DiskFile, read_within};

pub(crate) const HEADER_SIZE: u64 = SEGMENT_HEADER_SIZE as u64;
/// Number of RVF's vector segment in rvf-runtime.
pub(crate) const TYPE_VECTORS: u8 = 0x01;
pub(crate) const TYPE_CLOSING: u8 = 0x05;
pub(crate) const TYPE_COMMIT: u8 = 0x40;
/// Pages of saved sections.
pub(crate) const TYPE_PAGES: u8 = 0x41;
/// The manifest that names the saved sections.
pub(crate) const TYPE_MANIFEST: u8 = 0x49;
pub(crate) const TYPE_FILE: u8 = 0x4a;

/// RVF's number of XXH3-128, its default checksum.
const CHECKSUM_ALGO: u8 = 1;
const ALIGNMENT: u64 = SEGMENT_ALIGNMENT as u64;
pub(crate) const PREAMBLE_SIZE: usize = SegmentPreamble::WIDTH;
/// Version of the preamble's layout.
const LAYOUT: u8 = 1;

/// The header fields that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) kind: u8,
    pub(crate) payload_size: u64,
    pub(crate) hash: [u8; 16],
    /// Whether the header is, byte for byte, what we would write at that offset.
    pub(crate) canonical: bool,
    /// Whether the segment id is derived from the offset, which only our files do.
    pub(crate) id_matches_offset: bool,
}

impl SegmentHeader {
    pub(crate) fn segment_size(&self) -> u64 {
        segment_size(self.payload_size)
    }
}

/// Returns the size of header, payload and padding; saturates for sizes that no file has.
pub(crate) fn segment_size(payload_size: u64) -> u64 {
    payload_size
        .saturating_add(HEADER_SIZE + ALIGNMENT - 1)
        .min(u64::MAX - ALIGNMENT)
        / ALIGNMENT
        * ALIGNMENT
}

/// Returns the next segment boundary at or after `offset`.
pub(crate) fn align_up(offset: u64) -> u64 {
    offset.div_ceil(ALIGNMENT) * ALIGNMENT
}

pub(crate) fn content_hash(payload: &[u8]) -> [u8; 16] {
    compute_content_hash(CHECKSUM_ALGO, payload)
}

/// Encodes the header of a segment that begins at `offset`, which is a multiple of 64.
pub(crate) fn encode_header(kind: u8, offset: u64, payload_size: u64, hash: [u8; 16]) -> [u8; 64] {
    let padding = segment_size(payload_size) - HEADER_SIZE - payload_size;
    let mut bytes = [0; SEGMENT_HEADER_SIZE];
    bytes[..4].copy_from_slice(&SEGMENT_MAGIC_BYTES);
    bytes[4] = SEGMENT_VERSION;
    bytes[5] = kind;
    bytes[0x08..0x10].copy_from_slice(&(offset / ALIGNMENT + 1).to_le_bytes());
    bytes[0x10..0x18].copy_from_slice(&payload_size.to_le_bytes());
    bytes[0x20] = CHECKSUM_ALGO;
    bytes[0x28..0x38].copy_from_slice(&hash);
    bytes[0x3c..0x40].copy_from_slice(&(padding as u32).to_le_bytes());
    bytes
}

/// Decodes the header at `offset`; returns `None` if RVF would not accept it.
pub(crate) fn decode_header(bytes: &[u8], offset: u64) -> Option<SegmentHeader> {
    let header = read_segment_header(bytes).ok()?;
    let expected = encode_header(
        header.seg_type,
        offset,
        header.payload_length,
        header.content_hash,
    );
    Some(SegmentHeader {
        kind: header.seg_type,
        payload_size: header.payload_length,
        hash: header.content_hash,
        canonical: bytes[..SEGMENT_HEADER_SIZE] == expected,
        id_matches_offset: header.segment_id == offset / ALIGNMENT + 1,
    })
}

/// Appends a whole segment to `out`, whose first byte will be at `base` in the file, and returns
/// the segment's file offset.
pub(crate) fn append_segment(out: &mut Vec<u8>, base: u64, kind: u8, payload: &[u8]) -> u64 {
    let offset = base + out.len() as u64;
    let size = payload.len() as u64;
    out.extend_from_slice(&encode_header(kind, offset, size, content_hash(payload)));
    out.extend_from_slice(payload);
    out.resize(out.len() + padding_size(size), 0);
    offset
}

/// Reads the payload of the segment at `offset`; returns `None` if no whole one with a wanted
/// header is there.
pub(crate) fn read_segment(
    file: &dyn DiskFile,
    offset: u64,
    end: u64,
    is_wanted: impl Fn(&SegmentHeader) -> bool,
) -> io::Result<Option<Vec<u8>>> {
    let head = read_within(file, offset, HEADER_SIZE as usize, end)?;
    let header = head.and_then(|head| decode_header(&head, offset));
    let fits = |header: &SegmentHeader| header.payload_size <= end - offset && is_wanted(header);
    let Some(header) = header.filter(fits) else {
        return Ok(None);
    };
    let payload = read_within(
        file,
        offset + HEADER_SIZE,
        header.payload_size as usize,
        end,
    )?;
    Ok(payload.filter(|payload| content_hash(payload) == header.hash))
}

/// Returns the count of zero bytes after a payload of this size.
pub(crate) fn padding_size(payload_size: u64) -> usize {
    (segment_size(payload_size) - HEADER_SIZE - payload_size) as usize
}

/// The preamble of each of our segments, at the start of its payload. Segments of
/// pages have it at the end.
///
/// ```text
/// type u8 | layout u8 | dimensions u16 | flags u32 | commit seq u64 | file id u128
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentPreamble {
    pub(crate) kind: u8,
    layout: u8,
    pub(crate) dimensions: u16,
    pub(crate) flags: u32,
    pub(crate) seq: u64,
    pub(crate) file_id: u128,
}

impl_row_codec! {
    SegmentPreamble { kind, layout, dimensions, flags, seq, file_id }
}

impl SegmentPreamble {
    pub(crate) fn new(kind: u8, dimensions: u16, flags: u32, seq: u64, file_id: u128) -> Self {
        Self {
            kind,
            layout: LAYOUT,
            dimensions,
            flags,
            seq,
            file_id,
        }
    }

    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        encode_row(self, out);
    }

    /// Whether it is of a segment of this type, with the layout of this version.
    pub(crate) fn is_of(&self, kind: u8) -> bool {
        self.kind == kind && self.layout == LAYOUT
    }

    /// Reads a preamble; returns `None` if it has another layout.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let read: Option<Self> = ByteReader::with_fixed_layout(bytes).read_value();
        read.filter(|preamble| preamble.layout == LAYOUT)
    }
}

/// Whether segments of this type have their preamble at the end.
pub(crate) fn is_derived(kind: u8) -> bool {
    kind == TYPE_PAGES
}

/// Whether segments of this type belong to a checkpoint, which can be written again.
pub(crate) fn is_of_checkpoint(kind: u8) -> bool {
    is_derived(kind) || matches!(kind, TYPE_MANIFEST | TYPE_CLOSING)
}

pub(crate) fn type_name(kind: u8) -> &'static str {
    match kind {
        TYPE_VECTORS => "vectors",
        0x02 => "rvf-index",
        0x04 => "rvf-journal",
        TYPE_CLOSING => "rvf-manifest",
        0x07 => "rvf-meta",
        0x0a => "rvf-witness",
        TYPE_COMMIT => "commit",
        TYPE_PAGES => "pages",
        TYPE_MANIFEST => "manifest",
        TYPE_FILE => "file",
        _ => "foreign",
    }
}

#[cfg(test)]
mod tests {
    use rvf_types::SegmentFlags;

    use super::*;

    #[test]
    fn our_bytes_are_what_rvf_wire_writes() {
        for size in [0, 1, 63, 64, 65, 1000] {
            let payload = vec![0xab; size];
            let mut ours = Vec::new();
            let offset = append_segment(&mut ours, 640, TYPE_COMMIT, &payload);
            let theirs = rvf_wire::write_segment(TYPE_COMMIT, &payload, SegmentFlags::empty(), 11);
            assert_eq!((offset, &ours), (640, &theirs));
            assert_eq!(ours.len() as u64, segment_size(size as u64));
        }
    }

    #[test]
    fn a_header_is_ours_only_where_every_byte_is() {
        let bytes = encode_header(TYPE_COMMIT, 128, 77, [9; 16]);
        assert!(decode_header(&bytes, 128).unwrap().canonical);
        assert!(!decode_header(&bytes, 192).unwrap().canonical);
        for at in 5..64 {
            let mut bad = bytes;
            bad[at] ^= 0x10;
            let header = decode_header(&bad, 128).unwrap();
            let differs = !header.canonical || header != decode_header(&bytes, 128).unwrap();
            assert!(differs, "byte {at}");
        }
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        assert!(segment_size(u64::MAX) > u64::MAX / 2);
    }

    #[test]
    fn a_preamble_comes_back() {
        let preamble = SegmentPreamble::new(TYPE_MANIFEST, 384, 1, 2, 3);
        let mut bytes = Vec::new();
        preamble.append_to(&mut bytes);
        assert_eq!(bytes.len(), PREAMBLE_SIZE);
        assert_eq!(SegmentPreamble::read(&bytes), Some(preamble));
    }
}
