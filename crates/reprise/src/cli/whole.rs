//! Files that nobody else can read, and that are there when they are whole.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use fs_err::os::unix::fs::OpenOptionsExt;

/// Ending of what is not whole yet.
const UNFINISHED: &str = "unfinished";

/// Has a file or folder written beside its place, and gives it its name when it is whole.
pub(super) fn place<T>(
    path: &Path,
    write: impl FnOnce(&Path) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let beside = &unfinished(path);
    let clear = || match fs_err::symlink_metadata(beside) {
        Ok(left) if left.is_dir() => fs_err::remove_dir_all(beside),
        Ok(_) => fs_err::remove_file(beside),
        Err(_) => Ok(()),
    };
    // What an earlier run left when it was stopped.
    clear()?;
    let written = write(beside);
    if written.is_err() {
        clear()?;
    }
    let written = written?;
    fs_err::rename(beside, path)?;
    sync_folder(path)?;
    Ok(written)
}

/// Where a file or folder stands until it is whole.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".");
    beside.push(UNFINISHED);
    beside.into()
}

/// Refuses a place where something stands.
pub(super) fn is_free(path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    ensure!(
        !path.is_dir(),
        "`{name}` is a folder that is there already; name another place"
    );
    let is_there = fs_err::symlink_metadata(path).is_ok();
    ensure!(
        !is_there,
        "`{name}` is there already; name another place, or replace it with --force"
    );
    Ok(())
}

/// A new file that nobody else can read, in the place of what an earlier run left.
pub(super) fn private(path: &Path) -> anyhow::Result<fs_err::File> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    Ok(options.open(path)?)
}

pub(super) fn sync_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}
