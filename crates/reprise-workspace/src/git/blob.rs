//! A file as git has it: its hash and its mode.

use std::path::Path;

use git2::{ObjectType, Oid};

use crate::error::{Result, WorkspaceError};
use crate::files;

/// A regular file's mode in a tree.
pub(crate) const FILE: i32 = 0o100_644;
/// An executable file's mode in a tree.
pub(crate) const EXECUTABLE: i32 = 0o100_755;
/// A symbolic link's mode in a tree.
pub(crate) const LINK: i32 = 0o120_000;

/// A file in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) id: Oid,
    pub(crate) mode: i32,
}

/// Returns the hash that a file with these bytes has.
pub(crate) fn blob_id(bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(ObjectType::Blob, bytes).map_err(WorkspaceError::git("hash a file"))
}

/// Returns the hash of a file on the disk, or `None` if it is missing.
pub(crate) fn blob_id_of_file(path: &Path) -> Result<Option<Oid>> {
    match files::find_metadata(path)? {
        Some(found) if found.is_file() => Oid::hash_file(ObjectType::Blob, path)
            .map(Some)
            .map_err(WorkspaceError::git("hash a file")),
        _ => Ok(None),
    }
}
