//! Changes to somebody's files: all of them or none, each file whole, in the mode that it had.
//!
//! Copies, writing beside, renaming, and taking back. A process that is killed on the way leaves
//! every file as it was or as it is to be: `disconnect` undoes either.

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use crate::cli::prelude::*;
use crate::cli::whole::{remove, with_ending};

/// Longest settings that are read.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Ending of the copy of a file as it was before the first change.
const BACKUP: &str = "before-reprise";
/// Ending of a file that is about to take another's place.
const BESIDE: &str = "reprise-new";
/// Mode of a file that was not there before.
const MODE: u32 = 0o600;

/// What becomes of the copy of a file as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backup {
    /// The file is copied before it is changed.
    Made,
    /// It stays as it is, there or not.
    Kept,
    /// It has served its purpose.
    Dropped,
}

/// One file's change; an empty text is no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// As its program names it.
    pub(super) path: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) backup: Backup,
}

/// What is about to happen to the files, for a test that ends there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A copy gets its name.
    Backup,
    /// A new text is written beside its file.
    Write,
    /// It takes the file's place, or the file goes.
    Replace,
    Drop,
}

/// Asked before each step; an error there is one of the step's.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Step) -> io::Result<()>;

/// The text of a file; empty where there is none.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = reprise_files::read_named(path, BYTES_MAX)?.unwrap_or_default();
    String::from_utf8(bytes).with_context(|| format!("`{}` is no text", path.display()))
}

/// The copy that was made of a file before its first change.
pub(super) fn copy_of(path: &Path) -> Option<String> {
    let bytes = reprise_files::read_named(&with_ending(path, BACKUP), BYTES_MAX).ok()?;
    String::from_utf8(bytes?).ok()
}

/// Makes every change; where one cannot be made, none has been.
pub(super) fn apply(changes: &[Change], watch: Watch<'_>) -> anyhow::Result<()> {
    let mut done: Vec<&Change> = Vec::new();
    let applied = prepare(changes, watch).and_then(|()| {
        for change in changes.iter().filter(|change| change.is_one()) {
            watch(Step::Replace)?;
            replace(change)?;
            done.push(change);
        }
        Ok(())
    });
    let Err(error) = applied else {
        for change in changes
            .iter()
            .filter(|change| change.backup == Backup::Dropped)
        {
            watch(Step::Drop)?;
            remove(&with_ending(&change.path, BACKUP))?;
        }
        clear(changes);
        return Ok(());
    };
    for change in &done {
        let back = Change {
            before: change.after.clone(),
            after: change.before.clone(),
            backup: Backup::Kept,
            path: change.path.clone(),
        };
        write_beside(&back)
            .and_then(|()| replace(&back))
            .with_context(|| {
                let path = change.path.display();
                format!("`{path}` could not be put back; `reprise disconnect` does it")
            })?;
    }
    clear(changes);
    Err(error).context("nothing was changed")
}

/// Takes away what was written beside files, by this process or by one that was killed. What stays
/// there harms nobody.
fn clear(changes: &[Change]) {
    for change in changes {
        let copy = with_ending(&change.path, BACKUP);
        for left in [beside(&change.path), with_ending(&copy, BESIDE)] {
            if let Err(error) = remove(&left) {
                tell!("warning: {error:#}; remove it by hand");
            }
        }
    }
}

/// Takes away the folders below `home` in which nothing is left once the files of ours are gone.
pub(super) fn clear_folders(changes: &[Change], home: &Path) {
    let gone = changes
        .iter()
        .filter(|change| change.is_one() && change.after.is_empty());
    for change in gone {
        let folders = change.path.ancestors().skip(1);
        let own = folders.take_while(|folder| *folder != home && !folder.ends_with(".config"));
        for folder in own {
            // One with anything in it stays, and so do those around it.
            if fs_err::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

impl Change {
    pub(super) fn is_one(&self) -> bool {
        self.before != self.after
    }
}

/// Copies what is to be copied and writes every new text beside its file.
fn prepare(changes: &[Change], watch: Watch<'_>) -> anyhow::Result<()> {
    for change in changes {
        if change.backup == Backup::Made {
            let copy = with_ending(&change.path, BACKUP);
            let new = with_ending(&copy, BESIDE);
            write_new(&new, &change.before, mode_of(&place(&change.path)))?;
            watch(Step::Backup)?;
            fs_err::rename(&new, &copy)?;
        }
        if change.is_one() {
            watch(Step::Write)?;
            write_beside(change)?;
        }
    }
    // A program that runs may have written its file meanwhile.
    for change in changes {
        if read(&change.path)? != change.before {
            let path = change.path.display();
            bail!("`{path}` has just been changed by somebody else; try again");
        }
    }
    Ok(())
}

fn write_beside(change: &Change) -> anyhow::Result<()> {
    if change.after.is_empty() {
        return Ok(());
    }
    if let Some(folder) = change.path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let mode = mode_of(&place(&change.path));
    write_new(&beside(&change.path), &change.after, mode)
}

fn replace(change: &Change) -> anyhow::Result<()> {
    if change.after.is_empty() {
        return remove(&change.path);
    }
    Ok(fs_err::rename(beside(&change.path), place(&change.path))?)
}

/// A file of its own, durable, and for nobody to see with another mode in between.
fn write_new(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    // One that a killed process left has whatever mode it got so far.
    remove(path)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(MODE & mode);
    let mut file = options
        .open(path)
        .with_context(|| format!("`{}` cannot be written", path.display()))?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(file.sync_all()?)
}

fn mode_of(path: &Path) -> u32 {
    let known = fs_err::metadata(path).ok();
    known.map_or(MODE, |known| known.permissions().mode() & 0o7777)
}

/// A link to a file elsewhere, as those have who keep their settings in a repository, stays a link.
fn place(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn beside(path: &Path) -> PathBuf {
    with_ending(&place(path), BESIDE)
}
