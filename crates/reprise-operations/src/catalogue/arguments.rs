//! From what a face was sent to an operation's arguments.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::wire::{hinted, meant};

/// The arguments of the operation `name`; a field that it does not have is refused with the one
/// that was meant.
pub(super) fn read<T: DeserializeOwned + JsonSchema>(
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<T, Problem> {
    let refused = |arguments: Map<String, Value>| {
        let read: Result<T, _> = serde_json::from_value(Value::Object(arguments));
        read.err().map(|error| error.to_string())
    };
    let error = match serde_json::from_value(Value::Object(arguments.clone())) {
        Ok(read) => return Ok(read),
        Err(error) => error.to_string(),
    };
    // The one without which it is not refused, or not for this.
    let wrong = arguments.keys().find(|name| {
        let mut others = arguments.clone();
        others.remove(*name);
        refused(others).as_ref() != Some(&error)
    });
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let said = sentence(&error, wrong.map(String::as_str), &fields_of(&schema));
    Err(Problem::invalid(format!(
        "the arguments do not fit `{name}`: {said}"
    )))
}

fn fields_of(schema: &Schema) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Map::keys);
    names.map(String::as_str).collect()
}

fn sentence(said: &str, wrong: Option<&str>, known: &[&str]) -> String {
    let unknown = said.strip_prefix("unknown field `");
    let Some(given) = unknown.and_then(|rest| rest.split('`').next()) else {
        return match wrong {
            Some(wrong) if !said.contains(&format!("`{wrong}`")) => format!("`{wrong}`: {said}"),
            _ => said.to_owned(),
        };
    };
    if known.contains(&given) {
        // Of something within an argument.
        return hinted(said.to_owned());
    }
    match meant(given, known.iter().copied()) {
        Some(name) => format!("there is no field `{given}`; did you mean `{name}`?"),
        None if known.is_empty() => format!("there is no field `{given}`; it takes none"),
        None => format!(
            "there is no field `{given}`; the fields are {}",
            known.join(", ")
        ),
    }
}

/// Arguments from the pairs of a query string, read as their schema says: a list is named several
/// times, one of fixed words also once with commas.
pub fn from_pairs(
    schema: &Schema,
    pairs: impl IntoIterator<Item = (String, String)>,
) -> Result<Map<String, Value>, Problem> {
    let mut arguments = Map::new();
    for (name, value) in pairs {
        let pointer = format!("/properties/{name}");
        let property = schema.pointer(&pointer);
        if is(property, "array") {
            let list = arguments
                .entry(name)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.extend(items(schema, property, value));
            }
            continue;
        }
        let read = match value.as_str() {
            "true" if is(property, "boolean") => Value::Bool(true),
            "false" if is(property, "boolean") => Value::Bool(false),
            text if is(property, "integer") || is(property, "number") => text
                .parse()
                .map_or_else(|_| Value::from(text), Value::Number),
            _ => Value::String(value),
        };
        if arguments.contains_key(&name) {
            return Err(Problem::invalid(format!(
                "`{name}` is given twice; give it once"
            )));
        }
        arguments.insert(name, read);
    }
    Ok(arguments)
}

fn is(property: Option<&Value>, wanted: &str) -> bool {
    match property.and_then(|property| property.get("type")) {
        Some(Value::String(name)) => name == wanted,
        Some(Value::Array(names)) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}

fn items(schema: &Schema, property: Option<&Value>, value: String) -> Vec<Value> {
    let items = property.and_then(|property| property.get("items"));
    let place = items
        .and_then(|items| items.get("$ref"))
        .and_then(Value::as_str);
    let items = match place.and_then(|place| place.strip_prefix('#')) {
        Some(place) => schema.pointer(place),
        None => items,
    };
    if items.is_some_and(|items| items.get("enum").is_some()) {
        let words = value.split(',').filter(|word| !word.is_empty());
        return words.map(Value::from).collect();
    }
    vec![Value::String(value)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::list::Arguments;

    fn read_pairs(pairs: &[(&str, &str)]) -> Result<Arguments, Problem> {
        let schema = SchemaGenerator::default().into_root_schema_for::<Arguments>();
        let pairs = pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        read("list", &from_pairs(&schema, pairs)?)
    }

    #[test]
    fn a_query_string_says_what_a_body_says() {
        let read = read_pairs(&[
            ("kind", "finding,pattern"),
            ("source", "user_input"),
            ("tag", "a,b"),
            ("tag", "c"),
            ("since", "7d"),
            ("limit", "3"),
        ]);
        let read = serde_json::to_value(read.unwrap()).unwrap();
        let body = serde_json::json!({
            "kind": ["finding", "pattern"], "source": ["user_input"], "tag": ["a,b", "c"],
            "since": "7d", "limit": 3,
        });
        assert_eq!(read, body);
        for (pairs, word) in [
            (&[("kind", "gossip")][..], "memory kind"),
            (&[("limit", "many")], "many"),
            (&[("topic", "x")], "the fields are"),
            (&[("limti", "x")], "did you mean `limit`?"),
            (&[("since", "7d"), ("since", "1d")], "given twice"),
        ] {
            let said = read_pairs(pairs).unwrap_err().detail;
            assert!(said.contains(word), "{said}");
        }
    }
}
