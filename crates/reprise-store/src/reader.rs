//! The reader's handle: a snapshot of the log that never waits for the writer.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reprise_types::{Chunked, EmbeddingSpace, MemoryRecord, VectorStore};

use crate::block;
use crate::codec::{decode_record, find_apart, vector_check};
use crate::commit::FileFacts;
use crate::directory::{Slot, SlotState};
use crate::disk::{DiskFile, read_within};
use crate::entry::{CommitSeq, Tombstone};
use crate::error::{Result, StoreError};

/// Bytes of unpacked blocks in the cache: of short records several hundred blocks. A block longer
/// than a share of it is read each time, and drives no others out.
const CACHED_BYTES: usize = 2 << 20;
const CACHED_SHARE: usize = 8;
const COPIED: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct ReadTools {
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// Offset and bytes, most recently used last.
    kept: Vec<(u64, Arc<[u8]>)>,
    bytes: usize,
}

impl ReadTools {
    fn cached(&self, offset: u64) -> Option<Arc<[u8]>> {
        let kept = &mut self.blocks.lock().ok()?.kept;
        let at = kept.iter().rposition(|(known, _)| *known == offset)?;
        let found = kept.remove(at);
        let block = Arc::clone(&found.1);
        kept.push(found);
        Some(block)
    }

    fn keep(&self, offset: u64, block: &Arc<[u8]>) {
        if block.len() > CACHED_BYTES / CACHED_SHARE {
            return;
        }
        if let Ok(mut blocks) = self.blocks.lock() {
            blocks.kept.push((offset, Arc::clone(block)));
            blocks.bytes += block.len();
            while blocks.bytes > CACHED_BYTES {
                blocks.bytes -= blocks.kept.remove(0).1.len();
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) slots: Chunked<Slot>,
    pub(crate) tombstones: Chunked<Tombstone>,
    pub(crate) spaces: Arc<[EmbeddingSpace]>,
    pub(crate) tools: Arc<ReadTools>,
}

impl Snapshot {
    /// The unpacked block of a slot; `None` where its checksum does not hold.
    pub(crate) fn block(&self, slot: &Slot) -> io::Result<Option<Arc<[u8]>>> {
        let size = slot.block_size as usize;
        let read = || read_within(&*self.file, slot.place, size, self.end);
        self.unpacked(slot.place, read)
    }

    /// A vector of another width than the file's; `None` where its checksum does not hold.
    pub(crate) fn vector_apart(&self, ordinal: u32, slot: &Slot) -> io::Result<Option<Vec<u8>>> {
        let read = || block::read(&*self.file, slot.vector, self.end);
        let block = self.unpacked(slot.vector, read)?;
        Ok(block.and_then(|block| find_apart(&block, ordinal, slot.check)))
    }

    /// A block from the cache, or from the file by `read`.
    fn unpacked(
        &self,
        place: u64,
        read: impl FnOnce() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<Option<Arc<[u8]>>> {
        if let Some(block) = self.tools.cached(place) {
            return Ok(Some(block));
        }
        let unpacked = read()?
            .and_then(|bytes| block::unpack(&bytes, self.facts.file_id))
            .map(Arc::from);
        if let Some(block) = &unpacked {
            self.tools.keep(place, block);
        }
        Ok(unpacked)
    }
}

/// The log as of one commit. Clones are cheap; all of them stay valid while the log moves on, is
/// compacted or closed.
#[derive(Debug, Clone)]
pub struct LogReader {
    pub(crate) snapshot: Arc<Snapshot>,
}

impl LogReader {
    /// The file's path as it was opened.
    pub fn path(&self) -> &Path {
        &self.snapshot.path
    }

    /// The commit this snapshot was taken at.
    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.snapshot.seq)
    }

    pub fn records(&self) -> u32 {
        self.snapshot.slots.len() as u32
    }

    /// The space of a live record's vector, without reading the disk.
    pub fn space(&self, ordinal: u32) -> Option<&EmbeddingSpace> {
        self.slot(ordinal)?.space_of(&self.snapshot.spaces)
    }

    /// Whether any vector was ever in another space than this one.
    pub fn has_other_spaces(&self, own: &EmbeddingSpace) -> bool {
        self.snapshot.spaces.iter().any(|space| space != own)
    }

    /// The record, with its current `embedding_space` and an empty `embedding`: read the vector
    /// with [`VectorStore::vector`]. Checksums were compared.
    pub fn record(&self, ordinal: u32) -> Result<MemoryRecord> {
        let snapshot = &*self.snapshot;
        let Some(slot) = snapshot.slots.get(ordinal as usize) else {
            return Err(StoreError::NoRecord {
                ordinal,
                records: self.records(),
            });
        };
        let damaged = |offset| StoreError::DamagedRecord { ordinal, offset };
        match slot.state {
            SlotState::Forgotten => {
                let tombstone = snapshot.tombstones.get(slot.place as usize);
                let tombstone = tombstone.ok_or_else(|| damaged(0))?;
                return Err(StoreError::Forgotten {
                    ordinal,
                    at: tombstone.at,
                    reason: tombstone.reason.clone(),
                });
            }
            SlotState::Lost => return Err(damaged(0)),
            SlotState::Live => {}
        }
        let block = snapshot.block(slot);
        let block = block.map_err(StoreError::io("read", &snapshot.path))?;
        let body = block
            .as_deref()
            .and_then(|block| block::record(block, slot.index));
        let record = body.and_then(decode_record);
        let mut record = record.ok_or_else(|| damaged(slot.place))?;
        record.embedding_space = self.space(ordinal).cloned();
        Ok(record)
    }

    /// Copies the file as of this snapshot, without blocking the writer, and returns the bytes
    /// copied. The copy is a complete file; opening it verifies it.
    pub fn copy_to(&self, out: &mut dyn Write) -> Result<u64> {
        let Snapshot {
            file, path, end, ..
        } = &*self.snapshot;
        let mut bytes = vec![0; COPIED];
        let mut copied = 0;
        while copied < *end {
            let size = (end - copied).min(COPIED as u64) as usize;
            let part = &mut bytes[..size];
            let read = file.read_exact_at(copied, part);
            read.map_err(StoreError::io("read", path))?;
            out.write_all(part).map_err(StoreError::io("copy", path))?;
            copied += size as u64;
        }
        Ok(copied)
    }

    fn slot(&self, ordinal: u32) -> Option<&Slot> {
        let slot = self.snapshot.slots.get(ordinal as usize)?;
        (slot.state == SlotState::Live).then_some(slot)
    }
}

impl VectorStore for LogReader {
    fn dimensions(&self) -> usize {
        usize::from(self.snapshot.facts.dimensions)
    }

