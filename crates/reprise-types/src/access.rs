//! Access rules: which record may leave a user's memory, and to where.
//!
//! Every export, projection, publication and prompt checks here.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::kind::Visibility;
use crate::record::MemoryRecord;

/// A destination outside the user's own memory to which a record may be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReleaseTarget {
    /// A file of the user's own.
    Export,
    /// The user's versioned workspace, which others read.
    Projection,
    /// A prompt, which usually goes to a remote model.
    Endpoint,
    /// The global store, by an explicit act of the user.
    Publication,
}

/// Why a record is withheld, the strictest reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum WithheldReason {
    /// Its tag, metadata or details mark it as sensitive.
    #[error("it is marked sensitive")]
    Sensitive,
    /// Its tag, metadata or details mark it as private.
    #[error("it is private")]
    Private,
    /// It has no mark, and nobody has shared it.
    #[error("it was never made visible to the workspace")]
    NotShared,
}

/// The mark of sensitive records: a tag, a field, or a value in metadata or details.
const SENSITIVE: &str = "sensitive";
/// The mark of explicitly private records.
const PRIVATE: &str = "private";
/// Fields that mark a record by their name, unless their value is one of [`NO_VALUES`].
const FLAG_FIELDS: [(&str, WithheldReason); 6] = [
    (SENSITIVE, WithheldReason::Sensitive),
    ("issensitive", WithheldReason::Sensitive),
    (PRIVATE, WithheldReason::Private),
    ("isprivate", WithheldReason::Private),
    ("confidential", WithheldReason::Private),
    ("isconfidential", WithheldReason::Private),
];
/// Fields whose value determines who may see a record.
const LEVEL_FIELDS: [&str; 5] = [
    "visibility",
    "privacy",
    "sensitivity",
    "confidentiality",
    "secrecy",
];
/// Values of such a field that restrict nothing; every other value does.
const OPEN_VALUES: [&str; 11] = [
    "",
    "workspace",
    "shared",
    "published",
    "public",
    "open",
    "global",
    "everyone",
    "none",
    "low",
    "normal",
];
/// Values by which a flag is not set.
const NO_VALUES: [&str; 7] = ["", "false", "no", "none", "off", "never", "0"];
/// Most letters and digits of a word that are read: a longer one is no mark and no open value.
const WORD_CHARS_MAX: usize = 24;

impl MemoryRecord {
    /// Returns why this record may not be released to a destination, if so. A sensitive record is
    /// never released. One that is marked private may go only to a file of its owner. An unmarked
    /// one is private by default: publishing it is the explicit act that overrides that, and no
    /// projection includes it.
    pub fn check_release(&self, target: ReleaseTarget) -> Result<(), WithheldReason> {
        match (self.strictest_mark(), target) {
            (Some(WithheldReason::Sensitive), _) => Err(WithheldReason::Sensitive),
            (_, ReleaseTarget::Export) => Ok(()),
            (Some(mark), _) => Err(mark),
            (None, ReleaseTarget::Projection) if self.visibility != Visibility::Workspace => {
                Err(WithheldReason::NotShared)
            }
            (
                None,
                ReleaseTarget::Projection | ReleaseTarget::Endpoint | ReleaseTarget::Publication,
            ) => Ok(()),
        }
    }

    /// Whether no prompt may have it, because it is marked sensitive or private.
    pub fn is_sensitive(&self) -> bool {
        self.check_release(ReleaseTarget::Endpoint).is_err()
    }

    /// Returns the strictest mark of privacy in tags, metadata and details, in any spelling. It
    /// fails closed: a value of a privacy field that is not known to be open is a mark.
    fn strictest_mark(&self) -> Option<WithheldReason> {
        let tags = self.tags.iter().filter_map(|tag| mark_in_tag(tag));
        let metadata = self
            .metadata
            .iter()
            .filter_map(|(key, value)| mark_in_field(key, value));
        let details = self.details.iter().filter_map(mark_in_value);
        tags.chain(metadata).chain(details).min()
    }
}

