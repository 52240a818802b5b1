//! What a record is looked up by whole, beside its words: external ids, the names and pairs of its
//! metadata, and the identifiers in its text.
//!
//! One spelling for them, for records and questions alike.

use std::collections::BTreeSet;

use reprise_types::{ExternalId, MemoryRecord, RecordBody, RecordType};
use serde_json::{Map, Value};

use crate::identifiers::{each, plain};

/// Most of them that one record is given ...
const NAMES_MAX: usize = 256;
/// ... and most identifiers of its text beside them.
const IDENTIFIERS_MAX: usize = 2048;
/// Begins the term of an external id: what is called so comes before what mentions it.
pub(crate) const ID: &str = "!";
/// Begins the term of a record's type, which no text and no metadata has.
const TYPE: &str = "\u{2}";
/// Begins the term of the run that a record belongs to.
const RUN: &str = "\u{3}";
/// The term of what a run left that says no step.
pub(crate) const BARE_RUN: &str = "\u{2}bare run";
/// Deepest metadata that is read.
const DEEPEST: usize = 4;

/// The terms of a record, those of its text included.
pub(crate) fn names_of(record: &MemoryRecord) -> Vec<String> {
    let mut names = BTreeSet::new();
    for external in &record.external_ids {
        if external.namespace != ExternalId::REQUEST {
            names.extend(plain(&external.id).map(|name| id(&name)));
        }
    }
    walk(&record.metadata, "", 1, &mut |key, value| {
        names.insert(pair(key, &value));
        names.insert(name(&value));
        names.extend(parts(key, &value).map(name));
        each(&value, &mut |_, term| {
            names.insert(term);
        });
    });
    let mut names: BTreeSet<String> = names.into_iter().take(NAMES_MAX).collect();
    let sources = record.provenance.source_refs.iter();
    for text in sources.chain([&record.text]) {
        each(text, &mut |_, term| {
            if names.len() < NAMES_MAX + IDENTIFIERS_MAX {
                names.insert(term);
            }
        });
    }
    names.insert(of_type(record.record_type()));
    names.extend(record.provenance.run_id.as_deref().map(of_run));
    if record.is_bare_run() {
        names.insert(BARE_RUN.to_owned());
    }
    names.into_iter().collect()
}

/// What belongs to a run.
pub(crate) fn of_run(run_id: &str) -> String {
    [RUN, run_id].concat()
}

/// What a record is to a person.
pub(crate) fn of_type(record_type: RecordType) -> String {
    [TYPE, record_type.name()].concat()
}

/// The words of an author's name; of no other value.
pub(crate) fn parts<'v>(key: &str, value: &'v str) -> impl Iterator<Item = &'v str> {
    let words = RecordBody::AUTHOR_KEYS
        .contains(&key)
        .then(|| value.split(' '));
    let long = |word: &&str| word.chars().count() > 2;
    words.into_iter().flatten().filter(long)
}

/// What another system calls a record.
pub(crate) fn id(external: &str) -> String {
    [ID, external].concat()
}

pub(crate) fn pair(key: &str, value: &str) -> String {
    [&plain(key).unwrap_or_default(), "=", value].concat()
}

/// A value whatever its key.
pub(crate) fn name(value: &str) -> String {
    ["~", value].concat()
}

/// Calls `take` with every key and plain value; keys of inner objects follow a dot.
pub(crate) fn walk(
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
                Value::Object(inner) if depth < DEEPEST => walk(inner, &key, depth + 1, take),
                Value::String(text) => {
                    if let Some(value) = plain(text) {
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
        walk(metadata.as_object().unwrap(), "", 1, &mut |key, value| {
            found.push(pair(key, &value));
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
