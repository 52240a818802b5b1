//! Reads values as other systems write them, and the details of records: JSON, YAML, times, words
//! of a closed list, and identifiers that are computed from a content.

use serde::de::DeserializeOwned;

use crate::prelude::*;

/// Longest line that is read.
pub(crate) const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Returns a text field that is not blank.
pub(crate) fn non_blank_text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = object.get(name)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Whether a word is in a list of words separated by spaces.
pub(crate) fn is_in_words(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Returns the items of a list; none for any other value.
pub(crate) fn list_items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Returns the texts among the items of a list.
pub(crate) fn list_texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    list_items(value).filter_map(Value::as_str)
}

/// Returns a text field of a record's details.
pub(crate) fn detail_word<'a>(record: &'a RecordBody, name: &str) -> Option<&'a str> {
    record.details.as_ref()?.get(name)?.as_str()
}

/// Returns the details of a record if they are of this type.
pub(crate) fn details_of_type<'a>(
    record: &'a RecordBody,
    name: &str,
) -> Option<&'a Map<String, Value>> {
    let details = record.details.as_ref()?.as_object()?;
    (details.get("type")? == name).then_some(details)
}

/// Parses the details of a record if they are of this type.
pub(crate) fn parse_details<T: DeserializeOwned>(record: &RecordBody, name: &str) -> Option<T> {
    let details = details_of_type(record, name)?.clone();
    serde_json::from_value(Value::Object(details)).ok()
}

/// Parses one YAML document; the error tells where it is wrong and why, without quoting it.
pub fn parse_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("error: ");
        match line.split_once(": budget breached") {
            Some((place, _)) => format!("{place}: its aliases unfold into too much"),
            None => line.to_owned(),
        }
    })
}

/// Returns the first sixteen hex digits of the SHA-256 of the parts, joined by colons: the ids of
/// RFC-065.
pub fn hex_id(parts: &[&str]) -> String {
    let mut id = sha256_hex(parts.join(":").as_bytes());
    id.truncate(16);
    id
}

/// Returns texts without repetitions, at most as many as a record may have.
pub(crate) fn deduplicate_texts(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if found.len() == LIST_ITEMS_MAX {
            break;
        }
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Returns the fields of a row that are not `own` fields of a record.
pub(crate) fn fields_without_place(row: &Map<String, Value>, own: &[&str]) -> Map<String, Value> {
    let others = row.iter();
    let others = others.filter(|(name, value)| !own.contains(&name.as_str()) && !value.is_null());
    let others = others.map(|(name, value)| (name.clone(), value.clone()));
    others.collect()
}

/// Returns the shortest decimal number of an `f32`: .9 and not .899999976.
pub(crate) fn to_exact_decimal(number: f32) -> f64 {
    number
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(number))
}

/// Sets the time of a record from its source. A time without a zone is read as one of `zone`, which
/// the metadata notes.
pub(crate) fn set_time(record: &mut NewRecord, value: &Value, zone: Zone) {
    let Some(at) = zone.parse_json_time(value) else {
        if !value.is_null() {
            let name = "ts_unreadable".to_owned();
            record.metadata.insert(name, value.clone());
        }
        return;
    };
    record.timestamp = Some(at);
    let is_zoned = |text: &str| DateTime::parse_from_rfc3339(text.trim()).is_ok();
    if value.as_str().is_some_and(|text| !is_zoned(text)) {
        let zone = match zone {
            Zone::Utc => "UTC".to_owned(),
            Zone::Fixed(offset) => offset.to_string(),
            Zone::Machine => "local".to_owned(),
        };
        let name = "ts_assumed_tz".to_owned();
        record.metadata.insert(name, json!(zone));
    }
}

/// Declares an enum of words, one a row, which is printed as its word and parsed from it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, {
        $($(#[$vdoc:meta])* $variant:ident = $word:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All variants, in the order of the rows.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the variant of a word.
            pub fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// Lists all words, for a sentence.
            pub fn all_words() -> String {
                let names: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
                names.join(", ")
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::of(text).ok_or_else(|| {
                    let (what, known) = ($what, Self::all_words());
                    format!("unknown {what} `{text}`; use one of {known}")
                })
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_on_one_line() {
        assert_eq!(parse_yaml("a: [1]").unwrap()["a"][0], 1);
        let mut bomb = "a0: &a0 [x, x, x]\n".to_owned();
        for level in 1..20 {
            let all = vec![format!("*a{}", level - 1); 9].join(", ");
            let line = format!("a{level}: &a{level} [{all}]\n");
            bomb.push_str(&line);
        }
        for (text, expected) in [(bomb.as_str(), "unfold into too much"), ("a: [1", "line 1")] {
            let why = parse_yaml(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
            assert!(!why.contains("error:") && !why.contains("-->"), "{why}");
        }
    }
}
