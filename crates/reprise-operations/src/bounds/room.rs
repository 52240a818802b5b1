//! How much JSON a schema admits: what is longer, or has more values, is refused before it is read
//! as JSON. Read, a byte of it can take a hundred of memory.

use super::list_alternatives;
use crate::prelude::*;

/// Longest free JSON: bytes of its texts, and so many for each value.
pub(super) const FREE_BYTES_MAX: usize = 1024 * 1024;
pub(super) const FREE_VALUE_BYTES: usize = 16;
/// Most values of a body. Ten thousand records have less, their vectors included.
const VALUES_MAX: usize = 4_000_000;
/// A list or an object counts as so many values: it takes as much memory.
const CONTAINER: usize = 8;
/// Bytes of a character: as JSON writes it where it is written as two escapes.
const CHARACTER_BYTES: usize = 12;
/// Bytes of a number, or of a fixed word.
const WORD_BYTES: usize = 64;
/// Former names, blanks, and what is refused with a sentence of its own.
const SLACK: Room = Room {
    bytes: 1024 * 1024,
    values: 16_384,
};
/// Room for a value that no schema describes.
const FREE: Room = Room {
    bytes: 6 * FREE_BYTES_MAX,
    values: FREE_BYTES_MAX / FREE_VALUE_BYTES * CONTAINER,
};
/// Schemas within each other that are looked at.
const DEPTH_MAX: usize = 16;

/// How much JSON there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    bytes: usize,
    /// Lists and objects count several times.
    values: usize,
}

impl Room {
    /// What a schema admits.
    pub(super) fn of(schema: &Value) -> Self {
        schema_room(schema, schema, DEPTH_MAX).plus(SLACK)
    }

    /// Room for the larger of two.
    #[must_use]
    pub fn max_with(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            values: self.values.max(other.values),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            values: self.values.saturating_add(other.values),
        }
    }

    fn times(self, count: usize) -> Self {
        Self {
            bytes: self.bytes.saturating_mul(count),
            values: self.values.saturating_mul(count),
        }
    }

    /// Refuses JSON that is longer or has more values than this. The JSON is not parsed: values are
    /// counted by the marks between them.
    pub fn check_fits(self, json: &[u8]) -> Result<(), Problem> {
        let refused = |said: String| Err(Problem::new(ProblemKind::TooLarge, said));
        let most = self.bytes;
        if json.len() > most {
            let got = json.len();
            return refused(format!(
                "the body has {got} bytes, of which {most} are taken here; send less"
            ));
        }
        let most = self.values.min(VALUES_MAX);
        if json.len() > most && count_values(json) > most {
            return refused(format!(
                "the body has more than {most} values, lists and objects counted as {CONTAINER}; \
                 send it in parts"
            ));
        }
        Ok(())
    }
}

/// Whether a schema's `type` names this one.
pub(crate) fn names_type(types: &Value, wanted: &str) -> bool {
    let names = types.as_array();
    types == wanted || names.is_some_and(|names| names.iter().any(|name| name == wanted))
}

/// Follows a reference into the `whole` schema; returns null if it leads nowhere.
pub(crate) fn resolve_reference<'s>(whole: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(place) => {
            let found = whole.pointer(place.trim_start_matches('#'));
            found.map_or(&Value::Null, |schema| resolve_reference(whole, schema))
        }
        None => schema,
    }
}

fn count_values(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b',' if !in_text => count += 1,
            b'[' | b'{' if !in_text => count += CONTAINER,
            _ => {}
        }
    }
    count
}

