//! What a face answers when it cannot do what was asked: one sentence, and who must act.
//!
//! The kinds, their HTTP statuses, the way from memory's errors.

use reprise_engine::EngineError;
use reprise_types::{ErrorKind, MemoryError};
use reprise_workspace::WorkspaceError;
use serde::{Deserialize, Serialize};

/// Why something was not done. `Display` is the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    pub kind: ProblemKind,
    /// What happened, to what, what to do next.
    pub detail: String,
    /// The rule of a governed workspace that refused.
    pub rule: Option<String>,
}

macro_rules! problem_kinds {
    ($($(#[$doc:meta])* $kind:ident = $status:literal, $slug:literal, $title:literal;)*) => {
        /// The kinds of problem, each with its HTTP status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemKind { $($(#[$doc])* $kind,)* }

        impl ProblemKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            pub fn status(self) -> u16 {
                match self { $(Self::$kind => $status,)* }
            }

            /// The name on the wire: the end of the problem's `type`.
            pub fn slug(self) -> &'static str {
                match self { $(Self::$kind => $slug,)* }
            }

            /// The title on the wire.
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }
        }
    };
}

problem_kinds! {
    /// The request cannot be understood or asks for what cannot be.
    Invalid = 400, "invalid", "The request is not valid";
    /// No token, or one that is not known.
    Unauthorized = 401, "unauthorized", "A token is needed";
    /// A known caller, who may not do this.
    Forbidden = 403, "forbidden", "Not allowed";
    /// No such record, route or user.
    NotFound = 404, "not-found", "There is no such thing";
    /// Not with this method.
    Method = 405, "method", "The route has other methods";
    /// The rest of the request did not come.
    BodyLate = 408, "body-late", "The body was late";
    /// What was asked contradicts what stands.
    Conflict = 409, "conflict", "It contradicts what stands";
    /// More bytes than are read.
    TooLarge = 413, "too-large", "The request is too large";
    Overloaded = 429, "overloaded", "Too much is under way";
    /// A defect, or a damaged store.
    Internal = 500, "internal", "Memory failed";
    /// Not running, or ending.
    Unavailable = 503, "unavailable", "Memory is not running";
    /// No answer in time.
    TimedOut = 504, "timed-out", "Memory was late";
}

const TYPE_PREFIX: &str = "urn:reprise:problem:";