/// Returns the mark in a tag: `private`, or a field with its value such as `visibility:private`.
fn mark_in_tag(tag: &str) -> Option<WithheldReason> {
    let field = tag.split_once([':', '=', '/', '\u{ff1a}', '\u{ff1d}']);
    let field = field.and_then(|(key, value)| {
        mark_in_named_field(&normalize_word(key), &[normalize_word(value)])
    });
    field.or_else(|| mark_from_word(&normalize_word(tag)))
}

/// Returns the mark in a field of metadata or details.
fn mark_in_field(key: &str, value: &Value) -> Option<WithheldReason> {
    let words: Vec<String> = match value {
        Value::Array(items) => items.iter().map(value_as_word).collect(),
        one => vec![value_as_word(one)],
    };
    let named = mark_in_named_field(&normalize_word(key), &words);
    named.into_iter().chain(mark_in_value(value)).min()
}

/// Returns the strictest mark in a value at any depth.
fn mark_in_value(value: &Value) -> Option<WithheldReason> {
    match value {
        Value::String(text) => mark_from_word(&normalize_word(text)),
        Value::Array(items) => items.iter().filter_map(mark_in_value).min(),
        Value::Object(map) => map
            .iter()
            .filter_map(|(key, value)| mark_in_field(key, value))
            .min(),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the mark that a field of this name with these values is.
fn mark_in_named_field(name: &str, words: &[String]) -> Option<WithheldReason> {
    if let Some((_, mark)) = FLAG_FIELDS.iter().find(|(flag, _)| *flag == name) {
        let is_yes = |word: &String| !NO_VALUES.contains(&word.as_str());
        return words.iter().any(is_yes).then_some(*mark);
    }
    let mut closed = words
        .iter()
        .filter(|word| !OPEN_VALUES.contains(&word.as_str()));
    let is_closed = LEVEL_FIELDS.contains(&name) && closed.clone().next().is_some();
    is_closed.then(|| {
        closed
            .find_map(|word| mark_from_word(word).filter(|mark| *mark == WithheldReason::Sensitive))
            .unwrap_or(WithheldReason::Private)
    })
}

/// Returns the mark that a word is.
fn mark_from_word(word: &str) -> Option<WithheldReason> {
    match word {
        SENSITIVE => Some(WithheldReason::Sensitive),
        PRIVATE => Some(WithheldReason::Private),
        _ => None,
    }
}

/// Returns a value as a normalized word.
fn value_as_word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => normalize_word(text),
        Value::Array(items) if items.is_empty() => String::new(),
        Value::Object(map) if map.is_empty() => String::new(),
        Value::Array(_) | Value::Object(_) => "nested".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the letters and digits of a word in lower case and usual width, without characters that
/// separate or hide them, such as a zero-width space.
fn normalize_word(text: &str) -> String {
    let letters = text.nfkc().filter(|c| c.is_alphanumeric());
    letters
        .flat_map(char::to_lowercase)
        .take(WORD_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use crate::{MemoryKind, MemorySource, RecordBody, RecordId, Visibility};

    fn record() -> MemoryRecord {
        RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding)
            .into_record(RecordId::from_parts(1, 1), DateTime::UNIX_EPOCH)
    }

    const TARGETS: [ReleaseTarget; 4] = [
        ReleaseTarget::Export,
        ReleaseTarget::Projection,
        ReleaseTarget::Endpoint,
        ReleaseTarget::Publication,
    ];

    #[test]
    fn the_sensitive_leaves_by_no_way_and_the_private_only_into_its_owners_hands() {
        let marks = |word: &str| {
            let mut tagged = record();
            tagged.tags.push(word.to_uppercase());
            let mut flagged = record();
            flagged.metadata.insert(word.to_owned(), json!(true));
            let mut visibility = record();
            visibility
                .metadata
                .insert("visibility".to_owned(), json!(word));
            [tagged, flagged, visibility]
        };
        for mut sensitive in marks("sensitive") {
            sensitive.visibility = Visibility::Workspace;
            for target in TARGETS {
                assert_eq!(
                    sensitive.check_release(target),
                    Err(WithheldReason::Sensitive)
                );
            }
        }
        for mut private in marks("private") {
            private.visibility = Visibility::Workspace;
            for target in TARGETS {
                let expected = match target {
                    ReleaseTarget::Export => Ok(()),
                    _ => Err(WithheldReason::Private),
                };
                assert_eq!(private.check_release(target), expected, "{target:?}");
            }
        }
    }

    #[test]
    fn a_mark_closes_wherever_it_stands_and_however_it_is_written() {
        for metadata in [
            json!({"tags": ["sensitive"]}),
            json!({"Visibility": "private"}),
            json!({"visibility": ["private"]}),
            json!({"list": ["a", ["private"]]}),
            json!({"a": {"b": [{"VISIBILITY": "Private"}]}}),
            json!({"note": {"is_private": true}}),
            json!({"visibility": "priv\u{200b}ate"}),
            json!({"visi\u{ad}bility": "\u{ff30}\u{ff32}\u{ff29}\u{ff36}\u{ff21}\u{ff34}\u{ff25}"}),
            json!({"visibility": "only me"}),
            json!({"visibility": {"who": "ada"}}),
            json!({"visibility": false}),
            json!({"Privacy": 3}),
            json!({"sensitivity": "high"}),
            json!({"sensitive": "not at all"}),
            json!({"sensitive": 1}),
            json!({"Is-Sensitive": ["yes"]}),
            json!({"confidential": {"until": "Friday"}}),
            json!({"labels": {"secrecy": "public, but not really, and for a long while"}}),
        ] {
            let mut marked = record();
            marked.visibility = Visibility::Workspace;
            marked.metadata = metadata.as_object().unwrap().clone();
            for target in [
                ReleaseTarget::Projection,
                ReleaseTarget::Endpoint,
                ReleaseTarget::Publication,
            ] {
                assert!(
                    marked.check_release(target).is_err(),
                    "{metadata} {target:?}"
                );
            }
            let mut typed = record();
            typed.details = Some(metadata.clone());
            assert!(
                typed.check_release(ReleaseTarget::Publication).is_err(),
                "{metadata}"
            );
        }
        for tag in [
            "priv\u{200b}ate",
            "#Private",
            "visibility:private",
            "privacy=only-me",
            "\u{ff33}ensitive",
            "sensitivity/high",
        ] {
            let mut tagged = record();
            tagged.tags = vec!["a".to_owned(), tag.to_owned()];
            assert!(
                tagged.check_release(ReleaseTarget::Endpoint).is_err(),
                "{tag}"
            );
        }
    }

    #[test]
    fn what_is_no_mark_closes_nothing() {
        let mut plain = record();
        plain.tags = [
            "case-sensitive",
            "private-key",
            "privacy",
            "visibility:public",
            "a:private",
        ]
        .map(str::to_owned)
        .to_vec();
        plain.metadata = json!({
            "visibility": "public", "Private": false, "sensitive": "no", "privacy": null,
            "sensitivity": ["low", "none"], "note": "a private matter", "confidential": [],
            "case_sensitive": true, "keys": {"secrecy": ""},
        })
        .as_object()
        .unwrap()
        .clone();
        assert_eq!(plain.check_release(ReleaseTarget::Publication), Ok(()));
    }

    #[test]
    fn what_nobody_marked_is_published_by_an_act_and_projected_by_its_visibility() {
        let mut plain = record();
        plain.metadata.insert("sensitive".to_owned(), json!("no"));
        assert_eq!(plain.check_release(ReleaseTarget::Publication), Ok(()));
        assert_eq!(
            plain.check_release(ReleaseTarget::Projection),
            Err(WithheldReason::NotShared)
        );
        plain.visibility = Visibility::Workspace;
        assert_eq!(plain.check_release(ReleaseTarget::Projection), Ok(()));
    }
}