fn schema_room(whole: &Value, schema: &Value, depth: usize) -> Room {
    let Some(depth) = depth.checked_sub(1) else {
        return FREE;
    };
    let inside = |part: &Value| schema_room(whole, part, depth);
    if schema.get("$ref").is_some() {
        return inside(resolve_reference(whole, schema));
    }
    // What says only which fields are needed has no type.
    let ways = list_alternatives(schema).filter(|way| way.get("required").is_none());
    let ways = ways.map(inside).reduce(Room::max_with);
    let one = Room {
        bytes: WORD_BYTES,
        values: 1,
    };
    let is = |name: &str| names_type(&schema["type"], name);
    let limit = |word: &str| schema[word].as_u64().map(|most| most as usize);
    let fields = schema["properties"].as_object();
    let own = if schema.get("enum").is_some() || schema.get("const").is_some() {
        one
    } else if let Some(fields) = fields {
        fields
            .iter()
            .fold(one.times(CONTAINER), |room, (name, part)| {
                let name = Room {
                    bytes: 8 + CHARACTER_BYTES * name.len(),
                    values: 0,
                };
                room.plus(name).plus(inside(part))
            })
    } else if is("array") {
        let each = schema.get("items").map_or(FREE, inside);
        one.times(CONTAINER).plus(
            each.plus(one)
                .times(limit("maxItems").unwrap_or(usize::MAX)),
        )
    } else if schema["additionalProperties"] == false {
        one.times(CONTAINER)
    } else if is("object") {
        let each = schema
            .get("additionalProperties")
            .filter(|each| each.is_object());
        each.map_or(FREE, |each| {
            inside(each).times(limit("maxProperties").unwrap_or(usize::MAX))
        })
    } else if is("string") {
        let most = limit("maxLength").unwrap_or(FREE_BYTES_MAX);
        Room {
            bytes: WORD_BYTES + CHARACTER_BYTES * most,
            values: 1,
        }
    } else if schema.get("type").is_some() {
        one
    } else {
        ways.map_or(FREE, |_| Room::default())
    };
    ways.map_or(own, |ways| ways.max_with(own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Operation;
    use crate::bounds::Bounds;
    use crate::operations::{care, lessons, recall, records};

    fn room<O: Operation>() -> Room {
        Bounds::get_for_type::<O::Arguments>().room()
    }

    #[test]
    fn a_body_may_be_as_long_as_its_operation_needs() {
        let (small, long) = (room::<care::Stats>(), "a".repeat(1024 * 1024));
        assert!(small.bytes < 2 * 1024 * 1024, "{small:?}");
        assert!(small.check_fits(long.as_bytes()).is_ok());
        let said = small
            .check_fits(long.repeat(2).as_bytes())
            .unwrap_err()
            .to_string();
        assert!(said.contains("has 2097152 bytes"), "{said}");
        // Whatever the schema admits has room, however it is written.
        let text = "\\ud83d\\ude00".repeat(1024 * 1024);
        let query = format!(r#"{{"query":"{text}"}}"#);
        assert!(
            room::<recall::Recall>()
                .check_fits(query.as_bytes())
                .is_ok()
        );
        let vector = vec![-0.123_456_789; 1_024];
        let record = json!({ "text": "a", "tags": vec!["t"; 64], "embedding": vector,
            "metadata": { "a": { "b": vec!["c"; 100] } } });
        let records = Value::from(vec![record; 2_500]).to_string();
        assert!(
            room::<records::Observe>()
                .check_fits(records.as_bytes())
                .is_ok()
        );
    }

    #[test]
    fn what_would_take_much_memory_is_refused_by_its_marks() {
        for (json, room) in [
            (r#"{"a":0},"#, room::<lessons::Learn>()),
            ("[],", room::<lessons::Learn>()),
            ("\"\",", room::<recall::Recall>()),
            (r#"{"a":0},"#, room::<records::Observe>()),
        ] {
            let many = json.repeat(4 * 1024 * 1024 / json.len());
            let said = room.check_fits(many.as_bytes()).unwrap_err().to_string();
            assert!(said.contains("in parts"), "{said}");
        }
        let marks = json!({ "text": "[{,\\\"".repeat(200_000) }).to_string();
        assert!(
            room::<lessons::Learn>()
                .check_fits(marks.as_bytes())
                .is_ok()
        );
    }
}
