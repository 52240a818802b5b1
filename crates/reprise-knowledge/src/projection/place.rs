//! The files of one projection on the disk: their state, and how one is replaced.

use reprise_files::{FileFingerprint, FileKind};

use super::kind::{ProjectionKind, SUNWELL};
use super::register::WrittenHashes;
use crate::export::notes::is_same_note;
use crate::prelude::*;

/// Longest file that is read to check whether it is our own.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Most names of one folder.
const NAMES_MAX: usize = 1_000_000;

/// Location of a projection: a folder of its own, or a file in a folder; then its name is empty.
pub(super) struct ProjectionTarget {
    kind: ProjectionKind,
    folder: Folder,
    file: Option<PathBuf>,
}

/// State of a file before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetState {
    /// It holds what would be written.
    Same,
    /// It is missing, or unedited since it was written.
    Due(Option<FileFingerprint>),
    Foreign(FileFingerprint),
}

impl ProjectionTarget {
    /// Opens the folder of a projection, and creates it if it is missing. `home` is the memory's
    /// folder.
    pub(super) fn open_or_create(
        kind: ProjectionKind,
        place: &Path,
        home: &Path,
    ) -> Result<Self, ExportError> {
        let (chosen, file) = Self::split_folder_and_file(kind, place)?;
        // A folder below the memory's own was not chosen by the user: no link is followed there.
        let mut folder = match chosen.strip_prefix(home) {
            Ok(inside) if !inside.as_os_str().is_empty() => {
                Folder::open_or_create_no_follow(home)?.open_or_create_folder(inside)?
            }
            _ => Folder::open_or_create(chosen)?,
        };
        if kind == ProjectionKind::Sunwell {
            folder = folder.open_or_create_folder(SUNWELL)?;
        }
        Ok(Self { kind, folder, file })
    }

    /// Opens the folder of a projection; `None` if it is missing.
    pub(super) fn find(
        kind: ProjectionKind,
        place: &Path,
        home: &Path,
    ) -> Result<Option<Self>, ExportError> {
        let (chosen, file) = Self::split_folder_and_file(kind, place)?;
        let mut folder = match chosen.strip_prefix(home) {
            Ok(inside) if !inside.as_os_str().is_empty() => match Folder::find_no_follow(home)? {
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

    /// Splits the path that the user chose into its folder and, if the projection is one file, its
    /// name.
    pub(super) fn split_folder_and_file(
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

    pub(super) fn resolve_file_name<'a>(&'a self, name: &'a Path) -> &'a Path {
        self.file.as_deref().unwrap_or(name)
    }

    pub(super) fn path(&self, name: &Path) -> PathBuf {
        self.folder.path_of(self.resolve_file_name(name))
    }

    pub(super) fn read(&self, name: &Path) -> Result<Option<Vec<u8>>, FileError> {
        self.folder
            .read(self.resolve_file_name(name), FILE_BYTES_MAX)
    }

    /// Returns the state of the file that will hold `content`.
    pub(super) fn target_state(
        &self,
        name: &Path,
        content: &[u8],
        known: &WrittenHashes,
    ) -> Result<TargetState, FileError> {
        let read = self
            .folder
            .read_with_fingerprint(self.resolve_file_name(name), FILE_BYTES_MAX)?;
        Ok(match read {
            None => TargetState::Due(None),
            Some((there, _)) if there == content => TargetState::Same,
            Some((there, stamp)) => {
                // A person edited it, and memory has imported that.
                let is_taken_in = || {
                    self.kind == ProjectionKind::Markdown
                        && known.has_name(name)
                        && is_same_note(&there, content)
                };
                if known.has_content_hash(name, &sha256_hex(&there)) || is_taken_in() {
                    TargetState::Due(Some(stamp))
                } else {
                    TargetState::Foreign(stamp)
                }
            }
        })
    }

    /// Writes a file if it is as `expected`, or still missing.
    pub(super) fn replace_file_if_unchanged(
        &self,
        name: &Path,
        content: &[u8],
        expected: Option<FileFingerprint>,
    ) -> Result<ChangeOutcome, FileError> {
        let name = self.resolve_file_name(name);
        if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.folder.open_or_create_folder(above)?;
        }
        self.folder.replace_if_unchanged(name, content, expected)
    }

    /// Removes a file that is unedited since it was written, and returns whether it did.
    pub(super) fn remove_own(&self, name: &Path, known: &WrittenHashes) -> Result<bool, FileError> {
        if !known.has_name(name) {
            return Ok(false);
        }
        match self.target_state(name, b"", known)? {
            TargetState::Due(Some(stamp)) => {
                let removed = self
                    .folder
                    .remove_if_unchanged(self.resolve_file_name(name), stamp)?;
                Ok(removed == ChangeOutcome::Applied)
            }
            _ => Ok(false),
        }
    }

    /// Lists the names of the regular files there.
    pub(super) fn list_names(&self) -> Result<Vec<PathBuf>, FileError> {
        if let Some(file) = &self.file {
            let found = self.folder.find_status(file)?;
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
            let files = inside
                .into_iter()
                .filter(|entry| entry.kind == FileKind::File);
            names.extend(files.map(|entry| Path::new(below).join(entry.name)));
        }
        Ok(names)
    }

    /// Refuses a folder that is not writable, and anything but a file under one of these names.
    pub(super) fn check_writable(&self, names: &[&str]) -> Result<(), ExportError> {
        self.folder.check_writable()?;
        for name in names {
            self.folder
                .find_file(self.resolve_file_name(name.as_ref()))?;
        }
        Ok(())
    }
}
