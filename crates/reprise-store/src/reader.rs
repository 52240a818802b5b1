//! The reader's handle, a snapshot of the log that never waits for the writer.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reprise_types::{
    ContentHash, EmbeddingSpace, HelperError, MemoryRecord, SmallChunkVec, VectorStore, dot,
};

use crate::block;
use crate::codec::{EncodedEntry, Outline, decode_record, vector_checksum};
use crate::commit::FileFacts;
use crate::directory::slot::{Slot, SlotState};
use crate::disk::{DiskFile, read_pieces, read_within};
use crate::entry::{CommitSeq, Tombstone};
use crate::error::{StoreError, StoreResult};

/// Bytes of unpacked blocks in the cache, which are several hundred blocks of short records. A
/// block larger than a share of the cache is not cached, so that it does not evict the others.
const CACHED_BYTES: usize = 2 << 20;
const CACHED_SHARE: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    blocks: Mutex<CachedBlocks>,
}

#[derive(Debug, Default)]
struct CachedBlocks {
    /// Offset and bytes of each block, most recently used last.
    entries: Vec<(u64, Arc<[u8]>)>,
    bytes: usize,
}

impl BlockCache {
    fn find_block(&self, offset: u64) -> Option<Arc<[u8]>> {
        let entries = &mut self.blocks.lock().ok()?.entries;
        let at = entries.iter().rposition(|(known, _)| *known == offset)?;
        let found = entries.remove(at);
        let block = Arc::clone(&found.1);
        entries.push(found);
        Some(block)
    }

    fn insert(&self, offset: u64, block: &Arc<[u8]>) {
        if block.len() > CACHED_BYTES / CACHED_SHARE {
            return;
        }
        if let Ok(mut blocks) = self.blocks.lock() {
            blocks.entries.push((offset, Arc::clone(block)));
            blocks.bytes += block.len();
            while blocks.bytes > CACHED_BYTES {
                blocks.bytes -= blocks.entries.remove(0).1.len();
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct LogSnapshot {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) slots: SmallChunkVec<Slot>,
    pub(crate) tombstones: SmallChunkVec<Tombstone>,
    pub(crate) spaces: Arc<[EmbeddingSpace]>,
    pub(crate) block_cache: Arc<BlockCache>,
}

impl LogSnapshot {
    /// Reads a vector of another width than the file's; returns `None` if its checksum does not
    /// match.
    pub(crate) fn read_separate_vector(
        &self,
        ordinal: u32,
        slot: &Slot,
    ) -> io::Result<Option<Vec<u8>>> {
        let read = || block::read_block(&*self.file, slot.vector_offset, self.end);
        let block = self.load_block(slot.vector_offset, read)?;
        let entries = block.and_then(|block| block::decode_entries(&block));
        let is_wanted = |entry: &EncodedEntry| match &entry.outline {
            Some(Outline::SeparateVector { ordinal: own, mark }) => {
                (*own, mark.checksum) == (ordinal, slot.checksum)
            }
            _ => false,
        };
        let found = entries.unwrap_or_default().into_iter().find(is_wanted);
        Ok(found.map(|entry| entry.rest().to_vec()))
    }

    /// Reads the entry of a record; returns `None` if its block is damaged.
    pub(crate) fn read_record_entry(&self, slot: &Slot) -> io::Result<Option<EncodedEntry>> {
        let (size, place) = (slot.block_size as usize, slot.place);
        let read = || read_within(&*self.file, place, size, self.end);
        let block = self.load_block(place, read)?;
        let entry = block.and_then(|block| block::find_entry(&block, slot.index));
        Ok(entry.filter(|entry| matches!(entry.outline, Some(Outline::Record(_)))))
    }

    /// Returns a block from the cache, or from the file with `read`.
    fn load_block(
        &self,
        place: u64,
        read: impl FnOnce() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<Option<Arc<[u8]>>> {
        if let Some(block) = self.block_cache.find_block(place) {
            return Ok(Some(block));
        }
        let unpacked = read()?
            .and_then(|bytes| block::unpack_block(&bytes, self.facts.file_id))
            .map(Arc::from);
        if let Some(block) = &unpacked {
            self.block_cache.insert(place, block);
        }
        Ok(unpacked)
    }
}

/// The log as of one commit. Clones are cheap, and all of them stay valid while the log grows, is
/// compacted or closed.
#[derive(Debug, Clone)]
pub struct LogReader {
    pub(crate) snapshot: Arc<LogSnapshot>,
}

impl LogReader {
    /// Whether both read the same file, and not one that replaced it.
    pub fn reads_file_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot.file, &other.snapshot.file)
    }

    /// Returns the path with which the log was opened.
    pub fn path(&self) -> &Path {
        &self.snapshot.path
    }

    /// Returns the last commit of this snapshot.
    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.snapshot.seq)
    }

    pub fn record_count(&self) -> u32 {
        self.snapshot.slots.len() as u32
    }

    /// Returns the space of a live record's vector, without reading the disk.
    pub fn space_of(&self, ordinal: u32) -> Option<&EmbeddingSpace> {
        self.live_slot(ordinal)?.space_of(&self.snapshot.spaces)
    }

    /// Whether any vector was ever in another space than this one.
    pub fn has_other_spaces(&self, own: &EmbeddingSpace) -> bool {
        self.snapshot.spaces.iter().any(|space| space != own)
    }

    /// Returns the last record with this hash of its text that was forgotten.
    pub fn find_forgotten_text(&self, hash: ContentHash) -> Option<&Tombstone> {
        let mut forgotten = self.snapshot.tombstones.iter().rev();
        forgotten.find(|tombstone| tombstone.content_hash == hash)
    }

