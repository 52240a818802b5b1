//! What can go wrong, in sentences that say what to do next.

use std::path::{Path, PathBuf};

use reprise_files::FileError;
use reprise_workspace_types::{Actor, ActorError, PathError, RepoPath};

/// Why nothing was changed (but for [`WorkspaceError::Unfinished`]).
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A path that is none of the tree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A name that is nobody's.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// A rule says no.
    #[error(
        "`{actor}` may not {} `{path}` (rule {rule}): {why}",
        .act.replace("rollback", "roll back")
    )]
    Refused {
        rule: String,
        actor: String,
        act: &'static str,
        path: String,
        why: String,
    },
    /// The given content is not allowed at this path.
    #[error("`{path}` was refused (rule {rule}): {why}")]
    Invalid {
        rule: &'static str,
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A person is at work on the same file.
    #[error(
        "`{path}` in the working tree `{folder}` was left as it is: {what}; commit it or take it \
         back, then write again"
    )]
    Edited {
        /// The working tree's folder, by its name: an agent's branch has one of its own.
        folder: String,
        path: RepoPath,
        what: &'static str,
    },
    /// Two histories that a person has to bring together.
    #[error(
        "`{branch}` was not merged: {count} of its files contradict the branch merged into \
         ({first}); the report is at {report}"
    )]
    Conflict {
        branch: String,
        count: usize,
        /// The first of them.
        first: String,
        /// Where the report is, from the root of the workspace.
        report: String,
    },
    /// Somebody else holds what is needed, for longer than we wait.
    #[error("{what} is held by another process; let it end, then try again")]
    Busy { what: String },
    /// The branch moved again and again while we worked.
    #[error("`{branch}` kept moving under this change; try again")]
    Moved { branch: String },
    /// There is no workspace there.
    #[error("`{}` is no workspace; make one with `reprise workspace init`", dir.display())]
    NotAWorkspace {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The repository is in no state to commit to.
    #[error("the repository cannot be committed to: {why}")]
    Repository {
        /// What is so, and what to do.
        why: String,
    },
    /// Something that was named is not there.
    #[error("there is no {what} `{name}`; {hint}")]
    Unknown {
        what: &'static str,
        name: String,
        /// Where the existing ones are listed.
        hint: &'static str,
    },
    /// A rule or a schema of the project is itself wrong: until it is mended nothing is written.
    #[error("the project's `{path}` is not usable: {why}; mend it on a branch")]
    Rules { path: String, why: String },
    /// The change is committed, but the working tree is not complete.
    #[error(
        "{commit} is committed, but the working tree is not complete ({why}); free what is \
             missing and run `reprise workspace recover`"
    )]
    Unfinished { commit: String, why: String },
    /// A file is of a kind that may not be there.
    #[error(transparent)]
    File(FileError),
    /// An operation of the file system failed.
    #[error("{doing} `{}`: {cause}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// The system's word; in the sentence already, so no source besides.
        cause: std::io::Error,
    },
    /// An operation of git failed.
    #[error("git could not {doing}: {}", cause.message())]
    Git {
        doing: &'static str,
        /// The error of libgit2.
        cause: git2::Error,
    },
}

impl From<FileError> for WorkspaceError {
    fn from(error: FileError) -> Self {
        let (path, why) = match &error {
            FileError::Link { path } => (
                path,
                "it is a symbolic link, or one is on its path; put what it names in its place"
                    .to_owned(),
            ),
            FileError::Kind {
                path,
                found,
                expected,
            } => (path, format!("it is {found}, not {expected}; move it away")),
            _ => return Self::File(error),
        };
        invalid_error("no-links", &path.display().to_string(), why)
    }
}

/// Returns the error for a file that a person is editing in the working tree at `root`.
pub(crate) fn edited_error(root: &Path, path: RepoPath, what: &'static str) -> WorkspaceError {
    let folder = folder_name(root);
    WorkspaceError::Edited { folder, path, what }
}

