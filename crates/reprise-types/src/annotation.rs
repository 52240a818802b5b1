//! Annotations of a stored record: its tags and its links to other records.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RecordId;
use crate::limits::IDENTIFIER_BYTES_MAX;

/// An annotation of an existing record. Records are identified by ordinal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Annotation {
    /// Replaces the record's tags.
    Tagged {
        /// Tags as normalized by [`normalize_tag`].
        tags: Vec<String>,
    },
    /// Adds a link to another record.
    Linked {
        /// The other record's ordinal.
        to: u32,
        /// The kind of relation, in one word, for example `related_to` or `caused_by`.
        relation: String,
    },
    /// Removes a link to another record.
    Unlinked {
        /// The other record's ordinal.
        to: u32,
        /// The relation of the link.
        relation: String,
    },
    /// The content of the record was sent again.
    Seen {
        /// How often it was sent by now, the first time included.
        count: u32,
    },
}

crate::impl_tagged_codec! {
    Annotation {
        16 => Tagged { tags },
        17 => Linked { to, relation },
        18 => Unlinked { to, relation },
        20 => Seen { count },
    }
}

impl Annotation {
    /// Returns the ordinal of the other record of a link; `None` for annotations without one.
    pub fn linked_ordinal(&self) -> Option<u32> {
        match self {
            Self::Tagged { .. } | Self::Seen { .. } => None,
            Self::Linked { to, .. } | Self::Unlinked { to, .. } => Some(*to),
        }
    }
}

/// How often the content of a record was sent, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Seen")]
pub struct SeenStats {
    /// How often it was sent, the first time included.
    pub seen_count: u32,
    pub last_seen: DateTime<Utc>,
}

/// A link, from the view of one of its two records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Link")]
pub struct RecordLink {
    /// The record at the other end.
    pub record: RecordId,
    /// The kind of relation.
    pub relation: String,
    /// Whether it leads from the queried record to the other.
    pub outgoing: bool,
    /// When the link was made.
    pub since: DateTime<Utc>,
}

/// A record that was reached over links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Related")]
pub struct RelatedRecord {
    /// The link by which it was reached first.
    pub link: RecordLink,
    /// Number of links between it and the queried record, at least 1.
    pub depth: usize,
    /// The record before it on the path.
    pub via: RecordId,
}

/// Returns the normal form of a tag: lower case, trimmed, a dash for each run of blanks, cut to the
/// limit of an identifier. `None` if nothing is left.
pub fn normalize_tag(tag: &str) -> Option<String> {
    let mut normal = String::with_capacity(tag.len());
    for word in tag.split_whitespace() {
        if !normal.is_empty() {
            normal.push('-');
        }
        normal.extend(word.chars().flat_map(char::to_lowercase));
    }
    normal.truncate(normal.floor_char_boundary(IDENTIFIER_BYTES_MAX));
    (!normal.is_empty()).then_some(normal)
}

/// Returns the normal forms of a list of tags, each once, in order of first appearance.
pub fn normalize_tags<T: AsRef<str>>(tags: &[T]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let normal = tags.iter().filter_map(|tag| normalize_tag(tag.as_ref()));
    normal.filter(|tag| seen.insert(tag.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_one_spelling() {
        for (tag, expected) in [
            ("Rust", Some("rust")),
            ("  Error   Handling ", Some("error-handling")),
            ("project:X", Some("project:x")),
            ("\u{c4}rger", Some("\u{e4}rger")),
            ("", None),
            (" \t\n", None),
        ] {
            assert_eq!(normalize_tag(tag).as_deref(), expected, "{tag:?}");
        }
        let long = "\u{e9}".repeat(IDENTIFIER_BYTES_MAX);
        assert!(normalize_tag(&long).is_some_and(|tag| tag.len() <= IDENTIFIER_BYTES_MAX));
    }

    #[test]
    fn a_list_holds_each_once() {
        assert_eq!(normalize_tags(&["B", "a", " b ", ""]), ["b", "a"]);
    }
}
