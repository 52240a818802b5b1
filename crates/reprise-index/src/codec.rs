//! Encodes and decodes the frame of a saved part: a version, a checksum, little-endian numbers.
//! Decoding never panics.

use std::ops::{Deref, Range};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{IndexError, IndexResult};

/// Bytes of a part's header: one version byte and the XXH3-64 of everything after it.
pub(crate) const HEADER_BYTES: usize = 9;

/// Starts a part. The caller appends the content and passes it to [`seal_part`].
pub(crate) fn begin_part(version: u8, capacity: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + capacity);
    bytes.push(version);
    bytes.extend_from_slice(&[0; HEADER_BYTES - 1]);
    bytes
}

/// Writes the checksum into a part that [`begin_part`] started.
pub(crate) fn seal_part(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = xxh3_64(&bytes[HEADER_BYTES..]).to_le_bytes();
    bytes[1..HEADER_BYTES].copy_from_slice(&hash);
    bytes
}

pub(crate) fn append_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Bytes shared without a copy: a whole part or a slice of one.
#[derive(Debug, Clone)]
pub(crate) struct SharedBytes {
    all: Arc<OwnedBytes>,
    range: Range<usize>,
}

#[derive(Debug)]
struct OwnedBytes(Vec<u8>);

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            range: 0..bytes.len(),
            all: Arc::new(OwnedBytes(bytes)),
        }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.all.0.get(self.range.clone()).unwrap_or_default()
    }
}

impl SharedBytes {
    /// Returns the slice `from..to`, clamped to the length.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        let clamp = |at: usize| self.range.start.saturating_add(at).min(self.range.end);
        Self {
            all: Arc::clone(&self.all),
            range: clamp(from)..clamp(to),
        }
    }
}

fn verify_header(part: &'static str, bytes: &[u8], expected: u8) -> IndexResult<()> {
    let damage_error = |what| IndexError::Damaged { part, what };
    let (header, rest) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or(damage_error("too short"))?;
    let (version, hash) = header.split_first().ok_or(damage_error("too short"))?;
    if *version != expected {
        let got = *version;
        return Err(IndexError::Version {
            part,
            got,
            expected,
        });
    }
    if xxh3_64(rest).to_le_bytes() != hash {
        return Err(damage_error("its checksum does not match"));
    }
    Ok(())
}

/// Reads the content of a part from front to back.
#[derive(Debug)]
pub(crate) struct PartReader<'a> {
    part: &'static str,
    bytes: &'a SharedBytes,
    position: usize,
}

impl<'a> PartReader<'a> {
    pub(crate) fn new(
        part: &'static str,
        bytes: &'a SharedBytes,
        expected: u8,
    ) -> IndexResult<Self> {
        verify_header(part, bytes, expected)?;
        let at = HEADER_BYTES;
        Ok(Self {
            part,
            bytes,
            position: at,
        })
    }

    pub(crate) fn damage_error(&self, what: &'static str) -> IndexError {
        let part = self.part;
        IndexError::Damaged { part, what }
    }

    pub(crate) fn read_bytes(&mut self, count: usize) -> IndexResult<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let bytes = rest
            .get(..count)
            .ok_or_else(|| self.damage_error("it ends early"))?;
        self.position += count;
        Ok(bytes)
    }

    /// Reads `count` bytes into a slice that outlives the reader.
    pub(crate) fn read_shared(&mut self, count: usize) -> IndexResult<SharedBytes> {
        let from = self.position;
        self.read_bytes(count)?;
        Ok(self.bytes.slice(from, self.position))
    }

    /// Reads `count` values of `N` bytes each.
    pub(crate) fn read_arrays<const N: usize>(
        &mut self,
        count: usize,
    ) -> IndexResult<&'a [[u8; N]]> {
        let bytes = count
            .checked_mul(N)
            .ok_or_else(|| self.damage_error("a count is too large"))?;
        Ok(self.read_bytes(bytes)?.as_chunks().0)
    }

    pub(crate) fn read_u32(&mut self) -> IndexResult<u32> {
        let one: &[[u8; 4]] = self.read_arrays(1)?;
        one.first()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .ok_or_else(|| self.damage_error("it ends early"))
    }

    pub(crate) fn read_u64(&mut self) -> IndexResult<u64> {
        let one: &[[u8; 8]] = self.read_arrays(1)?;
        one.first()
            .map(|bytes| u64::from_le_bytes(*bytes))
            .ok_or_else(|| self.damage_error("it ends early"))
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// Fails if unread bytes remain.
    pub(crate) fn expect_end(&self) -> IndexResult<()> {
        if self.position == self.bytes.len() {
            Ok(())
        } else {
            Err(self.damage_error("it has bytes after its end"))
        }
    }
}
