//! Files that other programs read, kept equal to memory: each is whole at every moment, and none is
//! read back as truth. They stand among files of others: nothing that is found there says what may
//! be replaced or removed.

mod kind;
mod place;
mod register;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::export::{Outgoing, ai_lessons};
use crate::prelude::*;

pub use kind::ProjectionKind;
use place::{Place, State};
pub(crate) use register::Register;
use register::Written;

/// What a rebuild did to the files of a projection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub written: usize,
    /// They said the same already.
    pub unchanged: usize,
    pub removed: usize,
    /// Where copies of the files that were taken over are.
    pub backup: Option<PathBuf>,
}

/// Writes what has changed, each file whole or not at all, and removes its own files that no record
/// stands for any more. `home` is the folder of the memory, where what was written is remembered:
/// only files that still hold that are replaced or removed. Where other files stand it writes only
/// if it may `adopt` them, and keeps copies of those in `home` first.
pub fn rebuild(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: Outgoing<'_>,
    adopt: bool,
) -> Result<Rebuilt, ExportError> {
    let files = kind.files(all)?;
    let (mut register, known) = Register::alone(&kind.root(place), home)?;
    if !adopt {
        check_way(kind, place, &known)?;
    }
    let (chosen, _) = Place::chosen(kind, place)?;
    let place = Place::make(kind, place, home)?;
    let (mut done, mut due, mut changed) = (Rebuilt::default(), Vec::new(), Vec::new());
    let mut adopted = Vec::new();
    for (name, content) in &files {
        match place.state(name, content, &known)? {
            State::Same => done.unchanged += 1,
            State::Due(stamp) => due.push((name, content, stamp)),
            State::Others(stamp) if adopt => {
                adopted.push(place.name(name).to_owned());
                due.push((name, content, Some(stamp)));
            }
            State::Others(_) if known.is_empty() => {
                let path = place.path(name);
                return Err(ExportError::Others { path });
            }
            State::Others(_) => changed.push(place.path(name)),
        }
    }
    done.backup = keep(home, kind.name(), &adopted, |name| place.read(name))?;
    // Remembered before they are written: one that is stopped leaves nothing that is not known.
    let mut own = Written::of(&files).at(chosen);
    own.join(&known);
    register.write(&own)?;
    for (name, content, expected) in due {
        match place.put(name, content, expected)? {
            Placed::Done => done.written += 1,
            Placed::Theirs => changed.push(place.path(name)),
        }
    }
    for name in place.names()? {
        if !files.contains_key(&name) && place.remove_own(&name, &known)? {
            done.removed += 1;
        }
    }
    let mut own = Written::of(&files).at(chosen);
    if !changed.is_empty() {
        own.join(&known);
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

/// What became of files that were proposed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposed {
    pub written: usize,
    pub unchanged: usize,
    /// Where a person's own files stand, or what they made of ours.
    pub kept: Vec<PathBuf>,
}

/// Writes files below a folder, each where nothing stands or what was written before.
pub(crate) fn propose(
    place: &Path,
    home: &Path,
    files: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Proposed, ExportError> {
    let kind = ProjectionKind::Markdown;
    let (mut register, known) = Register::alone(place, home)?;
    check_way(kind, place, &known)?;
    let at = Place::make(kind, place, home)?;
    let (mut done, mut due) = (Proposed::default(), Vec::new());
    for (name, content) in files {
        match at.state(name, content, &known)? {
            State::Same => done.unchanged += 1,
            State::Due(stamp) => due.push((name, content, stamp)),
            State::Others(_) => done.kept.push(at.path(name)),
        }
    }
    let written = due
        .iter()
        .map(|(name, content, _)| ((*name).clone(), (*content).clone()));
    let mut own = Written::of(&written.collect()).at(place);
    own.join(&known);
    register.write(&own)?;
    for (name, content, expected) in due {
        match at.put(name, content, expected)? {
            Placed::Done => done.written += 1,
            Placed::Theirs => done.kept.push(at.path(name)),
        }
    }
    Ok(done)
}

/// How a projection differs from memory, a sentence each; nothing where it is equal.
pub fn compare(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: Outgoing<'_>,
) -> Result<Vec<String>, ExportError> {
    let files = kind.files(all)?;
    let Some(found) = Place::find(kind, place, home)? else {
        let root = kind.root(place);
        return Ok(vec![format!("`{}` is missing", root.display())]);
    };
    let known = Register::read_of(&kind.root(place), home)?;
    let mut differing = Vec::new();
    for (name, content) in &files {
        let path = found.path(name);
        match found.read(name) {
            Ok(Some(there)) if there == *content => {}
            Ok(Some(there))
                if kind == ProjectionKind::AiLessons && ai_lessons::alike(&there, content) => {}
            Ok(Some(_)) => differing.push(format!(
                "`{}` says something else than memory",
                path.display()
            )),
            Ok(None) => differing.push(format!("`{}` is missing", path.display())),
            Err(error) => differing.push(error.to_string()),
        }
    }
    for name in found.names()? {
        if known.names(&name) && !files.contains_key(&name) {
            let path = found.path(&name);
            differing.push(format!("`{}` stands for nothing in memory", path.display()));
        }
    }
    Ok(differing)
}

/// What keeps a projection from being written, as far as a look at its place tells.
pub fn hindrance(kind: ProjectionKind, place: &Path, home: &Path) -> Option<String> {
    let known = Register::read_of(&kind.root(place), home);
    let looked = known.and_then(|known| {
        check_way(kind, place, &known)?;
        Place::make(kind, place, home)?.check(kind.fixed())
    });
    looked.err().map(|error| error.to_string())
}

/// Refuses a place that leads elsewhere than when it was last written.
fn check_way(kind: ProjectionKind, place: &Path, known: &Written) -> Result<(), ExportError> {
    let (chosen, _) = Place::chosen(kind, place)?;
    if known.is_at(chosen) {
        return Ok(());
    }
    let path = chosen.to_owned();
    Err(ExportError::Elsewhere { path })
}

/// The folder beside the memory for copies of other programs' files, kept before they are replaced
/// or moved in (S40): a folder below it for each state that they had, named by what stood in it.
pub(crate) const BACKUPS: &str = "backups";

/// Keeps what `read` gives for each name below `home`; where it is, or `None` of no files. The same
/// files again make no second copy.
pub(crate) fn keep(
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
    let folder = Folder::make_own(home)?.make_folder(Path::new(BACKUPS).join(state))?;
    for name in names {
        let Some(content) = read(name)? else { continue };
        if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
            folder.make_folder(above)?;
        }
        folder.replace(name, &content)?;
    }
    Ok(Some(folder.path().to_owned()))
}

#[cfg(test)]
mod tests;
