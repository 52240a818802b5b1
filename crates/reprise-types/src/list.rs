//! Listing records without a query: pages, newest first or oldest first.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::filter::MemoryFilter;
use crate::id::{ID_PATTERN, RecordId};
use crate::limits::PAGE_DEFAULT;
use crate::record::MemoryRecord;

/// A request for one page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRequest {
    /// Which records are listed.
    pub filter: MemoryFilter,
    /// Most records of the page.
    pub limit: usize,
    /// The position at which the previous page ended; `None` for the first page.
    pub after: Option<Cursor>,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self {
            filter: MemoryFilter::default(),
            limit: PAGE_DEFAULT,
            after: None,
        }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// The latest record comes first.
    NewestFirst,
    /// The earliest record comes first.
    OldestFirst,
}

/// One page of a list of records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordPage {
    /// The records in the order of the list, by `timestamp`; ties by id.
    pub records: Vec<MemoryRecord>,
    /// The position at which the next page begins; `None` on the last page.
    pub next: Option<Cursor>,
    /// Number of records that the filter admits, on all pages.
    pub considered: u32,
    /// Number of records of this page that could not be read.
    pub damaged: usize,
    /// Hints for a reader, for example why a filter admits nothing.
    pub notes: Vec<String>,
}

/// The position of a record in the order of a list. It stays valid when records are added or
/// forgotten.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    SerializeDisplay,
    DeserializeFromStr,
    JsonSchema,
)]
#[schemars(with = "String", extend("pattern" = format!("^{}$", Cursor::pattern())))]
pub struct Cursor {
    /// The record's timestamp in microseconds since the Unix epoch.
    pub timestamp_micros: i64,
    /// The record's id, which breaks ties.
    pub id: RecordId,
}

/// A text that is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a cursor; pass the `cursor` of the last record that was listed")]
pub struct CursorError {
    text: String,
}

impl Cursor {
    /// Returns the regular expression of its texts, without anchors.
    pub fn pattern() -> String {
        format!(r"-?[0-9]{{1,18}}\.{ID_PATTERN}")
    }

    pub fn of(record: &MemoryRecord) -> Self {
        Self {
            timestamp_micros: record.timestamp.timestamp_micros(),
            id: record.id,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.timestamp_micros, self.id)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let parts = text.split_once('.');
        let read = parts.and_then(|(micros, id)| {
            Some(Self {
                timestamp_micros: micros.parse().ok()?,
                id: id.parse().ok()?,
            })
        });
        read.ok_or_else(|| CursorError {
            text: text.chars().take(64).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_text_and_nothing_else_does() {
        let cursor = Cursor {
            timestamp_micros: -5,
            id: RecordId::from_parts(1_771_234_567_890, 42),
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        let pattern = Cursor::pattern();
        assert!(pattern.contains(ID_PATTERN), "{pattern}");
        for text in ["", ".", "5", "5.x", "x.01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            let error = text.parse::<Cursor>().unwrap_err().to_string();
            assert!(error.contains("last record"), "{error}");
        }
    }
}
