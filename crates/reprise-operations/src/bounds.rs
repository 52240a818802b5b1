//! How much each argument of a request may be: the one place where a request is bounded, before
//! anything of it is copied or read further.
//!
//! The schema of the arguments says it, to `OpenAPI`, to MCP and to [`Bounds::check`] alike. Each
//! argument has a kind that describes it ([`kinds`]); what else is in a schema has a bound all the
//! same.

mod kinds;
mod meant_types;
mod patterns;
mod room;
mod secrets;

use std::any::TypeId;
use std::sync::{LazyLock, PoisonError, RwLock};

use reprise_types::limits::LIST_ITEMS_MAX;

pub use kinds::{
    ArgumentKind, CountContent, DescribedArguments, FreeContent, FreeObject, LimitCount, LineText,
    LongText, NameText, OtherType, PlainType, RecordKey, TextContent, TextKind, TextRule, TimeText,
    TypeCheck, require_arguments,
};
pub(crate) use kinds::{
    DescribedElsewhere, FixedWord, ItemCount, QuestionText, RecordKeys, RedactedLater, SelectorKey,
    SelectorName, SelectorNames, SessionName, StoredSession, arguments,
};
pub(crate) use patterns::{NON_BLANK_PATTERN, SELECTOR_PATTERN, instant_pattern};
pub use room::Room;
use room::{FREE_BYTES_MAX, FREE_VALUE_BYTES};
pub(crate) use room::{names_type, resolve_reference};

use crate::prelude::*;

/// Longest text that is read, in characters: sixteen times what is kept of one.
const TEXT_CHARS_MAX: usize = 1024 * 1024;
/// Longest line of words: a reason, a goal, an address.
const LINE_CHARS_MAX: usize = 16 * 1024;
/// Most names of a free object.
const FIELDS_MAX: usize = 1_024;
/// Largest number of things that can be asked for.
const COUNT_MAX: u64 = 1_000_000_000;

/// Puts a bound on every part of a schema that has none, and takes out what only this crate reads.
pub fn add_missing_bounds(schema: &mut Schema) {
    if let Some(schema) = schema.as_object_mut() {
        bound_schema(schema);
        remove_marks(schema);
    }
}

/// Notes under which other names programs send a field.
pub fn note_former_names(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    move |schema| {
        if !names.is_empty() {
            schema.insert(FORMER_NAMES.to_owned(), json!(names));
        }
    }
}

fn bound_schema(schema: &mut Map<String, Value>) {
    if schema.contains_key("const") || schema.contains_key("enum") {
        return;
    }
    let types = schema.get("type").cloned().unwrap_or_default();
    let is_free = !schema.contains_key("properties");
    for (name, word, bound) in [
        ("string", "maxLength", json!(LINE_CHARS_MAX)),
        ("integer", "maximum", json!(COUNT_MAX)),
        ("array", "maxItems", json!(LIST_ITEMS_MAX)),
        ("object", "maxProperties", json!(FIELDS_MAX)),
    ] {
        if names_type(&types, name) && (is_free || name != "object") {
            schema.entry(word).or_insert(bound);
        }
    }
    // What spoils only itself is not refused here.
    if !schema.contains_key(ALONE) {
        list_parts(schema).for_each(bound_schema);
    }
}

fn remove_marks(schema: &mut Map<String, Value>) {
    schema.remove(FORMER_NAMES);
    schema.remove(secrets::MARK);
    schema.remove(WHOLE_SESSION);
    schema.remove(CHOOSES);
    list_parts(schema).for_each(remove_marks);
}

/// Lists the schemas within a schema.
fn list_parts(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let parts = schema.iter_mut().flat_map(|(word, part)| {
        let parts: Vec<&mut Value> = match (word.as_str(), part) {
            ("properties" | "$defs", Value::Object(parts)) => parts.values_mut().collect(),
            ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => parts.iter_mut().collect(),
            ("items" | "additionalProperties", part) => vec![part],
            _ => Vec::new(),
        };
        parts
    });
    parts.filter_map(Value::as_object_mut)
}

/// Lists the schemas of which a value has to fit one.
fn list_alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].map(|word| schema[word].as_array());
    lists.into_iter().flatten().flatten()
}

/// The bounds of a type's values, as its schema says them.
#[derive(Debug)]
pub struct Bounds {
    schema: Value,
    room: Room,
}

type BoundsByType = HashMap<TypeId, Arc<Bounds>>;

static KNOWN: LazyLock<RwLock<BoundsByType>> = LazyLock::new(RwLock::default);

