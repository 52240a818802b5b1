//! What changed: for listeners that keep a view up to date.

use reprise_types::{RecordId, UserId};
use serde::Serialize;

/// One change, after it is on disk. It names records and says nothing of their content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    pub user: UserId,
    /// `inserted`, `updated`, `forgotten` or `learned`.
    pub what: &'static str,
    pub ids: Vec<RecordId>,
}
