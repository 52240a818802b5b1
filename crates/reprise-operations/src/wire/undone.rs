//! The report of what was undone.

use reprise_types::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::external_id_of;

/// What an undoing changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenBack")]
pub struct UndoneReport {
    /// Records that answer again.
    pub restored: Vec<String>,
    /// Records that the action had made, which answer no more.
    pub withdrawn: Vec<String>,
    /// Pairs that were marked as contradictions; the newer no longer ranks above the older.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<[String; 2]>,
    /// Pairs of which both stayed; they wait for a decision again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejoined: Vec<[String; 2]>,
    /// Records as they were before their last change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverted: Vec<String>,
    /// What they say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Nothing was changed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
}

impl UndoneReport {
    /// Builds the report of a record whose last change was undone.
    pub(crate) fn reverted(record: &MemoryRecord) -> Self {
        Self {
            reverted: vec![external_id_of(record).unwrap_or_else(|| record.id.to_string())],
            ..Self::default()
        }
    }
}
