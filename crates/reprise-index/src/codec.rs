//! The byte form of a part: version, checksum, little-endian numbers. Reading never
//! panics.

use std::ops::{Deref, Range};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{IndexError, Result};

/// One version byte and the XXH3-64 of everything after it.
pub(crate) const HEADER_BYTES: usize = 9;

/// Starts a part; fill it and give it to [`seal`].
pub(crate) fn open(version: u8, capacity: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + capacity);
    bytes.push(version);
    bytes.extend_from_slice(&[0; HEADER_BYTES - 1]);
    bytes
}

/// Writes the checksum of a part begun with [`open`].
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = xxh3_64(&bytes[HEADER_BYTES..]).to_le_bytes();
    bytes[1..HEADER_BYTES].copy_from_slice(&hash);
    bytes
}

pub(crate) fn put_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Shared bytes: a whole part or a slice of one, without a copy.
#[derive(Debug, Clone)]
pub(crate) struct SharedBytes {
    all: Arc<Owned>,
    range: Range<usize>,
}

#[derive(Debug)]
struct Owned(Vec<u8>);

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            range: 0..bytes.len(),
            all: Arc::new(Owned(bytes)),
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
    /// The slice `from..to`, clamped to the length.
    pub(crate) fn piece(&self, from: usize, to: usize) -> Self {
        let within = |at: usize| self.range.start.saturating_add(at).min(self.range.end);
        Self {
            all: Arc::clone(&self.all),
            range: within(from)..within(to),
        }
    }
}

fn check(part: &'static str, bytes: &[u8], expected: u8) -> Result<()> {
    let damaged = |what| IndexError::Damaged { part, what };
    let (header, rest) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or(damaged("too short"))?;
    let (version, hash) = header.split_first().ok_or(damaged("too short"))?;
    if *version != expected {
        let got = *version;
        return Err(IndexError::Version {
            part,
            got,
            expected,
        });
    }
    if xxh3_64(rest).to_le_bytes() != hash {
        return Err(damaged("its checksum does not match"));
    }
    Ok(())
}

/// Reads a part front to back.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    part: &'static str,
    bytes: &'a SharedBytes,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(part: &'static str, bytes: &'a SharedBytes, expected: u8) -> Result<Self> {
        check(part, bytes, expected)?;
        let at = HEADER_BYTES;
        Ok(Self { part, bytes, at })
    }

    pub(crate) fn damaged(&self, what: &'static str) -> IndexError {
        let part = self.part;
        IndexError::Damaged { part, what }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest
            .get(..count)
            .ok_or_else(|| self.damaged("it ends early"))?;
        self.at += count;
        Ok(taken)
    }

    /// As [`Self::take`], but the result outlives the reader.
    pub(crate) fn share(&mut self, count: usize) -> Result<SharedBytes> {
        let from = self.at;
        self.take(count)?;
        Ok(self.bytes.piece(from, self.at))
    }

    /// `count` numbers of `N` bytes each.
    pub(crate) fn column<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]]> {
        let bytes = count
            .checked_mul(N)
            .ok_or_else(|| self.damaged("a count is too large"))?;
        Ok(self.take(bytes)?.as_chunks().0)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let one: &[[u8; 4]] = self.column(1)?;
        one.first()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .ok_or_else(|| self.damaged("it ends early"))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        let one: &[[u8; 8]] = self.column(1)?;
        one.first()
            .map(|bytes| u64::from_le_bytes(*bytes))
            .ok_or_else(|| self.damaged("it ends early"))
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Fails where unread bytes remain.
    pub(crate) fn end(&self) -> Result<()> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.damaged("it has bytes after its end"))
        }
    }
}
