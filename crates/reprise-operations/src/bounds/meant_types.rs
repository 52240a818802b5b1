//! What programs write that is of another type than asked for but means one thing: `"1"` for 1,
//! `"true"`, a list as its JSON or with commas, a number for a name, null for what is left out.

use super::{ALONE, Bounds, find_field, list_alternatives, names_type, resolve_reference};
use crate::prelude::*;

/// Names of the types of JSON Schema.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

impl Bounds {
    /// Returns the value with each part in the type that its schema asks for, where it means
    /// exactly one value of that type, and whether any part is another now.
    #[must_use]
    pub fn convert_to_meant_types(&self, mut value: Value) -> (Value, bool) {
        let changed = self.convert_in_place(&self.schema, &mut value);
        (value, changed)
    }

    /// Whether a schema takes values of a type.
    fn accepts_type(&self, schema: &Value, wanted: &str) -> bool {
        let schema = resolve_reference(&self.schema, schema);
        let mut ways = list_alternatives(schema);
        names_type(&schema["type"], wanted) || ways.any(|part| self.accepts_type(part, wanted))
    }

    /// Whether a schema says what types it takes.
    fn declares_types(&self, schema: &Value) -> bool {
        TYPES.iter().any(|name| self.accepts_type(schema, name))
    }

    fn convert_in_place(&self, schema: &Value, value: &mut Value) -> bool {
        let schema = resolve_reference(&self.schema, schema);
        let meant = self.find_meant_value(schema, value);
        let mut changed = meant.is_some();
        if let Some(meant) = meant {
            *value = meant;
        }
        for part in list_alternatives(schema) {
            if self.has_allowed_type(part, value) {
                changed |= self.convert_in_place(part, value);
            }
        }
        match value {
            Value::Array(items) if schema.get(ALONE).is_none() => {
                for item in items {
                    changed |= self.convert_in_place(&schema["items"], item);
                }
            }
            Value::Object(fields) => {
                changed |= self.remove_omittable_nulls(schema, fields);
                for (name, field) in fields {
                    let own = find_field(schema, name).unwrap_or(&Value::Null);
                    changed |= self.convert_in_place(own, field);
                }
            }
            _ => {}
        }
        changed
    }

    /// Leaves out the fields that are null where something else is asked for, if they may be left
    /// out.
    fn remove_omittable_nulls(&self, schema: &Value, fields: &mut Map<String, Value>) -> bool {
        let before = fields.len();
        let required = schema["required"].as_array();
        fields.retain(|name, value| {
            let own = find_field(schema, name).unwrap_or(&Value::Null);
            let mut needed = required.into_iter().flatten();
            !value.is_null()
                || own.is_null()
                || self.accepts_type(own, "null")
                || needed.any(|one| one == name)
        });
        fields.len() < before
    }

    /// Returns what a value of another type means; `None` if the schema takes it as it is, or if
    /// it may mean more than one thing.
    fn find_meant_value(&self, schema: &Value, value: &Value) -> Option<Value> {
        let takes = |wanted| self.accepts_type(schema, wanted);
        match value {
            Value::String(text) if !takes("string") && self.declares_types(schema) => {
                self.find_value_meant_by_text(schema, text)
            }
            // One name, or several.
            Value::String(text) if takes("array") && text.contains([',', '[']) => {
                let items = &self.find_list_schema(schema)?["items"];
                self.accepts_names_or_words(items)
                    .then(|| self.find_value_meant_by_text(schema, text))?
            }
            Value::Number(number) => {
                let float = number.as_f64();
                let whole = float.filter(|float| number.is_f64() && float.fract() == 0.0);
                let confidence =
                    float.filter(|float| number.is_f64() && (0.0..=1.0).contains(float));
                if let Some(confidence) = confidence
                    && self.accepts_confidence_words(schema)
                {
                    let level = ConfidenceLevel::from_confidence(confidence as f32);
                    return Some(Value::from(level.name()));
                }
                if takes("integer") && !takes("number") {
                    format!("{:.0}", whole?).parse().ok().map(Value::Number)
                } else {
                    let is_name = takes("string")
                        && !takes("number")
                        && !self.accepts_only_fixed_words(schema);
                    is_name.then(|| Value::String(number.to_string()))
                }
            }
            _ => None,
        }
    }