/// The form on the wire (RFC 9457).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProblemBody {
    /// The kind, as a URN.
    #[serde(rename = "type")]
    pub urn: String,
    /// The kind, for a reader.
    #[serde(default)]
    pub title: String,
    pub status: u16,
    #[serde(default)]
    pub detail: String,
    /// The rule of a governed workspace that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            rule: None,
        }
    }

    /// The same, refused by this rule; its sentence names it.
    pub(crate) fn under(self, rule: &str) -> Self {
        let mut detail = self.detail;
        if !detail.contains(&format!("(rule {rule})")) {
            detail = format!("{detail} (rule {rule})");
        }
        Self {
            detail,
            rule: Some(rule.to_owned()),
            ..self
        }
    }

    /// The request is at fault.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it stands in `map_err`, which hands over the error"
    )]
    pub fn invalid(detail: impl ToString) -> Self {
        Self::new(ProblemKind::Invalid, detail.to_string())
    }

    /// What is asked contradicts itself, or what stands.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Conflict, detail)
    }

    /// There is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotFound, detail)
    }

    /// Memory failed, as `error` says. The log has the sentence as it is; whoever asked gets it
    /// without the paths of this machine.
    pub fn failed(kind: ProblemKind, error: &impl std::fmt::Display) -> Self {
        let whole = error.to_string();
        let said = without_paths(&whole);
        if said != whole {
            tracing::error!(error = whole, "memory failed");
        }
        Self::new(kind, said)
    }

    /// Whether the same request may succeed a moment later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::Overloaded | ProblemKind::Unavailable | ProblemKind::TimedOut
        )
    }

    /// Its form on the wire.
    pub fn body(&self) -> ProblemBody {
        ProblemBody {
            urn: format!("{TYPE_PREFIX}{}", self.kind.slug()),
            title: self.kind.title().to_owned(),
            status: self.kind.status(),
            detail: self.detail.clone(),
            rule: self.rule.clone(),
        }
    }

    pub fn from_answer(status: u16, body: &[u8]) -> Self {
        let said: Option<ProblemBody> = serde_json::from_slice(body).ok();
        let status = said.as_ref().map_or(status, |said| said.status);
        let mut kinds = ProblemKind::ALL.iter().copied();
        let kind = kinds.find(|kind| kind.status() == status);
        let kind = kind.unwrap_or(ProblemKind::Internal);
        let (detail, rule) = said.map_or_else(
            || (format!("the daemon answered with status {status}"), None),
            |said| (said.detail, said.rule),
        );
        Self { kind, detail, rule }
    }
}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        let kind = match &error {
            MemoryError::Overloaded { .. } | MemoryError::WritesFull { .. } => {
                ProblemKind::Overloaded
            }
            MemoryError::TimedOut { .. } => ProblemKind::TimedOut,
            MemoryError::Unavailable { .. } => ProblemKind::Unavailable,
            MemoryError::Invalid { .. } => ProblemKind::Invalid,
            _ => ProblemKind::Internal,
        };
        Self::failed(kind, &error)
    }
}

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        let kind = match &error {
            WorkspaceError::Refused { .. } => ProblemKind::Forbidden,
            WorkspaceError::Path(_)
            | WorkspaceError::Actor(_)
            | WorkspaceError::Invalid { .. }
            | WorkspaceError::Rules { .. } => ProblemKind::Invalid,
            WorkspaceError::Edited { .. }
            | WorkspaceError::Conflict { .. }
            | WorkspaceError::Moved { .. }
            | WorkspaceError::Repository { .. } => ProblemKind::Conflict,
            WorkspaceError::Busy { .. } => ProblemKind::Unavailable,
            WorkspaceError::NotAWorkspace { .. } | WorkspaceError::Unknown { .. } => {
                ProblemKind::NotFound
            }
            _ => ProblemKind::Internal,
        };
        let problem = Self::failed(kind, &error);
        match error.rule() {
            Some(rule) => problem.under(rule),
            None => problem,
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Caller => ProblemKind::Invalid,
            ErrorKind::Retry => ProblemKind::Unavailable,
            _ => ProblemKind::Internal,
        };
        Self::failed(kind, &error)
    }
}

/// A sentence with each absolute path cut to its last part. One in quotes may have blanks.
fn without_paths(said: &str) -> String {
    let mut kept = String::with_capacity(said.len());
    let mut rest = said;
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let quoted = matches!(before, '`' | '\'' | '"');
        let begins = next == '/' && (quoted || before.is_whitespace() || before == '(');
        let length = if begins {
            let ends = |c: char| {
                c == before || !quoted && (c.is_whitespace() || matches!(c, ',' | ';' | ':' | ')'))
            };
            rest.find(ends).unwrap_or(rest.len())
        } else {
            next.len_utf8()
        };
        let (part, after) = rest.split_at(length);
        kept.push_str(if begins {
            part.rsplit('/').next().unwrap_or_default()
        } else {
            part
        });
        (rest, before) = (after, next);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_survives_the_wire() {
        for kind in ProblemKind::ALL {
            let problem = Problem::new(*kind, "the shelf is full; wait");
            let body = serde_json::to_vec(&problem.body()).unwrap();
            assert_eq!(Problem::from_answer(599, &body), problem);
            let ruled = problem.under("core-prd");
            assert!(ruled.detail.ends_with("; wait (rule core-prd)"));
            let body = serde_json::to_vec(&ruled.body()).unwrap();
            assert_eq!(Problem::from_answer(599, &body), ruled);
        }
        assert_eq!(
            without_paths(
                "the folder /var/lib/x/ada cannot be made (see /a/b.log), `/my data/m.rvf` is \
                 damaged: 1/2 of text/plain, http://host/x"
            ),
            "the folder ada cannot be made (see b.log), `m.rvf` is damaged: 1/2 of text/plain, \
             http://host/x"
        );
        let foreign = Problem::from_answer(502, b"<html>");
        assert_eq!(foreign.kind, ProblemKind::Internal);
    }
}
