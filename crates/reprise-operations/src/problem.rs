//! What a face answers when it cannot do what was asked: one sentence, and who must act.
//!
//! The kinds, their HTTP statuses, the way from memory's errors.

use reprise_engine::EngineError;
use reprise_types::{ErrorKind, MemoryError};
use serde::{Deserialize, Serialize};

/// Why something was not done. `Display` is the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    pub kind: ProblemKind,
    /// What happened, to what, what to do next.
    pub detail: String,
    /// The rule that refused, where one did.
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
    /// The request contradicts what is stored.
    Conflict = 409, "conflict", "It contradicts what is stored";
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
    /// The rule that refused, where one did.
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

    /// Adds the rule that refused the request, and names it in the sentence.
    #[must_use]
    pub fn with_rule(self, rule: &str) -> Self {
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
        reason = "`map_err` passes the error by value"
    )]
    pub fn invalid(detail: impl ToString) -> Self {
        Self::new(ProblemKind::Invalid, detail.to_string())
    }

    /// Builds the problem of a request that contradicts itself or what is stored.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Conflict, detail)
    }

    /// There is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotFound, detail)
    }

    /// Builds the problem of a failed memory. The log gets the sentence of `error` unchanged; the
    /// caller gets it without the paths of this machine.
    pub fn from_failure(kind: ProblemKind, error: &impl std::fmt::Display) -> Self {
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
    pub fn to_body(&self) -> ProblemBody {
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
            MemoryError::Unavailable { .. } | MemoryError::StorageBusy { .. } => {
                ProblemKind::Unavailable
            }
            MemoryError::Invalid { .. } => ProblemKind::Invalid,
            _ => ProblemKind::Internal,
        };
        Self::from_failure(kind, &error)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Caller => ProblemKind::Invalid,
            ErrorKind::Retry => ProblemKind::Unavailable,
            _ => ProblemKind::Internal,
        };
        Self::from_failure(kind, &error)
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
            let body = serde_json::to_vec(&problem.to_body()).unwrap();
            assert_eq!(Problem::from_answer(599, &body), problem);
            let ruled = problem.with_rule("core-prd");
            assert!(ruled.detail.ends_with("; wait (rule core-prd)"));
            let body = serde_json::to_vec(&ruled.to_body()).unwrap();
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
