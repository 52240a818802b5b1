//! Problems of a connection to the daemon.

use std::io::ErrorKind;

use reprise_operations::{Problem, ProblemKind};

use crate::place::DaemonPaths;

/// Returns whether the error means that there is no socket, or one that a dead daemon left.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

pub(super) fn unreachable_problem(paths: &DaemonPaths, error: &std::io::Error) -> Problem {
    let socket = paths.socket();
    Problem::new(
        ProblemKind::Unavailable,
        format!(
            "no daemon answers at `{}` ({error}); run `reprise serve`",
            socket.display()
        ),
    )
}

pub(super) fn broken_connection_problem(error: impl std::fmt::Display) -> Problem {
    Problem::new(
        ProblemKind::Unavailable,
        format!("the connection to the daemon broke twice ({error}); try again"),
    )
}
