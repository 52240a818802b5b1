//! What became of a publication.

use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Version;

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Under which id it is found.
    pub id: RecordId,
    pub version: Version,
    /// Bytes that left.
    pub bytes: usize,
    /// Its bytes were published before.
    pub unchanged: bool,
    /// Published things that say nearly the same, the nearest first.
    pub overlaps: Vec<Overlap>,
    /// Its author alone finds it until a reviewer has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_review: bool,
}

/// A published thing that is near to a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overlap {
    pub id: RecordId,
    pub title: String,
    /// Cosine of the two, -1..1.
    pub similarity: f32,
}
