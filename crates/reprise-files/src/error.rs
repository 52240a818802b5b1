//! What was wrong with a file, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::found::Kind;

pub(crate) type Result<T, E = FileError> = std::result::Result<T, E>;

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
        "`{}` is a symbolic link, or one stands on the way to it; put what it names in its place",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("`{}` is {found}, not {expected}; move it away", path.display())]
    Kind {
        path: PathBuf,
        found: Kind,
        expected: Kind,
    },
    #[error("`{}` has {got} bytes and may have {max}; move it away", path.display())]
    TooLarge { path: PathBuf, got: u64, max: u64 },
    /// A folder of which only some names would be seen.
    #[error("`{}` has more than {max} entries; move some away", path.display())]
    TooMany { path: PathBuf, max: usize },
    /// Absolute, empty, or with `..` in it.
    #[error("`{}` is no plain name below its folder; name a file within it", path.display())]
    Name { path: PathBuf },
    #[error("`{}` is held by another process for long; end it, or try again", path.display())]
    Locked { path: PathBuf },
    /// Every name that an unfinished file may have is taken.
    #[error("`{}` is being written by others for long; end them, or remove `{}`",
            path.display(), beside.display())]
    Busy { path: PathBuf, beside: PathBuf },
}

impl FileError {
    /// Whether nothing stands there, or a file where a folder on the way should be.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_missing(source))
    }

    /// Whether something stands at a name that was to be free.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::AlreadyExists,
            Self::Link { .. } | Self::Kind { .. } => true,
            _ => false,
        }
    }

    /// The system's word alone, for a sentence that names the file itself.
    pub fn bare(error: io::Error) -> io::Error {
        match error.downcast::<Self>() {
            Ok(Self::Io { source, .. }) => source,
            Ok(other) => other.into(),
            Err(error) => error,
        }
    }

    pub(crate) fn io<E: Into<io::Error>>(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// What the system says when it opens a file.
    pub(crate) fn open(what: &'static str, path: &Path) -> impl FnOnce(Errno) -> Self {
        move |errno| match errno {
            Errno::LOOP => Self::Link {
                path: path.to_owned(),
            },
            // A pipe without a reader, or a socket.
            Errno::NXIO => Self::Kind {
                path: path.to_owned(),
                found: Kind::Other,
                expected: Kind::File,
            },
            Errno::ISDIR => Self::Kind {
                path: path.to_owned(),
                found: Kind::Folder,
                expected: Kind::File,
            },
            errno => Self::io(what, path)(errno),
        }
    }
}

/// Whether nothing stands there, as [`FileError::is_missing`].
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
    use crate::{Access, open_path};

    #[test]
    fn the_systems_word_names_no_file() {
        let path = Path::new("/nonexistent-reprise/file");
        let error = io::Error::from(open_path(path, Access::Read).unwrap_err());
        assert!(error.to_string().contains("nonexistent-reprise"));
        let bare = FileError::bare(error);
        assert_eq!(bare.kind(), io::ErrorKind::NotFound);
        assert!(!bare.to_string().contains("nonexistent-reprise"), "{bare}");
        // Of anything else the sentence stays.
        let link = FileError::Link {
            path: path.to_owned(),
        };
        let bare = FileError::bare(link.into());
        assert!(bare.to_string().contains("symbolic link"), "{bare}");
    }
}
