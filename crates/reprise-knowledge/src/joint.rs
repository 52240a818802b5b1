//! Connections by the names that records have elsewhere.

use reprise_types::ExternalId;

/// A connection of two records by the names they have in their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joint {
    pub from: ExternalId,
    pub to: ExternalId,
    pub relation: String,
}
