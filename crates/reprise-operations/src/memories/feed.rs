//! What changed: for listeners that keep a view up to date.

use reprise_types::{RecordId, UserId};
use serde::Serialize;
use serde_json::{Map, Value};

/// One change, after it is on disk. It names records; of their content it says what Sunwell's
/// programs are told of learnings, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    pub user: UserId,
    /// `inserted`, `updated`, `forgotten`, `consolidated`, `learned`, `memory_learning` or
    /// `memory_loaded`.
    pub what: &'static str,
    pub ids: Vec<RecordId>,
    /// Of `memory_learning` the learning and its fact, of `memory_loaded` what there is.
    #[serde(flatten)]
    pub event: Map<String, Value>,
}

impl Change {
    /// Whether a view of memory looks otherwise for it.
    pub(super) fn changes_records(&self) -> bool {
        self.event.is_empty()
    }
}
