//! Keeps a torn tail in a file of its own before it is cut off: a file that was cut short ends like
//! an interrupted write, and its bytes may be all that is left of a memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, read_pieces, read_within, sibling_path};
use crate::frame::{HEADER_SIZE, decode_header, is_of_checkpoint};
use crate::swap::link_to_free_name;

/// Ending of the files with kept tails; further ones have a number behind it.
pub const SUFFIX_TORN: &str = ".torn";
/// Ending of one that is not complete yet.
pub(super) const SUFFIX_TORN_NEW: &str = ".torn-new";

/// Copies the bytes from `from` to `size` to a file next to the log, at the same offset behind
/// `head`, so that they can be inspected as they were; returns that file. Returns `None` if the
/// tail is only zeros, or pages of a checkpoint, which can be written again.
pub(super) fn keep_torn_tail(
    disk: &dyn Disk,
    path: &Path,
    file: &dyn DiskFile,
    head: &[u8],
    (from, size): (u64, u64),
) -> io::Result<Option<PathBuf>> {
    let from = skip_checkpoint(file, from, size)?;
    let temporary = sibling_path(path, SUFFIX_TORN_NEW);
    let mut to = None;
    read_pieces(file, from..size, |at, piece| {
        if piece.iter().any(|byte| *byte != 0) {
            let kept = match to.take() {
                Some(kept) => kept,
                None => begin_copy(disk, &temporary, head, (from, size))?,
            };
            kept.write_all_at(at, piece)?;
            to = Some(kept);
        }
        Ok(true)
    })?;
    let Some(kept) = to else { return Ok(None) };
    kept.sync()?;
    let name = link_to_free_name(disk, &temporary, path, SUFFIX_TORN)?;
    disk.remove(&temporary)?;
    disk.sync_parent_folder(&name)?;
    Ok(Some(name))
}

/// Creates the file that takes the bytes from `from` to `size`; until then it has only zeros there.
fn begin_copy(
    disk: &dyn Disk,
    path: &Path,
    head: &[u8],
    (from, size): (u64, u64),
) -> io::Result<Arc<dyn DiskFile>> {
    disk.remove(path)?;
    let kept = disk.open_or_create(path)?;
    kept.set_size(size)?;
    if from >= head.len() as u64 {
        kept.write_all_at(0, head)?;
    }
    Ok(kept)
}

/// Returns the offset behind the segments of a checkpoint, whole or not, with which a tail begins.
fn skip_checkpoint(file: &dyn DiskFile, from: u64, size: u64) -> io::Result<u64> {
    let mut at = from;
    while let Some(bytes) = read_within(file, at, HEADER_SIZE as usize, size)? {
        match decode_header(&bytes, at) {
            Some(header) if header.canonical && is_of_checkpoint(header.kind) => {
                at = at.saturating_add(header.segment_size());
            }
            _ => break,
        }
    }
    Ok(at.min(size))
}
