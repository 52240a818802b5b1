//! Templates, which render texts from the values at payload paths.

use reprise_types::limits::IDENTIFIER_BYTES_MAX;
use serde::Deserialize;
use serde_json::Value;

/// Separator between the beginning and the end of a shortened text.
const ELISION: &str = "\n[...]\n";

/// A text with `{path}` placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Template(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Path(String),
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((path, tail)) = after.split_once('}') else {
                return Err(format!("the template `{text}` has a `{{` without its `}}`"));
            };
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(literal.to_owned()));
            }
            parts.push(TemplatePart::Path(path.trim().to_owned()));
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Literal(rest.to_owned()));
        }
        if parts.is_empty() {
            return Err("a template is empty".to_owned());
        }
        Ok(Self(parts))
    }
}

impl Template {
    /// Renders the text; `None` if one of its paths has no value.
    pub(super) fn render(&self, payload: &Value) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Literal(literal) => text.push_str(literal),
                TemplatePart::Path(path) => text.push_str(&text_at(payload, path)?),
            }
        }
        Some(text)
    }
}

/// Returns the value at a dotted path through objects; the empty path is the value itself.
pub(super) fn value_at<'a>(payload: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(payload);
    }
    path.split('.')
        .try_fold(payload, |value, name| value.get(name))
}

/// Returns the text, number or boolean at a path as trimmed text; the items of a list on the way
/// are joined. A payload that is itself text is found at `text` and `value`. `None` if the text is
/// empty.
pub(super) fn text_at(payload: &Value, path: &str) -> Option<String> {
    let text = match payload {
        Value::String(text) if matches!(path, "text" | "value") => text.clone(),
        _ => texts_at(payload, path).concat(),
    };
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// Returns every text at a path: one, or one for each item of a list on the way.
pub(super) fn texts_at(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| texts_at(item, path)).collect(),
        Value::String(text) if path.is_empty() => vec![text.clone()],
        Value::Number(number) if path.is_empty() => vec![number.to_string()],
        Value::Bool(truth) if path.is_empty() => vec![truth.to_string()],
        Value::Object(map) if !path.is_empty() => {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            map.get(name)
                .map(|inner| texts_at(inner, rest))
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Returns whether a text can be an identifier: it is not empty and within the limit.
pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.len() <= IDENTIFIER_BYTES_MAX
}

/// Cuts the middle out of a text longer than `bytes_max`, on character boundaries, so that three
/// fifths of the limit go to its beginning. Returns it with its former length if it was cut.
pub(super) fn shorten(text: String, bytes_max: usize) -> (String, Option<usize>) {
    if text.len() <= bytes_max {
        return (text, None);
    }
    let room = bytes_max.saturating_sub(ELISION.len());
    let head = text.floor_char_boundary(room / 5 * 3);
    let tail = text.ceil_char_boundary(text.len() - (room - room / 5 * 3));
    let shortened = format!("{}{ELISION}{}", &text[..head], &text[tail..]);
    (shortened, Some(text.len()))
}
