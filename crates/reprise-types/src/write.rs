//! The outcome of a write: not a bool, since a duplicate and a failure differ (G6).

use serde::{Deserialize, Serialize};

use crate::id::RecordId;

/// The outcome for one record. `Inserted` means on disk and findable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum WriteOutcome {
    Inserted {
        id: RecordId,
    },
    /// An earlier record has the same external id; nothing changed.
    Duplicate {
        of: RecordId,
    },
    /// Refused; nothing changed.
    Rejected {
        /// The reason.
        why: RejectReason,
    },
}

/// Why a record was refused: always something its sender can fix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum RejectReason {
    #[error("the text is empty; send what should be remembered")]
    EmptyText,
    /// A score outside its range.
    #[error("{field} is {value}, it must be between 0 and 1")]
    OutOfRange {
        field: String,
        /// What it held, as text (NaN has no JSON form).
        value: String,
    },
    /// The vector cannot be stored.
    #[error("{message}")]
    Vector { message: String },
    /// A field is larger than its limit.
    #[error("{field} has {got} bytes, the limit is {limit}")]
    TooLarge {
        field: String,
        got: usize,
        limit: usize,
    },
    /// More list items than a record carries.
    #[error("{field} has {got} items, the limit is {limit}")]
    TooMany {
        field: String,
        got: usize,
        limit: usize,
    },
    /// `supersedes` names a record that this store does not hold.
    #[error("it supersedes {id}, which this store does not hold")]
    UnknownSuperseded { id: RecordId },
}
