//! Files that nobody else can read, and that are there when they are whole.

use std::fs::File;

use fs_err::os::unix::fs::OpenOptionsExt;

use crate::cli::prelude::*;

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
    with_ending(path, UNFINISHED)
}

/// A path with an ending more.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
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
    remove(path)?;
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    Ok(options.open(path)?)
}

/// Removes a file, if there is one.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
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
