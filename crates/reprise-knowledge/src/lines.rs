//! What stands on a line of JSON.

use serde_json::{Map, Value};

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
