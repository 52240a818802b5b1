//! Why an import could not begin or go on. What is wrong with one line is no error: it is told with
//! the line, and the rest goes on.

use std::path::PathBuf;

/// An export that cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error("the export cannot be written; check the folder, its rights and the room on the disk")]
    Io(#[from] std::io::Error),
    #[error("`{what}` cannot be written in this form: {why}")]
    Unwritable {
        /// The file, or the record.
        what: String,
        why: String,
    },
    /// A projection would write over it.
    #[error(
        "`{}` was written by another program; import it and then let it be adopted, or name \
         another place", path.display()
    )]
    Others {
        /// The file.
        path: PathBuf,
    },
}

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
        known: String,
    },
    /// Something else than was said.
    #[error("`{}` holds no {kind}: {why}", path.display())]
    NotOfKind {
        /// What was to be imported.
        path: PathBuf,
        /// What it was said to be.
        kind: &'static str,
        why: String,
    },
    /// An export that is not whole.
    #[error("`{}` cannot be taken over: {why}; make the export again, nothing was kept",
            path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file that cannot be read.
    #[error("the source cannot be read; check that it is there and may be read")]
    Io(#[from] std::io::Error),
    /// A database that cannot be read.
    #[error("`{}` cannot be read ({why}); close the program that uses it, or import a copy that \
             `sqlite3 FILE .recover` made", path.display())]
    Database { path: PathBuf, why: String },
    /// The one who takes the items wants no more.
    #[error("the import was stopped before its end; run it again, what is kept stays once")]
    Stopped,
    /// A repository that cannot be read.
    #[error("the repository at `{}` cannot be read ({why}); run `git fsck` there", path.display())]
    Git { path: PathBuf, why: String },
}
