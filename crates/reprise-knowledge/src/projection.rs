//! Keeps files that other programs read equal to memory: each file is complete at every moment, and
//! none is read back. They are among other programs' files, so that nothing found there tells which
//! files may be replaced or removed.

mod kind;
mod place;
mod register;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::export::{ExportInput, ai_lessons};
use crate::prelude::*;

pub use kind::ProjectionKind;
use place::{ProjectionTarget, TargetState};
pub(crate) use register::Register;
use register::WrittenHashes;

/// Reports what a rebuild did to the files of a projection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectionUpdateReport {
    pub written: usize,
    /// Number of files that were up to date.
    pub unchanged: usize,
    pub removed: usize,
    /// Folder with copies of other programs' files that were replaced.
    pub backup: Option<PathBuf>,
}

/// Writes the files that have changed, each atomically, and removes its own files that belong to no
/// record any more. Only files that still are as they were written are replaced or removed; `home`,
/// the folder of the memory, holds their hashes. Other files are replaced only with `adopt`, after
/// copies of them were made in `home`.
pub fn update_projection(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: ExportInput<'_>,
    adopt: bool,
) -> Result<ProjectionUpdateReport, ExportError> {
    let files = kind.render_files(all)?;
    let (mut register, known) = Register::lock(&kind.files_folder(place), home)?;
    if !adopt {
        check_path_target(kind, place, &known)?;
    }
    let (chosen, _) = ProjectionTarget::split_folder_and_file(kind, place)?;
    let place = ProjectionTarget::open_or_create(kind, place, home)?;
    let (mut done, mut due, mut changed) =
        (ProjectionUpdateReport::default(), Vec::new(), Vec::new());
    let mut adopted = Vec::new();
    for (name, content) in &files {
        match place.target_state(name, content, &known)? {
            TargetState::Same => done.unchanged += 1,
            TargetState::Due(stamp) => due.push((name, content, stamp)),
            TargetState::Foreign(stamp) if adopt => {
                adopted.push(place.resolve_file_name(name).to_owned());
                due.push((name, content, Some(stamp)));
            }
            TargetState::Foreign(_) if known.is_empty() => {
                let path = place.path(name);
                return Err(ExportError::Others { path });
            }
            TargetState::Foreign(_) => changed.push(place.path(name)),
        }
    }
    done.backup = keep_copies(home, kind.name(), &adopted, |name| place.read(name))?;
    // The hashes are written first, so that a rebuild that is stopped leaves no unknown file.
    let mut own = WrittenHashes::from_files(&files).with_target(chosen);
    own.merge(&known);
    register.write(&own)?;
    for (name, content, expected) in due {
        match place.replace_file_if_unchanged(name, content, expected)? {
            ChangeOutcome::Applied => done.written += 1,
            ChangeOutcome::Conflict => changed.push(place.path(name)),
        }
    }
    for name in place.list_names()? {
        if !files.contains_key(&name) && place.remove_own(&name, &known)? {
            done.removed += 1;
        }
    }
    let mut own = WrittenHashes::from_files(&files).with_target(chosen);
    if !changed.is_empty() {
        own.merge(&known);
    }
    register.write(&own)?;
    match changed.split_first() {
        None => Ok(done),
        Some((path, rest)) => Err(ExportError::Changed {
            path: path.clone(),
            more: rest.len(),
        }),
    }
}

/// Reports what became of proposed files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalReport {
    pub written: usize,
    pub unchanged: usize,
    /// Files of a person, or edited by one, which were left as they are.
    pub kept: Vec<PathBuf>,
}

