//! What the schema of arguments says of several fields together, for the derives' `transform`.

use crate::prelude::*;

/// A word of a fixed list, as it is typed at a terminal.
pub(crate) fn word<T: DeserializeOwned>(typed: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(typed)).map_err(|error| error.to_string())
}

/// Words, for a field that is read as a text.
pub(crate) fn words(words: impl IntoIterator<Item = &'static str>) -> impl FnMut(&mut Schema) {
    let mut all: Vec<Value> = words.into_iter().map(Value::from).collect();
    move |schema| {
        // What may be left out may be null.
        if schema.get("type").is_some_and(Value::is_array) {
            all.push(Value::Null);
        }
        schema.insert("enum".to_owned(), json!(all));
    }
}

/// The same for the items of a list.
pub(crate) fn lists(words: impl IntoIterator<Item = &'static str>) -> impl FnMut(&mut Schema) {
    let words: Vec<&str> = words.into_iter().collect();
    move |schema| {
        schema.insert(
            "items".to_owned(),
            json!({ "type": "string", "enum": words }),
        );
    }
}

/// One of the ways holds that are made of the schema.
fn any(ways: impl Fn(&Schema) -> Vec<Value>) -> impl FnMut(&mut Schema) {
    move |schema| {
        let ways = ways(schema);
        schema.insert("anyOf".to_owned(), json!(ways));
    }
}

/// One of these fields at least is there, and says something.
pub(crate) fn one_of(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    any(move |schema| {
        let ways = names.iter().map(|name| with(schema, &[name], &[]));
        ways.collect()
    })
}

/// One of these fields at least is there and not null, whatever it says.
pub(crate) fn any_of(names: impl IntoIterator<Item = &'static str>) -> impl FnMut(&mut Schema) {
    let names: Vec<&str> = names.into_iter().collect();
    any(move |schema| {
        let ways = names.iter().map(|name| {
            let field = without_null(schema, name);
            json!({ "required": [name], "properties": { *name: field } })
        });
        ways.collect()
    })
}

/// One of them at least is there; null takes away what stood there.
pub(crate) fn any_given(names: impl IntoIterator<Item = &'static str>) -> impl FnMut(&mut Schema) {
    let ways = names.into_iter().map(|name| json!({ "required": [name] }));
    let ways: Vec<Value> = ways.collect();
    any(move |_| ways.clone())
}

/// Just one of them is.
pub(crate) fn only_one_of(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    any(move |schema| {
        let ways = names.iter().map(|name| {
            let others = names.iter().filter(|other| *other != name).copied();
            let mut way = with(schema, &[name], &others.collect::<Vec<_>>());
            // It is there, whatever it says.
            way["properties"][*name] = without_null(schema, name);
            way
        });
        ways.collect()
    })
}

/// All of them are, or none.
pub(crate) fn all_or_none(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    any(move |schema| vec![with(schema, &[], names), with(schema, names, &[])])
}

/// With the words of a field goes another that each needs: of `field`, (words, what they need).
pub(crate) fn by_word(
    field: &'static str,
    needs: &'static [(&'static [&'static str], Option<&'static str>)],
) -> impl FnMut(&mut Schema) {
    any(move |schema| {
        let ways = needs.iter().map(|(words, need)| {
            let needed: Vec<&str> = need.iter().copied().collect();
            let mut way = with(schema, &needed, &[]);
            way["properties"][field] = json!({ "enum": words });
            if let (Some(required), true) = (way["required"].as_array_mut(), need.is_some()) {
                required.push(Value::from(field));
            }
            way
        });
        ways.collect()
    })
}

/// An object in which some fields are there and say something, and others are not.
fn with(schema: &Schema, there: &[&str], absent: &[&str]) -> Value {
    let mut properties = Map::new();
    for name in there {
        properties.insert((*name).to_owned(), said(schema, name));
    }
    for name in absent {
        properties.insert((*name).to_owned(), json!({ "type": "null" }));
    }
    json!({ "required": there, "properties": properties })
}

/// The schema of a field that is neither null nor blank nor empty.
fn said(schema: &Schema, name: &str) -> Value {
    let mut field = without_null(schema, name);
    match field["type"].as_str() {
        Some("string") if field.get("enum").is_none() && field.get("pattern").is_none() => {
            field["pattern"] = json!(crate::bounds::SAYS);
        }
        Some("array") => field["minItems"] = json!(1),
        _ => {}
    }
    field
}

/// The schema of a field that is not null.
fn without_null(schema: &Schema, name: &str) -> Value {
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
