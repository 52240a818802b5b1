//! Sequential reading with few system calls: a buffer that slides over the file.

use std::io;
use std::sync::Arc;

use crate::disk::DiskFile;

const READ_AHEAD: u64 = 1 << 20;

/// A view of `[0, end)` of a file that remembers what it read last.
#[derive(Debug)]
pub(crate) struct Window {
    file: Arc<dyn DiskFile>,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
    ahead: u64,
}

impl Window {
    pub(crate) fn new(file: Arc<dyn DiskFile>, end: u64) -> Self {
        Self {
            file,
            end,
            start: 0,
            bytes: Vec::new(),
            // Grows with use, so that reading a short tail does not cost a megabyte.
            ahead: 4096,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// `size` bytes from `offset`, or `None` where the view ends before.
    pub(crate) fn get(&mut self, offset: u64, size: u64) -> io::Result<Option<&[u8]>> {
        let Some(wanted_end) = offset.checked_add(size).filter(|e| *e <= self.end) else {
            return Ok(None);
        };
        let have_end = self.start + self.bytes.len() as u64;
        if offset < self.start || wanted_end > have_end {
            let read_end = offset.saturating_add(size.max(self.ahead)).min(self.end);
            self.ahead = (self.ahead * 2).min(READ_AHEAD);
            self.bytes.clear();
            self.bytes.resize((read_end - offset) as usize, 0);
            self.start = offset;
            if let Err(error) = self.file.read_exact_at(offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let from = (offset - self.start) as usize;
        Ok(self.bytes.get(from..from + size as usize))
    }

    /// XXH3-128 of a stretch that lies within the view, in pieces.
    pub(crate) fn hash(&mut self, offset: u64, size: u64) -> io::Result<Option<[u8; 16]>> {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        let mut done = 0;
        while done < size {
            let piece = (size - done).min(READ_AHEAD);
            let Some(bytes) = self.get(offset + done, piece)? else {
                return Ok(None);
            };
            hasher.update(bytes);
            done += piece;
        }
        Ok(Some(hasher.digest128().to_le_bytes()))
    }
}
