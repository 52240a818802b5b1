//! What the schema of arguments says of several fields together, for the derives' `transform`.

use crate::prelude::*;

/// A word of a fixed list, as it is typed at a terminal.
pub(crate) fn parse_word<T: DeserializeOwned>(typed: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(typed)).map_err(|error| error.to_string())
}

/// Restricts a field that is read as a text to these words.
pub(crate) fn restrict_to_words(
    words: impl IntoIterator<Item = &'static str>,
) -> impl FnMut(&mut Schema) {
    let mut all: Vec<Value> = words.into_iter().map(Value::from).collect();
    move |schema| {
        // What may be left out may be null.
        if schema.get("type").is_some_and(Value::is_array) {
            all.push(Value::Null);
        }
        schema.insert("enum".to_owned(), json!(all));
    }
}

/// Restricts the items of a list to these words.
pub(crate) fn restrict_items_to_words(
    words: impl IntoIterator<Item = &'static str>,
) -> impl FnMut(&mut Schema) {
    let words: Vec<&str> = words.into_iter().collect();
    move |schema| {
        schema.insert(
            "items".to_owned(),
            json!({ "type": "string", "enum": words }),
        );
    }
}

/// Requires at least one of the alternatives that `ways` makes of the schema.
fn insert_any_of(ways: impl Fn(&Schema) -> Vec<Value>) -> impl FnMut(&mut Schema) {
    move |schema| {
        let ways = ways(schema);
        schema.insert("anyOf".to_owned(), json!(ways));
    }
}

/// Requires at least one of these fields, with a text that is not blank.
pub(crate) fn require_any_non_blank(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    insert_any_of(move |schema| {
        let ways = names.iter().map(|name| object_schema(schema, &[name], &[]));
        ways.collect()
    })
}

/// Requires at least one of these fields, and that it is not null.
pub(crate) fn require_any_not_null(
    names: impl IntoIterator<Item = &'static str>,
) -> impl FnMut(&mut Schema) {
    let names: Vec<&str> = names.into_iter().collect();
    insert_any_of(move |schema| {
        let ways = names.iter().map(|name| {
            let field = non_null_schema(schema, name);
            json!({ "required": [name], "properties": { *name: field } })
        });
        ways.collect()
    })
}

/// Requires at least one of these fields; it may be null, which removes the stored value.
pub(crate) fn require_any_present(
    names: impl IntoIterator<Item = &'static str>,
) -> impl FnMut(&mut Schema) {
    let ways = names.into_iter().map(|name| json!({ "required": [name] }));
    let ways: Vec<Value> = ways.collect();
    insert_any_of(move |_| ways.clone())
}

/// Requires exactly one of these fields, with a text that is not blank.
pub(crate) fn require_exactly_one_non_blank(
    names: &'static [&'static str],
) -> impl FnMut(&mut Schema) {
    insert_any_of(move |schema| {
        let ways = names.iter().map(|name| {
            let others = names.iter().filter(|other| *other != name).copied();
            let mut way = object_schema(schema, &[name], &others.collect::<Vec<_>>());
            // It is there, whatever it says; a list of nothing is not there.
            let mut field = non_null_schema(schema, name);
            if field["type"] == "array" {
                field["minItems"] = json!(1);
            }
            way["properties"][*name] = field;
            way
        });
        ways.collect()
    })
}

/// Requires all of these fields or none of them.
pub(crate) fn require_all_or_none(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    insert_any_of(move |schema| {
        vec![
            object_schema(schema, &[], names),
            object_schema(schema, names, &[]),
        ]
    })
}

/// With the words of a field goes another that each needs: of `field`, (words, what they need).
pub(crate) fn require_field_by_word(
    field: &'static str,
    needs: &'static [(&'static [&'static str], Option<&'static str>)],
) -> impl FnMut(&mut Schema) {
    insert_any_of(move |schema| {
        let ways = needs.iter().map(|(words, need)| {
            let needed: Vec<&str> = need.iter().copied().collect();
            let mut way = object_schema(schema, &needed, &[]);
            way["properties"][field] = json!({ "enum": words });
            if let (Some(required), true) = (way["required"].as_array_mut(), need.is_some()) {
                required.push(Value::from(field));
            }
            way
        });
        ways.collect()
    })
}

/// The schema of an object in which the fields `there` are not blank and the fields `absent` are
/// null.
fn object_schema(schema: &Schema, there: &[&str], absent: &[&str]) -> Value {
    let mut properties = Map::new();
    for name in there {
        properties.insert((*name).to_owned(), non_blank_schema(schema, name));
    }
    for name in absent {
        properties.insert((*name).to_owned(), json!({ "type": "null" }));
    }
    json!({ "required": there, "properties": properties })
}

/// The schema of a field that is neither null nor blank nor empty.
fn non_blank_schema(schema: &Schema, name: &str) -> Value {
    let mut field = non_null_schema(schema, name);
    match field["type"].as_str() {
        Some("string") if field.get("enum").is_none() && field.get("pattern").is_none() => {
            field["pattern"] = json!(crate::bounds::NON_BLANK_PATTERN);
        }
        Some("array") => field["minItems"] = json!(1),
        _ => {}
    }
    field
}

/// The schema of a field that is not null.
fn non_null_schema(schema: &Schema, name: &str) -> Value {
    let field = schema.pointer(&format!("/properties/{name}"));
    let field = field.and_then(Value::as_object);
    let mut field = field.cloned().unwrap_or_default();
    field.remove("description");
    field.remove("default");
    for word in ["anyOf", "oneOf", "enum"] {
        if let Some(Value::Array(parts)) = field.get_mut(word) {
            parts.retain(|part| !part.is_null() && part["type"] != "null");
        }
    }
    if let Some(Value::Array(names)) = field.get_mut("type") {
        names.retain(|name| name != "null");
        if let [name] = &names[..] {
            let name = name.clone();
            field.insert("type".to_owned(), name);
        }
    }
    Value::Object(field)
}
