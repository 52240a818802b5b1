//! The files of one projection on the disk: what stands there, and how one is replaced.

use reprise_files::{Kind, Stamp};

use super::kind::{ProjectionKind, SUNWELL};
use super::register::Written;
use crate::export::notes::says_the_same;
use crate::prelude::*;

/// Longest file that is read to see whether it is our own.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Most names of one folder.
const NAMES_MAX: usize = 1_000_000;

/// Where a projection stands: a folder of its own, or a file in one; then its name is empty.
pub(super) struct Place {
    kind: ProjectionKind,
    folder: Folder,
    file: Option<PathBuf>,
}

/// What stands where a file is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// What would be written.
    Same,
    /// Nothing, or what was written before.
    Due(Option<Stamp>),
    Others(Stamp),
}

impl Place {
    /// The place of a projection, its folder made where it is missing. `home` is the memory's
    /// folder.
    pub(super) fn make(
        kind: ProjectionKind,
        place: &Path,
        home: &Path,
    ) -> Result<Self, ExportError> {
        let (chosen, file) = Self::chosen(kind, place)?;
        // What stands beside the memory is not chosen by the user.
        let mut folder = match chosen.strip_prefix(home) {
            Ok(inside) if !inside.as_os_str().is_empty() => {
                Folder::make_own(home)?.make_folder(inside)?
            }
            _ => Folder::make(chosen)?,
        };
        if kind == ProjectionKind::Sunwell {
            folder = folder.make_folder(SUNWELL)?;
        }
        Ok(Self { kind, folder, file })
    }

    /// The same, `None` where its folder is missing.
    pub(super) fn find(
        kind: ProjectionKind,
        place: &Path,
        home: &Path,
    ) -> Result<Option<Self>, ExportError> {
        let (chosen, file) = Self::chosen(kind, place)?;
        let mut folder = match chosen.strip_prefix(home) {
            Ok(inside) if !inside.as_os_str().is_empty() => match Folder::find_own(home)? {
                Some(home) => home.find_folder(inside)?,
                None => None,
            },
            _ => Folder::find(chosen)?,
        };
        if kind == ProjectionKind::Sunwell {
            folder = match folder {
                Some(folder) => folder.find_folder(SUNWELL)?,
                None => None,
            };
        }
        Ok(folder.map(|folder| Self { kind, folder, file }))
    }

    /// The folder that the user has chosen, and the file in it where it is one.
    pub(super) fn chosen(
        kind: ProjectionKind,
        place: &Path,
    ) -> Result<(&Path, Option<PathBuf>), FileError> {
        match kind {
            ProjectionKind::Sunwell | ProjectionKind::Markdown => Ok((place, None)),
            ProjectionKind::AiLessons | ProjectionKind::Frames => {
                match (place.parent(), place.file_name()) {
                    (Some(folder), Some(name)) => Ok((folder, Some(name.into()))),
                    _ => Err(FileError::Name {
                        path: place.to_owned(),
                    }),
                }
            }
        }
    }

    pub(super) fn name<'a>(&'a self, name: &'a Path) -> &'a Path {
        self.file.as_deref().unwrap_or(name)
    }

    pub(super) fn path(&self, name: &Path) -> PathBuf {
        self.folder.path_of(self.name(name))
    }

    pub(super) fn read(&self, name: &Path) -> Result<Option<Vec<u8>>, FileError> {
        self.folder.read(self.name(name), FILE_BYTES_MAX)
    }

    /// What stands where `content` is to be.
    pub(super) fn state(
        &self,
        name: &Path,
        content: &[u8],
        known: &Written,
    ) -> Result<State, FileError> {
        let read = self.folder.read_stamped(self.name(name), FILE_BYTES_MAX)?;
        Ok(match read {
            None => State::Due(None),
            Some((there, _)) if there == content => State::Same,
            Some((there, stamp)) => {
                // What a person edited, and memory has taken in.
                let is_taken_in = || {
                    self.kind == ProjectionKind::Markdown
                        && known.names(name)
                        && says_the_same(&there, content)
                };
                if known.holds(name, &sha256_hex(&there)) || is_taken_in() {
                    State::Due(Some(stamp))
                } else {
                    State::Others(stamp)
                }
            }
        })
    }

    /// Puts a file where nothing or what was `expected` stands.
    pub(super) fn put(
        &self,
        name: &Path,
        content: &[u8],
        expected: Option<Stamp>,
    ) -> Result<Placed, FileError> {
        let name = self.name(name);
        if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.folder.make_folder(above)?;
        }
        self.folder.replace_if(name, content, expected)
    }

    /// Removes a file that still is what was written. Answers whether it was.
    pub(super) fn remove_own(&self, name: &Path, known: &Written) -> Result<bool, FileError> {
        if !known.names(name) {
            return Ok(false);
        }
        match self.state(name, b"", known)? {
            State::Due(Some(stamp)) => {
                let removed = self.folder.remove_if(self.name(name), stamp)?;
                Ok(removed == Placed::Done)
            }
            _ => Ok(false),
        }
    }

    /// The names of the regular files that stand there.
    pub(super) fn names(&self) -> Result<Vec<PathBuf>, FileError> {
        if let Some(file) = &self.file {
            let found = self.folder.look(file)?;
            let is_there = found.is_some_and(|found| found.is_file());
            return Ok(is_there.then(PathBuf::new).into_iter().collect());
        }
        let mut names = Vec::new();
        for below in self.kind.folders() {
            let inside = match *below {
                "" => self.folder.list(NAMES_MAX)?,
                below => match self.folder.find_folder(below)? {
                    Some(folder) => folder.list(NAMES_MAX)?,
                    None => continue,
                },
            };
            let files = inside.into_iter().filter(|entry| entry.kind == Kind::File);
            names.extend(files.map(|entry| Path::new(below).join(entry.name)));
        }
        Ok(names)
    }

    /// Refuses a folder that cannot be written to, and what is no file where one of these is to be.
    pub(super) fn check(&self, names: &[&str]) -> Result<(), ExportError> {
        self.folder.check_writable()?;
        for name in names {
            self.folder.find_file(self.name(name.as_ref()))?;
        }
        Ok(())
    }
}
