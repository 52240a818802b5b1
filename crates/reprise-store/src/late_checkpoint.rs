//! Checkpoints that are written in steps between commits; their blobs cover an earlier commit.

use std::io;
use std::sync::Arc;

use crate::checkpoint::{self, BlobLocation, FLAG_PIECE, total_size};
use crate::entry::CommitSeq;
use crate::error::StoreResult;
use crate::frame::segment_size;
use crate::log::{Log, check_derived_tags};
use crate::reader::LogReader;

/// A checkpoint that is partly written.
#[derive(Debug)]
pub struct LateCheckpoint {
    as_of: LogReader,
    derived: Vec<(u8, Vec<u8>)>,
    /// Most bytes of blobs that one step writes.
    step_bytes: usize,
    /// Position of the next write: index of the blob, and offset within it.
    next: (usize, usize),
    parts: Vec<BlobLocation>,
}

/// Progress of a checkpoint after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointStep {
    /// More steps are needed.
    MoreToWrite,
    /// The checkpoint is complete and on disk.
    Complete,
    /// Another file has replaced the log's file, so the checkpoint is obsolete.
    Superseded,
}

impl LateCheckpoint {
    /// Prepares a checkpoint of these blobs, which cover the snapshot `as_of`.
    pub fn new(
        as_of: LogReader,
        derived: Vec<(u8, Vec<u8>)>,
        step_bytes: usize,
    ) -> StoreResult<Self> {
        check_derived_tags(&derived)?;
        Ok(Self {
            as_of,
            derived,
            step_bytes: step_bytes.max(1),
            next: (0, 0),
            parts: Vec::new(),
        })
    }

    /// Returns the commit that its blobs cover.
    pub fn covered_seq(&self) -> CommitSeq {
        self.as_of.seq()
    }

    fn has_written_blobs(&self) -> bool {
        self.next.0 == self.derived.len()
    }
}

impl Log {
    /// Writes the next step of a checkpoint: blobs, then directory, manifest and seal as of the
    /// last commit. An open replays the commits after those that the blobs cover. The checkpoint is
    /// superseded if the log has another file by now, because a compaction may have removed records
    /// that the blobs contain. After an error the next call starts again; only pieces that commits
    /// follow stay in the file.
    pub fn advance_checkpoint(&mut self, late: &mut LateCheckpoint) -> StoreResult<CheckpointStep> {
        if !Arc::ptr_eq(&late.as_of.snapshot.file, &self.file) {
            return Ok(CheckpointStep::Superseded);
        }
        self.make_ready()?;
        self.check_path()?;
        let step = if late.has_written_blobs() {
            self.write_seal(late)
        } else {
            self.write_pieces(late)
        };
        step.map_err(|source| {
            self.discard_pieces(late);
            self.record_failed_write("write a checkpoint to", source)
        })
    }

    /// Writes and syncs the next pieces of the blobs.
    fn write_pieces(&mut self, late: &mut LateCheckpoint) -> io::Result<CheckpointStep> {
        let (mut number, mut from) = late.next;
        let (mut parts, mut bytes_left, mut end) = (Vec::new(), late.step_bytes, self.end);
        while bytes_left > 0
            && let Some((tag, blob)) = late.derived.get(number)
        {
            let to = blob.len().min(from.saturating_add(bytes_left));
            let is_whole = from == 0 && to == blob.len();
            let flags = if is_whole { 0 } else { FLAG_PIECE };
            let trailer = self.facts.preamble(*tag, flags, late.as_of.snapshot.seq);
            let part = checkpoint::write_blob(&*self.file, &trailer, end, &blob[from..to])?;
            end += segment_size(part.payload_size);
            parts.push(part);
            // An empty blob counts as one byte.
            bytes_left = bytes_left.saturating_sub((to - from).max(1));
            (number, from) = if to == blob.len() {
                (number + 1, 0)
            } else {
                (number, to)
            };
        }
        self.file.sync()?;
        // These bytes are dead unless a seal follows.
        self.directory.dead_bytes += total_size(&parts);
        self.unsealed_bytes += end - self.end;
        self.end = end;
        late.next = (number, from);
        late.parts.extend(parts);
        Ok(CheckpointStep::MoreToWrite)
    }

    fn write_seal(&mut self, late: &LateCheckpoint) -> io::Result<CheckpointStep> {
        let (file, parts) = (&*self.file, late.parts.clone());
        let mut directory = self.directory.clone();
        directory.dead_bytes = directory.dead_bytes.saturating_sub(total_size(&parts));
        let end =
            checkpoint::complete_checkpoint(file, &self.facts, &mut directory, self.end, parts)?;
        self.install_checkpoint(directory, end);
        Ok(CheckpointStep::Complete)
    }

    /// Discards the pieces of a failed checkpoint at the end of the file, because commits need
    /// their space on a full disk.
    fn discard_pieces(&mut self, late: &mut LateCheckpoint) {
        late.next = (0, 0);
        for part in late.parts.drain(..).rev() {
            let size = segment_size(part.payload_size);
            if part.offset + size != self.end {
                break;
            }
            self.end = part.offset;
            self.unsealed_bytes = self.unsealed_bytes.saturating_sub(size);
            self.directory.dead_bytes = self.directory.dead_bytes.saturating_sub(size);
        }
    }
}
