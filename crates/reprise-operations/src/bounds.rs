//! How much each argument of a request may be: the one place where a request is bounded, before
//! anything of it is copied or read further.
//!
//! The schema of the arguments says it, to `OpenAPI`, to MCP and to [`Bounds::check`] alike. What a
//! field does not say of itself (`#[schemars(length(..))]`) is said here by its name, for a name
//! means the same in all operations; and what no name says has a bound all the same.

mod room;

use std::any::TypeId;
use std::sync::{LazyLock, PoisonError, RwLock};

use reprise_types::limits::LIST_ITEMS_MAX;

pub use room::Room;
use room::{FREE_BYTES_MAX, FREE_VALUE_BYTES};
pub(crate) use room::{is_of, resolved};

use crate::prelude::*;

/// Longest text that is read, in characters: sixteen times what is kept of one.
const TEXT_CHARS_MAX: usize = 1024 * 1024;
/// Longest line of words: a reason, a goal, an address.
const LINE_CHARS_MAX: usize = 16 * 1024;
/// Most names of a free object.
const FIELDS_MAX: usize = 1_024;
/// Largest number of things that can be asked for.
const COUNT_MAX: u64 = 1_000_000_000;

/// Texts: what is remembered, and what is asked.
const TEXTS: [&str; 6] = ["content", "fact", "files", "q", "query", "text"];
/// Names that records and other things are kept under, or looked up by.
const NAMES: [&str; 30] = [
    "action",
    "after",
    "agent",
    "at",
    "commit",
    "cursor",
    "event",
    "from",
    "id",
    "of",
    "record",
    "reference",
    "related_to",
    "to",
    "workspace",
    "actor",
    "actor_id",
    "author",
    "branch",
    "external_id",
    "human",
    "namespace",
    "project",
    "relation",
    "run_id",
    "session",
    "session_id",
    "source_refs",
    "tag",
    "tags",
];
/// Times as a calendar reads them.
const TIMES: [&str; 6] = ["as_of", "before", "known_at", "since", "until", "when"];
/// How many answers are asked for: none is no question.
const LIMITS: [&str; 2] = ["k", "limit"];
/// What is not just any text where it is needed at all: questions, and who acts where in a governed
/// workspace.
const NEEDED: [(&str, &str); 6] = [
    ("q", SAYS),
    ("query", SAYS),
    ("actor", ACTOR),
    ("agent", ACTOR),
    ("human", "^(?:human:)?[A-Za-z0-9][A-Za-z0-9._-]{0,57}$"),
    // Of a path the short ones; what it may not have, the workspace itself refuses.
    (
        "path",
        "^(?:[^/\\\\\\x00-\\x1f\\x7f-\\x9f]{0,62}[^/\\\\\\x00-\\x1f\\x7f-\\x9f. ]/){0,3}\
        [^/\\\\\\x00-\\x1f\\x7f-\\x9f]{0,62}[^/\\\\\\x00-\\x1f\\x7f-\\x9f. ]$",
    ),
];

/// The pattern of a text that is not blank: the one pattern that is held here, for no reader says
/// more of it.
pub(crate) const SAYS: &str = r"\S";

/// Who acts in a governed workspace: an agent by its name, or a person.
const ACTOR: &str = "^(?:human:[A-Za-z0-9][A-Za-z0-9._-]{0,57}|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$";

/// The branch of an agent in a governed workspace, or its name.
pub(crate) const AGENTS_BRANCH: &str = "^(?:agent/)?[A-Za-z0-9][A-Za-z0-9._-]{0,57}$";

/// A day that exists, of the years 1600 to 2399.
const DAY: &str = "(?:(?:1[6-9]|2[0-3])[0-9]{2}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|\
    (?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|\
    (?:1[6-9]|2[0-3])(?:0[48]|[2468][048]|[13579][26])-02-29|(?:16|20)00-02-29)";
const HOUR: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";

/// The times that a calendar reads: RFC 3339, a day, a month, a year, and what is counted from now.
fn times() -> String {
    format!(
        "^(?:{DAY}(?:[T ]{HOUR}(?::[0-5][0-9](?:\\.[0-9]{{1,9}})?(?:Z|[+-]{HOUR})?)?)?|\
         (?:19[7-9][0-9]|20[0-9]{{2}})(?:-(?:0[1-9]|1[0-2]))?|[0-9]{{1,4}}(?:min|mo|m|h|d|w)|\
         [0-9]{{1,2}}y|today|yesterday|(?:last|this) (?:week|month|year))$"
    )
}

/// The instants that a record carries: RFC 3339, the same without a zone, or a day.
pub(crate) fn instants() -> String {
    format!("^{DAY}(?:T{HOUR}:[0-5][0-9](?:\\.[0-9]{{1,9}})?(?:Z|[+-]{HOUR})?)?$")
}

/// Puts a bound on every part of a schema that has none.
pub fn bound(schema: &mut Schema) {
    if let Some(schema) = schema.as_object_mut() {
        within("", schema, false);
    }
}

