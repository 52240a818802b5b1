//! Annotations of a stored record: its tags and its links to other records.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RecordId;
use crate::limits::IDENTIFIER_BYTES_MAX;

/// An annotation of an existing record. Records are named by ordinal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Annotation {
    /// Replaces the record's tags.
    Tagged {
        /// Tags as normalised by [`normal_tag`].
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
    /// Somebody said the same again (C5).
    Seen {
        /// How often it has been said by now, the first time included.
        count: u32,
    },
}

crate::wire_kinds! {
    Annotation {
        16 => Tagged { tags },
        17 => Linked { to, relation },
        18 => Unlinked { to, relation },
        20 => Seen { count },
    }
}

impl Annotation {
    /// The other record of a link; `None` for what names none.
    pub fn other(&self) -> Option<u32> {
        match self {
            Self::Tagged { .. } | Self::Seen { .. } => None,
            Self::Linked { to, .. } | Self::Unlinked { to, .. } => Some(*to),
        }
    }
}

/// How often a record was said, and when last (C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The first time included.
    pub seen_count: u32,
    pub last_seen: DateTime<Utc>,
}

/// A link as seen from one of its two records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The record at the other end.
    pub record: RecordId,
    /// The kind of relation.
    pub relation: String,
    /// Whether it leads from the queried record to the other.
    pub outgoing: bool,
    /// When the link was made.
    pub since: DateTime<Utc>,
}

/// A record reached over links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    /// The link over which it was reached first.
    pub link: Link,
    /// Number of links between it and the queried record, at least 1.
    pub depth: usize,
    /// The record before it on the path.
    pub via: RecordId,
}

/// The normal form of a tag: lower case, trimmed, a dash for each run of blanks; cut to the limit
/// of an identifier. `None` where nothing is left.
pub fn normal_tag(tag: &str) -> Option<String> {
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

/// The normal forms of a list of tags, each once, in order of first appearance.
pub fn normal_tags<T: AsRef<str>>(tags: &[T]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let normal = tags.iter().filter_map(|tag| normal_tag(tag.as_ref()));
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
            assert_eq!(normal_tag(tag).as_deref(), expected, "{tag:?}");
        }
        let long = "\u{e9}".repeat(IDENTIFIER_BYTES_MAX);
        assert!(normal_tag(&long).is_some_and(|tag| tag.len() <= IDENTIFIER_BYTES_MAX));
    }

    #[test]
    fn a_list_holds_each_once() {
        assert_eq!(normal_tags(&["B", "a", " b ", ""]), ["b", "a"]);
    }
}