/// Returns the error for a name that does not exist.
pub(crate) fn unknown_error(what: &'static str, name: &str, hint: &'static str) -> WorkspaceError {
    let name = name.to_owned();
    WorkspaceError::Unknown { what, name, hint }
}

/// Returns the name of a working tree's folder.
pub(crate) fn folder_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the error for content that is not allowed at a path.
pub(crate) fn invalid_error(
    rule: &'static str,
    path: &str,
    why: impl Into<String>,
) -> WorkspaceError {
    WorkspaceError::Invalid {
        rule,
        path: path.to_owned(),
        why: why.into(),
    }
}

/// Returns the error for something that an actor may not do.
pub(crate) fn refused_error(
    rule: impl Into<String>,
    actor: &Actor,
    act: &'static str,
    path: &str,
    why: impl Into<String>,
) -> WorkspaceError {
    WorkspaceError::Refused {
        rule: rule.into(),
        actor: actor.to_string(),
        act,
        path: path.to_owned(),
        why: why.into(),
    }
}

/// Turns git's `NotFound` into `None`.
pub(crate) fn allow_missing<T>(
    found: std::result::Result<T, git2::Error>,
    doing: &'static str,
) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(WorkspaceError::git(doing)(error)),
    }
}

/// A result with a [`WorkspaceError`].
pub type Result<T> = std::result::Result<T, WorkspaceError>;

impl WorkspaceError {
    /// Returns the name of the rule that refused, if one did.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Refused { rule, .. } => Some(rule),
            Self::Invalid { rule, .. } => Some(rule),
            Self::Path(_) => Some("path"),
            Self::Actor(_) => Some("actor"),
            Self::Edited { .. } => Some("uncommitted-edit"),
            Self::Conflict { .. } => Some("merge-conflict"),
            _ => None,
        }
    }

    /// Returns the rule, the act, the path and the reason for the audit trail, if a rule, a schema
    /// or the graph refused.
    pub(crate) fn refusal(&self) -> Option<(&str, &str, &str, &str)> {
        match self {
            Self::Refused {
                rule,
                act,
                path,
                why,
                ..
            } => Some((rule, act, path, why)),
            Self::Invalid { rule, path, why } => Some((rule, "change", path, why)),
            _ => None,
        }
    }

    /// Returns whether a retry may succeed, because the machine had no room or the disk failed.
    pub(crate) fn is_passing(&self) -> bool {
        use std::io::ErrorKind as Kind;
        let lasting = [
            Kind::NotFound,
            Kind::PermissionDenied,
            Kind::AlreadyExists,
            Kind::NotADirectory,
            Kind::IsADirectory,
            Kind::DirectoryNotEmpty,
            Kind::InvalidInput,
            Kind::InvalidFilename,
            Kind::CrossesDevices,
            Kind::TooManyLinks,
            Kind::InvalidData,
            Kind::NotSeekable,
        ];
        match self {
            // A loop of links has no kind of its own in stable Rust.
            Self::Io { cause, .. } => {
                let is_loop = cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
                !is_loop && !lasting.contains(&cause.kind())
            }
            Self::File(FileError::Io { source, .. }) => !lasting.contains(&source.kind()),
            Self::File(FileError::Busy { .. }) => true,
            Self::File(_) | Self::Invalid { .. } | Self::Path(_) => false,
            _ => true,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::Io {
            doing,
            path: path.to_owned(),
            cause: FileError::strip_path(cause),
        }
    }

    pub(crate) fn git(doing: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |cause| Self::Git { doing, cause }
    }

    pub(crate) fn repository(why: impl Into<String>) -> Self {
        Self::Repository { why: why.into() }
    }

    pub(crate) fn bare() -> Self {
        Self::repository("it is bare; work in a clone that has a working tree")
    }

    pub(crate) fn unborn_branch() -> Self {
        Self::repository("it has no commit yet; run `reprise workspace init`")
    }

    pub(crate) fn busy(what: impl Into<String>) -> Self {
        Self::Busy { what: what.into() }
    }
}
