//! Why a global store did not do what was asked: one sentence, and who must act.

use std::borrow::Cow;

use reprise_engine::EngineError;
use reprise_files::FileError;
use reprise_types::{ErrorKind, RecordId};
use serde::{Deserialize, Serialize};

/// What an operation gives, or why not.
pub type GlobalResult<T, E = GlobalError> = Result<T, E>;

/// A failure of one operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum GlobalError {
    /// There is none that this caller may see; whether there is another is not said.
    #[error(
        "nothing published has the id {id} for you; `reprise share list` lists what is yours, a \
         recall with --scope global finds others'"
    )]
    NotFound { id: RecordId },
    /// Only its author may.
    #[error("{id} was published by somebody else; only its author may {what} it")]
    NotAuthor {
        id: RecordId,
        /// What was to be done.
        what: Cow<'static, str>,
    },
    /// An author's own word does not count.
    #[error("{id} is yours; others say how it served them")]
    OwnWork { id: RecordId },
    /// Published to an organisation without one.
    #[error(
        "user `{user}` is in no organisation, so there is nobody to publish it to; publish with \
         --policy public, or name the organisation in the configuration or the token"
    )]
    NoOrganisation { user: String },
    /// Published to a project whose member its author is not; whether there is one is not said.
    #[error(
        "user `{user}` is in no project `{project}`, so it is not published there; `reprise share \
         projects` lists yours, and an operator adds one to a token (`token add --project`)"
    )]
    NoProject { user: String, project: String },
    /// A new version for other readers.
    #[error(
        "{id} was published as {was}; a version cannot change who may see the earlier ones: \
         unpublish it and publish it anew"
    )]
    PolicyChanged { id: RecordId, was: String },
    /// A field that cannot be.
    #[error("{message}")]
    Invalid {
        /// What is wrong with it, and what to do.
        message: String,
    },
    /// The request contradicts what is stored.
    #[error("{message}")]
    Conflict {
        /// What it contradicts, and what to do.
        message: String,
    },
    /// Nothing of that name.
    #[error("there is no snapshot `{name}`; `reprise global snapshot {name}` makes one")]
    NoSnapshot { name: String },
    /// The caller has none of that name; whether somebody else has is not said.
    #[error("you have no branch `{name}`; `reprise global branch add {name}` opens one")]
    NoBranch { name: String },
    /// What a thing of a branch is to replace is another one by now.
    #[error(
        "{id} is not what it was when it was published on branch `{branch}` (version {was} then, \
         {now} now), so nothing was merged; publish it on the branch again, or drop the branch"
    )]
    BranchMoved {
        id: RecordId,
        branch: String,
        /// 0 where there was none.
        was: u32,
        now: u32,
    },
    /// An operator took it down, and it is not back.
    #[error(
        "{id} was taken down by an operator ({reason}), so it is not published again; ask the \
         operator to put it back first"
    )]
    TakenDown { id: RecordId, reason: String },
    /// A user or an organisation has as much as it may.
    #[error("{message}")]
    Quota {
        /// Of what, and what to do.
        message: String,
    },
    /// Its service does not know who asks: there is no token, or it was refused.
    #[error("{message}")]
    Token {
        /// Which, and what to do.
        message: String,
    },
    /// Somebody else writes, or too many do.
    #[error("the global store is busy ({message}); try again in a moment")]
    Busy { message: String },
    /// It does not answer.
    #[error("the global store does not answer ({message}); see that it runs, then try again")]
    Unavailable { message: String },
    /// It answers, and cannot do it.
    #[error("{message}")]
    Storage {
        /// Its own sentence.
        message: String,
    },
}

/// Converts failures of the disk and of the engine, in their own words.
macro_rules! storage_error_from {
    ($($error:ty),+) => {$(
        impl From<$error> for GlobalError {
            fn from(error: $error) -> Self {
                Self::storage(&error)
            }
        }
    )+};
}

storage_error_from!(EngineError, FileError, std::io::Error, serde_json::Error);

impl GlobalError {
    /// Who must act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. } | Self::Unavailable { .. } => ErrorKind::Retry,
            Self::Storage { .. } => ErrorKind::Operator,
            _ => ErrorKind::Caller,
        }
    }

    pub fn storage(error: &impl std::fmt::Display) -> Self {
        let message = error.to_string();
        Self::Storage { message }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` hands over the error"
)]
impl GlobalError {
    /// A field that cannot be, with what to do.
    pub fn invalid(message: impl ToString) -> Self {
        let message = message.to_string();
        Self::Invalid { message }
    }

    /// Somebody else writes, or too many do.
    pub fn busy(message: impl ToString) -> Self {
        let message = message.to_string();
        Self::Busy { message }
    }

    /// What only a service with a database has; this store is in a folder.
    pub(crate) fn needs_database(what: &str) -> Self {
        let message = format!(
            "a store in a folder has no {what}; a service with PostgreSQL has them (`reprise global \
             serve --database-url`)"
        );
        Self::Conflict { message }
    }

    /// It does not answer, for this reason.
    pub fn unavailable(message: impl ToString) -> Self {
        let message = message.to_string();
        Self::Unavailable { message }
    }
}