    /// Reads a record with its current `embedding_space` and an empty `embedding`;
    /// [`VectorStore::copy_vector`] reads the vector. Checksums are compared.
    pub fn read_record(&self, ordinal: u32) -> StoreResult<MemoryRecord> {
        let snapshot = &*self.snapshot;
        let Some(slot) = snapshot.slots.get(ordinal as usize) else {
            return Err(StoreError::NoRecord {
                ordinal,
                records: self.record_count(),
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
        let entry = snapshot.read_record_entry(slot);
        let entry = entry.map_err(StoreError::io("read", &snapshot.path))?;
        let record = entry.and_then(|entry| decode_record(entry.rest()));
        let mut record = record.ok_or_else(|| damaged(slot.place))?;
        record.embedding_space = self.space_of(ordinal).cloned();
        Ok(record)
    }

    /// Copies the file as of this snapshot, without blocking the writer, and returns the count of
    /// bytes. The copy is a complete file; opening it verifies it.
    pub fn copy_file_to(&self, out: &mut dyn Write) -> StoreResult<u64> {
        let LogSnapshot {
            file, path, end, ..
        } = &*self.snapshot;
        let copied = read_pieces(&**file, 0..*end, |_, piece| {
            out.write_all(piece).map(|()| true)
        });
        copied.map_err(StoreError::io("copy", path))?;
        Ok(*end)
    }

    fn live_slot(&self, ordinal: u32) -> Option<&Slot> {
        let slot = self.snapshot.slots.get(ordinal as usize)?;
        (slot.state == SlotState::Live).then_some(slot)
    }
}

/// A vector enters the log and leaves it with its record's commit: a reader refuses the verbs that
/// write.
impl VectorStore for LogReader {
    fn name(&self) -> &'static str {
        "log"
    }

    fn dimensions(&self) -> usize {
        usize::from(self.snapshot.facts.dimensions)
    }

    /// Also returns `false` if the vector's checksum or its width does not match.
    fn copy_vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        let Some(slot) = self
            .live_slot(ordinal)
            .filter(|slot| slot.vector_offset != 0)
        else {
            return false;
        };
        let width = self.space_of(ordinal).map(|space| space.dimensions);
        if width.map(usize::from) != Some(out.len()) {
            return false;
        }
        if width == Some(self.snapshot.facts.dimensions) {
            return read_vector(&*self.snapshot.file, slot, out);
        }
        let Ok(Some(bytes)) = self.snapshot.read_separate_vector(ordinal, slot) else {
            return false;
        };
        decode_numbers(&bytes, out);
        true
    }

    fn ingest(&self, _vectors: &[(u32, &[f32])]) -> Result<(), HelperError> {
        Err(written_by_commits_error())
    }

    /// Compares with every vector of the question's width in the file; the engine asks its index.
    fn query(
        &self,
        vector: &[f32],
        k: usize,
        admits: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f32)>, HelperError> {
        let mut own = vec![0.0; vector.len()];
        let mut found = Vec::new();
        for ordinal in (0..self.record_count()).filter(|ordinal| admits(*ordinal)) {
            if self.copy_vector(ordinal, &mut own) {
                found.push((ordinal, dot(&own, vector)));
            }
        }
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        Ok(found)
    }

    fn delete(&self, _ordinals: &[u32]) -> Result<(), HelperError> {
        Err(written_by_commits_error())
    }

    fn compact(&self) -> Result<(), HelperError> {
        Err(written_by_commits_error())
    }

    fn adopt(
        &self,
        _count: u32,
        _read: &dyn Fn(u32, &mut [f32]) -> bool,
    ) -> Result<(), HelperError> {
        Err(written_by_commits_error())
    }

    fn flush(&self) -> Result<(), HelperError> {
        Ok(())
    }
}

fn written_by_commits_error() -> HelperError {
    HelperError {
        message: "the vectors of the log are written by its commits; write to the memory"
            .to_owned(),
    }
}

fn read_vector(file: &dyn DiskFile, slot: &Slot, out: &mut [f32]) -> bool {
    // The usual 384 numbers fit on the stack; wider vectors need a buffer.
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
    if file.read_exact_at(slot.vector_offset, bytes).is_err()
        || vector_checksum(bytes) != slot.checksum
    {
        return false;
    }
    decode_numbers(bytes, out);
    true
}

fn decode_numbers(bytes: &[u8], out: &mut [f32]) {
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
        let block_cache = BlockCache::default();
        let block = |bytes: usize| -> Arc<[u8]> { vec![1; bytes].into() };
        let part = CACHED_BYTES / 16;
        for offset in 0..16 {
            block_cache.insert(offset, &block(part));
        }
        assert!(block_cache.find_block(0).is_some(), "all of them fit");
        block_cache.insert(16, &block(part));
        assert!(
            block_cache.find_block(1).is_none(),
            "the one that waited longest makes room"
        );
        assert!(block_cache.find_block(0).is_some() && block_cache.find_block(16).is_some());
        block_cache.insert(17, &block(CACHED_BYTES));
        assert!(block_cache.find_block(17).is_none() && block_cache.find_block(2).is_some());
        let blocks = block_cache.blocks.lock().unwrap();
        let bytes: usize = blocks.entries.iter().map(|(_, block)| block.len()).sum();
        assert_eq!((bytes, blocks.bytes), (CACHED_BYTES, CACHED_BYTES));
    }
}
