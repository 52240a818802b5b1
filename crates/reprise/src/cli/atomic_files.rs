//! Files that only their owner can read, and that get their name when they are complete.

use std::fs::File;

use fs_err::os::unix::fs::OpenOptionsExt;

use crate::cli::prelude::*;

/// Ending of an incomplete file or folder.
const UNFINISHED: &str = "unfinished";

/// Writes a file or folder under a temporary name, and renames it when it is complete.
pub(super) fn write_then_rename<T>(
    path: &Path,
    write: impl FnOnce(&Path) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let temporary = &unfinished_path(path);
    let clear = || match fs_err::symlink_metadata(temporary) {
        Ok(left) if left.is_dir() => fs_err::remove_dir_all(temporary),
        Ok(_) => fs_err::remove_file(temporary),
        Err(_) => Ok(()),
    };
    // An interrupted run may have left a file.
    clear()?;
    let written = write(temporary);
    if written.is_err() {
        clear()?;
    }
    let written = written?;
    fs_err::rename(temporary, path)?;
    sync_folder(path)?;
    Ok(written)
}

/// Returns the temporary path of a file or folder until it is complete.
pub(super) fn unfinished_path(path: &Path) -> PathBuf {
    append_ending(path, UNFINISHED)
}

/// Appends an ending to a path.
pub(super) fn append_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Refuses a path at which something exists.
pub(super) fn ensure_free(path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    ensure!(
        !path.is_dir(),
        "`{name}` is an existing folder; choose another name"
    );
    let is_there = fs_err::symlink_metadata(path).is_ok();
    ensure!(
        !is_there,
        "`{name}` exists already; choose another name, or overwrite it with --force"
    );
    Ok(())
}

/// Creates a file that only its owner can read, and replaces one that an earlier run left.
pub(super) fn create_private(path: &Path) -> anyhow::Result<fs_err::File> {
    remove_if_exists(path)?;
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    Ok(options.open(path)?)
}

/// Removes a file, if there is one.
pub(super) fn remove_if_exists(path: &Path) -> anyhow::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}
