//! What requests and answers of the service hold that no operation of the store has by itself.

use chrono::{DateTime, Utc};
use reprise_global::{Fate, REPORTS_MAX, UsageReport};
use reprise_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines of the audit log that are told where nobody says how many.
pub(super) const LINES_DEFAULT: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rating {
    /// What a reader gives it: 0 is useless, 1 is just what was needed.
    #[schemars(range(min = 0, max = 1))]
    pub(super) rating: f32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcomes {
    #[schemars(length(max = REPORTS_MAX))]
    pub(super) reports: Vec<UsageReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Fates {
    /// What became of each report, in their order.
    pub(super) fates: Vec<Fate>,
}

/// A moment that has a name now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Moment {
    pub(super) name: String,
    pub(super) at: DateTime<Utc>,
}

/// It is done, and there is no more to say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Nothing {}

/// What an invitation gave: the token is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Joined {
    pub(super) token: String,
    pub(super) user: UserId,
    pub(super) org: Option<String>,
}