    /// Also `false` where the vector's checksum does not match, or it is of another width.
    fn vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        let Some(slot) = self.slot(ordinal).filter(|slot| slot.vector != 0) else {
            return false;
        };
        let width = self.space(ordinal).map(|space| space.dimensions);
        if width.map(usize::from) != Some(out.len()) {
            return false;
        }
        if width == Some(self.snapshot.facts.dimensions) {
            return read_vector(&*self.snapshot.file, slot, out);
        }
        let Ok(Some(bytes)) = self.snapshot.vector_apart(ordinal, slot) else {
            return false;
        };
        put_numbers(&bytes, out);
        true
    }
}

fn read_vector(file: &dyn DiskFile, slot: &Slot, out: &mut [f32]) -> bool {
    // The usual 384 numbers fit the stack; wider vectors take a buffer.
    const ON_STACK: usize = 4 * 768;
    let size = out.len() * 4;
    let mut small = [0u8; ON_STACK];
    let mut large = Vec::new();
    let bytes = if size <= ON_STACK {
        &mut small[..size]
    } else {
        large.resize(size, 0);
        &mut large[..]
    };
    if file.read_exact_at(slot.vector, bytes).is_err() || vector_check(bytes) != slot.check {
        return false;
    }
    put_numbers(bytes, out);
    true
}

fn put_numbers(bytes: &[u8], out: &mut [f32]) {
    let (numbers, _) = bytes.as_chunks::<4>();
    for (number, bytes) in out.iter_mut().zip(numbers) {
        *number = f32::from_le_bytes(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_by_bytes_and_keeps_what_was_used_last() {
        let tools = ReadTools::default();
        let block = |bytes: usize| -> Arc<[u8]> { vec![1; bytes].into() };
        let part = CACHED_BYTES / 16;
        for offset in 0..16 {
            tools.keep(offset, &block(part));
        }
        assert!(tools.cached(0).is_some(), "all of them fit");
        tools.keep(16, &block(part));
        assert!(
            tools.cached(1).is_none(),
            "the one that waited longest makes room"
        );
        assert!(tools.cached(0).is_some() && tools.cached(16).is_some());
        tools.keep(17, &block(CACHED_BYTES));
        assert!(tools.cached(17).is_none() && tools.cached(2).is_some());
        let blocks = tools.blocks.lock().unwrap();
        let bytes: usize = blocks.kept.iter().map(|(_, block)| block.len()).sum();
        assert_eq!((bytes, blocks.bytes), (CACHED_BYTES, CACHED_BYTES));
    }
}
