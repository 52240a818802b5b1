//! Changes to somebody's files: all of them or none, each file whole, in the mode that it had.
//!
//! Files are copied, written to a temporary file, renamed, and restored after an error. A killed
//! process leaves every file old or new; `disconnect` undoes either.

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use crate::cli::atomic_files::{append_ending, remove_if_exists};
use crate::cli::prelude::*;

/// Longest settings that are read.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Ending of the copy of a file as it was before the first change.
const BACKUP: &str = "before-reprise";
/// File in a folder that was there and empty before our first file.
const OWNERS: &str = ".before-reprise";
/// Ending of a file that is about to take another's place.
const BESIDE: &str = "reprise-new";
/// Mode of a file that was not there before.
const MODE: u32 = 0o600;

/// What to do with the backup copy of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackupAction {
    /// The file is copied before it is changed.
    Made,
    /// The copy stays as it is, whether it exists or not.
    Kept,
    /// The copy is removed.
    Dropped,
}

/// Change of one file; an empty text means no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsChange {
    /// Path as its program names it.
    pub(super) path: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) backup: BackupAction,
}

/// Step of applying a change, so that a test can fail there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplyStep {
    /// A backup copy gets its name.
    Backup,
    /// A new text is written to a temporary file.
    Write,
    /// The temporary file replaces the file, or the file is removed.
    Replace,
    Drop,
}

/// Hook that runs before each step; its error counts as an error of the step.
pub(super) type StepHook<'a> = &'a mut dyn FnMut(ApplyStep) -> io::Result<()>;

/// Reads the text of a file; a missing file is an empty text.
pub(super) fn read_settings(path: &Path) -> anyhow::Result<String> {
    let bytes = reprise_files::read_if_exists(path, BYTES_MAX)?.unwrap_or_default();
    String::from_utf8(bytes).with_context(|| format!("`{}` is no text", path.display()))
}

/// Reads the copy that was made of a file before its first change.
pub(super) fn read_backup(path: &Path) -> Option<String> {
    let bytes = reprise_files::read_if_exists(&append_ending(path, BACKUP), BYTES_MAX).ok()?;
    String::from_utf8(bytes?).ok()
}

/// Applies every change; if one fails, all are undone.
pub(super) fn apply(changes: &[SettingsChange], watch: StepHook<'_>) -> anyhow::Result<()> {
    let mut done: Vec<&SettingsChange> = Vec::new();
    let applied = stage_changes(changes, watch).and_then(|()| {
        for change in changes.iter().filter(|change| change.has_effect()) {
            watch(ApplyStep::Replace)?;
            replace_file(change)?;
            done.push(change);
        }
        Ok(())
    });
    let Err(error) = applied else {
        for change in changes
            .iter()
            .filter(|change| change.backup == BackupAction::Dropped)
        {
            watch(ApplyStep::Drop)?;
            remove_if_exists(&append_ending(&change.path, BACKUP))?;
        }
        remove_temporary_files(changes);
        return Ok(());
    };
    for change in &done {
        let back = SettingsChange {
            before: change.after.clone(),
            after: change.before.clone(),
            backup: BackupAction::Kept,
            path: change.path.clone(),
        };
        write_temporary_file(&back)
            .and_then(|()| replace_file(&back))
            .with_context(|| {
                let path = change.path.display();
                format!("could not restore `{path}`; run `reprise connect AGENT --undo`")
            })?;
    }
    remove_temporary_files(changes);
    Err(error).context("nothing was changed")
}

/// Removes temporary files of this process or of a killed one. One that stays does no harm.
fn remove_temporary_files(changes: &[SettingsChange]) {
    for change in changes {
        let copy = append_ending(&change.path, BACKUP);
        for left in [temporary_path(&change.path), append_ending(&copy, BESIDE)] {
            if let Err(error) = remove_if_exists(&left) {
                tell!("warning: {error:#}; remove it by hand");
            }
        }
    }
}

/// Removes the folders below `home` that are empty after our files were removed, except those that
/// were there before.
pub(super) fn remove_empty_folders(changes: &[SettingsChange], home: &Path) {
    let folders = changes.iter().filter_map(|change| change.path.parent());
    let owners: BTreeSet<&Path> = folders
        .filter(|folder| fs_err::remove_file(folder.join(OWNERS)).is_ok())
        .collect();
    let gone = changes
        .iter()
        .filter(|change| change.has_effect() && change.after.is_empty());
    for change in gone {
        let folders = change.path.ancestors().skip(1);
        let own = folders.take_while(|folder| *folder != home && !folder.ends_with(".config"));
        for folder in own {
            // A folder with anything in it stays, and so do its parents.
            if owners.contains(folder) || fs_err::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

impl SettingsChange {
    pub(super) fn has_effect(&self) -> bool {
        self.before != self.after
    }
}

/// Makes the backup copies and writes every new text to a temporary file.
fn stage_changes(changes: &[SettingsChange], watch: StepHook<'_>) -> anyhow::Result<()> {
    for change in changes {
        let is_new = change.has_effect() && change.before.is_empty();
        if let Some(folder) = change.path.parent().filter(|_| is_new)
            && fs_err::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
        {
            fs_err::write(folder.join(OWNERS), "")?;
        }
        if change.backup == BackupAction::Made {
            let copy = append_ending(&change.path, BACKUP);
            let new = append_ending(&copy, BESIDE);
            write_durable_file(&new, &change.before, file_mode(&resolve_link(&change.path)))?;
            watch(ApplyStep::Backup)?;
            fs_err::rename(&new, &copy)?;
        }
        if change.has_effect() {
            watch(ApplyStep::Write)?;
            write_temporary_file(change)?;
        }
    }
    // A program that runs may have written its file meanwhile.
    for change in changes {
        if read_settings(&change.path)? != change.before {
            let path = change.path.display();
            bail!("`{path}` was changed by another program in the meantime; try again");
        }
    }
    Ok(())
}

fn write_temporary_file(change: &SettingsChange) -> anyhow::Result<()> {
    if change.after.is_empty() {
        return Ok(());
    }
    if let Some(folder) = change.path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let mode = file_mode(&resolve_link(&change.path));
    write_durable_file(&temporary_path(&change.path), &change.after, mode)
}

fn replace_file(change: &SettingsChange) -> anyhow::Result<()> {
    if change.after.is_empty() {
        return remove_if_exists(&change.path);
    }
    Ok(fs_err::rename(
        temporary_path(&change.path),
        resolve_link(&change.path),
    )?)
}

/// Writes a new durable file that never has a wider mode than the wanted one.
fn write_durable_file(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    // A file that a killed process left may have any mode.
    remove_if_exists(path)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(MODE & mode);
    let mut file = options
        .open(path)
        .with_context(|| format!("`{}` cannot be written", path.display()))?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(file.sync_all()?)
}

fn file_mode(path: &Path) -> u32 {
    let known = fs_err::metadata(path).ok();
    known.map_or(MODE, |known| known.permissions().mode() & 0o7777)
}

/// Resolves a symbolic link, so that settings which are linked into a repository stay a link.
fn resolve_link(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn temporary_path(path: &Path) -> PathBuf {
    append_ending(&resolve_link(path), BESIDE)
}
