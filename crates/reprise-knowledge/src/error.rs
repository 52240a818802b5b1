//! Why an import could not begin or go on. What is wrong with one line is no error: it is told with
//! the line, and the rest goes on.

use std::fmt::Display;

use crate::prelude::*;

/// An export that cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error("the export cannot be written; check the folder, its rights and the room on the disk")]
    Io(#[from] std::io::Error),
    /// A file of a projection that is no file of ours to write.
    #[error(transparent)]
    File(#[from] FileError),
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
    Others { path: PathBuf },
    /// A projection wrote it, and it says something else by now.
    #[error(
        "`{}` was changed by somebody else since it was written{}; move it away, or write it anew \
         by `reprise rebuild --adopt`", path.display(), and_others(*more)
    )]
    Changed {
        /// The first of them.
        path: PathBuf,
        /// How many there are besides.
        more: usize,
    },
    /// A link that was not there stands on the way to it.
    #[error(
        "`{}` leads elsewhere than when it was last written, and nothing was written there; put it \
         back, or write there by `reprise rebuild --adopt`", path.display()
    )]
    Elsewhere { path: PathBuf },
}

impl ExportError {
    /// Of a file or record.
    pub(crate) fn unwritable(what: impl Display, why: impl Display) -> Self {
        let (what, why) = (what.to_string(), why.to_string());
        Self::Unwritable { what, why }
    }
}

fn and_others(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(", and {more} others"),
    }
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
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something that is no file to be read.
    #[error(transparent)]
    File(#[from] FileError),
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
