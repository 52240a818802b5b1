//! The filter of a recall: which records may be results.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::kind::{MemoryKind, MemorySource, RecordType};

/// A filter of records: every field that is set must match, a field that is `None` matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryFilter {
    /// Only records of these types, as a person would call them.
    #[serde(default)]
    pub types: Option<Vec<RecordType>>,
    /// Only these kinds.
    pub kinds: Option<Vec<MemoryKind>>,
    /// Only these sources.
    pub sources: Option<Vec<MemorySource>>,
    /// Only records with a `timestamp` at this instant or later.
    pub since: Option<DateTime<Utc>>,
    /// Only records with a `timestamp` at this instant or earlier.
    #[serde(default)]
    pub until: Option<DateTime<Utc>>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only records with all of these tags, compared in their normal form.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// Only records with at least one of these tags, compared in their normal form.
    #[serde(default)]
    pub any_tags: Option<Vec<String>>,
    /// Other spellings under which a tag of `tags` or `any_tags` may be stored, as `(spelling,
    /// tag)`, both in their normal form.
    #[serde(skip)]
    pub tag_spellings: Vec<(String, String)>,
    /// Only this project: tagged `project:NAME`, or `project` in the metadata.
    #[serde(default)]
    pub project: Option<String>,
    /// Only this author: `author`, `speaker`, `sender` or `user` in the metadata.
    #[serde(default)]
    pub author: Option<String>,
}

impl MemoryFilter {
    /// Whether the filter admits every record.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a record with these properties passes the filter. Does not check tags, which can
    /// change, nor type, project and author, which are in details and metadata.
    pub fn matches_record(
        &self,
        kind: MemoryKind,
        source: MemorySource,
        timestamp: DateTime<Utc>,
        session_id: &str,
    ) -> bool {
        self.kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind))
            && self
                .sources
                .as_ref()
                .is_none_or(|sources| sources.contains(&source))
            && self.since.is_none_or(|since| timestamp >= since)
            && self.until.is_none_or(|until| timestamp <= until)
            && self
                .session_id
                .as_deref()
                .is_none_or(|session| session == session_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::parse_timestamp;

    #[test]
    fn every_part_narrows_on_its_own() {
        let at = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let admits = |filter: &MemoryFilter| {
            filter.matches_record(MemoryKind::Finding, MemorySource::WorkerResult, at, "s1")
        };
        assert!(admits(&MemoryFilter::default()));
        assert!(MemoryFilter::default().is_empty());
        let with = |change: fn(&mut MemoryFilter)| {
            let mut filter = MemoryFilter::default();
            change(&mut filter);
            filter
        };
        assert!(admits(&with(|f| f.kinds = Some(vec![MemoryKind::Finding]))));
        assert!(!admits(
            &with(|f| f.kinds = Some(vec![MemoryKind::Episode]))
        ));
        assert!(!admits(&with(|f| f.kinds = Some(vec![]))));
        assert!(!admits(&with(
            |f| f.sources = Some(vec![MemorySource::UserInput])
        )));
        assert!(admits(&with(
            |f| f.since = parse_timestamp("2026-02-16T10:00:00+01:00").ok()
        )));
        assert!(!admits(&with(
            |f| f.since = parse_timestamp("2026-02-16T09:00:01Z").ok()
        )));
        assert!(admits(&with(
            |f| f.until = parse_timestamp("2026-02-16T09:00:00Z").ok()
        )));
        assert!(!admits(&with(
            |f| f.until = parse_timestamp("2026-02-16T08:59:59Z").ok()
        )));
        assert!(!admits(&with(|f| f.session_id = Some("s2".into()))));
    }
}
