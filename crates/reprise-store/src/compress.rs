//! Compression, and masking, so that no stored text can be mistaken for a segment.
//!
//! zstd is used where it makes a body shorter, the mask where a body contains the segment magic.

use std::io;
use std::sync::Mutex;

use reprise_types::lock;
use rvf_types::SEGMENT_MAGIC_BYTES;

const ZSTD: u8 = 1;
/// Flag of bytes that are combined by XOR with the repeated file id, which no author of a text
/// knows.
const MASKED: u8 = 2;

/// Level for single commits: the fastest that finds repeats.
pub(crate) const LEVEL_APPEND: i32 = 1;
/// Level for compaction and checkpoints, which run in the background.
pub(crate) const LEVEL_PACK: i32 = 9;

/// Compresses with one reused context.
pub(crate) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    mask: [u8; 16],
}

reprise_types::show_fields!(Compressor {});

impl Compressor {
    pub(crate) fn new(level: i32, file_id: u128) -> io::Result<Self> {
        Ok(Self {
            zstd: zstd::bulk::Compressor::new(level)?,
            mask: file_id.to_le_bytes(),
        })
    }

    /// Returns the encoding and the bytes to store, which are never longer than `raw`.
    pub(crate) fn compress(&mut self, raw: &[u8]) -> io::Result<(u8, Vec<u8>)> {
        let packed = self.zstd.compress(raw)?;
        Ok(if packed.len() < raw.len() {
            mask_if_needed(ZSTD, packed, &self.mask)
        } else {
            mask_if_needed(0, raw.to_vec(), &self.mask)
        })
    }
}

fn mask_if_needed(mut encoding: u8, mut bytes: Vec<u8>, mask: &[u8; 16]) -> (u8, Vec<u8>) {
    if bytes.windows(4).any(|window| window == SEGMENT_MAGIC_BYTES) {
        encoding |= MASKED;
        apply_mask(&mut bytes, mask);
    }
    (encoding, bytes)
}

fn apply_mask(bytes: &mut [u8], mask: &[u8; 16]) {
    for (byte, mask) in bytes.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// Reverses [`Compressor::compress`]; returns `None` if the result does not have `raw_size` bytes.
pub(crate) fn decompress(
    encoding: u8,
    stored: &[u8],
    raw_size: usize,
    file_id: u128,
) -> Option<Vec<u8>> {
    const CONTEXTS_MAX: usize = 8;
    /// Idle contexts for reuse, because one is larger than most of what it unpacks.
    static IDLE: Mutex<Vec<zstd::bulk::Decompressor<'static>>> = Mutex::new(Vec::new());
    if encoding & !(ZSTD | MASKED) != 0 {
        return None;
    }
    let mut bytes = stored.to_vec();
    if encoding & MASKED != 0 {
        apply_mask(&mut bytes, &file_id.to_le_bytes());
    }
    if encoding & ZSTD != 0 {
        let idle = lock(&IDLE).pop();
        let mut context = match idle {
            Some(context) => context,
            None => zstd::bulk::Decompressor::new().ok()?,
        };
        bytes = context.decompress(&bytes, raw_size).ok()?;
        let mut idle = lock(&IDLE);
        if idle.len() < CONTEXTS_MAX {
            idle.push(context);
        }
    }
    (bytes.len() == raw_size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_the_magic_never_shows() {
        let file_id = 0x1234_5678_9abc_def0_0fed_cba9_8765_4321;
        let mut compressor = Compressor::new(LEVEL_APPEND, file_id).unwrap();
        let magic = String::from_utf8(SEGMENT_MAGIC_BYTES.to_vec()).unwrap();
        for text in [
            String::new(),
            "a".repeat(1000),
            magic.clone(),
            format!("x{magic}y"),
        ] {
            let (encoding, stored) = compressor.compress(text.as_bytes()).unwrap();
            assert!(!stored.windows(4).any(|w| w == SEGMENT_MAGIC_BYTES));
            assert!(stored.len() <= text.len());
            let back = decompress(encoding, &stored, text.len(), file_id);
            assert_eq!(back.as_deref(), Some(text.as_bytes()));
        }
        let short = decompress(0, b"abc", 4, file_id);
        assert_eq!(short, None);
        assert_eq!(decompress(8, b"abc", 3, file_id), None);
    }
}
