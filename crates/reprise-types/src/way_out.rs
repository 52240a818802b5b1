//! Access rules: which record may leave a user's memory, and to where.
//!
//! Every export, projection and publication checks here.

use serde_json::Value;

use crate::kind::Visibility;
use crate::record::MemoryRecord;

/// A destination outside the user's own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WayOut {
    /// A file of the user's own.
    Export,
    /// The user's versioned workspace, which others read.
    Projection,
    /// The prompt of a remote model.
    Endpoint,
    /// The global store, by the user's explicit act.
    Publication,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Withheld {
    /// By its tag or its metadata.
    #[error("it is marked sensitive")]
    Sensitive,
    /// By its tag or its metadata.
    #[error("it is private")]
    Private,
    /// By nobody's mark.
    #[error("it was never made visible to the workspace")]
    Unshown,
}

/// The tag and the metadata field of sensitive records (A35).
const SENSITIVE: &str = "sensitive";
/// The tag of explicitly private records, and that value of `visibility` in the metadata.
const PRIVATE: &str = "private";

impl MemoryRecord {
    /// Whether this record may go there (C3, M58). A sensitive record may go nowhere. One marked
    /// private may go only to a file of its owner. An unmarked one is private by default:
    /// publishing it is the explicit act that overrides that, and no projection includes it.
    pub fn may_leave(&self, way: WayOut) -> Result<(), Withheld> {
        if self.is_sensitive() {
            return Err(Withheld::Sensitive);
        }
        let marked = self.is_marked(PRIVATE);
        match way {
            WayOut::Export => Ok(()),
            _ if marked => Err(Withheld::Private),
            WayOut::Projection if self.visibility != Visibility::Workspace => {
                Err(Withheld::Unshown)
            }
            WayOut::Projection | WayOut::Endpoint | WayOut::Publication => Ok(()),
        }
    }

    /// Whether its tags or its metadata say so.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.is_marked(SENSITIVE)
    }

    fn is_marked(&self, word: &str) -> bool {
        let says = |key: &str| match self.metadata.get(key) {
            Some(Value::Bool(yes)) => key == word && *yes,
            Some(Value::String(text)) => text.trim().eq_ignore_ascii_case(word),
            _ => false,
        };
        let mut tags = self.tags.iter();
        tags.any(|tag| tag.trim().eq_ignore_ascii_case(word)) || says(word) || says("visibility")
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use crate::{MemoryKind, MemorySource, RecordBody, RecordId, Visibility};

    fn record() -> MemoryRecord {
        RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding)
            .kept(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH)
    }

    const WAYS: [WayOut; 4] = [
        WayOut::Export,
        WayOut::Projection,
        WayOut::Endpoint,
        WayOut::Publication,
    ];

    #[test]
    fn the_sensitive_leaves_by_no_way_and_the_private_only_into_its_owners_hands() {
        let marks = |word: &str| {
            let mut tagged = record();
            tagged.tags.push(word.to_uppercase());
            let mut said = record();
            said.metadata.insert(word.to_owned(), json!(true));
            let mut visibility = record();
            visibility
                .metadata
                .insert("visibility".to_owned(), json!(word));
            [tagged, said, visibility]
        };
        for mut sensitive in marks("sensitive") {
            sensitive.visibility = Visibility::Workspace;
            for way in WAYS {
                assert_eq!(sensitive.may_leave(way), Err(Withheld::Sensitive));
            }
        }
        for mut private in marks("private") {
            private.visibility = Visibility::Workspace;
            for way in WAYS {
                let expected = match way {
                    WayOut::Export => Ok(()),
                    _ => Err(Withheld::Private),
                };
                assert_eq!(private.may_leave(way), expected, "{way:?}");
            }
        }
    }

    #[test]
    fn what_nobody_marked_is_published_by_an_act_and_projected_by_its_visibility() {
        let mut plain = record();
        plain
            .metadata
            .insert("sensitive".to_owned(), json!("not at all"));
        assert_eq!(plain.may_leave(WayOut::Publication), Ok(()));
        assert_eq!(plain.may_leave(WayOut::Projection), Err(Withheld::Unshown));
        plain.visibility = Visibility::Workspace;
        assert_eq!(plain.may_leave(WayOut::Projection), Ok(()));
    }
}
