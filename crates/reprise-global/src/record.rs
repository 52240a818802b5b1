//! The published record, extended by what a reader must know before trusting it:
//! version, licence, checksum.

use std::fmt;

use chrono::{DateTime, Utc};
use reprise_types::limits::{IDENTIFIER_BYTES_MAX, TEXT_BYTES_MAX};
use reprise_types::{EmbeddingSpace, MemoryKind, RecordId, UserId, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::org::{OrgId, ProjectId};

/// Longest content, in bytes: every record can be published, also where the marks of what is taken
/// out of it are longer than that was.
pub(crate) const CONTENT_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;
/// Longest title, in bytes.
pub(crate) const TITLE_BYTES_MAX: usize = 320;
/// Longest summary, in bytes.
pub(crate) const SUMMARY_BYTES_MAX: usize = 2_000;

/// A line: no control characters. As a title it is not blank.
const A_LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
const A_TITLE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// One published thing, in one of its versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GlobalRecord {
    /// Its id, which all its versions share.
    pub id: RecordId,
    /// The unit vector of [`Publication::search_text`], made by the store; empty where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedding: Vec<f32>,
    /// The space of `embedding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_space: Option<EmbeddingSpace>,
    /// Who published it: the authenticated caller, whatever the text says. Of a pattern
    /// `anonymous`, but for its author.
    pub author_id: UserId,
    /// The organisation for which it was published, where its policy is [`AccessPolicy::Org`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org_id: Option<OrgId>,
    /// When this version was published.
    pub published_at: DateTime<Utc>,
    /// Counts from 1.
    pub version: Version,
    /// SHA-256 of the bytes that left, in hex.
    pub checksum: String,
    /// How it has served, over all versions.
    pub quality_metrics: QualityMetrics,
    #[serde(flatten)]
    pub publication: Publication,
}

/// Authors who must have published nearly the same before others can find a pattern.
pub const PATTERN_AUTHORS_MIN: usize = 5;

impl GlobalRecord {
    /// Whether it is a pattern of somebody else, who is not to be known by it.
    pub fn is_pattern_of_others(&self, reader: &UserId) -> bool {
        self.publication.content_type == GlobalContentType::Pattern && self.author_id != *reader
    }

    /// The record as this reader gets it: nothing in another's pattern says whose it is.
    #[must_use]
    pub fn anonymize_for_reader(mut self, reader: &UserId) -> Self {
        if self.is_pattern_of_others(reader) {
            self.author_id = UserId::anonymous();
            self.org_id = None;
            self.publication.project = None;
            self.publication.origin = self.id.to_string();
        }
        self
    }
}

/// What leaves a user's memory when something is published: these fields and no others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// An opaque name of what is published, the same for its later versions: a hash.
    #[schemars(length(min = 1, max = IDENTIFIER_BYTES_MAX), regex(pattern = A_LINE))]
    pub origin: String,
    pub content_type: GlobalContentType,
    #[schemars(length(max = TITLE_BYTES_MAX), regex(pattern = A_TITLE))]
    pub title: String,
    /// What a person reads to decide.
    #[schemars(length(max = SUMMARY_BYTES_MAX), regex(pattern = r"^[^\x00]*$"))]
    pub summary: String,
    #[schemars(length(max = CONTENT_BYTES_MAX), regex(pattern = r"^[^\x00]*[^\s\x00][^\x00]*$"))]
    pub content: String,
    #[serde(default)]
    #[schemars(inner(length(max = IDENTIFIER_BYTES_MAX), regex(pattern = A_LINE)))]
    pub tags: Vec<String>,
    /// Who may use it.
    pub access_policy: AccessPolicy,
    /// The project of the author's organisation whose members alone may use it, instead of all
    /// members; only with the policy `org`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Under which terms, as SPDX says it; empty where the author did not say.
    #[serde(default)]
    #[schemars(length(max = IDENTIFIER_BYTES_MAX), regex(pattern = A_LINE))]
    pub licence: String,
}

impl Publication {
    /// The exact bytes that leave, as JSON.
    pub fn to_json_bytes(&self) -> Vec<u8> {
        // Strings and lists of strings: nothing in it can fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// SHA-256 of [`Self::bytes`], in hex.
    pub fn checksum(&self) -> String {
        sha256_hex(&self.to_json_bytes())
    }

    /// Returns the SHA-256 of the words of its content, in hex: whatever their spacing, the same
    /// content has the same.
    pub fn content_sha256(&self) -> String {
        let words: Vec<&str> = self.content.split_whitespace().collect();
        sha256_hex(words.join(" ").as_bytes())
    }

    /// What it is found by: title and content, each once.
    pub fn search_text(&self) -> String {
        if self.content.trim_start().starts_with(self.title.trim()) {
            return self.content.clone();
        }
        format!("{}\n\n{}", self.title, self.content)
    }
}

/// What can be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GlobalContentType {
    /// A living document or a report.
    #[default]
    Document,
    /// An agent's configuration with its skills.
    Agent,
    App,
    /// A learned pattern: told to others from [`PATTERN_AUTHORS_MIN`] authors on, and never whose
    /// it is.
    Pattern,
}

impl GlobalContentType {
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Agent => "agent",
            Self::App => "app",
            Self::Pattern => "pattern",
        }
    }

    /// What it is in a memory.
    pub fn kind(self) -> MemoryKind {
        match self {
            Self::Document => MemoryKind::Finding,
            Self::Agent | Self::App => MemoryKind::Strategy,
            Self::Pattern => MemoryKind::Pattern,
        }
    }
}

/// Who may use what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessPolicy {
    /// Every user.
    #[default]
    Public,
    /// The members of the author's organisation, or of the project that is named.
    Org,
    /// Users of the paid tier. Reprise bills nobody: the operator of the store says who they are.
    Paid,
}

impl AccessPolicy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Org => "org",
            Self::Paid => "paid",
        }
    }
}

/// Number of a version, from 1; a text on the wire.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^[1-9][0-9]{0,8}$"))]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.0.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.parse::<u32>().ok().filter(|number| *number > 0);
        number
            .map(Self)
            .ok_or_else(|| format!("`{text:.16}` is no version; versions count from 1"))
    }
}

/// How a published thing has served, counted from several users on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualityMetrics {
    /// How runs that used it went, 0..1; 0.5 while too few users have said.
    pub avg_trajectory_score: f32,
    /// How often it was retrieved, of each user ten times at most; 0 while too few users have.
    pub usage_count: u64,
    /// What readers gave it, 0..1.
    pub user_rating: Option<f32>,
}

impl Default for QualityMetrics {
    fn default() -> Self {
        Self {
            avg_trajectory_score: Self::UNKNOWN,
            usage_count: 0,
            user_rating: None,
        }
    }
}

impl QualityMetrics {
    /// What a thing counts for that nobody has used.
    pub const UNKNOWN: f32 = 0.5;

    /// One number, 0..1: how runs went; where there are ratings too, they count a third.
    pub fn quality(&self) -> f32 {
        match self.user_rating {
            Some(rating) => (2.0 * self.avg_trajectory_score + rating) / 3.0,
            None => self.avg_trajectory_score,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_text_on_the_wire_and_counts_from_one() {
        assert_eq!(serde_json::to_string(&Version(7)).unwrap(), "\"7\"");
        assert_eq!(
            serde_json::from_str::<Version>("\"12\"").unwrap(),
            Version(12)
        );
        for wrong in ["\"0\"", "\"-1\"", "\"one\"", "1"] {
            assert!(serde_json::from_str::<Version>(wrong).is_err(), "{wrong}");
        }
    }
}
