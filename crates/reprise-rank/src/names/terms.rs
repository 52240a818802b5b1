//! The terms by which a record is looked up as a whole, in addition to its words: external ids,
//! names and pairs of its metadata, and the identifiers in its text.
//!
//! Records and questions spell them in one way.

use std::collections::BTreeSet;

use reprise_types::{ExternalId, MemoryRecord, RecordBody, RecordType};
use serde_json::{Map, Value};

use super::identifiers::{normalize_name, visit_identifiers};

/// Most terms of one record that come from its external ids and its metadata.
const TERMS_MAX: usize = 256;
/// Most further terms of one record, from its source references and its text.
const IDENTIFIERS_MAX: usize = 2048;
/// Begins the term of an external id: the record called so ranks before one that mentions it.
pub const EXTERNAL_ID_PREFIX: &str = "!";
/// Begins the term of a record's type, which occurs in no text and no metadata.
const TYPE_PREFIX: &str = "\u{2}";
/// Begins the term of the run that a record belongs to.
const RUN_PREFIX: &str = "\u{3}";
/// The term of a run's outcome record that names no step.
pub const BARE_RUN_TERM: &str = "\u{2}bare run";
/// Deepest level of metadata that is read.
const DEPTH_MAX: usize = 4;

/// Returns all lookup terms of a record, those of its text included.
pub fn lookup_terms(record: &MemoryRecord) -> Vec<String> {
    let mut names = BTreeSet::new();
    for external in &record.external_ids {
        if external.namespace != ExternalId::REQUEST {
            names.extend(normalize_name(&external.id).map(|name| external_id_term(&name)));
        }
    }
    visit_metadata(&record.metadata, "", 1, &mut |key, value| {
        names.insert(pair_term(key, &value));
        names.insert(value_term(&value));
        names.extend(author_words(key, &value).map(value_term));
        visit_identifiers(&value, &mut |_, term| {
            names.insert(term);
        });
    });
    let mut names: BTreeSet<String> = names.into_iter().take(TERMS_MAX).collect();
    let sources = record.provenance.source_refs.iter();
    for text in sources.chain([&record.text]) {
        visit_identifiers(text, &mut |_, term| {
            if names.len() < TERMS_MAX + IDENTIFIERS_MAX {
                names.insert(term);
            }
        });
    }
    names.insert(type_term(record.record_type()));
    names.extend(record.provenance.run_id.as_deref().map(run_term));
    if record.is_run_without_steps() {
        names.insert(BARE_RUN_TERM.to_owned());
    }
    names.into_iter().collect()
}

/// Returns the term that all records of a run have.
pub fn run_term(run_id: &str) -> String {
    [RUN_PREFIX, run_id].concat()
}

/// Returns the term that all records of a type have.
pub fn type_term(record_type: RecordType) -> String {
    [TYPE_PREFIX, record_type.name()].concat()
}

/// Returns the words of an author's name; nothing for a value under another key.
pub(crate) fn author_words<'v>(key: &str, value: &'v str) -> impl Iterator<Item = &'v str> {
    let words = RecordBody::AUTHOR_KEYS
        .contains(&key)
        .then(|| value.split(' '));
    let long = |word: &&str| word.chars().count() > 2;
    words.into_iter().flatten().filter(long)
}

/// Returns the term of an external id.
pub fn external_id_term(external: &str) -> String {
    [EXTERNAL_ID_PREFIX, external].concat()
}

pub fn pair_term(key: &str, value: &str) -> String {
    [&normalize_name(key).unwrap_or_default(), "=", value].concat()
}

/// Returns the term of a value whatever its key.
pub fn value_term(value: &str) -> String {
    ["~", value].concat()
}

/// Calls `take` with every key and plain value; keys of inner objects follow a dot.
pub fn visit_metadata(
    metadata: &Map<String, Value>,
    within: &str,
    depth: usize,
    take: &mut dyn FnMut(&str, String),
) {
    for (key, value) in metadata {
        let key = match within {
            "" => key.clone(),
            within => [within, ".", key].concat(),
        };
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            match item {
                Value::Object(inner) if depth < DEPTH_MAX => {
                    visit_metadata(inner, &key, depth + 1, take);
                }
                Value::String(text) => {
                    if let Some(value) = normalize_name(text) {
                        take(&key, value);
                    }
                }
                Value::Number(number) => take(&key, number.to_string()),
                Value::Bool(holds) => take(&key, holds.to_string()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_by_key_and_by_value() {
        let metadata = serde_json::json!({
            "author": "David  Peter",
            "n": 7,
            "ok": true,
            "files": ["src/A.rs", {"deep": {"er": "x"}}],
            "none": null,
            "text": "long ".repeat(40),
        });
        let mut found = Vec::new();
        visit_metadata(metadata.as_object().unwrap(), "", 1, &mut |key, value| {
            found.push(pair_term(key, &value));
        });
        found.sort();
        assert_eq!(
            found,
            [
                "author=david peter",
                "files.deep.er=x",
                "files=src/a.rs",
                "n=7",
                "ok=true"
            ]
        );
    }
}
