//! The schemas that the disk and the views keep to, and how `schemas/views.d.ts` is made of them.

use serde_json::{Map, Value, json};

/// The draft-07 schemas of every written line, by file name.
pub(crate) const SCHEMAS: [(&str, &str); 3] = [
    (
        "learning.schema.json",
        include_str!("../../../schemas/learning.schema.json"),
    ),
    (
        "decision.schema.json",
        include_str!("../../../schemas/decision.schema.json"),
    ),
    (
        "failure.schema.json",
        include_str!("../../../schemas/failure.schema.json"),
    ),
];

/// The draft-07 schema of what each view answers, its parts by those of the disk.
const VIEWS: &str = include_str!("../../../schemas/views.schema.json");

/// Lists of words that have a name of their own: in which form, under which key.
const NAMED: [(&str, &str, &str); 3] = [
    ("Learning", "category", "LearningCategory"),
    ("Learning", "source_type", "SourceType"),
    ("Decision", "scope", "DecisionScope"),
];

/// One draft-07 schema with the definitions of all formats: those of the disk as views spell
/// them, a learning as the disk spells it, and the views.
pub(super) fn definitions() -> Map<String, Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let mut all = Map::new();
    for (_, schema) in SCHEMAS {
        let mut form = read(schema);
        let name = form["title"].as_str().unwrap_or_default().to_owned();
        for (of, key, named) in NAMED {
            if of == name {
                let words = form["properties"][key].take();
                let lead = ["#/definitions/", named].concat();
                form["properties"][key] = json!({ "$ref": lead });
                all.insert(named.to_owned(), words);
            }
        }
        if name == "Learning" {
            all.insert("StoredLearning".to_owned(), require_all_keys(&form));
        }
        all.insert(name, add_view_keys(&form));
    }
    let mut dead = all.get("Failure").cloned().unwrap_or_default();
    dead["description"] = json!("A failure under its older name");
    dead["properties"]["reason"] = json!({ "type": "string" });
    if let Some(required) = dead["required"].as_array_mut() {
        required.push(json!("reason"));
    }
    all.insert("DeadEnd".to_owned(), dead);
    if let Value::Object(views) = read(VIEWS)["definitions"].take() {
        all.extend(views);
    }
    all
}

/// A form of the disk as it is written: every key is there.
fn require_all_keys(form: &Value) -> Value {
    let mut form = form.clone();
    let keys = form["properties"].as_object().into_iter().flatten();
    form["required"] = keys.map(|(key, _)| json!(key)).collect();
    form["additionalProperties"] = json!(false);
    form
}

/// Adds the keys of a view to the schema of a line: each in camel case, too.
fn add_view_keys(form: &Value) -> Value {
    let mut form = require_all_keys(form);
    let keys = form["properties"].as_object().cloned().unwrap_or_default();
    let mut required = Vec::new();
    for (key, mut value) in keys {
        let told = to_camel_case(&key);
        form["properties"][&told] = value.clone();
        if told != key {
            value["description"] = json!("The same, under its name on the disk");
            form["properties"][key] = value;
        }
        required.push(told);
    }
    if form["properties"]["metadata"].is_null() {
        form["properties"]["metadata"] = json!({ "type": "object" });
    }
    form["required"] = json!(required);
    form
}

fn to_camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut told = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        told.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        told.push_str(letters.as_str());
    }
    told
}

/// The types as a `.d.ts` file.
pub(super) fn render_typescript() -> String {
    let head = "// What `reprise call knowledge` answers. Made from the schemas; do not edit.\n";
    let told = definitions().into_iter().map(|(name, form)| {
        let about = render_comment("", &form);
        let Some(properties) = form["properties"].as_object() else {
            return format!("\n{about}export type {name} = {};\n", render_type(&form));
        };
        let required = form["required"].as_array();
        let keys = properties.iter().map(|(key, value)| {
            let is_there = required.is_some_and(|keys| keys.iter().any(|one| one == key));
            let mark = if is_there { "" } else { "?" };
            format!(
                "{}  {key}{mark}: {};\n",
                render_comment("  ", value),
                render_type(value)
            )
        });
        let keys: String = keys.collect();
        format!("\n{about}export interface {name} {{\n{keys}}}\n")
    });
    [head.to_owned()].into_iter().chain(told).collect()
}

fn render_comment(indent: &str, form: &Value) -> String {
    let said = form["description"].as_str();
    said.map_or_else(String::new, |said| format!("{indent}/** {said} */\n"))
}

fn render_type(form: &Value) -> String {
    if let Some(named) = form["$ref"].as_str() {
        return named.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(words) = form["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return words.join(" | ");
    }
    if let Some(either) = form["type"].as_array() {
        let either: Vec<String> = either
            .iter()
            .map(|one| render_type(&json!({ "type": one })))
            .collect();
        return either.join(" | ");
    }
    match form["type"].as_str() {
        Some("integer") => "number".to_owned(),
        Some("array") => format!("Array<{}>", render_type(&form["items"])),
        Some("object") => {
            let value = &form["additionalProperties"];
            let value = if value.is_object() {
                render_type(value)
            } else {
                "unknown".to_owned()
            };
            let key = form
                .get("propertyNames")
                .map_or_else(|| "string".to_owned(), render_type);
            let record = format!("Record<{key}, {value}>");
            if form["x-partial"] == true {
                format!("Partial<{record}>")
            } else {
                record
            }
        }
        Some(plain) => plain.to_owned(),
        None => "unknown".to_owned(),
    }
}