/// Writes files below a folder, each only if it is missing or unedited.
pub(crate) fn write_proposals(
    place: &Path,
    home: &Path,
    files: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<ProposalReport, ExportError> {
    let kind = ProjectionKind::Markdown;
    let (mut register, known) = Register::lock(place, home)?;
    check_path_target(kind, place, &known)?;
    let at = ProjectionTarget::open_or_create(kind, place, home)?;
    let (mut done, mut due) = (ProposalReport::default(), Vec::new());
    for (name, content) in files {
        match at.target_state(name, content, &known)? {
            TargetState::Same => done.unchanged += 1,
            TargetState::Due(stamp) => due.push((name, content, stamp)),
            TargetState::Foreign(_) => done.kept.push(at.path(name)),
        }
    }
    let written = due
        .iter()
        .map(|(name, content, _)| ((*name).clone(), (*content).clone()));
    let mut own = WrittenHashes::from_files(&written.collect()).with_target(place);
    own.merge(&known);
    register.write(&own)?;
    for (name, content, expected) in due {
        match at.replace_file_if_unchanged(name, content, expected)? {
            ChangeOutcome::Applied => done.written += 1,
            ChangeOutcome::Conflict => done.kept.push(at.path(name)),
        }
    }
    Ok(done)
}

/// Returns a sentence for each difference between a projection and memory.
pub fn compare_projection(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: ExportInput<'_>,
) -> Result<Vec<String>, ExportError> {
    let files = kind.render_files(all)?;
    let Some(found) = ProjectionTarget::find(kind, place, home)? else {
        let root = kind.files_folder(place);
        return Ok(vec![format!("`{}` is missing", root.display())]);
    };
    let known = Register::read_hashes(&kind.files_folder(place), home)?;
    let mut differing = Vec::new();
    for (name, content) in &files {
        let path = found.path(name);
        match found.read(name) {
            Ok(Some(there)) if there == *content => {}
            Ok(Some(there))
                if kind == ProjectionKind::AiLessons
                    && ai_lessons::have_same_rows(&there, content) => {}
            Ok(Some(_)) => differing.push(format!("`{}` is out of date", path.display())),
            Ok(None) => differing.push(format!("`{}` is missing", path.display())),
            Err(error) => differing.push(error.to_string()),
        }
    }
    for name in found.list_names()? {
        if known.has_name(&name) && !files.contains_key(&name) {
            let path = found.path(&name);
            differing.push(format!(
                "`{}` is left of a forgotten memory",
                path.display()
            ));
        }
    }
    Ok(differing)
}

/// Returns why a projection cannot be written, as far as its folder tells.
pub fn find_write_obstacle(kind: ProjectionKind, place: &Path, home: &Path) -> Option<String> {
    let known = Register::read_hashes(&kind.files_folder(place), home);
    let looked = known.and_then(|known| {
        check_path_target(kind, place, &known)?;
        ProjectionTarget::open_or_create(kind, place, home)?.check_writable(kind.fixed_files())
    });
    looked.err().map(|error| error.to_string())
}

/// Refuses a path that leads elsewhere than when it was last written.
fn check_path_target(
    kind: ProjectionKind,
    place: &Path,
    known: &WrittenHashes,
) -> Result<(), ExportError> {
    let (chosen, _) = ProjectionTarget::split_folder_and_file(kind, place)?;
    if known.leads_to_known_folder(chosen) {
        return Ok(());
    }
    let path = chosen.to_owned();
    Err(ExportError::Elsewhere { path })
}

/// Folder next to the memory for copies of other programs' files, made before they are replaced or
/// imported: a folder for each state of them, named by a hash of their contents.
pub(crate) const BACKUPS: &str = "backups";

/// Copies what `read` returns for each name below `home`, and returns the folder, or `None` without
/// files. Equal files are copied only once.
pub(crate) fn keep_copies(
    home: &Path,
    what: &str,
    names: &[PathBuf],
    read: impl Fn(&Path) -> Result<Option<Vec<u8>>, FileError>,
) -> Result<Option<PathBuf>, FileError> {
    let (mut digest, mut is_any) = (Sha256::new(), false);
    for name in names {
        if let Some(content) = read(name)? {
            is_any = true;
            digest.update(name.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update((content.len() as u64).to_le_bytes());
            digest.update(&content);
        }
    }
    if !is_any {
        return Ok(None);
    }
    let digest = digest.finalize();
    let state = format!("{what}-{}", HEXLOWER.encode(&digest[..8]));
    let folder = Folder::open_or_create_no_follow(home)?
        .open_or_create_folder(Path::new(BACKUPS).join(state))?;
    for name in names {
        let Some(content) = read(name)? else { continue };
        if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
            folder.open_or_create_folder(above)?;
        }
        folder.replace(name, &content)?;
    }
    Ok(Some(folder.path().to_owned()))
}

#[cfg(test)]
mod tests;
