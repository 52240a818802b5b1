//! Values as other systems write them, and in the details of records: JSON, YAML, times, words of a
//! closed list, identifiers that are made from what a thing says.

use serde::de::DeserializeOwned;

use crate::prelude::*;

/// Longest line that is read.
pub(crate) const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The object of a line of JSON, or a sentence about it.
pub(crate) fn object(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("the line is JSON but no object".to_owned()),
        Err(error) if error.is_eof() => Err("the line is cut: its JSON does not end".to_owned()),
        Err(error) => Err(format!("the line is no JSON: {error}")),
    }
}

/// A text field that says something.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = object.get(name)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Whether a word stands in a list of words.
pub(crate) fn among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The items of a list; none of what is no list.
pub(crate) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The texts among them.
pub(crate) fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    items(value).filter_map(Value::as_str)
}

/// A word of a record's details.
pub(crate) fn word_of<'a>(record: &'a RecordBody, name: &str) -> Option<&'a str> {
    record.details.as_ref()?.get(name)?.as_str()
}

/// The details of a record where they are of this type.
pub(crate) fn typed<'a>(record: &'a RecordBody, name: &str) -> Option<&'a Map<String, Value>> {
    let details = record.details.as_ref()?.as_object()?;
    (details.get("type")? == name).then_some(details)
}

/// What they hold, where it can be read.
pub(crate) fn held<T: DeserializeOwned>(record: &RecordBody, name: &str) -> Option<T> {
    let details = typed(record, name)?.clone();
    serde_json::from_value(Value::Object(details)).ok()
}

/// One document of YAML; the error says where it is wrong and why, without the text around it.
pub fn read_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let told = error.to_string();
        let line = told.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("error: ");
        match line.split_once(": budget breached") {
            Some((place, _)) => format!("{place}: its aliases unfold into too much"),
            None => line.to_owned(),
        }
    })
}

/// The first sixteen hex digits of the SHA-256 of the parts, joined by colons: how RFC-065 names
/// learnings, decisions and failures (S9, S15, S18).
pub fn hex_id(parts: &[&str]) -> String {
    let mut id = sha256_hex(parts.join(":").as_bytes());
    id.truncate(16);
    id
}

/// Texts once each, as many as a record may have.
pub(crate) fn distinct(texts: impl IntoIterator<Item = String>) -> Vec<String> {
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

/// What of a row has no place of its `own` in a record.
pub(crate) fn unplaced(row: &Map<String, Value>, own: &[&str]) -> Map<String, Value> {
    let others = row.iter();
    let others = others.filter(|(name, value)| !own.contains(&name.as_str()) && !value.is_null());
    let others = others.map(|(name, value)| (name.clone(), value.clone()));
    others.collect()
}

/// The decimal number that an `f32` stands for: .9 and not .899999976.
pub(crate) fn exact(number: f32) -> f64 {
    number
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(number))
}

/// Gives a record the time that its source names. One without a zone is taken as of `zone`, and the
/// metadata says so.
pub(crate) fn date(record: &mut NewRecord, value: &Value, zone: Zone) {
    let Some(at) = zone.moment(value) else {
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

/// An enum of words, a row each: printed as its word, and read from it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, {
        $($(#[$vdoc:meta])* $variant:ident = $word:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them, in the order of the rows.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one of a word.
            pub fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// All their words, for a sentence.
            pub fn known() -> String {
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
                    let (what, known) = ($what, Self::known());
                    format!("`{text}` is no {what}; use one of {known}")
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
        assert_eq!(read_yaml("a: [1]").unwrap()["a"][0], 1);
        let mut bomb = "a0: &a0 [x, x, x]\n".to_owned();
        for level in 1..20 {
            let all = vec![format!("*a{}", level - 1); 9].join(", ");
            let line = format!("a{level}: &a{level} [{all}]\n");
            bomb.push_str(&line);
        }
        for (text, expected) in [(bomb.as_str(), "unfold into too much"), ("a: [1", "line 1")] {
            let why = read_yaml(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
            assert!(!why.contains("error:") && !why.contains("-->"), "{why}");
        }
    }
}
