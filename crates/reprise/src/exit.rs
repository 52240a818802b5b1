//! Exit codes, the whole list from 0 on: scripts rely on them.

use std::process::ExitCode;

use reprise_operations::{Problem, ProblemKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// Some of what the caller gave was refused; the rest was done. Also: `check` found damage.
    Refused,
    /// The request as a whole could not be carried out.
    Failed,
    /// The daemon of another machine cannot be reached,
    Unreachable,
    /// does not know the token,
    Unknown,
    /// does not let it into this memory, or is not the one that was there before,
    Forbidden,
    /// or is of another version.
    OtherVersion,
}

impl Exit {
    /// Of a command that failed; `is_away`: its memory is on another machine.
    pub(crate) fn of(error: &anyhow::Error, is_away: bool) -> Self {
        let problem = error.downcast_ref::<Problem>().filter(|_| is_away);
        match problem.map(|problem| problem.kind) {
            Some(ProblemKind::Unavailable | ProblemKind::TimedOut) => Self::Unreachable,
            Some(ProblemKind::Unauthorized) => Self::Unknown,
            Some(ProblemKind::Forbidden) => Self::Forbidden,
            Some(ProblemKind::Method) => Self::OtherVersion,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
