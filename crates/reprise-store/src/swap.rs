//! Replacing a memory's file, or putting one where there was none, so that a crash at any moment
//! leaves either the old or the new.

use std::io;
use std::path::Path;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::log::beside;

/// Gives `file` the name `target`, which must name nothing yet.
pub fn place_file(disk: &dyn Disk, file: &Path, target: &Path) -> Result<(), StoreError> {
    link_over_nothing(disk, file, target).map_err(StoreError::io("create", target))
}

/// Puts `file` in the place of the memory `target`, whose lock the caller holds, and which is kept
/// under the name `aside`. What had that name before goes.
pub fn replace_file(
    disk: &dyn Disk,
    file: &Path,
    target: &Path,
    aside: &Path,
) -> Result<(), StoreError> {
    let io = StoreError::io("replace", target);
    let fresh = beside(aside, ".new");
    let put_aside = || {
        disk.remove(&fresh)?;
        disk.link(target, &fresh)?;
        disk.rename(&fresh, aside)?;
        // Left over where an earlier attempt already linked `aside` to the same file.
        disk.remove(&fresh)?;
        disk.sync_dir(aside)
    };
    put_aside().map_err(&io)?;
    let swap = || {
        disk.rename(file, target)?;
        disk.sync_dir(target)
    };
    swap().map_err(&io)
}

/// A link never replaces, as a rename would; a crash before the end leaves a second name.
pub(crate) fn link_over_nothing(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    disk.link(from, to)?;
    disk.remove(from)?;
    disk.sync_dir(to)
}