fn within(name: &str, schema: &mut Map<String, Value>, is_needed: bool) {
    if schema.contains_key("const") || schema.contains_key("enum") {
        return;
    }
    let types = schema.get("type").cloned().unwrap_or_default();
    let is = |wanted: &str| is_of(&types, wanted);
    let mut say = |word: &str, bound: Value| {
        schema.entry(word).or_insert(bound);
    };
    if is("string") {
        say("maxLength", json!(longest(name)));
        if TIMES.contains(&name) {
            say("pattern", json!(times()));
        } else if let Some((_, pattern)) = NEEDED.iter().find(|(one, _)| is_needed && *one == name)
        {
            say("pattern", json!(pattern));
        }
    }
    if is("integer") {
        say("maximum", json!(COUNT_MAX));
    }
    if is("array") {
        say("maxItems", json!(LIST_ITEMS_MAX));
    }
    if is("integer") && LIMITS.contains(&name) {
        schema.insert("minimum".to_owned(), json!(1));
    }
    let is_free = !schema.contains_key("properties");
    if is("object") && is_free {
        schema.entry("maxProperties").or_insert(json!(FIELDS_MAX));
    }
    if schema.contains_key(ALONE) {
        // What spoils only itself is not refused here.
        return;
    }
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        let names = required.as_array().into_iter().flatten();
        names.into_iter().any(|one| one == name)
    };
    for word in ["properties", "$defs"] {
        let parts = schema.get_mut(word).and_then(Value::as_object_mut);
        for (name, part) in parts.into_iter().flatten() {
            if let Value::Object(part) = part {
                within(name, part, is_required(name));
            }
        }
    }
    for word in ["items", "additionalProperties", "anyOf", "oneOf", "allOf"] {
        let parts: Vec<&mut Value> = match schema.get_mut(word) {
            Some(Value::Array(parts)) => parts.iter_mut().collect(),
            Some(part) => vec![part],
            None => Vec::new(),
        };
        for part in parts.into_iter().filter_map(Value::as_object_mut) {
            within(name, part, is_needed);
        }
    }
}

fn longest(name: &str) -> usize {
    match name {
        name if TEXTS.contains(&name) => TEXT_CHARS_MAX,
        name if NAMES.contains(&name) => IDENTIFIER_BYTES_MAX,
        _ => LINE_CHARS_MAX,
    }
}

/// The bounds of a type's values, as its schema says them.
#[derive(Debug)]
pub struct Bounds {
    schema: Value,
    room: Room,
}

type Known = HashMap<TypeId, Arc<Bounds>>;

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);

