//! Segment framing: RVF's 64-byte header, 64-byte alignment and XXH3-128, plus the preamble that
//! every segment of our own carries inside its hashed payload.
//!
//! RVF's hash does not cover its header, so we accept a header only if it is, byte for byte, the
//! one we would write: segment id = offset / 64 + 1, flags 0, timestamp 0. And type and file id
//! stand in the preamble, which is hashed.

use reprise_types::ByteReader;
use rvf_types::{SEGMENT_ALIGNMENT, SEGMENT_HEADER_SIZE, SEGMENT_MAGIC_BYTES, SEGMENT_VERSION};
use rvf_wire::hash::compute_content_hash;
use rvf_wire::reader::read_segment_header;

pub(crate) const HEADER_SIZE: u64 = SEGMENT_HEADER_SIZE as u64;
/// RVF's own segment types, as rvf-runtime numbers them.
pub(crate) const TYPE_VECTORS: u8 = 0x01;
pub(crate) const TYPE_MANIFEST: u8 = 0x05;
pub(crate) const TYPE_COMMIT: u8 = 0x40;
pub(crate) const TYPE_DERIVED_FIRST: u8 = 0x41;
pub(crate) const TYPE_DERIVED_LAST: u8 = 0x47;
/// Two more derived types: the numbers up to the last were given out when they came.
pub(crate) const TYPE_DERIVED_MARKS: u8 = 0x4b;
pub(crate) const TYPE_DERIVED_CELLS: u8 = 0x4c;
pub(crate) const TYPE_DIRECTORY: u8 = 0x48;
pub(crate) const TYPE_SEAL: u8 = 0x49;
pub(crate) const TYPE_FILE: u8 = 0x4a;

/// XXH3-128, RVF's default.
const CHECKSUM_ALGO: u8 = 1;
const ALIGNMENT: u64 = SEGMENT_ALIGNMENT as u64;
pub(crate) const PREAMBLE_SIZE: usize = 32;
/// Layout version inside the preamble.
const LAYOUT: u8 = 1;

/// The header fields that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u8,
    pub(crate) payload_size: u64,
    pub(crate) hash: [u8; 16],
    /// The header is, byte for byte, what we would write at that offset.
    pub(crate) strict: bool,
    /// The segment id follows from its offset, as only our files do.
    pub(crate) placed: bool,
}

impl Header {
    pub(crate) fn segment_size(&self) -> u64 {
        segment_size(self.payload_size)
    }
}

/// Header, payload and padding up to the next boundary; saturates for sizes that no file has.
pub(crate) fn segment_size(payload_size: u64) -> u64 {
    payload_size
        .saturating_add(HEADER_SIZE + ALIGNMENT - 1)
        .min(u64::MAX - ALIGNMENT)
        / ALIGNMENT
        * ALIGNMENT
}

/// The next boundary at or after `offset`.
pub(crate) fn align_up(offset: u64) -> u64 {
    offset.div_ceil(ALIGNMENT) * ALIGNMENT
}

pub(crate) fn content_hash(payload: &[u8]) -> [u8; 16] {
    compute_content_hash(CHECKSUM_ALGO, payload)
}

