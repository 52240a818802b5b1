//! The error of a file that cannot be used: what is wrong with it, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::status::FileKind;

pub(crate) type FileResult<T, E = FileError> = Result<T, E>;

/// A file or folder that cannot be used. Each message names it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "`{}` is a symbolic link, or a folder on its path is one; replace the link by its target",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("`{}` is {found}, not {expected}; move it away", path.display())]
    Kind {
        path: PathBuf,
        found: FileKind,
        expected: FileKind,
    },
    #[error("`{}` has {got} bytes and may have {max}; move it away", path.display())]
    TooLarge { path: PathBuf, got: u64, max: u64 },
    /// A folder with more entries than are listed.
    #[error("`{}` has more than {max} entries; move some away", path.display())]
    TooMany { path: PathBuf, max: usize },
    /// A name that is absolute, empty, or has `..` in it.
    #[error("`{}` is not a plain name below its folder; name a file within it", path.display())]
    Name { path: PathBuf },
    #[error("`{}` has been locked by another process for long; end it, or try again", path.display())]
    Locked { path: PathBuf },
    /// All names that an unfinished file may have are in use.
    #[error("`{}` has been written by others for long; end them, or remove `{}`",
            path.display(), unfinished.display())]
    Busy { path: PathBuf, unfinished: PathBuf },
}

impl FileError {
    /// Whether there is nothing at the path, or a file where a folder on the path should be.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_missing(source))
    }

    /// Whether something exists at a name that had to be free.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::AlreadyExists,
            Self::Link { .. } | Self::Kind { .. } => true,
            _ => false,
        }
    }

    /// Returns the system's error alone, for a sentence that names the file itself.
    pub fn strip_path(error: io::Error) -> io::Error {
        match error.downcast::<Self>() {
            Ok(Self::Io { source, .. }) => source,
            Ok(other) => other.into(),
            Err(error) => error,
        }
    }

    pub(crate) fn from_io<E: Into<io::Error>>(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Returns a function that converts the system's error of opening a file.
    pub(crate) fn from_open(what: &'static str, path: &Path) -> impl FnOnce(Errno) -> Self {
        move |errno| match errno {
            Errno::LOOP => Self::Link {
                path: path.to_owned(),
            },
            // A pipe without a reader, or a socket.
            Errno::NXIO => Self::Kind {
                path: path.to_owned(),
                found: FileKind::Other,
                expected: FileKind::File,
            },
            Errno::ISDIR => Self::Kind {
                path: path.to_owned(),
                found: FileKind::Folder,
                expected: FileKind::File,
            },
            errno => Self::from_io(what, path)(errno),
        }
    }
}

/// Whether there is nothing at the path, as for [`FileError::is_missing`].
pub fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = match &error {
            FileError::Io { source, .. } => source.kind(),
            FileError::TooLarge { .. } | FileError::TooMany { .. } => io::ErrorKind::FileTooLarge,
            FileError::Busy { .. } | FileError::Locked { .. } => io::ErrorKind::ResourceBusy,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenMode, open_path};

    #[test]
    fn the_systems_word_names_no_file() {
        let path = Path::new("/nonexistent-reprise/file");
        let error = io::Error::from(open_path(path, OpenMode::Read).unwrap_err());
        assert!(error.to_string().contains("nonexistent-reprise"));
        let bare = FileError::strip_path(error);
        assert_eq!(bare.kind(), io::ErrorKind::NotFound);
        assert!(!bare.to_string().contains("nonexistent-reprise"), "{bare}");
        // Any other error keeps its sentence.
        let link = FileError::Link {
            path: path.to_owned(),
        };
        let bare = FileError::strip_path(link.into());
        assert!(bare.to_string().contains("symbolic link"), "{bare}");
    }
}
