//! The audit log of published knowledge.

use chrono::{DateTime, Utc};
use reprise_types::{RecordId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Shelf;
use crate::org::OrgId;

/// A line of the audit log: it holds no published text, and names no reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    pub at: DateTime<Utc>,
    /// Who did it; empty where that is not known.
    pub who: String,
    /// `publish`, `unpublish`, `snapshot`, `branch`, `merge`, `drop`, `take_down`, `put_back` or
    /// `erase`; of a service also `submit`, `approve`, `refuse`, `settings` (reviews), `grant`,
    /// `revoke` and what else is done with a token, `quota`.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The version published; of what was taken back, how many there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The shelf, or the name of a snapshot, branch or token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose the token, or the thing that was taken down, is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<UserId>,
    /// Why an operator did it, and the SHA-256 of what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl AuditLine {
    /// A line that says who did what, and nothing more yet.
    pub fn new(at: DateTime<Utc>, who: impl Into<String>, what: &str) -> Self {
        Self {
            at,
            who: who.into(),
            what: what.to_owned(),
            ..Self::default()
        }
    }
}

/// Which lines the operators of an organisation are told: those that name no other's shelf. A store
/// that filters by itself asks with these words, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Beginnings of the names of shelves that belong to an organisation.
    pub owned: [&'static str; 2],
    /// The shelf of the operators' organisation.
    pub own: Option<String>,
    /// The beginning of the names of the shelves of its projects.
    pub own_projects: Option<String>,
}

impl AuditFilter {
    pub fn new(org: Option<&OrgId>) -> Self {
        Self {
            owned: ["org:", "project:"],
            own: org.map(|org| Shelf::Org(org.clone()).to_string()),
            own_projects: org.map(|org| format!("project:{org}/")),
        }
    }

    /// Returns whether a line is told.
    pub fn admits(&self, line: &AuditLine) -> bool {
        let name = line.name.as_deref().unwrap_or_default();
        let begins_as = |own: &String| name.starts_with(own.as_str());
        !self.owned.iter().any(|kind| name.starts_with(kind))
            || self.own.as_deref() == Some(name)
            || self.own_projects.as_ref().is_some_and(begins_as)
    }
}

/// Most lines of the audit log that are told at once.
pub const AUDIT_MAX: usize = 10_000;
