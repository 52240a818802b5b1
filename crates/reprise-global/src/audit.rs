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

impl AuditLine {
    /// Says whether operators of this organisation are told it: it names no other's shelf.
    pub fn is_told_to(&self, org: Option<&OrgId>) -> bool {
        let named = self.name.as_deref().unwrap_or_default();
        if !ORG_SHELVES.iter().any(|kind| named.starts_with(kind)) {
            return true;
        }
        let owner = Shelf::parse_organisation(named).map(|(owner, _)| owner);
        owner.is_some() && owner.as_ref() == org
    }
}

/// Beginnings of the names of shelves that belong to an organisation.
const ORG_SHELVES: [&str; 2] = ["org:", "project:"];

/// Most lines of the audit log that are told at once.
pub const AUDIT_MAX: usize = 10_000;