    fn find_value_meant_by_text(&self, schema: &Value, text: &str) -> Option<Value> {
        let takes = |wanted| self.accepts_type(schema, wanted);
        let text = text.trim();
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        match parsed {
            // Where words are taken too, the reader says which.
            Some(Value::Number(number))
                if (takes("integer") || takes("number"))
                    && !self.accepts_only_fixed_words(schema) =>
            {
                return Some(Value::Number(number));
            }
            Some(list @ Value::Array(_)) if takes("array") => return Some(list),
            Some(object @ Value::Object(_)) if takes("object") => return Some(object),
            _ => {}
        }
        if takes("boolean") {
            let words = [("true", true), ("false", false)];
            let meant = words
                .iter()
                .find(|(word, _)| text.eq_ignore_ascii_case(word));
            return meant.map(|(_, meant)| Value::Bool(*meant));
        }
        let items = &self.find_list_schema(schema)?["items"];
        self.accepts_type(items, "string").then(|| {
            // In a sentence a comma is none between items.
            let ends: &[char] = if self.accepts_names_or_words(items) {
                &[',']
            } else {
                &[]
            };
            let items = text.split(ends).map(str::trim);
            items
                .filter(|item| !item.is_empty())
                .map(Value::from)
                .collect()
        })
    }

    /// Whether a schema takes names or fixed words, which have no commas.
    fn accepts_names_or_words(&self, schema: &Value) -> bool {
        let longest = resolve_reference(&self.schema, schema)["maxLength"].as_u64();
        longest.is_some_and(|longest| longest <= IDENTIFIER_BYTES_MAX as u64)
            || self.accepts_only_fixed_words(schema)
    }

    /// Returns the part of a schema that takes a list.
    fn find_list_schema<'s>(&'s self, schema: &'s Value) -> Option<&'s Value> {
        let schema = resolve_reference(&self.schema, schema);
        if names_type(&schema["type"], "array") {
            return Some(schema);
        }
        let mut ways = list_alternatives(schema);
        ways.find_map(|part| self.find_list_schema(part))
    }

    /// Whether a schema takes the words of a confidence, which answers print as a number.
    fn accepts_confidence_words(&self, schema: &Value) -> bool {
        let schema = resolve_reference(&self.schema, schema);
        let words = schema["enum"].as_array();
        let all = ConfidenceLevel::ALL.iter().map(|level| level.name());
        words.is_some_and(|words| all.eq(words.iter().filter_map(Value::as_str)))
            || list_alternatives(schema).any(|way| self.accepts_confidence_words(way))
    }

    /// Whether a schema takes fixed words only.
    fn accepts_only_fixed_words(&self, schema: &Value) -> bool {
        let schema = resolve_reference(&self.schema, schema);
        let mut ways = list_alternatives(schema);
        !schema["enum"].is_null()
            || !schema["const"].is_null()
            || ways.any(|part| self.accepts_only_fixed_words(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::{lessons, recall};

    fn read_meaning<O: Operation>(value: Value) -> Value {
        Bounds::get_for_type::<O::Arguments>()
            .convert_to_meant_types(value)
            .0
    }

    #[test]
    fn what_means_one_thing_is_read_as_that() {
        let said = json!({
            "query": 7, "limit": "3", "tag": "a, b", "kind": "[\"finding\"]", "since": null,
            "max_tokens": 200.0,
        });
        let read = json!({
            "query": "7", "limit": 3, "tag": ["a", "b"], "kind": ["finding"], "since": null,
            "max_tokens": 200,
        });
        assert_eq!(read_meaning::<recall::Recall>(said), read);
        let said = json!({ "title": "t", "tags": "db", "contexts": "in tests, only" });
        let read = json!({ "title": "t", "tags": ["db"], "contexts": ["in tests, only"] });
        assert_eq!(read_meaning::<lessons::Learn>(said), read);
        let said = json!({ "title": "t", "confidence": 0.7 });
        let read = json!({ "title": "t", "confidence": "high" });
        assert_eq!(read_meaning::<lessons::Learn>(said), read);
    }

    #[test]
    fn what_may_mean_several_things_stays_as_it_is() {
        for said in [
            json!({ "query": "1", "limit": "many" }),
            json!({ "query": "true", "limit": [3] }),
            json!({ "query": ["a"], "limit": 3.5 }),
        ] {
            assert_eq!(read_meaning::<recall::Recall>(said.clone()), said);
        }
    }
}