impl Bounds {
    /// Those of a type; its schema is made once.
    #[must_use]
    pub fn of<T: JsonSchema + 'static>() -> Arc<Self> {
        let id = TypeId::of::<T>();
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(bounds) = known.get(&id) {
            return Arc::clone(bounds);
        }
        drop(known);
        let mut generator = SchemaGenerator::default();
        let mut schema = T::json_schema(&mut generator);
        let definitions = Value::Object(generator.take_definitions(false));
        schema.insert("$defs".to_owned(), definitions);
        bound(&mut schema);
        let schema = schema.to_value();
        let room = Room::of(&schema);
        let bounds = Arc::new(Self { schema, room });
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(id, Arc::clone(&bounds));
        bounds
    }

    /// How much JSON they admit.
    #[must_use]
    pub fn room(&self) -> Room {
        self.room
    }

    /// The names of its fields.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        names.map(String::as_str).collect()
    }

    /// Whether a value is within them; the error is a sentence about it. Of which type a value is,
    /// which fields are missing and which nobody knows is the reader's to say.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match value {
            Value::Object(fields) => self.check_fields(fields),
            value => self.look("the value", &self.schema, value),
        }
    }

    /// The same of an object.
    pub(crate) fn check_fields(&self, fields: &Map<String, Value>) -> Result<(), String> {
        most("the object", "fields", fields.len(), &json!(FIELDS_MAX))?;
        self.look_inside("the object", &self.schema, fields)
    }

    /// The value with 5.0 written as 5 where a whole number belongs: they are one to JSON Schema
    /// and to those who write it.
    #[must_use]
    pub fn settled(&self, mut value: Value) -> Value {
        self.settle(&self.schema, &mut value);
        value
    }

    fn settle(&self, schema: &Value, value: &mut Value) {
        let schema = resolved(&self.schema, schema);
        for word in ["anyOf", "oneOf"] {
            for part in schema[word].as_array().into_iter().flatten() {
                if self.admits(part, value) {
                    self.settle(part, value);
                }
            }
        }
        match value {
            Value::Array(items) if schema.get(ALONE).is_none() => {
                for item in items {
                    self.settle(&schema["items"], item);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.settle(&schema["properties"][name], field);
                }
            }
            Value::Number(number) if number.is_f64() => {
                let is_whole = is_of(&schema["type"], "integer");
                let whole = number
                    .as_f64()
                    .filter(|float| is_whole && float.fract() == 0.0);
                if let Some(whole) = whole.and_then(|float| format!("{float:.0}").parse().ok()) {
                    *value = Value::Number(whole);
                }
            }
            _ => {}
        }
    }

    fn look(&self, name: &str, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = resolved(&self.schema, schema);
        if schema.is_null() {
            return free(name, value);
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = schema.get(word) {
                return self.look_at_one(name, parts, value);
            }
        }
        let at_most = |what: &str, count: usize, word: &str| most(name, what, count, &schema[word]);
        match value {
            Value::String(text) => {
                if schema["pattern"] == SAYS && text.trim().is_empty() {
                    return Err(format!("`{name}` is empty; say something in it"));
                }
                let limit = schema["maxLength"].as_u64();
                // A text has no more characters than bytes: most need not be counted.
                if limit.is_none_or(|limit| text.len() as u64 > limit) {
                    at_most("characters", text.chars().count(), "maxLength")?;
                }
                Ok(())
            }
            Value::Array(items) => {
                at_most("items", items.len(), "maxItems")?;
                match schema.get("items") {
                    _ if schema.get(ALONE).is_some() => Ok(()),
                    Some(each) => items
                        .iter()
                        .try_for_each(|item| self.look(name, each, item)),
                    None => free(name, value),
                }
            }
            Value::Object(fields) => {
                at_most("fields", fields.len(), "maxProperties")?;
                self.look_inside(name, schema, fields)
            }
            Value::Number(number) => range(name, schema, number.as_f64().unwrap_or(f64::MAX)),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn look_inside(
        &self,
        name: &str,
        schema: &Value,
        fields: &Map<String, Value>,
    ) -> Result<(), String> {
        let others = &schema["additionalProperties"];
        for (field, value) in fields {
            match schema["properties"].get(field) {
                Some(schema) => self.look(field, schema, value)?,
                None if others.is_object() => self.look(name, others, value)?,
                None => free(field, value)?,
            }
        }
        Ok(())
    }

    /// One of several: that which is of the value's type, or any.
    fn look_at_one(&self, name: &str, parts: &[Value], value: &Value) -> Result<(), String> {
        let mut refused = None;
        for part in parts.iter().filter(|part| self.admits(part, value)) {
            match self.look(name, part, value) {
                Ok(()) => return Ok(()),
                Err(said) => refused = refused.or(Some(said)),
            }
        }
        refused.map_or_else(|| free(name, value), Err)
    }

    fn admits(&self, schema: &Value, value: &Value) -> bool {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let fits = |name: &Value| name == kind || (kind == "number" && name == "integer");
        match &resolved(&self.schema, schema)["type"] {
            Value::Array(names) => names.iter().any(fits),
            Value::Null => true,
            name => fits(name),
        }
    }
}

/// Marks a list whose items are each judged alone, so that a bad one spoils only itself.
pub(crate) const ALONE: &str = "x-each-alone";

fn most(name: &str, what: &str, count: usize, limit: &Value) -> Result<(), String> {
    let Some(limit) = limit.as_u64().filter(|limit| count as u64 > *limit) else {
        return Ok(());
    };
    let name: String = name.chars().take(64).collect();
    Err(format!("`{name}` has {count} {what}; send at most {limit}"))
}

fn range(name: &str, schema: &Value, number: f64) -> Result<(), String> {
    if is_of(&schema["type"], "integer") && number.fract() != 0.0 {
        return Err(format!("`{name}` is {number}; send a whole number"));
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
        let wanted = match (least, most) {
            (Some(least), Some(most)) => format!("between {least} and {most}"),
            (Some(least), None) => format!("from {least} on"),
            (_, most) => format!("up to {}", most.unwrap_or_default()),
        };
        return Err(format!("`{name}` is {number}; send a number {wanted}"));
    }
    Ok(())
}

/// What nobody has said the form of.
fn free(name: &str, value: &Value) -> Result<(), String> {
    if weigh(value, FREE_BYTES_MAX).is_some() {
        return Ok(());
    }
    let name: String = name.chars().take(64).collect();
    Err(format!(
        "`{name}` has more than {FREE_BYTES_MAX} bytes; send less"
    ))
}

/// What is left of `room` beside a value; `None` where it has none.
fn weigh(value: &Value, room: usize) -> Option<usize> {
    let room = room.checked_sub(FREE_VALUE_BYTES)?;
    match value {
        Value::String(text) => room.checked_sub(text.len()),
        Value::Array(items) => items.iter().try_fold(room, |room, item| weigh(item, room)),
        Value::Object(fields) => fields.iter().try_fold(room, |room, (name, value)| {
            weigh(value, room.checked_sub(name.len())?)
        }),
        _ => Some(room),
    }
}

#[cfg(test)]
mod tests;
