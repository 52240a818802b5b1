//! The descriptions of a catalogue's tools for MCP, in as few tokens as possible, since every
//! session pays for them.

use std::sync::Arc;

use reprise_operations::{Catalogue, CatalogueEntry, Effect, Profile, Tool as Shown};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Marks an argument that only the full profile shows; every profile accepts it.
const RARE_MARK: &str = "x-rare";

/// Argument that a model should always give, where a program may give another in its place.
const USUAL: [(&str, &str); 1] = [("learn", "text")];

/// Bounds that are not shown of a whole number, since every count has them.
const USUAL_BOUNDS: [Option<f64>; 2] = [Some(0.0), Some(1e9)];

/// Lists the tools of a profile, in the order in which they are shown.
pub(super) fn list(catalogue: &Catalogue, profile: Profile) -> Vec<Tool> {
    let shown = |entry: &CatalogueEntry| entry.spec.tool.filter(|tool| profile.shows(tool.profile));
    let entries = || {
        let entries = catalogue.entries();
        entries.filter_map(|entry| Some((entry, shown(entry)?)))
    };
    let tools = entries().map(|(entry, shown)| describe_tool(entry, shown.name, profile));
    let aliases = entries()
        .filter(|_| profile == Profile::Full)
        .flat_map(|(entry, Shown { aliases, .. })| aliases.iter().map(move |name| (entry, *name)))
        .map(|(entry, name)| describe_tool(entry, name, profile));
    tools.chain(aliases).collect()
}

fn describe_tool(entry: &CatalogueEntry, name: &'static str, profile: Profile) -> Tool {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let input = entry.arguments_schema(&mut settings.clone().for_deserialize().into_generator());
    let output = entry.answer_schema(&mut settings.for_serialize().into_generator());
    let annotations = match entry.spec.effect {
        Effect::Reads => ToolAnnotations::new().read_only(true),
        Effect::Adds => ToolAnnotations::new().destructive(false),
        Effect::Destroys => ToolAnnotations::new().destructive(true),
    };
    Tool::new(
        name,
        entry.spec.summary,
        input_schema(&input.into(), entry.spec.name, profile),
    )
    .with_title(title_of(name))
    .with_raw_output_schema(output_schema(&output.into(), profile))
    .with_annotations(annotations)
}

/// Returns the name of a tool as a program shows it to a person.
fn title_of(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + &rest.replace('_', " ")
}

fn into_object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// Returns the schema of the arguments: names, types, descriptions.
fn input_schema(schema: &Value, name: &str, profile: Profile) -> Arc<JsonObject> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let shown =
        properties.filter(|(_, one)| profile == Profile::Full || one.get(RARE_MARK).is_none());
    let shown: JsonObject = shown
        .map(|(name, one)| (name.clone(), simplify_property(one)))
        .collect();
    let mut input = json!({ "type": "object", "properties": shown });
    let required = find_required_arguments(schema, name, &input["properties"]);
    if !required.is_empty() {
        input["required"] = json!(required);
    }
    into_object(input)
}

/// Returns what a model has to give: also the one of several ways that its profile shows.
fn find_required_arguments<'a>(schema: &'a Value, name: &str, shown: &Value) -> Vec<&'a str> {
    let names = |list: &'a Value| {
        list.as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    let always: Vec<&str> = names(&schema["required"]).collect();
    if !always.is_empty() {
        return always;
    }
    let ways = schema["anyOf"].as_array().into_iter().flatten();
    let ways = ways.flat_map(|way| names(&way["required"]));
    let ways: Vec<&str> = ways.filter(|way| shown.get(*way).is_some()).collect();
    let is_usual = |way: &&str| USUAL.iter().any(|(of, usual)| *of == name && usual == way);
    let usual = ways.iter().copied().filter(is_usual);
    let usual: Vec<&str> = usual.collect();
    if ways.len() == 1 { ways } else { usual }
}

/// Returns the schema of the answer: its required fields, and in the full profile their types.
fn output_schema(schema: &Value, profile: Profile) -> Arc<JsonObject> {
    let mut output = json!({ "type": "object" });
    if let Some(required) = schema.get("required") {
        output["required"] = required.clone();
    }
    if profile == Profile::Full {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let types = properties.map(|(name, part)| (name.clone(), type_schema(part)));
        output["properties"] = Value::Object(types.collect());
    }
    into_object(output)
}

/// Reduces a property's schema to what a model uses.
fn simplify_property(property: &Value) -> Value {
    let mut plain = JsonObject::new();
    let options = property.get("anyOf").and_then(Value::as_array);
    let given = options
        .and_then(|options| options.first())
        .unwrap_or(property);
    let words = allowed_words(given);
    if words.is_empty() {
        plain.insert("type".to_owned(), json!(type_name(given)));
    } else {
        plain.insert("enum".to_owned(), json!(words));
    }
    if let Some(items) = given.get("items") {
        plain.insert("items".to_owned(), simplify_property(items));
    }
    let is_number = type_name(given) == "number";
    for name in ["minimum", "maximum"] {
        let bound = given
            .get(name)
            .filter(|bound| is_number || !USUAL_BOUNDS.contains(&bound.as_f64()));
        if let Some(bound) = bound {
            plain.insert(name.to_owned(), bound.clone());
        }
    }
    if let Some(text) = property.get("description").and_then(Value::as_str) {
        let text = text.trim_end_matches('.').replace('\n', " ");
        plain.insert("description".to_owned(), json!(text));
    }
    Value::Object(plain)
}

/// Returns the types of a field of an answer, with null if it may be null; empty if unknown.
fn type_schema(part: &Value) -> Value {
    let ways = ["anyOf", "oneOf"].map(|word| part[word].as_array());
    let ways: Vec<&Value> = ways.into_iter().flatten().flatten().collect();
    let whole = std::slice::from_ref(&part);
    let mut types: Vec<&Value> = Vec::new();
    for way in if ways.is_empty() { whole } else { &ways[..] } {
        match &way["type"] {
            Value::Array(several) => types.extend(several),
            Value::String(_) => types.push(&way["type"]),
            _ => return json!({}),
        }
    }
    types.sort_unstable_by_key(|name| (name.as_str() == Some("null"), name.as_str()));
    types.dedup();
    match &types[..] {
        [one] => json!({ "type": one }),
        several => json!({ "type": several }),
    }
}

/// Lists the words that a property allows.
fn allowed_words(property: &Value) -> Vec<&Value> {
    let listed = property.get("enum").and_then(Value::as_array);
    let described = property.get("oneOf").and_then(Value::as_array);
    let described = described.into_iter().flatten();
    let described = described.filter_map(|option| option.get("const"));
    let words = listed.into_iter().flatten().chain(described);
    words.filter(|word| !word.is_null()).collect()
}

/// Returns the type of a property that is not null.
fn type_name(property: &Value) -> Value {
    match &property["type"] {
        Value::Array(types) => {
            let mut types = types.iter().filter(|name| *name != "null");
            types.next().cloned().unwrap_or_else(|| json!("string"))
        }
        Value::String(name) => json!(name),
        _ => match property.get("anyOf").and_then(Value::as_array) {
            Some(options) if !options.is_empty() => type_name(&options[0]),
            _ if property.get("oneOf").is_some() || property.get("enum").is_some() => {
                json!("string")
            }
            _ => json!("object"),
        },
    }
}
