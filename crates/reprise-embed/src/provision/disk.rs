//! File operations: hashing, atomic writes, and locks between processes.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use data_encoding::HEXLOWER;
use reprise_files::{Folder, OpenMode, open_path};
use sha2::{Digest, Sha256};

use super::error::ProvisionError;

/// The lock of a models directory.
pub(super) const LOCK_FILE: &str = ".lock";
/// Bytes hashed at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// Computes the sha256 of a file, in lower-case hex.
pub(super) fn sha256_file(path: &Path) -> std::io::Result<String> {
    let mut file = open_path(path, OpenMode::Read)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(HEXLOWER.encode(&hasher.finalize()));
        }
        hasher.update(&chunk[..count]);
    }
}

/// Writes a file atomically: a reader or a power cut sees either the whole old file or the whole
/// new one.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ProvisionError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = Path::new(path.file_name().unwrap_or_default());
    let folder = Folder::open(folder).map(Folder::with_shared_modes);
    let written = folder.and_then(|folder| folder.replace(name, bytes));
    written.map_err(ProvisionError::io("write", path))
}

/// Moves a file within the file system, durably.
pub(super) fn rename_durably(from: &Path, to: &Path) -> Result<(), ProvisionError> {
    fs::rename(from, to).map_err(ProvisionError::io("rename to", to))?;
    let parent = to.parent().unwrap_or(to);
    let synced = Folder::open(parent).and_then(|folder| folder.sync());
    synced.map_err(ProvisionError::io("sync", parent))
}

/// Returns the bytes of all files below a directory; files that vanish meanwhile do not count.
pub(super) fn total_size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => total_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Acquires the directory's lock, and calls `waiting` before it waits for another process. It is a
/// lock of the operating system, which is released when the file is dropped or the process ends.
pub(super) fn acquire_lock(path: &Path, mut waiting: impl FnMut()) -> Result<File, ProvisionError> {
    let file = open_path(path, OpenMode::Create).map_err(ProvisionError::io("open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            waiting();
            file.lock().map_err(ProvisionError::io("lock", path))?;
            Ok(file)
        }
        Err(fs::TryLockError::Error(source)) => Err(ProvisionError::io("lock", path)(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abc");
        write_atomically(&path, b"abc").unwrap();
        assert_eq!(sha256_file(&path).unwrap(), expected);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
