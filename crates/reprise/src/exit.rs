//! Exit codes, the whole list: scripts rely on them.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    /// Some of what the caller gave was refused; the rest was done. Also: `check` found damage.
    Refused,
    /// The request as a whole could not be carried out.
    Failed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Refused => Self::from(1),
            Exit::Failed => Self::from(2),
        }
    }
}
