//! Checkpoints made beside commits: their blobs are as of an earlier commit, and are written in
//! steps between which commits may come.

use std::io;
use std::sync::Arc;

use crate::checkpoint::{self, FLAG_PIECE, Part, bytes_of};
use crate::entry::CommitSeq;
use crate::error::Result;
use crate::frame::segment_size;
use crate::log::{Log, check_tags};
use crate::reader::LogReader;

/// A checkpoint on its way into the log.
#[derive(Debug)]
pub struct LateCheckpoint {
    then: LogReader,
    derived: Vec<(u8, Vec<u8>)>,
    /// Bytes of blobs that one step writes, at most.
    step_bytes: usize,
    /// What is written next: the number of a blob, and its first byte.
    next: (usize, usize),
    parts: Vec<Part>,
}

/// How far a step has brought a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointStep {
    /// There is more to write.
    Begun,
    /// It is whole and on disk.
    Done,
    /// It is of no use any more.
    Overtaken,
}

impl LateCheckpoint {
    /// One of these blobs, which are as of the moment of `then`.
    pub fn new(then: LogReader, derived: Vec<(u8, Vec<u8>)>, step_bytes: usize) -> Result<Self> {
        check_tags(&derived)?;
        Ok(Self {
            then,
            derived,
            step_bytes: step_bytes.max(1),
            next: (0, 0),
            parts: Vec::new(),
        })
    }

    /// The commit that its blobs are as of.
    pub fn covers(&self) -> CommitSeq {
        self.then.seq()
    }

    fn is_written(&self) -> bool {
        self.next.0 == self.derived.len()
    }
}

impl Log {
    /// Writes some more of a checkpoint; once its blobs are there, directory, manifest and seal as
    /// of the last commit. What was committed after the blobs' moment is replayed at opening. Given
    /// up where the file is another by now: a compaction may have removed what the blobs still
    /// hold. After an error the next call begins anew; of what was written only that stays which
    /// commits stand behind.
    pub fn advance_checkpoint(&mut self, late: &mut LateCheckpoint) -> Result<CheckpointStep> {
        if !Arc::ptr_eq(&late.then.snapshot.file, &self.file) {
            return Ok(CheckpointStep::Overtaken);
        }
        self.make_ready()?;
        self.check_place()?;
        let step = if late.is_written() {
            self.seal(late)
        } else {
            self.write_pieces(late)
        };
        step.map_err(|source| {
            self.give_up(late);
            self.poison("write a checkpoint to", source)
        })
    }

    /// Writes and syncs what comes next.
    fn write_pieces(&mut self, late: &mut LateCheckpoint) -> io::Result<CheckpointStep> {
        let (mut number, mut from) = late.next;
        let (mut parts, mut left, mut end) = (Vec::new(), late.step_bytes, self.end);
        while left > 0
            && let Some((tag, blob)) = late.derived.get(number)
        {
            let to = blob.len().min(from.saturating_add(left));
            let is_whole = from == 0 && to == blob.len();
            let flags = if is_whole { 0 } else { FLAG_PIECE };
            let trailer = self.facts.preamble(*tag, flags, late.then.snapshot.seq);
            let part = checkpoint::write_blob(&*self.file, &trailer, end, &blob[from..to])?;
            end += segment_size(part.payload_size);
            parts.push(part);
            // An empty blob counts, too.
            left = left.saturating_sub((to - from).max(1));
            (number, from) = if to == blob.len() {
                (number + 1, 0)
            } else {
                (number, to)
            };
        }
        self.file.sync()?;
        // Dead, unless a seal follows.
        self.directory.dead_bytes += bytes_of(&parts);
        self.unsealed += end - self.end;
        self.end = end;
        late.next = (number, from);
        late.parts.extend(parts);
        Ok(CheckpointStep::Begun)
    }

    fn seal(&mut self, late: &LateCheckpoint) -> io::Result<CheckpointStep> {
        let (file, parts) = (&*self.file, late.parts.clone());
        let mut directory = self.directory.clone();
        directory.dead_bytes = directory.dead_bytes.saturating_sub(bytes_of(&parts));
        let end = checkpoint::complete(file, &self.facts, &mut directory, self.end, parts)?;
        self.take_checkpoint(directory, end);
        Ok(CheckpointStep::Done)
    }

    /// Leaves out what stands at the end of the file of a checkpoint that failed: on a full disk
    /// commits need its room.
    fn give_up(&mut self, late: &mut LateCheckpoint) {
        late.next = (0, 0);
        for part in late.parts.drain(..).rev() {
            let size = segment_size(part.payload_size);
            if part.offset + size != self.end {
                break;
            }
            self.end = part.offset;
            self.unsealed = self.unsealed.saturating_sub(size);
            self.directory.dead_bytes = self.directory.dead_bytes.saturating_sub(size);
        }
    }
}