/// The header of a segment that begins at `offset`, which is a multiple of 64.
pub(crate) fn header_bytes(kind: u8, offset: u64, payload_size: u64, hash: [u8; 16]) -> [u8; 64] {
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

/// The header at `offset`; `None` where RVF would not accept one.
pub(crate) fn parse_header(bytes: &[u8], offset: u64) -> Option<Header> {
    let header = read_segment_header(bytes).ok()?;
    let expected = header_bytes(
        header.seg_type,
        offset,
        header.payload_length,
        header.content_hash,
    );
    Some(Header {
        kind: header.seg_type,
        payload_size: header.payload_length,
        hash: header.content_hash,
        strict: bytes[..SEGMENT_HEADER_SIZE] == expected,
        placed: header.segment_id == offset / ALIGNMENT + 1,
    })
}

/// Appends a whole segment to `out`, whose first byte will stand at `base` in the file.
pub(crate) fn put_segment(out: &mut Vec<u8>, base: u64, kind: u8, payload: &[u8]) -> u64 {
    let offset = base + out.len() as u64;
    let size = payload.len() as u64;
    out.extend_from_slice(&header_bytes(kind, offset, size, content_hash(payload)));
    out.extend_from_slice(payload);
    out.resize(out.len() + padding(size), 0);
    offset
}

/// Zero bytes behind a payload of that size.
pub(crate) fn padding(payload_size: u64) -> usize {
    (segment_size(payload_size) - HEADER_SIZE - payload_size) as usize
}

/// The preamble of each of our segments, at the front of its payload (derived segments: at its end,
/// so that a large blob is read without being moved).
///
/// ```text
/// type u8 | layout u8 | dimensions u16 | flags u32 | commit seq u64 | file id u128
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preamble {
    pub(crate) kind: u8,
    pub(crate) dimensions: u16,
    pub(crate) flags: u32,
    pub(crate) seq: u64,
    pub(crate) file_id: u128,
}

impl Preamble {
    pub(crate) fn bytes(&self) -> [u8; PREAMBLE_SIZE] {
        let mut bytes = [0; PREAMBLE_SIZE];
        bytes[0] = self.kind;
        bytes[1] = LAYOUT;
        bytes[2..4].copy_from_slice(&self.dimensions.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.file_id.to_le_bytes());
        bytes
    }

    /// The preamble in these bytes; `None` for another layout.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let kind = reader.u8()?;
        if reader.u8()? != LAYOUT {
            return None;
        }
        Some(Self {
            kind,
            dimensions: reader.u16()?,
            flags: reader.u32()?,
            seq: reader.u64()?,
            file_id: reader.u128()?,
        })
    }
}

/// Whether a segment type carries its preamble at the end.
pub(crate) fn is_derived(kind: u8) -> bool {
    (TYPE_DERIVED_FIRST..=TYPE_DERIVED_LAST).contains(&kind)
        || matches!(kind, TYPE_DERIVED_MARKS | TYPE_DERIVED_CELLS)
}

pub(crate) fn type_name(kind: u8) -> &'static str {
    match kind {
        TYPE_VECTORS => "vectors",
        0x02 => "rvf-index",
        0x04 => "rvf-journal",
        TYPE_MANIFEST => "rvf-manifest",
        0x07 => "rvf-meta",
        0x0a => "rvf-witness",
        TYPE_COMMIT => "commit",
        0x41 => "derived-codes",
        0x42 => "derived-graph-b",
        0x43 => "derived-graph-c",
        0x44 => "derived-words",
        0x45 => "derived-learner",
        0x46 => "derived-documents",
        TYPE_DERIVED_LAST => "derived-keys",
        TYPE_DERIVED_MARKS => "derived-marks",
        TYPE_DERIVED_CELLS => "derived-cells",
        TYPE_DIRECTORY => "directory",
        TYPE_SEAL => "seal",
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
            let offset = put_segment(&mut ours, 640, TYPE_COMMIT, &payload);
            let theirs = rvf_wire::write_segment(TYPE_COMMIT, &payload, SegmentFlags::empty(), 11);
            assert_eq!((offset, &ours), (640, &theirs));
            assert_eq!(ours.len() as u64, segment_size(size as u64));
        }
    }

    #[test]
    fn a_header_is_ours_only_where_every_byte_is() {
        let bytes = header_bytes(TYPE_COMMIT, 128, 77, [9; 16]);
        assert!(parse_header(&bytes, 128).unwrap().strict);
        assert!(!parse_header(&bytes, 192).unwrap().strict);
        for at in 5..64 {
            let mut bad = bytes;
            bad[at] ^= 0x10;
            let header = parse_header(&bad, 128).unwrap();
            let told = !header.strict || header != parse_header(&bytes, 128).unwrap();
            assert!(told, "byte {at}");
        }
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        assert!(segment_size(u64::MAX) > u64::MAX / 2);
    }

    #[test]
    fn a_preamble_comes_back() {
        let preamble = Preamble {
            kind: TYPE_SEAL,
            dimensions: 384,
            flags: 1,
            seq: 2,
            file_id: 3,
        };
        assert_eq!(Preamble::parse(&preamble.bytes()), Some(preamble));
    }
}
