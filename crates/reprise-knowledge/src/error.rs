//! Why an import could not begin or go on. What is wrong with one line is no error: it is told with
//! the line, and the rest goes on.

use std::path::PathBuf;

/// An import that cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Nothing that is known.
    #[error(
        "`{}` is of no kind that is known; say which by `--from KIND`, of {known}", path.display()
    )]
    Unknown {
        /// What was to be imported.
        path: PathBuf,
        /// The kinds.
        known: String,
    },
    /// Something else than was said.
    #[error("`{}` holds no {kind}: {why}", path.display())]
    NotOfKind {
        /// What was to be imported.
        path: PathBuf,
        /// What it was said to be.
        kind: &'static str,
        /// What is missing.
        why: String,
    },
    /// A file that cannot be read.
    #[error("the source cannot be read; check that it is there and may be read")]
    Io(#[from] std::io::Error),
    /// A database that cannot be read.
    #[error("`{}` cannot be read ({why}); close the program that uses it, or import a copy that \
             `sqlite3 FILE .recover` made", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// The one who takes the items wants no more.
    #[error("the import was stopped before its end; run it again, what is kept stays once")]
    Stopped,
    /// A repository that cannot be read.
    #[error("the repository at `{}` cannot be read ({why}); run `git fsck` there", path.display())]
    Git {
        /// The folder.
        path: PathBuf,
        /// What git says.
        why: String,
    },
}
