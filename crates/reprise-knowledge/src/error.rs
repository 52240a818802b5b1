//! Errors that end an import or export. A broken line is no error: it is reported with its place,
//! and the import continues.

use std::fmt::Display;

use crate::prelude::*;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error("the export cannot be written; check the folder, its rights and the room on the disk")]
    Io(#[from] std::io::Error),
    /// A file of a projection cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{what}` cannot be written in this form: {why}")]
    Unwritable {
        /// The file, or the record.
        what: String,
        why: String,
    },
    /// A projection would overwrite a file of another program.
    #[error(
        "`{}` was written by another program; import it and then let it be adopted, or name \
         another place", path.display()
    )]
    Others { path: PathBuf },
    /// A file of a projection was changed by somebody else.
    #[error(
        "`{}` was changed by somebody else since it was written{}; move it away, or write it anew \
         by `reprise doctor rebuild --adopt`", path.display(), format_more(*more)
    )]
    Changed {
        /// The first changed file.
        path: PathBuf,
        /// Number of other changed files.
        more: usize,
    },
    /// The path leads elsewhere than before, through a new link.
    #[error(
        "`{}` leads elsewhere than when it was last written, and nothing was written there; put it \
         back, or write there by `reprise doctor rebuild --adopt`", path.display()
    )]
    Elsewhere { path: PathBuf },
}

impl ExportError {
    /// Builds the error of a file or record that cannot be written.
    pub(crate) fn unwritable(what: impl Display, why: impl Display) -> Self {
        let (what, why) = (what.to_string(), why.to_string());
        Self::Unwritable { what, why }
    }
}

fn format_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(", and {more} others"),
    }
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The format of the source is not known.
    #[error(
        "the kind of `{}` is not known; name it with `--from KIND`, which is one of {known}", path.display()
    )]
    Unknown {
        /// What was to be imported.
        path: PathBuf,
        known: String,
    },
    /// The source has another format than the caller named.
    #[error("`{}` holds no {kind}: {why}", path.display())]
    NotOfKind {
        /// What was to be imported.
        path: PathBuf,
        /// The format that the caller named.
        kind: &'static str,
        why: String,
    },
    /// The source is an export that is not complete.
    #[error("`{}` cannot be imported: {why}; make the export again, nothing was kept",
            path.display())]
    Broken {
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The source is not a readable file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading failed.
    #[error("the source cannot be read; check that it is there and may be read")]
    Io(#[from] std::io::Error),
    /// The database cannot be read.
    #[error("`{}` cannot be read ({why}); close the program that uses it, or import a copy that \
             `sqlite3 FILE .recover` made", path.display())]
    Database { path: PathBuf, why: String },
    /// The receiver of the items stopped the import.
    #[error("the import was stopped before its end; run it again, what is kept stays once")]
    Stopped,
    /// The repository cannot be read.
    #[error("the repository at `{}` cannot be read ({why}); run `git fsck` there", path.display())]
    Git { path: PathBuf, why: String },
    /// The program that reads repositories is missing.
    #[error("the history of `{}` is read by the program `git`, which does not start ({source}); \
             install git, or add its folder to PATH", path.display())]
    NoGit {
        path: PathBuf,
        source: std::io::Error,
    },
}