impl Bounds {
    /// Returns the bounds of a type; its schema is made once for the process.
    #[must_use]
    pub fn get_for_type<T: JsonSchema + 'static>() -> Arc<Self> {
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
        bound_schema(schema.ensure_object());
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
    pub(crate) fn field_names(&self) -> Vec<&str> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        names.map(String::as_str).collect()
    }

    /// Finds the session that arguments look for.
    pub(crate) fn find_session<'f>(
        &self,
        fields: &'f mut Map<String, Value>,
    ) -> Option<&'f mut String> {
        fields.iter_mut().find_map(|(name, value)| {
            let own = find_field(&self.schema, name)?;
            match value {
                Value::String(session) if own.get(WHOLE_SESSION).is_some() => Some(session),
                _ => None,
            }
        })
    }

    /// Whether a value is within them; the error is a sentence about it. Of which type a value is,
    /// which fields are missing and which nobody knows is the reader's to say.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match value {
            Value::Object(fields) => self.check_fields(fields),
            value => self.check_value("the value", &self.schema, value),
        }
    }

    /// Checks the fields of an object, with the same errors as [`Self::check`].
    pub(crate) fn check_fields(&self, fields: &Map<String, Value>) -> Result<(), String> {
        check_count("the object", "fields", fields.len(), &json!(FIELDS_MAX))?;
        self.check_object("the object", &self.schema, fields)
    }

    fn check_value(&self, name: &str, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = resolve_reference(&self.schema, schema);
        if schema.is_null() {
            return check_undescribed_value(name, value);
        }
        let mut parts = list_alternatives(schema).peekable();
        if parts.peek().is_some() {
            return self.check_any_of(name, parts, value);
        }
        let at_most =
            |what: &str, count: usize, word: &str| check_count(name, what, count, &schema[word]);
        match value {
            Value::String(text) => {
                let chooses =
                    schema["pattern"] == SELECTOR_PATTERN || schema.get(CHOOSES).is_some();
                if chooses && text.trim().is_empty() {
                    return Err(format!("`{name}` is empty; name one, or leave it out"));
                }
                let is_blank = schema["pattern"] == NON_BLANK_PATTERN && text.trim().is_empty();
                let needs_one = schema["minLength"].as_u64().is_some_and(|least| least > 0);
                if is_blank || needs_one && text.is_empty() {
                    return Err(format!("`{name}` is empty; write something"));
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
                        .try_for_each(|item| self.check_value(name, each, item)),
                    None => check_undescribed_value(name, value),
                }
            }
            Value::Object(fields) => {
                at_most("fields", fields.len(), "maxProperties")?;
                self.check_object(name, schema, fields)
            }
            Value::Number(number) => {
                check_number(name, schema, number.as_f64().unwrap_or(f64::MAX))
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn check_object(
        &self,
        name: &str,
        schema: &Value,
        fields: &Map<String, Value>,
    ) -> Result<(), String> {
        let others = &schema["additionalProperties"];
        for (field, value) in fields {
            match find_field(schema, field) {
                Some(schema) => self.check_value(field, schema, value)?,
                None if others.is_object() => self.check_value(name, others, value)?,
                None => check_undescribed_value(field, value)?,
            }
        }
        Ok(())
    }

    /// One of several: that which is of the value's type, or any.
    fn check_any_of<'s>(
        &self,
        name: &str,
        parts: impl Iterator<Item = &'s Value>,
        value: &Value,
    ) -> Result<(), String> {
        let mut refused = None;
        for part in parts.filter(|part| self.has_allowed_type(part, value)) {
            match self.check_value(name, part, value) {
                Ok(()) => return Ok(()),
                Err(said) => refused = refused.or(Some(said)),
            }
        }
        refused.map_or_else(|| check_undescribed_value(name, value), Err)
    }

    fn has_allowed_type(&self, schema: &Value, value: &Value) -> bool {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let fits = |name: &Value| name == kind || (kind == "number" && name == "integer");
        match &resolve_reference(&self.schema, schema)["type"] {
            Value::Array(names) => names.iter().any(fits),
            Value::Null => true,
            name => fits(name),
        }
    }
}

/// Returns the schema of a field by its name, or by one that it had before.
fn find_field<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let fields = schema["properties"].as_object()?;
    let had_name = |field: &&Value| {
        let names = field[FORMER_NAMES].as_array();
        names.is_some_and(|names| names.iter().any(|one| one == name))
    };
    fields.get(name).or_else(|| fields.values().find(had_name))
}

/// Names that a field had before, or that other programs call it.
const FORMER_NAMES: &str = "x-former-names";

/// Marks the name of a session that is looked for, which may be its beginning.
const WHOLE_SESSION: &str = "x-whole-session";

/// Marks a text by which something is chosen: a blank one would choose nothing.
const CHOOSES: &str = "x-chooses";

/// Marks a list whose items are each judged alone, so that a bad one spoils only itself.
pub(crate) const ALONE: &str = "x-each-alone";

fn check_count(name: &str, what: &str, count: usize, limit: &Value) -> Result<(), String> {
    let Some(limit) = limit.as_u64().filter(|limit| count as u64 > *limit) else {
        return Ok(());
    };
    let name: String = name.chars().take(64).collect();
    Err(format!("`{name}` has {count} {what}; send at most {limit}"))
}

fn check_number(name: &str, schema: &Value, number: f64) -> Result<(), String> {
    if names_type(&schema["type"], "integer") && number.fract() != 0.0 {
        return Err(format!("`{name}` is {number}; send a whole number"));
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
        let most = most.filter(|most| *most < COUNT_MAX as f64 || number > *most);
        let wanted = match (least, most) {
            (Some(least), Some(most)) => format!("between {least} and {most}"),
            (Some(least), None) => format!("of {least} or more"),
            (_, most) => format!("up to {}", most.unwrap_or_default()),
        };
        return Err(format!("`{name}` is {number}; send a number {wanted}"));
    }
    Ok(())
}

/// Refuses a value that no schema describes if it is too large.
fn check_undescribed_value(name: &str, value: &Value) -> Result<(), String> {
    if bytes_left_after(value, FREE_BYTES_MAX).is_some() {
        return Ok(());
    }
    let name: String = name.chars().take(64).collect();
    Err(format!(
        "`{name}` has more than {FREE_BYTES_MAX} bytes; send less"
    ))
}

/// Returns what a value leaves of `room`; `None` if it does not fit.
fn bytes_left_after(value: &Value, room: usize) -> Option<usize> {
    let room = room.checked_sub(FREE_VALUE_BYTES)?;
    match value {
        Value::String(text) => room.checked_sub(text.len()),
        Value::Array(items) => items
            .iter()
            .try_fold(room, |room, item| bytes_left_after(item, room)),
        Value::Object(fields) => fields.iter().try_fold(room, |room, (name, value)| {
            bytes_left_after(value, room.checked_sub(name.len())?)
        }),
        _ => Some(room),
    }
}

#[cfg(test)]
mod tests;
